//! The controller of dirty pages against what real kernels print of each of its decisions
//! (`fixtures/throttle`): from the printed inputs the printed outputs, to the integer.

use std::collections::BTreeMap;
use std::fmt::Debug;

use plimsoll_mm::formula::dirty::Thresholds;
use plimsoll_mm::formula::throttle::ratelimit::Ratelimit;
use plimsoll_mm::formula::throttle::share::Completions;
use plimsoll_mm::formula::throttle::{Device, Domain, HZ, ONE, Outlook, Pace, Pause, Writer};
use plimsoll_mm::formula::throttle::{chunk_size, poll_interval, position};
use plimsoll_mm::formula::wbt::{self, Status};
use plimsoll_mm::trace::{self, Balance, Entry, Event, Rates, Share, State, Update, View};
use plimsoll_mm::units::Pages;

const KERNELS: [&str; 2] = ["6.1", "6.12"];
/// Every line of a while in which tasks were slowed.
const WINDOWS: [&str; 4] = ["bytes", "two-disks", "mapped", "group"];
/// Only what belongs to an update of a device's estimates.
const UPDATES: [&str; 4] = ["two-disks-updates", "group-updates", "bounds", "strict"];

/// One look at a task: what it printed, in the kernel's order. A task in the free run prints the
/// machine's state alone.
#[derive(Clone, Default)]
struct Look<'a> {
    pid: u64,
    state: Option<&'a State>,
    /// The device's share: of the machine, then of the task's control group.
    shares: Vec<(&'a Share, Pages)>,
    update: Option<&'a Update>,
    rates: Vec<&'a Rates>,
    balance: Option<&'a Balance>,
}

/// How many of how many are equal.
#[derive(Default)]
struct Tally {
    trace: String,
    equal: usize,
    of: usize,
}

impl Tally {
    fn compare<T: PartialEq + Debug>(&mut self, ours: T, kernels: T) {
        self.of += 1;
        match ours == kernels {
            true => self.equal += 1,
            false => println!("{}: {ours:?}, kernel {kernels:?}", self.trace),
        }
    }
}

/// Runs a check over these traces of each kernel: all that it compares must be equal, `least` or
/// more a kernel.
fn on_all(names: &[&str], least: usize, check: impl Fn(&[Entry], &mut Tally)) {
    for kernel in KERNELS {
        let mut tally = Tally::default();
        // 6.1 has no strict limit that can be set.
        let has = |name: &&&str| (kernel, **name) != ("6.1", "strict");
        for name in names.iter().filter(has) {
            tally.trace = format!("{kernel}, {name}");
            check(&read(kernel, name), &mut tally);
        }
        assert_eq!(tally.equal, tally.of, "{kernel}");
        assert!(tally.of >= least, "{kernel}: only {}", tally.of);
    }
}

fn read(kernel: &str, name: &str) -> Vec<Entry> {
    let text = testkit::text(&format!("fixtures/throttle/vm-512mib-{kernel}/{name}.txt"));
    trace::parse(name, &text).expect("a trace")
}

fn all() -> Vec<&'static str> {
    [WINDOWS, UPDATES].concat()
}

/// The looks at tasks in the order in which they ended.
fn looks(entries: &[Entry]) -> Vec<Look<'_>> {
    let mut open: BTreeMap<u64, Look<'_>> = BTreeMap::new();
    let mut looks = Vec::new();
    for entry in entries {
        let look = open.entry(entry.pid).or_default();
        look.pid = entry.pid;
        match &entry.event {
            Event::State(state) => {
                looks.push(std::mem::take(look));
                (look.pid, look.state) = (entry.pid, Some(state));
            }
            Event::Share(share) => look.shares.push((share, Pages::ZERO)),
            Event::Shared(is) => look.shares.last_mut().expect("asked for").1 = *is,
            Event::Update(update) => look.update = Some(update),
            Event::Rates(rates) => look.rates.push(rates),
            Event::Balance(balance) => {
                look.balance = Some(balance);
                looks.push(std::mem::take(look));
            }
            _ => {}
        }
    }
    looks.retain(|look| look.state.is_some());
    looks
}

