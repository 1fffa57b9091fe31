//! The status file: what the guard holds and did, for `plimsoll guard status` and for who collects
//! metrics. It is written once a second at most, and only where something changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use files::{Attributes, Folder, Lasts};
use guard::config::Amount;
use guard::request::Place;
use guard::{Config, Figures, Guard};
use host::facts::since_1970;
use host::{Root, processes};
use mm::units::{Bytes, Nanos};

use crate::hands::Hands;
use crate::log;
use crate::place;
use crate::refaults::Refaults;
use crate::watch::Watch;

/// The shortest time between two writes.
const WRITE_EVERY: Nanos = Nanos(Nanos::SECOND.0);

/// The file, and the one for a collector.
#[derive(Debug)]
pub(crate) struct Status {
    own: Target,
    /// Its number, and when it started in ticks since boot: another of that number did later.
    process: (String, String),
    /// When it began, in seconds since 1970.
    started: u64,
    written_at: Option<Nanos>,
    written: String,
    /// The file of the collector, as it is configured, and opened.
    wanted: Option<String>,
    metrics: Option<Target>,
    refaults: Refaults,
    /// It was said that it cannot be written.
    said: bool,
}

/// A file that is written, in a folder that is held open.
#[derive(Debug)]
struct Target {
    folder: Folder,
    name: OsString,
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
    pub(crate) fn new(place: &place::Place) -> Self {
        let pid = std::process::id();
        let ticks = processes::started(&Root::default(), pid);
        Self {
            own: Target {
                folder: place.folder.clone(),
                name: place.beside("prom"),
            },
            process: (pid.to_string(), ticks.unwrap_or_default().to_string()),
            started: since_1970().as_secs(),
            written_at: None,
            written: String::new(),
            wanted: None,
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
        let text = self.figures(of).to_string();
        if text == self.written && of.config.metrics == self.wanted {
            return;
        }
        self.follow(of.config.metrics.as_deref());
        let targets = std::iter::once(&self.own).chain(&self.metrics);
        let failed = targets.filter_map(|target| {
            let error = target.replace(&text).err()?;
            Some(place::failed(&target.path(), &error))
        });
        let failed: Vec<String> = failed.collect();
        failed.iter().for_each(|why| self.fail(why));
        self.written = text;
    }

    /// Opens the collector's folder, again where it was not there.
    fn follow(&mut self, wanted: Option<&str>) {
        if self.wanted.as_deref() != wanted {
            self.remove_metrics();
            self.wanted = wanted.map(str::to_owned);
        }
        let missing = wanted.filter(|_| self.metrics.is_none());
        match missing.map(|path| Target::open(Path::new(path))) {
            Some(Ok(target)) => self.metrics = Some(target),
            Some(Err(why)) => self.fail(&why),
            None => {}
        }
    }

    /// Says once why something is not written.
    fn fail(&mut self, why: &str) {
        if !self.said {
            self.said = true;
            log::line(format_args!("the status is not written: {why}"));
        }
    }

    fn remove_metrics(&mut self) {
        if let Some(target) = self.metrics.take() {
            target.folder.remove(&target.name).ok();
        }
    }

    fn figures(&mut self, of: &Of<'_>) -> Figures {
        let mut figures = Figures::default();
        let labels = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("pid", &self.process.0),
            ("ticks", &self.process.1),
        ];
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
        // Which files is root's to know.
        let mut released: BTreeMap<String, u64> = BTreeMap::new();
        for Place { fsid, inode } in of.watch.released.iter() {
            let files = if inode.is_some() { "/*" } else { "" };
            *released.entry(format!("{fsid:016x}{files}")).or_default() += 1;
        }
        for (place, count) in &released {
            figures.add("released", &[("place", place)], *count);
        }
        tally(&mut figures);
        let (reclaimed, cgroup2) = (&of.hands.reclaimed_total, of.watch.mounts.cgroup2());
        let refaults = &mut self.refaults;
        refaults.tell(reclaimed, of.config, cgroup2, &mut figures);
        figures.add("lost_events_total", &[], of.watch.lost());
        figures.add("ignored_events_total", &[], of.watch.ignored());
        figures
    }
}

/// Who reads it later shall not believe that a guard runs.
impl Drop for Status {
    fn drop(&mut self) {
        self.own.folder.remove(&self.own.name).ok();
        self.remove_metrics();
    }
}

impl Target {
    /// A file that the configuration names. Where others may write its folder, they may remove it
    /// and write one of their own, which the collector reads: that is said. A link of theirs on the
    /// way is refused: it could lead to any folder.
    fn open(path: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| place::failed(path, &error);
        let path = std::path::absolute(path).map_err(failed)?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        };
        let root = Folder::at(Path::new("/")).map_err(failed)?;
        if let Err(error) = root.trusted(folder) {
            let why = place::failed(folder, &error);
            log::line(format_args!(
                "metrics: {why}; they are written there all the same"
            ));
        }
        let folder = root.led_by_root(folder).map_err(failed)?;
        let name = name.to_owned();
        Ok(Self { folder, name })
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join(&self.name)
    }

    /// All or nothing: a reader never sees a part. It need not survive a power cut.
    fn replace(&self, text: &str) -> io::Result<()> {
        let (text, everybody) = (text.as_bytes(), Attributes::mode(0o644));
        self.folder
            .replace(&self.name, text, everybody, Lasts::Process)
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
