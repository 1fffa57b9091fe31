//! Samepage merging by its marginal profit: memory gained for a second of ksmd's CPU time.
//!
//! ksmd scans as fast as its share of a CPU allows, and stands still once that gains too little.
//! It is started again where another scan is worth what the last one took: by what writes have
//! unmerged since, and by the part of new anonymous memory that is expected to have twins. What
//! was expected and did not come lowers the next expectation. After a minute, or up to an hour
//! where that gains nothing, a scan finds out what else has changed.

use alloc::format;
use alloc::vec::Vec;

use mm::formula::mul_div;
use mm::settings::Setting;
use mm::units::{Bytes, Nanos, PageSize, Pages};

use crate::action::{Action, Decision, Policy, Why};
use crate::config;
use crate::sample::{Merging, Sample};

const RUN: &str = "ksm.run";
const SPEED: &str = "ksm.pages_to_scan";
/// The first `pages_to_scan`, and its bounds.
const FIRST: u64 = 100;
const SLOWEST: u64 = 10;
const FASTEST: u64 = 100_000;
/// A page has a checksum after its first scan and is merged in the second.
const SCANS: u64 = 2;
/// What this part of a scan's CPU time gains is judged.
const JUDGED: u64 = 8;
/// A scan without a cause comes after the first time, later up to the second.
const PROBE_AFTER: Nanos = Nanos(60 * Nanos::SECOND.0);
const PROBE_AT_LAST: Nanos = Nanos(3600 * Nanos::SECOND.0);
/// The part of new memory that is expected to have twins, and what comes of what is expected, in
/// thousandths.
const TWINS: u64 = 250;
const ALL: u64 = 1000;

/// The policy, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Ksm {
    /// The share of a CPU that ksmd may take, in thousandths.
    most_cpu: u64,
    /// Bytes that a second of CPU time has to gain.
    least_gain: Bytes,
    /// What was asked for: `run`, `pages_to_scan`.
    asked: Option<(u64, u64)>,
    scanning: Option<Scanning>,
    /// ksmd's CPU time when the scan under way began; it goes on with that after a rest.
    cpu: Nanos,
    rest: Rest,
    /// CPU time of a scan.
    cost: Nanos,
    /// Pages that writes had copied again when the last whole scan began: it has counted these.
    counted: Pages,
    /// What came of what was expected, in thousandths.
    yields: u64,
    probe_after: Nanos,
    stands_down: bool,
}

/// ksmd at work.
#[derive(Clone, Copy, Debug)]
struct Scanning {
    /// How it was when it began, and what was hoped for.
    from: Seen,
    hoped: Bytes,
    /// How it was when the scan under way, what is judged and the last tick began.
    scan: Seen,
    judged: Seen,
    tick: Seen,
    /// Scans that have to be whole before anything is judged.
    least_scans: u64,
}

/// A moment.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    at: Nanos,
    merging: Merging,
    /// Pages that the kernel counts as saved and writes have copied again.
    stale: Pages,
}

/// ksmd at rest.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    since: Nanos,
    /// The least anonymous memory since.
    anon: Bytes,
}

impl Ksm {
    pub(crate) fn new(config: &config::Ksm) -> Self {
        Self {
            most_cpu: u64::from(config.most_cpu).max(1),
            least_gain: config.least_gain,
            asked: None,
            scanning: None,
            cpu: Nanos::ZERO,
            rest: Rest::default(),
            cost: Nanos::ZERO,
            counted: Pages(0),
            yields: ALL,
            probe_after: PROBE_AFTER,
            stands_down: false,
        }
    }

    /// Whether somebody else runs ksmd.
    pub(crate) fn stands_down(&self) -> bool {
        self.stands_down
    }

    pub(crate) fn decide(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) {
        let Some(merging) = sample.merging.filter(|_| !self.stands_down) else {
            return;
        };
        let held = (merging.run, merging.pages_to_scan);
        if merging.is_theirs || self.asked.is_some_and(|asked| asked != held) {
            (self.stands_down, self.asked, self.scanning) = (true, None, None);
            for tunable in [RUN, SPEED] {
                to.push(decision(Action::GiveBack(tunable.into()), Why::Theirs));
            }
            return;
        }
        if self.asked.is_none() {
            (self.counted, self.cpu) = (merging.copied, merging.cpu);
        }
        let seen = Seen {
            at: sample.at,
            merging,
            stale: Pages(merging.copied.0.saturating_sub(self.counted.0)),
        };
        match self.scanning {
            Some(scanning) => self.scan(scanning, seen, sample.memory.anon, to),
            None => self.rest(seen, sample.memory.anon, to),
        }
    }

    fn rest(&mut self, seen: Seen, anon: Bytes, to: &mut Vec<Decision>) {
        let is_first = self.asked.is_none();
        self.rest.anon = self.rest.anon.min(anon);
        let rest = self.rest;
        let unmerged = bytes(seen.stale.0);
        let new = anon.saturating_sub(rest.anon).saturating_sub(unmerged);
        let new = mul_div(new.0, TWINS, ALL);
        let hoped = Bytes(unmerged.0.saturating_add(new));
        let expected = Bytes(mul_div(hoped.0, self.yields, ALL));
        let is_worth_it = expected > self.worth(self.cost);
        let is_due = seen.at.saturating_sub(rest.since) >= self.probe_after;
        if !is_first && !is_worth_it && !is_due {
            return;
        }
        // One that is only due hopes for nothing.
        let hoped = match is_first || is_worth_it {
            true => hoped,
            false => Bytes::ZERO,
        };
        let least_scans = match is_first || new > unmerged.0 {
            true => SCANS,
            false => 1,
        };
        self.scanning = Some(Scanning {
            from: seen,
            hoped,
            scan: seen,
            judged: seen,
            tick: seen,
            least_scans,
        });
        let why = match is_worth_it && !is_first {
            true => Why::Expected(expected),
            false => Why::Due,
        };
        let speed = self.asked.map_or(FIRST, |(_, speed)| speed);
        self.ask(1, speed, why, to);
    }

