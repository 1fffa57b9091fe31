//! Whatever a machine seems to do, no action is out of bounds: counters that jump, groups and files
//! that come and go, memory that is taken away.

use std::collections::{BTreeMap, BTreeSet};

use mm::prng::Prng;
use mm::units::{Bytes, Nanos, Pages};
use plimsoll_guard_policies::sample::{Disk, Merging, Stalls, Use, Watermarks, Writeback, Zone};
use plimsoll_guard_policies::{
    Action, Config, Decision, Dropped, File, Group, Guard, Held, Looked, Memory, Sample, Touch,
    User,
};
use proptest::prelude::*;

/// The next sample's figures, by themselves: nothing need fit the one before.
struct Drawn {
    at: u64,
    memory: [u64; 8],
    swappiness: u64,
    groups: [Option<(u64, u64)>; 2],
    touches: Vec<Touch>,
    sizes: [Option<u64>; 8],
    must_drop: bool,
    /// What was dropped, and where the search ended.
    dropped: [(u64, u64); 8],
    stale: u64,
    /// Stalls, the threshold, ksmd's CPU time, and its scans.
    counts: [u64; 4],
    zones: Vec<Zone>,
    /// Name, bytes written and time busy.
    disks: Vec<(u64, u64, u64)>,
    is_strict: Option<bool>,
    is_theirs: bool,
}

/// Amounts of every order, and the two ends.
fn bytes(from: &mut Prng) -> u64 {
    match from.below(4) {
        0 => [0, u64::MAX][from.below(2) as usize],
        1 => from.below(1 << 20),
        2 => from.below(1 << 40),
        _ => from.below(u64::MAX),
    }
}

fn maybe(from: &mut Prng) -> Option<u64> {
    (from.below(4) > 0).then(|| bytes(from))
}

fn touch(from: &mut Prng) -> Touch {
    let uses = [
        Use::Opened,
        Use::Closed,
        Use::Written,
        Use::Executed,
        Use::Named,
    ];
    let how = uses[from.below(5) as usize];
    let file = File(from.below(2000) as u32);
    let user = [User::System, User::Other(1), User::Other(2)][from.below(3) as usize];
    Touch { file, how, user }
}

impl Drawn {
    fn draw(from: &mut Prng) -> Self {
        Self {
            at: bytes(from),
            memory: std::array::from_fn(|_| bytes(from)),
            swappiness: from.below(300),
            groups: std::array::from_fn(|_| Some((maybe(from)?, bytes(from)))),
            touches: (0..from.below(8)).map(|_| touch(from)).collect(),
            sizes: std::array::from_fn(|_| maybe(from)),
            must_drop: from.below(4) > 0,
            dropped: std::array::from_fn(|_| (bytes(from), bytes(from))),
            stale: from.below(u64::MAX),
            counts: std::array::from_fn(|_| bytes(from)),
            zones: (0..from.below(4)).map(|_| zone(from)).collect(),
            disks: (0..from.below(4))
                .map(|name| (name, bytes(from), bytes(from)))
                .collect(),
            is_strict: [None, Some(false)][from.below(2) as usize],
            is_theirs: from.below(50) == 0,
        }
    }

    /// The devices, with what was set or else their own.
    fn disks(&self, world: &World) -> Vec<Disk> {
        let disk = |&(name, written, busy): &(u64, u64, u64)| {
            let name = format!("sd{name}");
            let fine = world.set.get(&format!("bdi.{name}.max_ratio_fine"));
            let percent = world.set.get(&format!("bdi.{name}.max_ratio"));
            let percent = percent.map(|value| value * 10_000);
            Disk {
                share: fine.copied().or(percent).unwrap_or(1_000_000),
                name,
                written: Bytes(written),
                busy: Nanos(busy),
                is_strict: self.is_strict,
            }
        };
        self.disks.iter().map(disk).collect()
    }

    /// Answers for the files that were to be dropped.
    fn dropped(&self, files: &[File]) -> Vec<Dropped> {
        let found = self.sizes.iter().zip(&self.dropped).cycle();
        let answer =
            |(file, (size, (bytes, next))): (&File, (&Option<u64>, &(u64, u64)))| Dropped {
                file: *file,
                size: size.map(Bytes),
                bytes: Bytes(*bytes),
                next: Bytes(*next),
            };
        files.iter().zip(found).map(answer).collect()
    }

    fn merging(&self, world: &World) -> Merging {
        let set = |name: &str, own| world.set.get(name).copied().unwrap_or(own);
        Merging {
            run: set("ksm.run", 0),
            pages_to_scan: set("ksm.pages_to_scan", 100),
            saved: Pages(self.stale),
            copied: Pages(self.counts[0]),
            scans: self.counts[3],
            cpu: Nanos(self.counts[2]),
            is_theirs: self.is_theirs,
        }
    }
}

fn zone(from: &mut Prng) -> Zone {
    let [managed, free, min, low] = std::array::from_fn(|_| Pages(bytes(from)));
    Zone {
        managed,
        free,
        min,
        low,
    }
}

/// What is locked, by file: the world that does what was decided.
#[derive(Default)]
struct World {
    locked: BTreeMap<File, Bytes>,
    asked: Vec<File>,
    dropped: Vec<File>,
    /// Files that the configuration named so far; it must name a stale one again.
    named: BTreeSet<File>,
    /// `vm.swappiness` before the guard wrote it.
    own: Option<u64>,
    /// What the guard has set besides.
    set: BTreeMap<String, u64>,
}

