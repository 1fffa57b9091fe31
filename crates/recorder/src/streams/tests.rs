//! Which stream an event is in, and what a run of it says.

use scenario::recording::Recording;

use super::*;
use crate::Task;

/// All tasks exist from this number on. Those from 100 on are in groups of their own, and run
/// programs that go by their numbers.
struct Living(u32);

impl Tasks for Living {
    fn exists(&self, thread: u32) -> bool {
        thread >= self.0
    }

    fn group(&self, task: u32) -> Option<String> {
        let path = match task {
            100.. => format!("apps/{task}"),
            _ => String::new(),
        };
        self.exists(task).then_some(path)
    }

    fn parent(&self, process: u32) -> Option<u32> {
        // 50 to 59 are commands of a shell.
        (50..60).contains(&process).then_some(40)
    }

    fn program(&self, process: u32) -> Option<String> {
        let is_named = process >= 100 && self.exists(process);
        is_named.then(|| process.to_string())
    }
}

const SECOND: u64 = 1_000_000_000;

const SEES: Sees = Sees {
    ends: true,
    added: false,
    switches: true,
};

fn event(thread: u32, began: u64, ran: u64, slept: u32) -> Event {
    let task = |ran| Task {
        ran: Nanos(ran),
        slept,
        waited: 0,
    };
    Event {
        name: *b"sqlite3\0\0\0\0\0\0\0\0\0",
        kind: Kind::Read,
        thread,
        process: thread,
        began: Nanos(began),
        ended: Nanos(began + 5_000),
        before: task(ran),
        after: task(ran + 5_000),
        file: (1, 7),
        size: 1 << 20,
        offset: 8192,
        length: 4096,
    }
}

fn recorded(events: &[(Event, u32)]) -> (Vec<Vec<Run>>, Vec<Stream>) {
    let plain = |bytes: &[u8]| bytes.to_vec();
    let mut said = Streams::new(Nanos(SECOND), SEES, &plain, (&|_| Nanos::ZERO, Nanos::ZERO));
    for (event, living) in events {
        said.event(event, &Living(*living));
    }
    let mut bytes = Writer::new("", &plain).take(Part::All);
    bytes.extend(said.take(Part::All));
    let read = Recording::read(&bytes, &|_, _| None).expect("a recording");
    let streams = read.recorded.streams.iter();
    (
        streams
            .skip(1)
            .map(|stream| stream.iter().collect())
            .collect(),
        said.all().to_vec(),
    )
}

#[test]
fn a_task_computes_or_sleeps_between_its_runs() {
    let begin = SECOND + 3_000_000;
    let (streams, _) = recorded(&[
        (event(5, begin, 1_000_000, 0), 0),
        (event(5, begin + 25_000, 1_025_000, 0), 0),
        (event(5, begin + 50_030_000, 1_060_000, 1), 0),
        (event(5, begin + 60_035_000, 1_066_000, 1), 0),
    ]);
    let [first, second, third, fourth] = streams[0][..] else {
        panic!("four runs");
    };
    assert_eq!(
        (first.compute.0, first.sleep.0),
        (0, 3_000_000),
        "it came later"
    );
    assert_eq!(
        (second.compute.0, second.sleep.0, second.took.0),
        (20_000, 0, 5_000)
    );
    assert_eq!(
        third.compute.0, 30_000,
        "CPU time less what the run itself used"
    );
    assert_eq!(third.sleep.0 / 1_000_000, 49);
    assert_eq!(
        (fourth.compute.0, fourth.sleep.0),
        (1_000, 0),
        "it waited for a CPU"
    );
    assert_eq!((third.offset, third.length), (8192, 4096));
}

#[test]
fn a_task_that_is_woken_by_another_waits_for_it() {
    let plain = |bytes: &[u8]| bytes.to_vec();
    let mut said = Streams::new(Nanos(SECOND), SEES, &plain, (&|_| Nanos::ZERO, Nanos::ZERO));
    let done = |ran, slept| Task {
        ran: Nanos(ran),
        slept,
        waited: 0,
    };
    said.event(&event(5, SECOND, 0, 0), &Living(0));
    said.event(&event(6, SECOND + 10_000, 70_000, 0), &Living(0));
    let woke = Woke {
        thread: 6,
        at: Nanos(SECOND + 35_000),
        by: done(95_000, 0),
        woken: 5,
        // Its clock began elsewhere.
        asleep: done(7_000, 1),
    };
    said.woke(&woke);
    said.woke(&Woke { woken: 9, ..woke });
    said.event(&event(5, SECOND + 40_000, 11_000, 1), &Living(0));
    said.event(&event(6, SECOND + 50_000, 97_000, 1), &Living(0));
    let mut bytes = Writer::new("", &plain).take(Part::All);
    bytes.extend(said.take(Part::All));
    let read = Recording::read(&bytes, &|_, _| None).expect("a recording");
    assert!(!read.recorded.is_circular);
    let runs = |stream: u32| -> Vec<(Kind, u64, u64)> {
        let runs = read.recorded.stream(stream).expect("it is there").iter();
        let said = runs.map(|run| (run.kind, run.compute.0, run.sleep.0));
        said.skip(1).collect()
    };
    assert_eq!(
        runs(1),
        [(Kind::Wait, 2_000, 28_000), (Kind::Read, 4_000, 0)],
        "of 30 us it computed 2, then 4"
    );
    assert_eq!(
        runs(2),
        [(Kind::Wake, 20_000, 0), (Kind::Read, 2_000, 13_000)]
    );
    let wait = read.recorded.streams[1].iter().nth(1).expect("it waits");
    assert_eq!((wait.file, wait.offset), (2, 1), "for the first wake of 2");
}

