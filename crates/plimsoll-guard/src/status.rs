//! The status file: what the guard holds and did, for `plimsoll guard status` and for who collects
//! metrics. It is written once a second at most, and only where something changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use guard::config::Amount;
use guard::{Config, Figures, Guard};
use host::facts::since_1970;
use host::reason;
use mm::units::{Bytes, Nanos};

use crate::hands::Hands;
use crate::log;
use crate::refaults::Refaults;
use crate::watch::Watch;

/// The shortest time between two writes.
const WRITE_EVERY: Nanos = Nanos(Nanos::SECOND.0);

/// The file, and the one for a collector.
#[derive(Debug)]
pub(crate) struct Status {
    path: PathBuf,
    /// When it began, in seconds since 1970.
    started: u64,
    written_at: Option<Nanos>,
    written: String,
    /// Files of collectors that were written, to be removed at the end.
    metrics: Option<PathBuf>,
    refaults: Refaults,
    /// It was said that it cannot be written.
    said: bool,
}

/// What is told of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of<'a> {
    pub(crate) config: &'a Config,
    pub(crate) guard: &'a Guard,
    pub(crate) hands: &'a Hands,
    pub(crate) watch: &'a Watch,
    /// `MemTotal`.
    pub(crate) total: Bytes,
}

impl Status {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            started: since_1970().as_secs(),
            written_at: None,
            written: String::new(),
            metrics: None,
            refaults: Refaults::default(),
            said: false,
        }
    }

    /// Writes it, where it is time and something changed. A disk that is full is said once.
    pub(crate) fn write(&mut self, now: Nanos, of: &Of<'_>) {
        let is_early = |at: Nanos| now.saturating_sub(at) < WRITE_EVERY;
        if self.written_at.is_some_and(is_early) {
            return;
        }
        self.written_at = Some(now);
        let metrics = of.config.metrics.as_ref().map(PathBuf::from);
        let text = self.figures(of).to_string();
        if text == self.written && metrics == self.metrics {
            return;
        }
        if metrics != self.metrics {
            self.remove_metrics();
        }
        let files = [Some(&self.path), metrics.as_ref()];
        for file in files.into_iter().flatten() {
            if let Err(error) = replace(file, &text)
                && !self.said
            {
                self.said = true;
                let (file, why) = (file.display(), reason(&error));
                log::line(format_args!("{file}: the status is not written: {why}"));
            }
        }
        (self.written, self.metrics) = (text, metrics);
    }

    fn remove_metrics(&mut self) {
        if let Some(file) = self.metrics.take() {
            fs::remove_file(file).ok();
        }
    }

    fn figures(&mut self, of: &Of<'_>) -> Figures {
        let mut figures = Figures::default();
        let pid = std::process::id().to_string();
        let labels = [("version", env!("CARGO_PKG_VERSION")), ("pid", &pid)];
        figures.add("info", &labels, 1);
        figures.add("start_time_seconds", &[], self.started);
        policies(&mut figures, of.guard);
        limits(&mut figures, of);
        let (locked, files) = of.hands.locks.total();
        figures.add("locked_bytes", &[], locked.0);
        figures.add("locked_files", &[], files as u64);
        for (tunable, old) in of.hands.held() {
            figures.add("setting_held", &[("tunable", tunable), ("before", &old)], 1);
        }
        for place in of.watch.released.iter() {
            figures.add("released", &[("place", &place.to_string())], 1);
        }
        tally(&mut figures);
        let (reclaimed, cgroup2) = (&of.hands.reclaimed_total, of.watch.mounts.cgroup2());
        let refaults = &mut self.refaults;
        refaults.tell(reclaimed, of.config, cgroup2, &mut figures);
        figures.add("lost_events_total", &[], of.watch.lost());
        figures
    }
}

/// Who reads it later shall not believe that a guard runs.
impl Drop for Status {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
        self.remove_metrics();
    }
}

fn policies(to: &mut Figures, guard: &Guard) {
    for (word, policy) in guard::Policy::WORDS {
        let on = guard.policies().find(|(on, _)| *on == policy);
        to.add(
            "policy_enabled",
            &[("policy", word)],
            u64::from(on.is_some()),
        );
        if let Some((_, stands_down)) = on {
            let stands_down = u64::from(stands_down);
            to.add("policy_standing_down", &[("policy", word)], stands_down);
        }
    }
}

fn limits(to: &mut Figures, of: &Of<'_>) {
    let bytes = |amount: Amount| amount.of(of.total).0;
    if let Some(floor) = &of.config.floor {
        let budget = guard::budget(floor.clean_min, of.total);
        to.add("lock_budget_bytes", &[], budget.0);
        to.add("anon_floor_bytes", &[], bytes(floor.anon_min));
    }
    let Some(ceiling) = &of.config.ceiling else {
        return;
    };
    if let Some(total) = ceiling.total {
        to.add("ceiling_bytes", &[("group", "")], bytes(total));
    }
    for (group, limit) in &ceiling.groups {
        to.add("ceiling_bytes", &[("group", group)], bytes(*limit));
    }
}

fn tally(to: &mut Figures) {
    let tally = log::tally();
    for (name, sums) in [
        ("actions_total", &tally.done),
        ("failures_total", &tally.failed),
    ] {
        for ((policy, action), sum) in sums {
            to.add(name, &[("policy", policy), ("action", action)], sum.times);
        }
    }
    let locks = tally.done.iter();
    let locks = locks.filter(|((_, action), _)| ["lock", "fill"].contains(&action.as_str()));
    let locked = locks.map(|(_, sum)| sum.bytes.0).sum();
    to.add("locked_bytes_total", &[], locked);
}

/// All or nothing: a reader never sees a part. It need not survive a power cut.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    // A collector that reads *.prom does not read it.
    aside.push(".new");
    fs::write(&aside, text)?;
    fs::rename(aside, path)
}