fn updates(entries: &[Entry]) -> impl Iterator<Item = &Update> {
    entries.iter().filter_map(|entry| match &entry.event {
        Event::Update(update) => Some(update),
        _ => None,
    })
}

/// The domains by which an update renews the rate.
fn views(update: &Update) -> impl Iterator<Item = View> {
    let views = [Some(update.machine), update.group].into_iter().flatten();
    views.filter(|_| update.is_balance)
}

fn rate(pace: &mut Pace, update: &Update, view: &View) {
    let View { domain, device, .. } = view;
    pace.rate(update.now, update.counts, domain, device, view.position);
}

/// What an update makes of a device's estimates.
fn renewed(update: &Update) -> Pace {
    let mut pace = update.pace;
    views(update).for_each(|view| rate(&mut pace, update, &view));
    pace.write(update.now, update.counts);
    pace
}

fn ticks(milliseconds: i64) -> i64 {
    milliseconds * HZ as i64 / 1000
}

#[test]
fn each_update_of_a_devices_estimates_ends_where_the_next_begins() {
    on_all(&UPDATES, 24, |entries, tally| {
        let mut last: BTreeMap<&str, Pace> = BTreeMap::new();
        for update in updates(entries) {
            if let Some(expected) = last.insert(&update.writeback, renewed(update)) {
                tally.compare(expected, update.pace);
            }
        }
    });
}

#[test]
fn position_ratios_are_the_kernels() {
    on_all(&UPDATES, 18, |entries, tally| {
        for view in updates(entries).flat_map(views) {
            tally.compare(position::ratio(&view.domain, &view.device), view.position);
        }
    });
}

#[test]
fn rates_are_as_printed() {
    on_all(&UPDATES, 18, |entries, tally| {
        for look in looks(entries) {
            let Some(update) = look.update else { continue };
            let mut pace = update.pace;
            for (view, rates) in views(update).zip(look.rates) {
                let task = pace.ratelimit.task(view.position) + 1;
                rate(&mut pace, update, &view);
                let ours = [task, pace.ratelimit.base, pace.ratelimit.balanced];
                let kernels = [rates.task_ratelimit, rates.ratelimit, rates.balanced];
                tally.compare(ours.map(|pages| pages * 4), kernels);
            }
        }
    });
}

#[test]
fn the_slow_limit_is_where_the_kernel_has_it() {
    on_all(&UPDATES, 15, |entries, tally| {
        for look in looks(entries) {
            let (Some(update), Some(balance)) = (look.update, look.balance) else {
                continue;
            };
            let View {
                mut limit, domain, ..
            } = update.machine;
            if update.is_balance {
                limit.update(update.now, domain.thresholds.dirty, domain.dirty);
            }
            tally.compare(limit.pages, balance.limit);
        }
    });
}

/// What the CPUs hold back is not printed. A period that ended since the device was last looked at
/// takes it in: in the whole runs 12 of 13280 shares are 1 to 4 pages off.
#[test]
fn shares_are_as_printed() {
    on_all(&all(), 60, |entries, tally| {
        let shares: Vec<_> = looks(entries)
            .into_iter()
            .flat_map(|look| look.shares)
            .collect();
        let reserved = shares.iter().map(|(share, _)| share.bounds.min).max();
        for (share, is) in shares {
            let threshold = share.domain.thresholds.dirty;
            let mut own = share.own;
            let part = share.all.share(&mut own);
            let ours = part.threshold(threshold, share.bounds, reserved.unwrap_or(0));
            tally.compare(ours, is);
        }
    });
}

#[test]
fn periods_end_at_the_kernels_tick() {
    on_all(&["periods"], 3, |entries, tally| {
        for entry in entries {
            let Event::Period(period) = &entry.event else {
                continue;
            };
            // Deferrable: on an idle CPU up to two ticks late in these runs.
            let due = |late| period.all.is_due(period.now - late);
            tally.compare((due(0), due(3)), (true, false));
        }
        let periods = entries.iter().filter_map(|entry| match &entry.event {
            Event::Period(period) => Some(period),
            _ => None,
        });
        let mut last: Option<Completions> = None;
        for period in periods {
            if let Some(last) = last.filter(|_| period.all.period > 0) {
                tally.compare(
                    (last.period, last.ends),
                    (period.all.period, period.all.ends),
                );
            }
            let mut all = period.all;
            all.tick(period.now);
            last = Some(all);
        }
    });
}

