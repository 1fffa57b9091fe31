//! What `vmstat` and `sar` print over time.

use std::fmt::Write as _;

use mm::capture::Frame;
use mm::stat::CpuTimes;
use mm::vmstat::Vmstat;

use super::form::{Form, Holds};
use super::tools;
use crate::run::Run;

/// Samples below which nobody calls it a series.
const FEWEST: usize = 4;

pub(super) fn forms(run: &Run) -> Vec<Form> {
    let samples: Vec<&Frame> = run.samples().collect();
    if samples.len() < FEWEST {
        return Vec::new();
    }
    let seconds: Vec<Second<'_>> = samples.windows(2).map(Second::of).collect();
    let release = run.shots().next().map(tools::uname).unwrap_or_default();
    let release = release.split_whitespace().nth(2).unwrap_or_default();
    let holds = Holds::words(&["series"]);
    vec![
        Form::text("vmstat", "vmstat.txt", vmstat(&seconds), holds.clone()),
        Form::text("sar", "sar.txt", sar(&seconds, release), holds),
    ]
}

/// What happened between two samples.
struct Second<'a> {
    frame: &'a Frame,
    before: Vmstat,
    now: Vmstat,
    seconds: f64,
}

impl<'a> Second<'a> {
    fn of(pair: &[&'a Frame]) -> Self {
        let vmstat = |frame: &Frame| {
            Vmstat::parse(frame.file("proc/vmstat").unwrap_or_default()).unwrap_or_default()
        };
        Self {
            frame: pair[1],
            before: vmstat(pair[0]),
            now: vmstat(pair[1]),
            seconds: pair[1].at.seconds() - pair[0].at.seconds(),
        }
    }

    /// A counter's growth a second.
    fn rate(&self, item: &str) -> f64 {
        let of = |vmstat: &Vmstat| vmstat.get(item).unwrap_or(0);
        of(&self.now).saturating_sub(of(&self.before)) as f64 / self.seconds.max(0.001)
    }

    /// The growth of all counters that begin so.
    fn rates(&self, begin: &str) -> f64 {
        let items = self.now.iter().filter(|(item, _)| item.starts_with(begin));
        items.map(|(item, _)| self.rate(item)).sum()
    }

    fn kib(&self, item: &str) -> u64 {
        tools::kib(self.frame, item)
    }

    /// The number behind a word of `/proc/stat`.
    fn stat(&self, word: &str) -> u64 {
        let text = self.frame.file("proc/stat").unwrap_or_default();
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(name, _)| *name == word);
        found
            .and_then(|(_, number)| number.trim().parse().ok())
            .unwrap_or(0)
    }

    /// Shares of the CPU since boot: user, system, idle, waiting.
    fn cpu(&self) -> [u64; 4] {
        let times = CpuTimes::parse(self.frame.file("proc/stat").unwrap_or_default());
        let times = times.unwrap_or_default();
        let share = |ticks: u64| ticks * 100 / times.total().max(1);
        [times.user, times.system, times.idle, times.iowait].map(share)
    }

    /// The time of day, from noon on.
    fn clock(&self) -> String {
        let seconds = self.frame.at.seconds() as u64;
        format!(
            "{:02}:{:02}:{:02}",
            12 + seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )
    }
}