#[test]
fn a_task_that_is_gone_leaves_its_stream_to_the_next() {
    let (streams, said) = recorded(&[
        (event(5, SECOND, 0, 0), 0),
        (event(6, SECOND + 10_000, 0, 0), 0),
        (event(8, SECOND + 20_000, 0, 0), 0),
        (event(9, SECOND + 1_000_000, 0, 0), 8),
        (event(10, SECOND + 2_000_000, 0, 0), 8),
    ]);
    assert_eq!(streams.len(), 3);
    assert_eq!(said[0].owner.program, "sqlite3");
    // Of 5 and 6 the second ended last.
    assert_eq!([0, 1, 2].map(|stream| said[stream].tasks), [2, 2, 1]);
    assert_eq!(streams[1][1].compute, Nanos::ZERO);
}

#[test]
fn a_stream_is_of_one_program_in_one_group() {
    let later = SECOND + 200_000_000;
    let begun = Event {
        name: *b"bash\0\0\0\0\0\0\0\0\0\0\0\0",
        ..event(6, SECOND, 0, 0)
    };
    let (streams, said) = recorded(&[
        (begun, 0),
        (event(6, SECOND + 10_000, 5_000, 0), 0),
        (event(100, later, 0, 0), 100),
        (event(7, later, 0, 0), 100),
    ]);
    let runs: Vec<usize> = streams.iter().map(Vec::len).collect();
    assert_eq!(runs, [1, 1, 1, 1]);
    let owners: Vec<_> = said.iter().map(|it| &it.owner).collect();
    let programs: Vec<&str> = owners.iter().map(|it| it.program.as_str()).collect();
    assert_eq!(programs, ["bash", "sqlite3", "100", "sqlite3"]);
    let groups: Vec<Option<&str>> = owners.iter().map(|it| it.group.as_deref()).collect();
    assert_eq!(groups, [Some(""), Some(""), Some("apps/100"), None]);
}

#[test]
fn beyond_the_most_streams_groups_share_one() {
    let plain = |bytes: &[u8]| bytes.to_vec();
    let mut said = Streams::new(Nanos(SECOND), SEES, &plain, (&|_| Nanos::ZERO, Nanos::ZERO));
    let first = 100 + STREAMS as u32;
    (100..first).for_each(|thread| said.event(&event(thread, SECOND, 0, 0), &Living(0)));
    let later = SECOND + 200_000_000;
    said.event(&event(first, later, 0, 0), &Living(0));
    assert_eq!(said.tally().passed_over, 1, "all others are there");
    said.event(&event(first, later, 0, 0), &Living(101));
    let group = said.all()[0].owner.group.as_deref();
    assert_eq!((group, said.tally().of_unknown_groups), (Some("apps"), 1));
}

#[test]
fn an_inode_that_is_reclaimed_is_not_a_file_that_is_cut() {
    let cut = |names, size, offset| Event {
        kind: Kind::Truncate,
        length: names,
        size,
        offset,
        ..event(5, SECOND + 10_000, 0, 0)
    };
    let kinds = |last: Event| {
        let (streams, _) = recorded(&[(event(5, SECOND, 0, 0), 0), (last, 0)]);
        streams[0].len()
    };
    assert_eq!(kinds(cut(1, 1 << 20, 0)), 1, "reclaimed");
    assert_eq!(kinds(cut(1, 4096, 4096)), 2, "made shorter");
    assert_eq!(kinds(cut(0, 1 << 20, 0)), 2, "removed");
}

#[test]
fn half_of_the_blocks_are_kept_from_then_on() {
    let plain = |bytes: &[u8]| bytes.to_vec();
    let mut said = Streams::new(Nanos(SECOND), SEES, &plain, (&|_| Nanos(400), Nanos::ZERO));
    let read = |block: u64| Event {
        size: 256 << 16,
        offset: block << 16,
        began: Nanos(SECOND + block * 10_000),
        ended: Nanos(SECOND + block * 10_000 + 1_000),
        ..event(5, SECOND, 0, 0)
    };
    let mut runs = |blocks: std::ops::Range<u64>| {
        blocks.for_each(|block| said.event(&read(block), &Living(0)));
        let taken = said.take(Part::All);
        said.keep_half();
        taken
    };
    let whole = runs(0..256);
    let half = runs(0..256);
    let read = |blocks: &[u8], level| {
        let mut bytes = Writer::new("", &plain).take(Part::All);
        bytes.extend(&whole[..whole.len() * usize::from(level > 0)]);
        bytes.extend(blocks);
        let read = Recording::read(&bytes, &|_, _| None).expect("a recording");
        read.recorded.streams[1].len()
    };
    assert_eq!(read(&whole, 0), 256);
    assert_eq!(read(&half, 1) - 256, 128);
    assert_eq!(
        (said.level(), said.tally().reads),
        (2, 512),
        "all are counted"
    );
}