impl World {
    fn take(&mut self, decision: Decision, sample: &Sample<'_>) -> Result<(), TestCaseError> {
        match decision.action {
            Action::Look(file) => self.asked.push(file),
            Action::Lock { file, length } => _ = self.locked.insert(file, length),
            Action::Unlock(file) => prop_assert!(self.locked.remove(&file).is_some()),
            Action::Fill { file, length, most } => {
                prop_assert_eq!(self.locked.get(&file), Some(&length));
                prop_assert!(most.0 <= 16 << 20 && most <= length);
            }
            Action::Reclaim { amount, .. } => {
                prop_assert!(amount > Bytes::ZERO && amount.0 <= 32 << 20);
            }
            Action::Drop { files, most } => {
                prop_assert!(sample.must_drop && most > Bytes::ZERO && most.0 <= 32 << 20);
                prop_assert!((1..=32).contains(&files.len()));
                for place in files {
                    let file = place.file;
                    prop_assert!(!sample.held.iter().any(|held| held.file == file));
                    prop_assert!(!self.named.contains(&file));
                    self.dropped.push(file);
                }
            }
            Action::GiveBack(tunable) => _ = self.set.remove(&tunable),
            Action::Set(setting) => {
                let value: u64 = setting.value.parse().unwrap();
                let tunable = setting.tunable;
                let file = tunable.rsplit('.').next().unwrap();
                let is_within = match file {
                    "swappiness" => {
                        let is_right = value == 0 || self.own == Some(value);
                        self.own = (value == 0).then_some(sample.swappiness);
                        is_right
                    }
                    // 4 % of the memory between min and high is two gaps of 200 in 10 000.
                    "watermark_scale_factor" => (1..=200).contains(&value),
                    "run" | "strict_limit" => value <= 1,
                    "pages_to_scan" => (10..=100_000).contains(&value),
                    "max_ratio" => (1..90).contains(&value),
                    "max_ratio_fine" => (1..900_000).contains(&value),
                    "dirty_bytes" => value >= 7 << 20,
                    "dirty_background_bytes" => {
                        value >= 256 << 10 && self.set.get("vm.dirty_bytes") > Some(&value)
                    }
                    _ => false,
                };
                prop_assert!(is_within, "{} = {}", tunable, value);
                self.set.insert(tunable, value);
            }
        }
        Ok(())
    }
}

proptest! {
    // 500 streams of 200 samples.
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn no_action_is_out_of_bounds(seed: u64) {
        let mut from = Prng::for_part(seed, "samples");
        let config = [
            ("floor.clean_min", "60 %"),
            ("floor.anon_min", "15 %"),
            ("ceiling.total", "20 %"),
            ("ceiling.groups.a", "64 MiB"),
            ("ceiling.groups.b", "0 B"),
            ("watermarks.most", "4 %"),
            ("writeback.flush_within", "2 s"),
            ("ksm.most_cpu", "20 %"),
        ];
        let mut guard = Guard::new(&Config::read(config).unwrap());
        let mut world = World::default();
        for number in 0..200 {
            let drawn = Drawn::draw(&mut from);
            let [total, free, available, file, dirty, anon, swap_total, swap_free] =
                drawn.memory.map(Bytes);
            let asked = std::mem::take(&mut world.asked);
            let looked: Vec<_> = asked.iter().zip(drawn.sizes.iter().cycle()).map(|(file, size)| {
                Looked { file: *file, size: size.map(Bytes), resident: Bytes(drawn.stale) }
            }).collect();
            let dropped = drawn.dropped(&std::mem::take(&mut world.dropped));
            let held: Vec<_> = world.locked.iter().enumerate().map(|(index, (file, length))| Held {
                file: *file,
                locked: Bytes(length.0 / 2),
                is_stale: drawn.stale >> (index % 32) & 1 == 1,
            }).collect();
            let groups = drawn.groups.map(|group| {
                group.map(|(file, dirty)| Group { file: Bytes(file), dirty: Bytes(dirty) })
            });
            let disks = drawn.disks(&world);
            let sample = Sample {
                at: Nanos(drawn.at),
                memory: Memory { total, free, available, file, dirty, anon, swap_total, swap_free },
                swappiness: drawn.swappiness,
                groups: &groups[..number % 3],
                touches: &drawn.touches,
                looked: &looked,
                held: &held,
                must_drop: drawn.must_drop,
                dropped: &dropped,
                watermarks: Some(Watermarks {
                    scale_factor: world.set.get("vm.watermark_scale_factor").copied().unwrap_or(10),
                    stalls: Stalls { count: drawn.counts[0], reclaimed: Pages(drawn.counts[1]) },
                    zones: &drawn.zones,
                }),
                writeback: Some(Writeback {
                    threshold: Bytes(drawn.counts[1]),
                    dirty_bytes: world.set.get("vm.dirty_bytes").copied().unwrap_or(0),
                    disks: &disks,
                }),
                merging: Some(drawn.merging(&world)),
            };
            let mut decisions = Vec::new();
            let next = guard.decide(&sample, &mut decisions);
            prop_assert!(next <= Nanos::SECOND);
            for decision in decisions {
                world.take(decision, &sample)?;
            }
            for held in held.iter().filter(|held| held.is_stale) {
                world.named.remove(&held.file);
            }
            let named = drawn.touches.iter().filter(|touch| touch.how == Use::Named);
            world.named.extend(named.map(|touch| touch.file));
            let locked: u128 = world.locked.values().map(|length| u128::from(length.0)).sum();
            prop_assert!(locked <= u128::from(total.0) / 4, "{} of {}", locked, total.0);
        }
    }
}
