//! The ceiling on streams at any speed, and what it leaves alone.

use core::mem;

use super::*;
use crate::action::MOST_DROPPED;
use crate::sample::{Dropped, Memory, Touch, Use};
use crate::shares::User;
use alloc::vec;

const TOTAL: Bytes = Bytes(1 << 30);
const CEILING: Bytes = Bytes(100 << 20);

/// A stream at `rate` bytes a second, for ten seconds, under a policy whose wishes come true at
/// once: the largest page cache after the first second, and how often it was looked at.
fn stream(rate: u64) -> (Bytes, usize) {
    let mut policy = Ceiling::new(config::Ceiling {
        total: Some(Amount::Bytes(CEILING)),
        groups: Vec::new(),
    });
    let (mut at, mut file, mut largest, mut looks) = (0, 50 << 20, 0, 0);
    let mut decisions = Vec::new();
    while at < 10 * Nanos::SECOND.0 {
        let memory = Memory {
            total: TOTAL,
            file: Bytes(file),
            ..Memory::default()
        };
        if at > Nanos::SECOND.0 {
            largest = largest.max(file);
        }
        let next = policy.decide(&sample(at, memory), |_| false, &mut decisions);
        for decision in decisions.drain(..) {
            let Action::Reclaim { amount, .. } = decision.action else {
                panic!("{decision:?}");
            };
            assert!(amount <= MOST_RECLAIMED);
            file -= amount.0;
        }
        at += next.0;
        file += part(rate, next);
        looks += 1;
    }
    (Bytes(largest), looks)
}

fn sample(at: u64, memory: Memory) -> Sample<'static> {
    Sample {
        at: Nanos(at),
        memory,
        ..Sample::default()
    }
}

#[test]
fn a_stream_at_any_speed_stays_within_a_twentieth_of_the_ceiling() {
    for rate in [1 << 20, 40 << 20, 200 << 20, 400 << 20] {
        let (largest, looks) = stream(rate);
        assert!(largest.0 <= CEILING.0 / 20 * 21, "{rate}: {largest}");
        assert!(
            largest.0 >= CEILING.0 / 2 || rate < 10 << 20,
            "{rate}: {largest}"
        );
        assert!(looks <= 1000, "{rate}: {looks} looks");
    }
    let (_, looks) = stream(0);
    assert_eq!(looks, 50, "no more than the tick where nothing grows");
}

#[test]
fn dirty_pages_are_left_to_writeback() {
    let mut policy = Ceiling::new(config::Ceiling {
        total: Some(Amount::Bytes(CEILING)),
        groups: Vec::new(),
    });
    let memory = Memory {
        total: TOTAL,
        file: Bytes(200 << 20),
        dirty: Bytes(195 << 20),
        ..Memory::default()
    };
    let mut decisions = Vec::new();
    policy.decide(&sample(0, memory), |_| false, &mut decisions);
    let [decision] = &decisions[..] else {
        panic!("{decisions:?}");
    };
    let expected = Action::Reclaim {
        scope: Scope::Machine,
        amount: Bytes(5 << 20),
    };
    assert_eq!(decision.action, expected);
}

/// A machine on which files go one by one.
struct World {
    policy: Ceiling,
    at: u64,
    /// What else is in the page cache.
    other: u64,
    /// What is in memory of each file, by its number.
    resident: Vec<u64>,
    touches: Vec<Touch>,
    dropped: Vec<Dropped>,
    /// Which files were asked for, in order.
    asked: Vec<u32>,
}

/// Larger than what any test reads.
const SIZE: Bytes = Bytes(1 << 40);
const KEPT: File = File(7);

impl World {
    fn new() -> Self {
        let policy = Ceiling::new(config::Ceiling {
            total: Some(Amount::Bytes(CEILING)),
            groups: Vec::new(),
        });
        Self {
            policy,
            at: 0,
            other: 0,
            resident: vec![0; 2000],
            touches: Vec::new(),
            dropped: Vec::new(),
            asked: Vec::new(),
        }
    }

    fn touch(&mut self, file: u32, how: Use) {
        let file = File(file);
        let user = User::System;
        self.touches.push(Touch { file, how, user });
    }

    fn opened(&mut self, file: u32, resident: u64) {
        self.touch(file, Use::Opened);
        self.resident[file as usize] += resident;
    }

    fn size(&self) -> u64 {
        self.other + self.resident.iter().sum::<u64>()
    }

    /// A sample, and what was wanted of it; when the next one is due.
    fn decide(&mut self) -> Nanos {
        let (touches, dropped) = (mem::take(&mut self.touches), mem::take(&mut self.dropped));
        let memory = Memory {
            total: TOTAL,
            file: Bytes(self.size()),
            ..Memory::default()
        };
        let sample = Sample {
            must_drop: true,
            touches: &touches,
            dropped: &dropped,
            ..sample(self.at, memory)
        };
        let mut decisions = Vec::new();
        let next = self
            .policy
            .decide(&sample, |file| file == KEPT, &mut decisions);
        for decision in decisions {
            let Action::Drop { files, most } = decision.action else {
                panic!("{decision:?}");
            };
            assert!(most <= MOST_RECLAIMED && files.len() <= MOST_DROPPED);
            self.drop(&files, most.0);
        }
        self.at += next.0;
        next
    }