#[test]
fn the_next_command_of_a_shell_goes_on_in_the_stream_of_the_one_before() {
    let named = |name: &[u8; NAME], thread, began| Event {
        name: *name,
        ..event(thread, began, 0, 0)
    };
    let (dd, tar) = (
        b"dd\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"tar\0\0\0\0\0\0\0\0\0\0\0\0\0",
    );
    let (streams, said) = recorded(&[
        (named(dd, 50, SECOND), 0),
        (named(tar, 51, SECOND + 1_000_000), 51),
        (named(dd, 52, SECOND + 2_000_000), 51),
        (named(dd, 53, SECOND + 3_000_000), 53),
        (named(tar, 20, SECOND + 4_000_000), 0),
    ]);
    let programs: Vec<&str> = said.iter().map(|it| it.owner.program.as_str()).collect();
    assert_eq!(programs, ["dd+tar", "dd", "tar"]);
    let runs: Vec<usize> = streams.iter().map(Vec::len).collect();
    assert_eq!(runs, [2, 2, 1], "52 ran beside 51; 20 has another parent");
}

#[test]
fn a_write_whose_end_is_not_seen_is_not_in_what_the_task_computes_after_it() {
    let plain = |bytes: &[u8]| bytes.to_vec();
    let mut said = Streams::new(
        Nanos(SECOND),
        SEES,
        &plain,
        (&|_| Nanos(4_000), Nanos(1_500)),
    );
    let write = |began, ran| Event {
        kind: Kind::Write,
        ended: Nanos(began),
        after: event(5, began, ran, 0).before,
        ..event(5, began, ran, 0)
    };
    said.event(&write(SECOND, 0), &Living(0));
    said.event(&write(SECOND + 10_000, 10_000), &Living(0));
    let behind = Event {
        offset: 1 << 20,
        ..write(SECOND + 20_000, 20_000)
    };
    said.event(&behind, &Living(0));
    said.event(&write(SECOND + 30_000, 30_000), &Living(0));
    let mut bytes = Writer::new("", &plain).take(Part::All);
    bytes.extend(said.take(Part::All));
    let read = Recording::read(&bytes, &|_, _| None).expect("a recording");
    let compute: Vec<u64> = read.recorded.streams[1]
        .iter()
        .map(|it| it.compute.0)
        .collect();
    assert_eq!(compute, [0, 6_000, 6_000, 4_500], "the third makes a page");
}

#[test]
fn a_file_that_is_mapped_keeps_its_size() {
    let of = |kind, offset, length| Event {
        kind,
        offset,
        length,
        ..event(5, SECOND, 0, 0)
    };
    let kinds = |events: &[Event]| -> Vec<(Kind, u32)> {
        let events: Vec<_> = events.iter().map(|event| (*event, 0)).collect();
        let (streams, _) = recorded(&events);
        streams[0].iter().map(|run| (run.kind, run.file)).collect()
    };
    let load = of(Kind::Load, 4096, 4096);
    let longer = of(Kind::Write, 1 << 20, 4096);
    let within = of(Kind::Write, 0, 4096);
    let cut = Event {
        size: 8192,
        ..of(Kind::Truncate, 8192, 1)
    };
    assert_eq!(
        kinds(&[load, within, cut]),
        [(Kind::Load, 0), (Kind::Write, 0), (Kind::DontNeed, 0)]
    );
    assert_eq!(
        kinds(&[load, longer, load]),
        [(Kind::Load, 0), (Kind::Write, 1), (Kind::Read, 1)],
        "what grows is another file, which is read"
    );
    assert_eq!(kinds(&[longer, load]), [(Kind::Write, 0), (Kind::Read, 0)]);
}

#[test]
fn who_waits_for_a_disk_does_not_sleep_of_its_own_accord() {
    let fault = |waited| {
        let mut fault = Event {
            kind: Kind::Load,
            ..event(5, SECOND + 50_000_000, 1_000_000, 1)
        };
        fault.before.waited = waited;
        fault
    };
    let sleep = |waited| {
        let (streams, _) = recorded(&[(event(5, SECOND, 0, 0), 0), (fault(waited), 0)]);
        streams[0][1].sleep.0 / 1_000_000
    };
    assert_eq!((sleep(0), sleep(20_000), sleep(100_000)), (49, 28, 0));
}
