//! The floor in a world that does what it decides.

use alloc::vec;

use super::table::MOST_LOCKS;
use super::*;
use crate::sample::{AMPLE, File, Memory};
use crate::shares::User;

const TOTAL: Bytes = Bytes(1 << 30);

/// A floor of 10 % of 1 GiB, and the world that does what it decides.
struct World {
    floor: Floor,
    at: Nanos,
    locked: Vec<(File, Bytes)>,
    /// What is in memory of each file; everything where it says nothing.
    resident: Option<Bytes>,
    free: Bytes,
    /// Files that were looked at.
    looks: usize,
}

impl World {
    fn new() -> Self {
        let config = config::Floor {
            clean_min: Amount::OfTotal(100),
            ..config::Floor::default()
        };
        Self {
            floor: Floor::new(&config),
            at: Nanos(0),
            locked: Vec::new(),
            resident: None,
            free: Bytes::ZERO,
            looks: 0,
        }
    }

    fn decide(&mut self, touches: &[Touch], looked: &[Looked], held: &[Held]) -> Vec<Action> {
        let sample = Sample {
            at: self.at,
            memory: Memory {
                total: TOTAL,
                free: self.free,
                ..Memory::default()
            },
            touches,
            looked,
            held,
            ..Sample::default()
        };
        let mut decisions = Vec::new();
        self.floor.decide(&sample, &mut decisions);
        decisions.into_iter().map(|it| it.action).collect()
    }

    /// A file of this size is used, and whatever follows is done.
    fn touch(&mut self, file: u32, how: Use, size: Bytes) {
        self.at += Nanos::SECOND;
        self.touch_by(User::System, file, how, size);
    }

