//! How often anonymous pages are used, by the generations of the multi-generation LRU.
//!
//! A round begins a generation in each large control group, and again after a quarter of a second,
//! after one more second, and so on. What is in a generation when the next one begins was used
//! meanwhile. Where the kernel began one itself, that time says nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::{Root, ages};
use mm::lru_gen::Generation;
use mm::text::counted;
use mm::units::{Nanos, Pages};
use mm::vmstat::Vmstat;
use study::LoadMemory;
use study::ages::{Seen, classes};

use super::monotonic;

/// The times of a round. With the pauses between rounds nine of ten minutes pass without one.
const TIMES: [Duration; 5] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(16),
    Duration::from_secs(64),
];
const ROUND: Duration = Duration::from_secs(600);

/// What a round may take of a CPU: 1 % of the time until the next.
const MOST_CPU: Duration = Duration::from_secs(6);

/// The most groups, and the least anonymous memory of one: 1 MiB.
const GROUPS: usize = 16;
const LEAST: u64 = 256;

/// How long the kernel must not have reclaimed, and how long that is waited for.
const QUIET: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(10);

/// The most that is remembered of a group.
const MOST_SEEN: usize = 64;

/// What is known of a group's anonymous memory.
#[derive(Clone, Debug, Default)]
struct Group {
    /// When the recording began, and the most of it.
    began: u64,
    most: u64,
    seen: Vec<Seen>,
}

/// What is known of all.
#[derive(Clone, Debug, Default)]
struct Known {
    groups: BTreeMap<String, Group>,
    /// Of a round, the time that the last one took.
    took: Duration,
    rounds: u64,
}

/// Reads ages until it is told to stop, in a thread of its own: a large machine takes a second.
#[derive(Debug)]
pub(super) struct Ages {
    known: Arc<Mutex<Known>>,
    stop: Arc<AtomicBool>,
    lacking: Option<&'static str>,
}

/// A generation that was begun: what its group had then.
#[derive(Clone, Copy, Debug)]
struct Begun {
    seq: u64,
    at: Nanos,
    all: u64,
}

/// A group on a node.
type Place = (u64, u32);

impl Ages {
    /// What can be read, and what groups have; nothing is begun yet.
    pub(super) fn new(root: &Root, is_wanted: bool) -> Self {
        let lacking = match is_wanted {
            true => ages::lacking(root),
            false => Some("--no-ages"),
        };
        let mut known = Known::default();
        if lacking.is_none() {
            known.met(&ages::table(root).unwrap_or_default());
        }
        Self {
            known: Arc::new(Mutex::new(known)),
            stop: Arc::default(),
            lacking,
        }
    }

    /// Begins where ages can be read.
    pub(super) fn begin(&self, root: &Root) {
        if self.lacking.is_some() {
            return;
        }
        let reader = Reader {
            root: root.clone(),
            known: Arc::clone(&self.known),
            stop: Arc::clone(&self.stop),
            begun: BTreeMap::new(),
        };
        thread::spawn(move || reader.run());
    }

    /// Why there are none.
    pub(super) fn lacking(&self) -> Option<&'static str> {
        self.lacking
    }

    /// Begins no more generations.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The memory whose ages are known, and what of it was there when the recording began.
    pub(super) fn memory(&self) -> (Vec<LoadMemory>, Pages) {
        let known = lock(&self.known).clone();
        let is_seen = |(_, group): &(&String, &Group)| !group.seen.is_empty();
        let seen = known.groups.iter().filter(is_seen);
        let began = seen.clone().map(|(_, group)| group.began).sum();
        let memory = seen.map(|(path, group)| LoadMemory {
            group: path.clone(),
            pages: Pages(group.most),
            classes: classes(&group.seen, Pages(group.most)),
        });
        (memory.collect(), Pages(began))
    }

    /// The longest time within which pages were looked for.
    pub(super) fn longest(&self) -> Nanos {
        lock(&self.known).longest()
    }

    /// What is said of it.
    pub(super) fn said(&self) -> String {
        let known = lock(&self.known);
        match self.lacking {
            Some(lacking) => format!("none: {lacking}"),
            None if known.groups.values().all(|group| group.seen.is_empty()) => {
                "none: the kernel reclaimed all the time, or it ended too early".to_owned()
            }
            None => format!(
                "by lru_gen, {}, within up to {} s; the last took {} ms of a CPU",
                counted(known.rounds, "round"),
                known.longest().0 / Nanos::SECOND.0,
                known.took.as_millis()
            ),
        }
    }
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    fn longest(&self) -> Nanos {
        let seen = self.groups.values().flat_map(|group| &group.seen);
        seen.map(|it| it.time).max().unwrap_or_default()
    }

    /// What groups have when the recording begins.
    fn met(&mut self, table: &[Generation]) {
        for (path, pages) in by_group(table) {
            let group = self.groups.entry(path.to_owned()).or_default();
            (group.began, group.most) = (pages, pages);
        }
    }

    /// What was seen of the pages of a group.
    fn saw(&mut self, path: &str, all: u64, seen: Seen) {
        let group = self.groups.entry(path.to_owned()).or_default();
        group.most = group.most.max(all);
        if group.seen.len() < MOST_SEEN {
            group.seen.push(seen);
        }
    }
}

/// The anonymous pages of each group.
fn by_group(table: &[Generation]) -> BTreeMap<&str, u64> {
    let mut groups = BTreeMap::new();
    for generation in table {
        let path = generation.memcg.trim_start_matches('/');
        *groups.entry(path).or_insert(0) += generation.anon.0;
    }
    groups
}