/// The domain by which a task was judged, and the device in it: of the machine's and the group's
/// the one whose dirty pages were printed. That it has the smaller ratio is not shown: of the other
/// the device's dirty pages are not printed.
fn judged(look: &Look<'_>) -> Option<(Domain, Device)> {
    let balance = look.balance?;
    let of = |(share, _): &&(&Share, Pages)| share.domain.dirty == balance.dirty;
    let (share, is) = look.shares.iter().rev().find(of)?;
    let Thresholds { background, dirty } = share.domain.thresholds;
    let device = Device {
        thresholds: Thresholds {
            dirty: *is,
            background: Pages(is.0 * background.0 / dirty.0),
        },
        dirty: balance.device_dirty,
        bandwidth: share.bandwidth,
        is_strict: share.is_strict,
    };
    Some((share.domain, device))
}

fn balances(entries: &[Entry]) -> Vec<(Look<'_>, &Balance)> {
    let looks = looks(entries).into_iter();
    looks
        .filter_map(|look| look.balance.map(|balance| (look, balance)))
        .collect()
}

#[test]
fn tasks_are_let_what_is_printed() {
    on_all(&all(), 40, |entries, tally| {
        for (look, balance) in balances(entries) {
            let (domain, device) = judged(&look).expect("one of both domains");
            let base = balance.ratelimit / 4;
            let ratelimit = Ratelimit {
                base,
                balanced: base,
            };
            let task = ratelimit.task(position::ratio(&domain, &device));
            tally.compare(task * 4, balance.task_ratelimit);
        }
    });
}

/// The printed set points are of the machine's slow limit even where that is below the threshold or
/// the domain is a control group; the controller's own are seen in the position ratios.
#[test]
fn set_points_are_as_printed() {
    on_all(&all(), 90, |entries, tally| {
        for (look, balance) in balances(entries) {
            let (domain, device) = judged(&look).expect("one of both domains");
            let printed = Domain {
                limit: balance.limit,
                ..domain
            };
            let setpoint = match balance.limit < domain.thresholds.dirty {
                true => (balance.limit.0 + domain.thresholds.freerun().0) / 2,
                false => printed.setpoint().0,
            };
            tally.compare(setpoint, balance.setpoint.0);
            let part = setpoint * device.thresholds.dirty.0 / (domain.thresholds.dirty.0 + 1);
            tally.compare(part, balance.device_setpoint.0);
        }
    });
}

/// The decision on a task by what was printed of it, and the task after it. `late`: ticks that
/// began before its time to think was printed.
fn decided(look: &Look<'_>, balance: &Balance, late: i64) -> (Pause, Writer) {
    let (_, mut device) = judged(look).expect("one of both domains");
    if let Some(update) = look.update {
        device.bandwidth = renewed(update).bandwidth.average;
    }
    let (base, task) = (balance.ratelimit / 4, balance.task_ratelimit / 4);
    let outlook = Outlook {
        ratelimit: Ratelimit {
            base,
            balanced: base,
        },
        position: (task * ONE).div_ceil(base),
        device,
    };
    let now = 1 << 40;
    let mut writer = Writer {
        dirtied: balance.dirtied,
        dirtied_pause: balance.dirtied_pause,
        paused_when: (now - ticks(balance.think) + late) as u64,
    };
    let pause = writer.throttle(now as u64, balance.dirtied, &outlook);
    (pause, writer)
}

/// A tick may begin between the decision and the line: in the whole runs about once in 600 looks.
#[test]
fn pauses_are_as_printed() {
    on_all(&all(), 40, |entries, tally| {
        for (look, balance) in balances(entries) {
            let kernels = (ticks(balance.period as i64), ticks(balance.pause));
            let printed = |late| {
                let (pause, _) = decided(&look, balance, late);
                let shown = match pause.sleep {
                    0 => pause.pause.min(0),
                    _ => pause.pause,
                };
                (pause.period as i64, shown)
            };
            let late = i64::from(printed(0) != kernels);
            tally.compare(printed(late), kernels);
        }
    });
}

