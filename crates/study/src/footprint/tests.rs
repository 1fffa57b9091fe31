//! What is counted, of recordings that are small enough to count by hand.

use scenario::recording::{Kind, Part as Ready, Run, Writer};

use super::*;
use crate::recording::{pack, read};

const MIB: u64 = 1 << 20;

fn run(kind: Kind, file: u32, offset: u64, length: u64) -> Run {
    Run {
        compute: Nanos(1_000_000),
        sleep: Nanos::ZERO,
        took: Nanos::ZERO,
        kind,
        file,
        offset,
        length,
    }
}

/// The text of a study of that, recorded for a second.
fn text(processes: &str) -> String {
    let head = "name = \"a\"\ntitle = \"A\"\nquestion = \"Q?\"\n[recorded]\nkernel = \"6.1\"\n\
                for = \"1 s\"\nby = \"x\"\nread-in = \"0 KiB\"\n[machine]\n\
                memory = \"1 GiB\"\nrecorded-files = \"disk\"\n[[machine.disk]]\n\
                name = \"disk\"\nsize = \"9 GiB\"\nbandwidth = \"150 MB/s\"\n\
                latency = \"100 us\"\n[[arm]]\nname = \"as recorded\"\n\
                [[cgroup]]\npath = \"a\"\n\
                [[measure]]\nname = \"t\"\nstep = \"1 cp\"\ntake = \"duration\"\n";
    format!("{head}{processes}")
}

/// A study of a recording of these runs by stream.
fn studied(processes: &str, files: &[u64], runs: &[(u32, Run)]) -> Study {
    let mut writer = Writer::new(&text(processes), &pack);
    files.iter().for_each(|&size| _ = writer.file(Bytes(size)));
    runs.iter()
        .for_each(|(stream, run)| writer.run(*stream, run));
    let (text, recording) = read(&writer.take(Ready::All)).expect("a recording");
    Study::parse_with(&text, "a.rec", recording).expect("a study")
}

fn footprint(processes: &str, files: &[u64], runs: &[(u32, Run)]) -> Footprint {
    Footprint::looking_at(&studied(processes, files, runs), 1 << 12)
}

fn process(name: &str, group: &str, access: &str) -> String {
    format!(
        "[[process]]\nname = \"{name}\"\ncgroup = \"{group}\"\n\
         steps = [{{ label = \"{name}\", access = {{ {access} }} }}]\n"
    )
}

#[test]
fn a_loop_needs_all_of_its_file() {
    let reads = (0..200_u64).map(|n| (1, run(Kind::Read, 0, n % 100 * 4096, 4096)));
    let found = footprint(
        &process("1 cp", "a", "recorded = 1"),
        &[MIB],
        &Vec::from_iter(reads),
    );
    let all = &found.all;
    assert_eq!(
        (all.reads, all.read, all.distinct),
        (200, Bytes(819_200), Bytes(409_600))
    );
    assert_eq!(all.in_order, Bytes(199 * 4096), "it begins again once");
    let parts: Vec<u64> = all.parts.iter().map(|it| it.distinct.0 / 4096).collect();
    assert_eq!(
        parts,
        [99, 100, 1, 0, 0, 0, 0, 0, 0, 0],
        "the first run comes after a while"
    );
    let missed = |pages: u64| found.curve.missed(Bytes(pages * 4096)).0 / 4096;
    assert_eq!((missed(99), missed(100), missed(1 << 40)), (200, 100, 100));
    assert_eq!(found.curve.saves(95), Some(Bytes(409_600)));
    assert_eq!(found.groups[0].curve, found.curve);
    assert_eq!(found.groups[0].programs[0].name, "cp");
}

