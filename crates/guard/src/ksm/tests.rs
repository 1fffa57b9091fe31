//! A ksmd of the usual kind, and what the policy makes of it.

use super::*;
use crate::sample::Memory;

/// Pages that are offered, and what of them is alike.
struct Host {
    candidates: u64,
    alike: u64,
    /// Merged so far, and what of it writes have copied again: it merges again when the scan comes
    /// round, and counts as saved until then.
    saved: u64,
    stale: u64,
    copied: u64,
    /// Writes to merged pages a second.
    writes: u64,
    run: u64,
    speed: u64,
    scanned: u64,
    cpu: u64,
    at: u64,
    anon: u64,
    policy: Ksm,
}

/// CPU time of a page, and ksmd's sleep.
const PAGE: u64 = 1_000;
const SLEEP: u64 = 20_000_000;
const STEP: u64 = 200_000_000;

impl Host {
    fn new(candidates: u64, alike: u64, config: &config::Ksm) -> Self {
        Self {
            candidates,
            alike,
            saved: 0,
            stale: 0,
            copied: 0,
            writes: 0,
            run: 0,
            speed: 100,
            scanned: 0,
            cpu: 0,
            at: 0,
            anon: candidates * 4096,
            policy: Ksm::new(config),
        }
    }

    /// A tick: ksmd scans, and each scan after the first merges its part of what is alike.
    fn tick(&mut self) {
        self.at += STEP;
        if self.run == 1 {
            let batches = STEP / (SLEEP + self.speed * PAGE);
            let pages = self.speed * batches.max(1);
            self.cpu += pages * PAGE;
            self.scanned += pages;
            if self.scanned > self.candidates {
                let merges = pages * self.alike / self.candidates;
                self.saved = (self.saved + merges).min(self.alike);
            }
            self.stale -= (self.stale * pages)
                .div_ceil(self.candidates)
                .min(self.stale);
        }
        let copied = (self.writes * STEP / Nanos::SECOND.0).min(self.saved - self.stale);
        self.stale += copied;
        self.copied += copied;
        let sample = Sample {
            at: Nanos(self.at),
            memory: Memory {
                anon: Bytes(self.anon + self.stale * 4096),
                ..Memory::default()
            },
            merging: Some(Merging {
                run: self.run,
                pages_to_scan: self.speed,
                saved: Pages(self.saved),
                copied: Pages(self.copied),
                scans: self.scanned / self.candidates,
                cpu: Nanos(self.cpu),
                is_theirs: false,
            }),
            ..Sample::default()
        };
        let mut decisions = Vec::new();
        self.policy.decide(&sample, &mut decisions);
        for decision in decisions {
            let Action::Set(setting) = decision.action else {
                panic!("{decision:?}");
            };
            let value = setting.value.parse().expect("a number");
            match setting.tunable.as_str() {
                RUN => self.run = value,
                SPEED => self.speed = value,
                other => panic!("{other}"),
            }
        }
    }

    fn ticks(&mut self, seconds: u64) {
        (0..seconds * 5).for_each(|_| self.tick());
    }

    /// As much again, with as much that is alike.
    fn doubles(&mut self) {
        self.anon *= 2;
        (self.candidates, self.scanned) = (2 * self.candidates, 2 * self.scanned);
        self.alike *= 2;
    }

    fn scans(&self) -> u64 {
        self.scanned / self.candidates
    }
}

fn config() -> config::Ksm {
    config::Ksm::default()
}

#[test]
fn it_merges_all_that_is_alike_and_then_stands_still() {
    let mut host = Host::new(1_000_000, 400_000, &config());
    host.ticks(15);
    assert_eq!((host.saved, host.run), (400_000, 0));
    assert_eq!(host.scans(), 2, "{}", host.scanned);
    let cpu = host.cpu;
    host.ticks(30);
    assert_eq!(host.cpu, cpu, "nothing is left to merge");
}

#[test]
fn it_takes_no_more_than_its_share_of_a_cpu() {
    let config = config::Ksm {
        most_cpu: 100,
        ..config()
    };
    let mut host = Host::new(10_000_000, 4_000_000, &config);
    host.ticks(5);
    let cpu = host.cpu;
    host.ticks(20);
    let share = (host.cpu - cpu) * 1000 / (20 * Nanos::SECOND.0);
    assert!((75..=130).contains(&share), "{share}");
}

#[test]
fn where_nothing_is_alike_it_looks_again_less_and_less_often() {
    let mut host = Host::new(100_000, 0, &config());
    host.ticks(24 * 3600);
    let (share, scans) = (host.cpu * 1_000_000 / host.at, host.scans());
    assert!(share < 200, "{share} millionths of a CPU");
    assert!((20..90).contains(&scans), "{scans}");
}

#[test]
fn what_writes_unmerge_is_merged_again_when_a_scan_is_worth_it() {
    let mut host = Host::new(1_000_000, 400_000, &config());
    host.ticks(15);
    host.writes = 1_000;
    let mut most = 0;
    let cpu = host.cpu;
    for _ in 0..600 * 5 {
        host.tick();
        most = most.max(host.stale);
    }
    // A scan takes 1 s of CPU time, which has to gain 64 MiB or 16384 pages.
    assert!(most < 2 * 16_384, "{most}");
    let each = (host.cpu - cpu) / 600;
    assert!(each < Nanos::SECOND.0 / 8, "{each} ns of CPU time a second");
}

#[test]
fn memory_that_is_new_is_looked_at() {
    let mut host = Host::new(1_000_000, 400_000, &config());
    host.ticks(15);
    host.doubles();
    host.ticks(30);
    assert_eq!((host.saved, host.run), (800_000, 0));
}

/// A little that is new when a scan is due is no hope that it could disappoint.
#[test]
fn scans_that_were_only_due_do_not_lower_what_is_expected() {
    let mut host = Host::new(1_000_000, 400_000, &config());
    host.ticks(15);
    for _ in 0..20 {
        host.anon += 1 << 20;
        host.ticks(50);
    }
    assert!(host.scanned > 2_200_000, "none was due: {}", host.scanned);
    host.doubles();
    host.ticks(30);
    assert_eq!((host.saved, host.run), (800_000, 0));
}

#[test]
fn what_a_scan_takes_is_known_where_rests_divide_it() {
    let mut host = Host::new(1_000_000, 0, &config());
    host.ticks(24 * 3600);
    assert!(host.scans() > 2, "{}", host.scanned);
    let cost = host.policy.cost.seconds();
    assert!((0.9..1.1).contains(&cost), "{cost}");
}

#[test]
fn it_stands_down_where_the_advisor_or_somebody_else_sets_it() {
    let mut policy = Ksm::new(&config());
    let mut decisions = Vec::new();
    let merging = Merging {
        is_theirs: true,
        ..Merging::default()
    };
    let sample = Sample {
        merging: Some(merging),
        ..Sample::default()
    };
    policy.decide(&sample, &mut decisions);
    let back = |tunable: &str| decision(Action::GiveBack(tunable.into()), Why::Theirs);
    assert_eq!(decisions, [back(RUN), back(SPEED)]);
}