    fn scan(&mut self, mut at: Scanning, mut seen: Seen, anon: Bytes, to: &mut Vec<Decision>) {
        let whole = seen.scans_since(&at.scan);
        let taken = seen.merging.cpu.saturating_sub(self.cpu);
        if let Some(cost) = taken.0.checked_div(whole) {
            (self.cost, self.cpu) = (Nanos(cost), seen.merging.cpu);
            self.counted = at.scan.merging.copied;
            seen.stale = Pages(seen.merging.copied.0.saturating_sub(self.counted.0));
            at.scan = seen;
        }
        let cpu = seen.cpu_since(&at.judged);
        let is_judged = cpu > Nanos(self.cost.0 / JUDGED) && self.cost > Nanos::ZERO;
        if is_judged {
            let gained = seen.gained_since(&at.judged);
            at.judged = seen;
            // It may have begun in the middle of a scan.
            let is_whole = seen.scans_since(&at.from) >= at.least_scans
                && seen.cpu_since(&at.from).0 >= self.cost.0.saturating_mul(at.least_scans);
            if is_whole && gained <= self.worth(cpu) {
                return self.stop(&at, seen, anon, Why::Gained(gained, cpu), to);
            }
        }
        let speed = self.pace(&at, seen);
        at.tick = seen;
        self.scanning = Some(at);
        self.ask(1, speed, Why::Share(self.most_cpu), to);
    }

    /// Scanning ends. What is known of the whole of it is for the next time.
    fn stop(&mut self, at: &Scanning, seen: Seen, anon: Bytes, why: Why, to: &mut Vec<Decision>) {
        let (gained, cpu) = (seen.gained_since(&at.from), seen.cpu_since(&at.from));
        if at.hoped > Bytes::ZERO {
            let came = mul_div(gained.0.min(at.hoped.0), ALL, at.hoped.0);
            self.yields = ((self.yields + came) / 2).max(ALL / 100);
        }
        self.probe_after = match gained > self.worth(cpu) {
            true => PROBE_AFTER,
            false => Nanos(self.probe_after.0.saturating_mul(2)).min(PROBE_AT_LAST),
        };
        self.scanning = None;
        self.rest = Rest {
            since: seen.at,
            anon,
        };
        let speed = self.asked.map_or(FIRST, |(_, speed)| speed);
        self.ask(0, speed, why, to);
    }

    /// What that much CPU time has to gain.
    fn worth(&self, cpu: Nanos) -> Bytes {
        Bytes(mul_div(self.least_gain.0, cpu.0, Nanos::SECOND.0))
    }

    /// `pages_to_scan` by the CPU time of the last tick: twice or half of it at most, and as it is
    /// where it is right within a quarter.
    fn pace(&self, at: &Scanning, seen: Seen) -> u64 {
        let speed = self.asked.map_or(FIRST, |(_, speed)| speed);
        let span = seen.at.saturating_sub(at.tick.at);
        let allowed = mul_div(span.0, self.most_cpu, ALL);
        let taken = seen.cpu_since(&at.tick).0;
        let wanted = mul_div(speed, allowed, taken);
        // Without candidates ksmd takes nothing.
        if taken == 0 || wanted.abs_diff(speed) <= speed / 4 {
            return speed;
        }
        wanted.clamp(speed / 2, speed * 2).clamp(SLOWEST, FASTEST)
    }

    fn ask(&mut self, run: u64, speed: u64, why: Why, to: &mut Vec<Decision>) {
        let before = self.asked.replace((run, speed));
        let mut set = |tunable: &str, value: u64| {
            let (tunable, value) = (tunable.into(), format!("{value}"));
            to.push(decision(Action::Set(Setting { tunable, value }), why));
        };
        if before.is_none_or(|(_, before)| before != speed) {
            set(SPEED, speed);
        }
        if before.is_none_or(|(before, _)| before != run) {
            set(RUN, run);
        }
    }
}

impl Seen {
    fn scans_since(&self, other: &Self) -> u64 {
        self.merging.scans.saturating_sub(other.merging.scans)
    }

    fn cpu_since(&self, other: &Self) -> Nanos {
        self.merging.cpu.saturating_sub(other.merging.cpu)
    }

    fn gained_since(&self, other: &Self) -> Bytes {
        bytes(self.saved().saturating_sub(other.saved()))
    }

    fn saved(&self) -> u64 {
        self.merging.saved.0.saturating_sub(self.stale.0)
    }
}

fn bytes(pages: u64) -> Bytes {
    Pages(pages).bytes(PageSize::FOUR_KIB)
}

fn decision(action: Action, why: Why) -> Decision {
    Decision {
        policy: Policy::Ksm,
        action,
        why,
    }
}

#[cfg(test)]
mod tests;