    fn drop(&mut self, files: &[Search], mut most: u64) {
        for Search { file, from } in files {
            let resident = &mut self.resident[file.0 as usize];
            let bytes = most.min(*resident);
            *resident -= bytes;
            most -= bytes;
            self.asked.push(file.0);
            self.dropped.push(Dropped {
                file: *file,
                size: Some(SIZE),
                bytes: Bytes(bytes),
                next: from.saturating_add(Bytes(bytes)),
            });
            if most == 0 {
                return;
            }
        }
    }
}

#[test]
fn a_stream_of_files_stays_within_a_twentieth_where_they_are_dropped() {
    for (rate, per_file) in [
        (1_u64 << 20, u64::MAX),
        (40 << 20, 1 << 20),
        (200 << 20, u64::MAX),
        (400 << 20, u64::MAX),
    ] {
        let mut world = World::new();
        world.other = 50 << 20;
        world.opened(0, 0);
        let (mut largest, mut file, mut read, mut looks) = (0, 0, 0, 0);
        while world.at < 10 * Nanos::SECOND.0 {
            let next = world.decide();
            let more = part(rate, next);
            world.resident[file as usize] += more;
            read += more;
            if read >= per_file {
                world.touch(file, Use::Closed);
                (file, read) = (file + 1, 0);
                world.opened(file, 0);
            }
            if world.at > Nanos::SECOND.0 {
                largest = largest.max(world.size());
            }
            looks += 1;
        }
        assert!(largest <= CEILING.0 / 20 * 21, "{rate}: {largest}");
        assert!(looks <= 1000, "{rate}: {looks} looks");
    }
}

#[test]
fn the_file_that_was_used_least_goes_first_and_what_is_kept_or_used_again_stays() {
    let mut world = World::new();
    for file in [3, KEPT.0, 2, 1] {
        world.opened(file, 10 << 20);
        world.touch(file, Use::Closed);
    }
    world.opened(1, 0);
    world.decide();
    world.other = 150 << 20;
    for _ in 0..10 {
        world.decide();
    }
    let left: Vec<u64> = (1..4).map(|file| world.resident[file]).collect();
    assert_eq!(left, [10 << 20, 0, 0]);
    assert_eq!(world.resident[KEPT.0 as usize], 10 << 20);
    assert_eq!(world.asked[0], 2, "of two the one with the lower number");
    // Its second use counts less and less.
    world.at += 60 * Nanos::SECOND.0;
    world.decide();
    assert_eq!(world.resident[1], 0);
}

#[test]
fn a_file_that_is_larger_than_the_ceiling_is_a_stream_however_often_it_is_read() {
    let mut world = World::new();
    world.opened(1, 120 << 20);
    world.decide();
    for _ in 0..3 {
        world.opened(1, 0);
    }
    world.decide();
    assert!(world.size() <= CEILING.0, "{}", world.size());
}

#[test]
fn a_file_that_comes_back_without_being_opened_is_used_again() {
    let mut stream = Streams::new();
    let size = Some(Bytes(40 << 20));
    let seen = |stream: &mut Streams, touches: &[Touch], bytes| {
        let next = Bytes::ZERO;
        let file = File(1);
        let dropped = [Dropped {
            file,
            size,
            bytes,
            next,
        }];
        stream.see(&Sample {
            touches,
            dropped: &dropped,
            ..Sample::default()
        });
        stream.ready(Nanos::ZERO, CEILING, |_| false).len()
    };
    let how = Use::Opened;
    assert_eq!(
        seen(
            &mut stream,
            &[Touch {
                file: File(1),
                how,
                user: User::System
            }],
            Bytes::ZERO
        ),
        1
    );
    assert_eq!(seen(&mut stream, &[], Bytes(32 << 20)), 1);
    assert_eq!(seen(&mut stream, &[], Bytes(8 << 20)), 1);
    assert_eq!(seen(&mut stream, &[], Bytes(1 << 20)), 0);
}

#[test]
fn a_file_that_has_nothing_to_drop_is_left_alone() {
    let mut world = World::new();
    world.other = 150 << 20;
    world.opened(1, 0);
    world.opened(2, 0);
    world.touch(2, Use::Closed);
    while world.at < 10 * Nanos::SECOND.0 {
        world.decide();
    }
    let asked = |world: &World, file| world.asked.iter().filter(|asked| **asked == file).count();
    assert_eq!(asked(&world, 2), 1, "it was closed");
    assert!(
        (20..=50).contains(&asked(&world, 1)),
        "{}",
        asked(&world, 1)
    );
    world.opened(2, 1 << 20);
    world.decide();
    assert_eq!(world.resident[2], 0);
}

#[test]
fn what_one_user_opens_makes_nobody_elses_stream_forgotten() {
    let mut streams = Streams::new();
    let mut see = |file, user| {
        let how = Use::Opened;
        let touches = [Touch {
            file: File(file),
            how,
            user,
        }];
        streams.see(&Sample {
            touches: &touches,
            ..Sample::default()
        });
        streams.ready(Nanos::ZERO, CEILING, |_| false)
    };
    see(0, User::System);
    (1..9000).for_each(|file| drop(see(file, User::Other(7))));
    let ready = see(9000, User::Other(7));
    assert!(
        ready.iter().any(|search| search.file == File(0)),
        "it waited longest"
    );
}