/// `vmstat 1` of procps.
fn vmstat(seconds: &[Second<'_>]) -> String {
    let mut text = String::from(
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n",
    );
    for second in seconds {
        let swapped = second
            .kib("SwapTotal")
            .saturating_sub(second.kib("SwapFree"));
        let cache = second.kib("Cached") + second.kib("SReclaimable");
        let [user, system, idle, wait] = second.cpu();
        let _ = writeln!(
            text,
            "{:2} {:2} {swapped:6} {:6} {:6} {cache:6} {:4.0} {:4.0} {:5.0} {:5.0} {:4} {:4} \
             {user:2} {system:2} {idle:2} {wait:2}  0",
            second.stat("procs_running"),
            second.stat("procs_blocked"),
            second.kib("MemFree"),
            second.kib("Buffers"),
            second.rate("pswpin") * 4.0,
            second.rate("pswpout") * 4.0,
            second.rate("pgpgin"),
            second.rate("pgpgout"),
            100,
            200,
        );
    }
    text
}

/// `sar -B -W -r -S` of sysstat 12.
fn sar(seconds: &[Second<'_>], release: &str) -> String {
    let head = format!("Linux {release} (web-1) \t01/01/25 \t_x86_64_\t(1 CPU)\n");
    let tables = [
        table(seconds, PAGING, paging),
        table(seconds, SWAPPING, swapping),
        table(seconds, MEMORY, memory),
        table(seconds, SWAP, swap),
    ];
    head + &tables.concat()
}

const PAGING: &str = "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s \
                      pgsteal/s %vmeff";
const SWAPPING: &str = "pswpin/s pswpout/s";
const MEMORY: &str = "kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit \
                      kbactive kbinact kbdirty";
const SWAP: &str = "kbswpfree kbswpused %swpused kbswpcad %swpcad";

fn paging(second: &Second<'_>) -> Vec<f64> {
    let (kswapd, direct) = (second.rates("pgscan_kswapd"), second.rates("pgscan_direct"));
    let stolen = second.rates("pgsteal_kswapd") + second.rates("pgsteal_direct");
    let effect = 100.0 * stolen / (kswapd + direct).max(1.0);
    let simple = ["pgpgin", "pgpgout", "pgfault", "pgmajfault", "pgfree"];
    let simple = simple.map(|item| second.rate(item)).into_iter();
    simple.chain([kswapd, direct, stolen, effect]).collect()
}

fn swapping(second: &Second<'_>) -> Vec<f64> {
    vec![second.rate("pswpin"), second.rate("pswpout")]
}

fn memory(second: &Second<'_>) -> Vec<f64> {
    let kib = |item| second.kib(item) as f64;
    let total = kib("MemTotal").max(1.0);
    let used = total - kib("MemFree") - kib("Buffers") - kib("Cached") - kib("Slab");
    let promised = 100.0 * kib("Committed_AS") / (total + kib("SwapTotal"));
    let head = [
        kib("MemFree"),
        kib("MemAvailable"),
        used,
        100.0 * used / total,
    ];
    let middle = [kib("Buffers"), kib("Cached"), kib("Committed_AS"), promised];
    let tail = [kib("Active"), kib("Inactive"), kib("Dirty")];
    [&head[..], &middle, &tail].concat()
}

fn swap(second: &Second<'_>) -> Vec<f64> {
    let kib = |item| second.kib(item) as f64;
    let (total, free, cached) = (kib("SwapTotal"), kib("SwapFree"), kib("SwapCached"));
    let used = total - free;
    let (share, kept) = (used / total.max(1.0), cached / used.max(1.0));
    vec![free, used, 100.0 * share, cached, 100.0 * kept]
}

/// A table with a row for each second.
fn table(seconds: &[Second<'_>], head: &str, row: fn(&Second<'_>) -> Vec<f64>) -> String {
    let names: Vec<&str> = head.split_whitespace().collect();
    let first = seconds.first().map(Second::clock).unwrap_or_default();
    let heads: String = names.iter().map(|name| format!("{name:>10}")).collect();
    let mut text = format!("\n{first}{heads}\n");
    for second in seconds {
        let cells = row(second).into_iter().zip(&names);
        let cells: String = cells.map(|(value, name)| cell(value, name)).collect();
        let _ = writeln!(text, "{}{cells}", second.clock());
    }
    text
}

/// A value as sar prints it: kB are whole.
fn cell(value: f64, name: &str) -> String {
    match name.starts_with("kb") {
        true => format!("{value:>10.0}"),
        false => format!("{value:>10.2}"),
    }
}