/// The paths of the largest groups.
fn largest(table: &[Generation]) -> Vec<String> {
    let groups = by_group(table).into_iter();
    let mut groups: Vec<(&str, u64)> = groups.filter(|(_, pages)| *pages >= LEAST).collect();
    groups.sort_by_key(|(_, pages)| Reverse(*pages));
    let paths = groups.into_iter().map(|(path, _)| path.to_owned());
    paths
        .filter(|path| !path.contains(char::is_control))
        .take(GROUPS)
        .collect()
}

/// Anonymous pages of a group on a node, and its youngest generation.
fn on_node(table: &[Generation], place: Place) -> Option<(u64, &Generation)> {
    let own = table.iter().filter(|it| (it.id, it.node) == place);
    let all = own.clone().map(|it| it.anon.0).sum();
    Some((all, own.max_by_key(|it| it.seq)?))
}

/// Reads ages.
struct Reader {
    root: Root,
    known: Arc<Mutex<Known>>,
    stop: Arc<AtomicBool>,
    begun: BTreeMap<Place, Begun>,
}

impl Reader {
    fn run(mut self) {
        while !self.is_stopped() {
            let began = Instant::now();
            self.round();
            self.sleep_until(began + ROUND);
        }
    }

    fn round(&mut self) {
        let Ok(table) = ages::table(&self.root) else {
            return;
        };
        let groups = largest(&table);
        self.begun.clear();
        lock(&self.known).rounds += 1;
        let mut took = self.step(&groups);
        for time in TIMES {
            self.sleep_until(Instant::now() + time);
            if self.is_stopped() || took > MOST_CPU {
                return;
            }
            took += self.step(&groups);
            lock(&self.known).took = took;
        }
    }

    /// Begins generations, and looks what was in the ones before; how long that took.
    fn step(&mut self, groups: &[String]) -> Duration {
        if !self.is_quiet() {
            self.begun.clear();
            return Duration::ZERO;
        }
        let Ok(before) = ages::table(&self.root) else {
            return Duration::ZERO;
        };
        let began = Instant::now();
        let is_wanted = |it: &&Generation| {
            let path = it.memcg.trim_start_matches('/');
            groups.iter().any(|group| group == path)
        };
        let mut places: Vec<Place> = before
            .iter()
            .filter(is_wanted)
            .map(|it| (it.id, it.node))
            .collect();
        places.dedup();
        let mut asked = BTreeMap::new();
        for place in places {
            let youngest = on_node(&before, place).map(|(_, youngest)| youngest);
            let at = monotonic();
            if let Some(youngest) = youngest
                && ages::age(&self.root, youngest).is_ok()
            {
                asked.insert(place, (youngest.seq, at));
            }
        }
        let took = began.elapsed();
        if let Ok(after) = ages::table(&self.root) {
            self.look(&after, &asked);
        }
        took
    }

    /// What is in the generation before the youngest was used since that began, or is new.
    fn look(&mut self, table: &[Generation], asked: &BTreeMap<Place, (u64, Nanos)>) {
        let before = std::mem::take(&mut self.begun);
        let mut seen: BTreeMap<&str, (u64, Option<Seen>)> = BTreeMap::new();
        for (&place, &(seq, at)) in asked {
            let Some((all, youngest)) = on_node(table, place) else {
                continue;
            };
            let (path, is_next) = (
                youngest.memcg.trim_start_matches('/'),
                youngest.seq == seq + 1,
            );
            let last = before.get(&place).filter(|last| is_next && last.seq == seq);
            let own = table
                .iter()
                .find(|it| (it.id, it.node, it.seq) == (place.0, place.1, seq));
            let used = last.zip(own).map(|(last, own)| Seen {
                time: at.saturating_sub(last.at),
                pages: Pages(own.anon.0.saturating_sub(all.saturating_sub(last.all))),
            });
            if is_next {
                let seq = youngest.seq;
                self.begun.insert(place, Begun { seq, at, all });
            }
            let sum = seen.entry(path).or_insert((
                0,
                Some(Seen {
                    time: Nanos::ZERO,
                    pages: Pages(0),
                }),
            ));
            sum.0 += all;
            sum.1 = sum.1.zip(used).map(|(sum, used)| Seen {
                time: sum.time.max(used.time),
                pages: sum.pages + used.pages,
            });
        }
        let mut known = lock(&self.known);
        for (path, (all, seen)) in seen {
            if let Some(seen) = seen {
                known.saw(path, all, seen);
            }
        }
    }

    /// Waits until the kernel does not reclaim; whether that came.
    fn is_quiet(&self) -> bool {
        let scanned = || {
            let text = self.root.look("proc/vmstat").ok()?;
            let vmstat = Vmstat::parse(&text).ok()?;
            Some(vmstat.get("pgscan_kswapd")? + vmstat.get("pgscan_direct")?)
        };
        let began = Instant::now();
        while began.elapsed() < PATIENCE && !self.is_stopped() {
            let before = scanned();
            thread::sleep(QUIET);
            if before.is_some() && before == scanned() {
                return true;
            }
        }
        false
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn sleep_until(&self, end: Instant) {
        const TURN: Duration = Duration::from_millis(100);
        while !self.is_stopped() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(TURN));
        }
    }
}

#[cfg(test)]
mod tests;
