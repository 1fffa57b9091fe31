//! Whatever a machine seems to do, no action is out of bounds: counters that jump, groups and files
//! that come and go, memory that is taken away.

use std::collections::BTreeMap;

use mm::units::{Bytes, Nanos};
use plimsoll_guard_policies::sample::Use;
use plimsoll_guard_policies::{
    Action, Config, Decision, File, Group, Guard, Held, Looked, Memory, Sample, Touch,
};
use proptest::prelude::*;

/// The next sample's figures, by themselves: nothing need fit the one before.
#[derive(Clone, Debug)]
struct Drawn {
    at: u64,
    memory: [u64; 7],
    swappiness: u64,
    groups: [Option<(u64, u64)>; 2],
    touches: Vec<(u32, u8)>,
    sizes: Vec<Option<u64>>,
    stale: u32,
}

fn any_bytes() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        0..(1_u64 << 20),
        0..(1_u64 << 40),
        any::<u64>()
    ]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let group = || proptest::option::of((any_bytes(), any_bytes()));
    (
        any_bytes(),
        proptest::array::uniform7(any_bytes()),
        0..300_u64,
        [group(), group()],
        proptest::collection::vec((0..2000_u32, 0..3_u8), 0..8),
        proptest::collection::vec(proptest::option::of(any_bytes()), 8),
        any::<u32>(),
    )
        .prop_map(
            |(at, memory, swappiness, groups, touches, sizes, stale)| Drawn {
                at,
                memory,
                swappiness,
                groups,
                touches,
                sizes,
                stale,
            },
        )
}

/// What is locked, by file: the world that does what was decided.
#[derive(Default)]
struct World {
    locked: BTreeMap<File, Bytes>,
    asked: Vec<File>,
    /// `vm.swappiness` before the guard wrote it.
    own: Option<u64>,
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
            Action::Set(setting) => {
                prop_assert_eq!(&setting.tunable, "vm.swappiness");
                let value: u64 = setting.value.parse().unwrap();
                prop_assert!(value == 0 || self.own == Some(value), "{}", value);
                self.own = (value == 0).then_some(sample.swappiness);
            }
        }
        Ok(())
    }
}

fn touch((file, how): (u32, u8)) -> Touch {
    let how = [Use::Closed, Use::Executed, Use::Named][usize::from(how)];
    Touch {
        file: File(file),
        how,
    }
}

proptest! {
    // 500 streams of up to 200 samples: 50 000 on average, twice over with what is looked at.
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn no_action_is_out_of_bounds(stream in proptest::collection::vec(drawn(), 1..400)) {
        let config = [
            ("floor.clean_min", "60 %"),
            ("floor.anon_min", "15 %"),
            ("ceiling.total", "20 %"),
            ("ceiling.groups.a", "64 MiB"),
            ("ceiling.groups.b", "0 B"),
        ];
        let mut guard = Guard::new(&Config::read(config).unwrap());
        let mut world = World::default();
        for (number, drawn) in stream.iter().enumerate() {
            let [total, available, file, dirty, anon, swap_total, swap_free] =
                drawn.memory.map(Bytes);
            let touches: Vec<_> = drawn.touches.iter().map(|drawn| touch(*drawn)).collect();
            let asked = std::mem::take(&mut world.asked);
            let looked: Vec<_> = asked.iter().zip(drawn.sizes.iter().cycle()).map(|(file, size)| {
                Looked { file: *file, size: size.map(Bytes) }
            }).collect();
            let held: Vec<_> = world.locked.iter().enumerate().map(|(index, (file, length))| Held {
                file: *file,
                locked: Bytes(length.0 / 2),
                is_stale: drawn.stale >> (index % 32) & 1 == 1,
            }).collect();
            let groups = drawn.groups.map(|group| {
                group.map(|(file, dirty)| Group { file: Bytes(file), dirty: Bytes(dirty) })
            });
            let sample = Sample {
                at: Nanos(drawn.at),
                memory: Memory { total, available, file, dirty, anon, swap_total, swap_free },
                swappiness: drawn.swappiness,
                groups: &groups[..number % 3],
                touches: &touches,
                looked: &looked,
                held: &held,
            };
            let mut decisions = Vec::new();
            let next = guard.decide(&sample, &mut decisions);
            prop_assert!(next.0 <= 200_000_000);
            for decision in decisions {
                world.take(decision, &sample)?;
            }
            let locked: u128 = world.locked.values().map(|length| u128::from(length.0)).sum();
            prop_assert!(locked <= u128::from(total.0) / 4, "{} of {}", locked, total.0);
        }
    }
}