    /// The same by a user, at the same time as before.
    fn touch_by(&mut self, user: User, file: u32, how: Use, size: Bytes) {
        let file = File(file);
        let first = self.decide(&[Touch { file, how, user }], &[], &[]);
        let asked = first.contains(&Action::Look(file));
        self.looks += usize::from(asked);
        let size = Some(size);
        let then = match asked {
            true => self.decide(
                &[],
                &[Looked {
                    file,
                    size,
                    resident: self.resident.unwrap_or(LOOKED_AT),
                }],
                &[],
            ),
            false => Vec::new(),
        };
        for action in first.into_iter().chain(then) {
            match action {
                Action::Lock { file, length } => {
                    self.locked.retain(|(other, _)| *other != file);
                    self.locked.push((file, length));
                }
                Action::Unlock(file) => self.locked.retain(|(other, _)| *other != file),
                Action::Look(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn files(&self) -> Vec<u32> {
        let mut files: Vec<_> = self.locked.iter().map(|(file, _)| file.0).collect();
        files.sort_unstable();
        files
    }
}

const MIB: u64 = 1 << 20;

#[test]
fn a_file_is_locked_at_its_second_use_and_a_program_at_its_first() {
    let mut world = World::new();
    world.touch(1, Use::Closed, Bytes(MIB));
    world.touch(2, Use::Executed, Bytes(MIB));
    assert_eq!(world.files(), [2]);
    world.touch(1, Use::Closed, Bytes(MIB));
    assert_eq!(world.files(), [1, 2]);
}

#[test]
fn a_file_that_is_used_once_in_a_while_is_left_alone() {
    let mut world = World::new();
    for _ in 0..10 {
        world.touch(1, Use::Closed, Bytes(MIB));
        world.at += Nanos(120_000_000_000);
    }
    assert_eq!(world.files(), [0; 0]);
}

#[test]
fn a_file_beyond_the_budget_is_locked_from_its_beginning_and_a_huge_one_is_not() {
    let mut world = World::new();
    for _ in 0..3 {
        world.touch(1, Use::Closed, Bytes(300 * MIB));
        world.touch(2, Use::Closed, Bytes(500 * MIB));
    }
    let budget = TOTAL.0 / 1000 * 100;
    assert_eq!(world.locked, [(File(1), Bytes(budget / 10 * 9))]);
}

#[test]
fn what_is_used_much_more_takes_the_place_of_what_is_used_less() {
    let mut world = World::new();
    for _ in 0..2 {
        world.touch(1, Use::Closed, Bytes(60 * MIB));
        world.touch(2, Use::Closed, Bytes(60 * MIB));
    }
    assert_eq!(world.files(), [1], "as often is no reason");
    for _ in 0..4 {
        world.touch(2, Use::Closed, Bytes(60 * MIB));
    }
    assert_eq!(world.files(), [2]);
}

#[test]
fn a_lock_is_never_forgotten_however_many_small_programs_run() {
    let mut world = World::new();
    for file in 0..3000 {
        world.touch(file, Use::Executed, Bytes(4096));
    }
    assert_eq!(world.locked.len(), MOST_LOCKS);
    let held = world.locked.iter().map(|(file, locked)| Held {
        file: *file,
        locked: *locked,
        is_stale: true,
    });
    let held: Vec<_> = held.collect();
    let unlocked = world.decide(&[], &[], &held);
    assert_eq!(unlocked.len(), MOST_LOCKS, "each of them is still known");
}

#[test]
fn where_the_number_of_locks_is_short_a_small_file_goes_for_a_large_one_and_for_no_other() {
    let mut world = World::new();
    // Each is used as often as the others, and at the same time.
    let twice = |world: &mut World, file, size| {
        world.at = Nanos::ZERO;
        (0..2).for_each(|_| world.touch(file, Use::Closed, size));
    };
    (0..MOST_LOCKS as u32).for_each(|file| twice(&mut world, file, Bytes(4096)));
    twice(&mut world, 5000, Bytes(4096));
    assert!(!world.files().contains(&5000));
    let looks = world.looks;
    world.at = Nanos::ZERO;
    world.touch(5000, Use::Closed, Bytes(4096));
    assert_eq!(world.looks, looks, "its size is known");
    twice(&mut world, 6000, Bytes(10 * MIB));
    assert!(world.files().contains(&6000) && world.locked.len() == MOST_LOCKS);
}

#[test]
fn where_memory_is_idle_no_lock_goes_for_another_and_no_gap_is_filled() {
    let mut world = World::new();
    world.free = AMPLE;
    (0..2).for_each(|_| world.touch(1, Use::Closed, Bytes(60 * MIB)));
    world.at += Nanos(120_000_000_000);
    for _ in 0..6 {
        world.touch(2, Use::Closed, Bytes(60 * MIB));
    }
    let held = [Held {
        file: File(1),
        locked: Bytes(MIB),
        is_stale: false,
    }];
    assert_eq!(world.decide(&[], &[], &held), []);
    assert_eq!((world.files(), world.looks), (vec![1], 2));
    world.free = Bytes(AMPLE.0 - 1);
    world.touch(2, Use::Closed, Bytes(60 * MIB));
    assert_eq!(world.files(), [2]);
    let held = held.map(|held| Held {
        file: File(2),
        ..held
    });
    let filled = world.decide(&[], &[], &held);
    assert!(matches!(filled[..], [Action::Fill { .. }]), "{filled:?}");
}

#[test]
fn a_named_file_goes_first_and_stays() {
    let mut world = World::new();
    for _ in 0..5 {
        world.touch(1, Use::Closed, Bytes(60 * MIB));
    }
    world.touch(2, Use::Named, Bytes(60 * MIB));
    assert_eq!(world.files(), [2]);
    for _ in 0..50 {
        world.touch(1, Use::Closed, Bytes(60 * MIB));
    }
    assert_eq!(world.files(), [2]);
}

#[test]
fn a_file_that_is_opened_and_not_read_is_left_alone_unless_it_is_named() {
    let mut world = World::new();
    world.resident = Some(Bytes(9 * MIB));
    for _ in 0..3 {
        world.touch(1, Use::Closed, Bytes(40 * MIB));
    }
    assert_eq!(world.files(), [0; 0]);
    world.resident = Some(Bytes(10 * MIB));
    world.touch(1, Use::Closed, Bytes(40 * MIB));
    assert_eq!(world.files(), [1]);
    world.resident = Some(Bytes::ZERO);
    world.touch(2, Use::Named, Bytes(20 * MIB));
    assert_eq!(world.files(), [1, 2]);
}

#[test]
fn a_file_that_goes_is_let_go_and_a_gap_is_filled_in_parts() {
    let mut world = World::new();
    world.touch(1, Use::Closed, Bytes(60 * MIB));
    world.touch(1, Use::Closed, Bytes(60 * MIB));
    let held = |locked: u64, is_stale| Held {
        file: File(1),
        locked: Bytes(locked * MIB),
        is_stale,
    };
    let fill = |most: u64| {
        vec![Action::Fill {
            file: File(1),
            length: Bytes(60 * MIB),
            most: Bytes(most * MIB),
        }]
    };
    assert_eq!(world.decide(&[], &[], &[held(10, false)]), fill(16));
    assert_eq!(world.decide(&[], &[], &[held(50, false)]), fill(10));
    assert_eq!(world.decide(&[], &[], &[held(60, false)]), []);
    let gone = world.decide(&[], &[], &[held(60, true)]);
    assert_eq!(gone, [Action::Unlock(File(1))]);
}

const NOBODY: User = User::Other(65534);

#[test]
fn what_another_user_reads_ever_so_often_takes_nothing_from_the_systems_share() {
    let mut world = World::new();
    // 102 MiB are locked at most.
    (0..2).for_each(|_| world.touch(1, Use::Closed, Bytes(90 * MIB)));
    for _ in 0..60 {
        world.at += Nanos::SECOND;
        for file in 10..15 {
            (0..20).for_each(|_| world.touch_by(NOBODY, file, Use::Closed, Bytes(20 * MIB)));
        }
        world.touch_by(User::System, 1, Use::Closed, Bytes(90 * MIB));
        assert!(world.files().contains(&1), "{:?}", world.files());
    }
}

#[test]
fn the_system_gets_its_share_of_what_another_user_has_taken() {
    for free in [Bytes::ZERO, AMPLE] {
        let mut world = World::new();
        world.free = free;
        for file in 10..20 {
            (0..9).for_each(|_| world.touch_by(NOBODY, file, Use::Closed, Bytes(10 * MIB)));
        }
        assert_eq!(world.files().len(), 10, "what nobody claims it may have");
        (0..2).for_each(|_| world.touch(1, Use::Closed, Bytes(45 * MIB)));
        assert!(world.files().contains(&1), "{:?}", world.files());
        assert_eq!(world.files().len(), 6, "no more goes than that");
        // A further user has a claim on a quarter, and no more than that.
        let other = User::Other(1000);
        (0..2).for_each(|_| world.touch_by(other, 2, Use::Closed, Bytes(20 * MIB)));
        (0..2).for_each(|_| world.touch_by(other, 3, Use::Closed, Bytes(10 * MIB)));
        assert_eq!((world.files().len(), &world.files()[..2]), (5, &[1, 2][..]));
    }
}

#[test]
fn files_of_one_byte_take_no_slot_that_the_system_claims() {
    let mut world = World::new();
    for file in 0..2000 {
        (0..9).for_each(|_| world.touch_by(NOBODY, file, Use::Closed, Bytes(1)));
        world.at += Nanos(10_000_000);
    }
    assert_eq!(world.files().len(), MOST_LOCKS);
    for file in 5000..5300 {
        (0..2).for_each(|_| world.touch_by(User::System, file, Use::Closed, Bytes(1)));
        world.at += Nanos(10_000_000);
    }
    let of_the_system = world.files().into_iter().filter(|file| *file >= 5000);
    assert_eq!(
        (of_the_system.count(), world.files().len()),
        (300, MOST_LOCKS)
    );
}

#[test]
fn a_flood_of_files_makes_nobody_elses_forgotten() {
    let mut world = World::new();
    world.touch(1, Use::Closed, Bytes(MIB));
    for file in 10..9000 {
        world.touch_by(NOBODY, file, Use::Closed, Bytes(MIB));
    }
    world.touch(1, Use::Closed, Bytes(MIB));
    assert!(world.files().contains(&1), "its first use is not forgotten");
}

#[test]
fn what_another_user_does_with_a_file_counts_on_its_own_share_alone() {
    let mut world = World::new();
    let user_and_score = |world: &World| {
        let entry = world.floor.files.get(File(1)).expect("known");
        (entry.user, libm::round(entry.uses().score(world.at)))
    };
    world.touch(1, Use::Closed, Bytes(MIB));
    (0..9).for_each(|_| world.touch_by(NOBODY, 1, Use::Closed, Bytes(MIB)));
    assert_eq!(
        (world.files(), user_and_score(&world)),
        (vec![1], (NOBODY, 9.0))
    );
    // The system wants it, too: by its own uses, which nobody has made more.
    world.touch(1, Use::Closed, Bytes(MIB));
    (0..9).for_each(|_| world.touch_by(NOBODY, 1, Use::Closed, Bytes(MIB)));
    assert_eq!(
        (world.files(), user_and_score(&world)),
        (vec![1], (User::System, 2.0))
    );
    // It has left it.
    world.at += Nanos(300_000_000_000);
    world.touch_by(NOBODY, 1, Use::Closed, Bytes(MIB));
    assert_eq!(user_and_score(&world), (NOBODY, 2.0));
}

#[test]
fn a_backup_by_root_changes_nothing_for_what_a_user_reads_every_second() {
    let mut world = World::new();
    let service = User::Other(1001);
    let reads = |world: &mut World| {
        world.at += Nanos::SECOND;
        world.touch_by(service, 1, Use::Closed, Bytes(60 * MIB));
    };
    (0..30).for_each(|_| reads(&mut world));
    for file in 1..2000 {
        world.touch_by(User::System, file, Use::Closed, Bytes(MIB));
    }
    (0..30).for_each(|_| reads(&mut world));
    let entry = world.floor.files.get(File(1)).expect("known");
    assert_eq!((world.files(), entry.user), (vec![1], service));
    assert!(entry.uses().score(world.at) > 40.0);
}

#[test]
fn one_user_has_only_so_many_files_weighed_in_a_sample() {
    let mut world = World::new();
    for (first, user, expected) in [(0, NOBODY, MOST_WEIGHED as usize), (500, User::System, 100)] {
        let touch = |number: u32| Touch {
            file: File(first + number / 2),
            how: Use::Closed,
            user,
        };
        let touches: Vec<Touch> = (0..200).map(touch).collect();
        let looks = world.decide(&touches, &[], &[]);
        assert_eq!(looks.len(), expected, "{user:?}");
    }
}