/// In a group's free run the group's own interval may be the smaller one; it is not printed.
#[test]
fn a_task_is_looked_at_after_as_many_pages_as_were_decided() {
    on_all(&WINDOWS, 35, |entries, tally| {
        let mut due: BTreeMap<u64, (Pages, bool)> = BTreeMap::new();
        for look in looks(entries) {
            let state = look.state.expect("retained");
            let Some(balance) = look.balance else {
                let dirty = state.dirty + state.writeback;
                due.insert(look.pid, (poll_interval(dirty, state.threshold), true));
                continue;
            };
            let (_, writer) = decided(&look, balance, 0);
            let last = due.insert(look.pid, (writer.dirtied_pause, false));
            match last {
                Some((most, true)) if balance.group != 1 => {
                    tally.compare(balance.dirtied_pause <= most, true);
                }
                Some((pages, _)) => tally.compare(pages, balance.dirtied_pause),
                None => {}
            }
        }
    });
}

#[test]
fn tasks_are_slowed_beyond_the_free_run_only() {
    on_all(&["bytes", "two-disks", "mapped"], 40, |entries, tally| {
        for look in looks(entries) {
            let state = look.state.expect("retained");
            let domain = Domain {
                thresholds: Thresholds {
                    background: state.background,
                    dirty: state.threshold,
                },
                dirty: look
                    .balance
                    .map_or(state.dirty + state.writeback, |balance| balance.dirty),
                limit: state.limit,
            };
            tally.compare(domain.is_free(&Device::default()), look.balance.is_none());
        }
    });
}

/// The average bandwidth is the device's as the flusher last saw it before a file's turn.
#[test]
fn the_flusher_takes_of_a_file_what_its_chunk_allows() {
    on_all(&WINDOWS, 5, |entries, tally| {
        let mut limit = Pages::ZERO;
        // By thread: the average now and at the turn's begin, and the pages left.
        let mut turns: BTreeMap<u64, (u64, u64, i64)> = BTreeMap::new();
        for entry in entries {
            let turn = turns.entry(entry.pid).or_default();
            match &entry.event {
                Event::State(state) => limit = state.limit,
                Event::Balance(balance) => limit = balance.limit,
                Event::Share(share) => turn.0 = share.bandwidth,
                Event::Update(update) => turn.0 = renewed(update).bandwidth.average,
                Event::Work(work) if work.begins => (turn.1, turn.2) = (turn.0, work.left),
                Event::Inode(inode) if inode.chunk < i64::MAX && turn.1 > 0 => {
                    let chunk = chunk_size(turn.1, limit, Pages(turn.2 as u64));
                    tally.compare(chunk, Pages(inode.chunk as u64));
                    (turn.1, turn.2) = (turn.0, turn.2 - inode.wrote);
                }
                _ => {}
            }
        }
    });
}

/// The schedulers of the two disks have 256 and 64 requests.
#[test]
fn writes_are_held_back_and_let_go_in_the_kernels_steps() {
    on_all(&["wbt"], 15, |entries, tally| {
        let mut throttles: BTreeMap<&str, wbt::Throttle> = BTreeMap::new();
        let requests = |device: &str| if device == "259:0" { 256 } else { 64 };
        for (entry, next) in entries.iter().zip(entries.iter().skip(1)) {
            let Event::Window(window) = &entry.event else {
                continue;
            };
            let status = match window.status {
                1 => Status::Ok,
                2 => Status::Unknown,
                3 => Status::Writes,
                _ => Status::Exceeded,
            };
            let throttle = throttles.entry(&window.device).or_default();
            tally.compare(throttle.step, window.step);
            let requests = requests(&window.device);
            let changed = throttle.step(status, requests).then(|| {
                let limits = throttle.limits(requests);
                [limits.background, limits.normal, limits.most]
            });
            let step = match &next.event {
                Event::Step(step) => Some(step.limits),
                _ => None,
            };
            tally.compare(changed, step);
        }
    });
}