#[test]
fn what_was_cached_before_is_not_read_and_writes_bring_pages_in() {
    let processes = process("0 cached before", "a", "recorded = 0, skip = 1, runs = 1")
        + &process("1 cp", "/", "recorded = 1")
        + &process("2 cp", "a", "recorded = 2");
    let runs = [
        (0, run(Kind::Read, 1, 0, MIB)),
        (0, run(Kind::Read, 0, 0, 8192)),
        (1, run(Kind::Write, 1, 0, 4096)),
        (2, run(Kind::Read, 0, 0, 16_384)),
        (1, run(Kind::Read, 1, 0, 8192)),
    ];
    let found = footprint(&processes, &[16_384, MIB], &runs);
    assert!(found.has_cached);
    assert_eq!(
        found.curve.least(),
        Bytes(3 * 4096),
        "two of one file, one of the other"
    );
    let by_path: Vec<_> = found
        .groups
        .iter()
        .map(|it| (it.path.as_str(), it.all.distinct.0, it.all.cached.0))
        .collect();
    assert_eq!(by_path, [("a", 16_384, 8192), ("", 8192, 0)]);
}

#[test]
fn of_many_pages_a_part_is_looked_at() {
    let process = process("1 cp", "a", "recorded = 1");
    let twice = |length: u64| {
        let reads = (0..2 * length).map(|n| (1, run(Kind::Read, 0, n % length * MIB, MIB)));
        footprint(&process, &[length * MIB], &Vec::from_iter(reads))
    };
    assert_eq!(twice(8).scale, 1);
    let found = twice(32);
    assert_eq!((found.scale, found.all.distinct), (4, Bytes(32 * MIB)));
    assert_eq!(found.curve.saves(95), Some(Bytes(32 * MIB)));
}

#[test]
fn a_study_without_a_recording_shows_nothing() {
    let study = Study::built_in("min-free-kbytes").expect("it is built in");
    let found = Footprint::of(&study);
    assert_eq!(
        (found.curve.least(), found.curve.saves(95)),
        (Bytes(0), None)
    );
}

/// What a thinned recording of one stream of single pages shows, with the reads that were counted.
fn thinned(pages: &[u32], file: u64, times: usize) -> Footprint {
    let runs = pages.iter();
    let runs = runs.map(|&page| (1, run(Kind::Read, 0, u64::from(page) * 4096, 4096)));
    let process = process("1 cp", "a", "recorded = 1");
    let mut study = studied(&process, &[file], &Vec::from_iter(runs));
    let mut recorded = (*study.recorded.recorded).clone();
    for _ in 0..times {
        recorded = recorded.thinned(&|_| Nanos::ZERO);
    }
    let (reads, read) = (pages.len() as u64, Bytes(pages.len() as u64 * 4096));
    let observed = study.observed.as_mut().expect("it is recorded");
    observed.seen = Some(Seen {
        reads,
        read,
        ..Seen::default()
    });
    study.recorded.recorded = std::sync::Arc::new(recorded);
    Footprint::of(&study)
}

#[test]
fn a_sample_has_the_curve_of_the_whole() {
    const PAGES: u32 = 1 << 16;
    let mut errors = Vec::new();
    for load in testkit::loads::known(PAGES, 200_000) {
        for (times, parts) in [(0, [2, 5, 10, 20, 40]), (2, [2, 5, 10, 20, 40])] {
            let found = thinned(&load.pages, u64::from(PAGES) << 12, times);
            assert_eq!((found.scale, found.all.reads), (1 << times, 200_000));
            for part in parts {
                let size = PAGES / 100 * part;
                let whole = testkit::loads::miss_ratio(&load.pages, size as usize);
                let error = found.curve.miss_ratio(Bytes(u64::from(size) << 12)) - whole;
                println!(
                    "{} 1/{} {part} %: {whole:.4} {error:+.4}",
                    load.name,
                    1 << times
                );
                match times {
                    0 => assert!(error.abs() < 1e-9, "{} {error}", load.name),
                    _ => errors.push(error.abs()),
                }
            }
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let worst = errors.into_iter().fold(0.0, f64::max);
    println!("mean {mean:.4}, worst {worst:.4}");
    assert!(mean <= 0.01 && worst <= 0.03, "mean {mean}, worst {worst}");
}
