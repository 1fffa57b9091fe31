//! Figures out of outcomes, and why there are none.

use super::*;
use crate::Study;
use mm::capture::Capture;
use mm::units::Bytes;
use scenario::outcome::Latency;

fn frame(at: u64, label: &str, files: &[(&str, &str)]) -> Frame {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    Frame {
        at: Nanos(at),
        label: (!label.is_empty()).then(|| label.to_owned()),
        files: files.collect(),
    }
}

fn meminfo(at: u64, label: &str, free: u64) -> Frame {
    frame(
        at,
        label,
        &[("proc/meminfo", &format!("MemFree:  {free} kB\n"))],
    )
}

fn step(process: &str, start: u64, end: u64, status: Status) -> StepOutcome {
    StepOutcome {
        process: process.to_owned(),
        label: "serve".to_owned(),
        start: Nanos(start * 1_000_000_000),
        end: Nanos(end * 1_000_000_000),
        operations: 100,
        bytes: Bytes(50 << 20),
        status,
        latency: Latency::default(),
    }
}

fn outcome(frames: Vec<Frame>, steps: Vec<StepOutcome>) -> Outcome {
    let capture = Capture { frames };
    Outcome { capture, steps }
}

/// A measure as a study's author writes it.
fn measure(text: &str) -> Measure {
    let study = format!(
        "name = \"m\"\ntitle = \"m\"\nquestion = \"m\"\n[machine]\nmemory = \"1 GiB\"\n\
         [[machine.disk]]\nname = \"disk\"\nsize = \"1 GiB\"\nbandwidth = \"1 MB/s\"\n\
         [[machine.disk]]\nname = \"stick\"\nsize = \"1 GiB\"\nbandwidth = \"1 MB/s\"\n\
         [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\nsteps = [{{ snapshot = \"from\" }}, \
         {{ label = \"alone\", sleep = \"1 s\" }}, {{ label = \"serve\", sleep = \"1 s\" }}, \
         {{ snapshot = \"to\" }}]\n\
         [[measure]]\nname = \"m\"\n{text}\n"
    );
    Study::parse(&study, "test").unwrap().measures.remove(0)
}

fn read(text: &str, outcome: &Outcome) -> Result<f64, String> {
    measure(text)
        .read(outcome)
        .map_err(|error| error.to_string())
}

#[test]
fn a_step_without_a_figure_says_what_became_of_its_process() {
    let failed = |note: &str| vec![frame(1, "", &[(FAILED, note)])];
    let text = "step = \"serve\"\ntake = \"duration\"";
    let why = |frames, steps| read(text, &outcome(frames, steps)).unwrap_err();
    assert_eq!(
        why(vec![], vec![]),
        "no instance of step \"serve\" finished"
    );
    assert_eq!(
        why(failed("p\t1\tCannot allocate memory\n"), vec![]),
        "no instance of step \"serve\" finished: p failed at its step 1: Cannot allocate memory"
    );
    assert_eq!(
        why(vec![], vec![step("p", 1, 2, Status::Failed(12))]),
        "no instance of step \"serve\" finished: p: Cannot allocate memory (os error 12)"
    );
    assert_eq!(
        why(vec![], vec![step("p", 1, 2, Status::Killed(9))]),
        "no instance of step \"serve\" finished: p was killed"
    );
}

#[test]
fn a_share_is_of_the_same_figure_of_another_step() {
    let text = "step = \"serve\"\ntake = \"rate\"\nshare-of = \"alone\"";
    let alone = |operations| StepOutcome {
        label: "alone".to_owned(),
        operations,
        ..step("p", 0, 1, Status::Done)
    };
    let beside = || step("p", 1, 3, Status::Done);
    let shared = read(text, &outcome(vec![], vec![alone(200), beside()]));
    assert_eq!(shared, Ok(25.0), "100 in 2 s of 200 in 1 s");
    let nothing = read(text, &outcome(vec![], vec![alone(0), beside()])).unwrap_err();
    assert_eq!(
        nothing,
        "step \"alone\" came to nothing, so there is no share of it"
    );
}

/// `/proc/diskstats` with this many writes and sectors written of the second disk.
fn diskstats(kind: &str, writes: u64, sectors: u64) -> String {
    let line = |letter: char, writes: u64, sectors: u64| {
        format!("259 0 {kind}{letter} 7 0 50 2 {writes} 3 {sectors} 9 0 4 11 0 0 0 0 0 0\n")
    };
    line('a', 900, 900) + &line('b', writes, sectors)
}

#[test]
fn a_disks_counters_are_those_of_its_device_and_a_quotient_divides_growths() {
    let outcome_of = |kind: &str, writes: [u64; 2]| {
        let at = |label, writes, sectors| {
            frame(
                1,
                label,
                &[("proc/diskstats", &diskstats(kind, writes, sectors))],
            )
        };
        let frames = vec![at("from", writes[0], 8), at("to", writes[1], 4104)];
        outcome(frames, vec![])
    };
    let between = "between = [\"from\", \"to\"]\ndiskstats = \"stick.written\"";
    let per = format!("{between}\nper = \"stick.writes\"\nunit = \"kB\"");
    for kind in ["pd", "vd"] {
        assert_eq!(read(between, &outcome_of(kind, [1, 9])), Ok(2.0), "MiB");
        assert_eq!(read(&per, &outcome_of(kind, [1, 9])), Ok(256.0));
    }
    let nothing = read(&per, &outcome_of("pd", [3, 3])).unwrap_err();
    assert_eq!(
        nothing,
        "nothing was counted from \"from\" to \"to\" to divide by"
    );
    let other = read(between, &outcome_of("sd", [1, 9])).unwrap_err();
    assert_eq!(
        other,
        "proc/diskstats has no \"stick.written\" in snapshot \"to\""
    );
}

#[test]
fn a_curve_begins_with_its_span_and_its_number_is_the_mean_over_time() {
    const SECOND: u64 = 1_000_000_000;
    let frames = vec![
        meminfo(SECOND, "", 9 << 10),
        meminfo(2 * SECOND, "from", 1 << 10),
        meminfo(3 * SECOND, "", 3 << 10),
        meminfo(7 * SECOND, "to", 3 << 10),
        meminfo(8 * SECOND, "", 9 << 10),
    ];
    let outcome = outcome(frames, vec![]);
    let text = "during = { from = \"from\", to = \"to\" }\nmeminfo = \"MemFree\"\nover = ";
    let over = |word: &str| format!("{text}\"{word}\"");
    let curve = measure(&over("time")).curve(&outcome).unwrap();
    assert_eq!(curve.0, [(0.0, 1.0), (1.0, 3.0), (5.0, 3.0)]);
    assert_eq!(read(&over("time"), &outcome), Ok(2.8));
    assert_eq!(measure(&over("mean")).curve(&outcome), None);
}

#[test]
fn progress_is_added_up_over_the_instances_of_a_process() {
    let progress = |label: &str, text: &str| frame(1, label, &[("plimsoll/progress", text)]);
    let later = "p.1 7 4096\np.2 8 0\np.x 100 0\npq 100 0\n";
    let outcome = outcome(
        vec![progress("from", "p 5 9\n"), progress("to", later)],
        vec![],
    );
    let at = |label: &str| {
        read(
            &format!("snapshot = \"{label}\"\nprogress = \"p\""),
            &outcome,
        )
    };
    assert_eq!((at("from"), at("to")), (Ok(5.0), Ok(15.0)));
}

#[test]
fn cpu_time_is_in_nanoseconds() {
    let at = |label: &str, time: &str| frame(1, label, &[("proc/kswapd0/schedstat", time)]);
    let frames = vec![at("from", "1000000 5 6\n"), at("to", "4000000 7 8\n")];
    let text = "between = [\"from\", \"to\"]\nfile = \"/proc/kswapd0/schedstat\"\nunit = \"ms\"";
    assert_eq!(read(text, &outcome(frames, vec![])), Ok(3.0));
}

#[test]
fn an_item_of_a_snapshot_is_shown_in_the_measures_unit() {
    let outcome = outcome(vec![meminfo(1, "from", 2048)], vec![]);
    let text = "snapshot = \"from\"\nmeminfo = \"MemFree\"";
    assert_eq!(read(text, &outcome), Ok(2.0), "MiB unless said otherwise");
    assert_eq!(
        read(&format!("{text}\nunit = \"kB\""), &outcome),
        Ok(2048.0)
    );
    let missing = "snapshot = \"from\"\nmeminfo = \"Zswapped\"";
    let error = "proc/meminfo has no \"Zswapped\" in snapshot \"from\"";
    assert_eq!(read(missing, &outcome), Err(error.to_owned()));
    let profit = "snapshot = \"from\"\nfile = \"/sys/kernel/mm/ksm/general_profit\"";
    let error = "this kernel has no file /sys/kernel/mm/ksm/general_profit";
    assert_eq!(read(profit, &outcome), Err(error.to_owned()));
    let error = "there is no snapshot \"to\" in this run";
    let late = "snapshot = \"to\"\nmeminfo = \"MemFree\"";
    assert_eq!(read(late, &outcome), Err(error.to_owned()));
}

#[test]
fn a_tunable_has_the_catalogues_unit_whatever_is_shown() {
    let file = ("proc/sys/vm/min_free_kbytes", "67584\n");
    let outcome = outcome(vec![frame(1, "from", &[file])], vec![]);
    let text = "snapshot = \"from\"\ntunable = \"vm.min_free_kbytes\"";
    assert_eq!(read(text, &outcome), Ok(67584.0));
    assert_eq!(read(&format!("{text}\nunit = \"MiB\""), &outcome), Ok(66.0));
}

#[test]
fn counters_and_stalls_are_differences() {
    let files = |count: u64, total: u64| {
        let vmstat = format!("pgscan_kswapd {count}\npgscan_kswapd_x 9\n");
        let line = |word| format!("{word} avg10=0.00 avg60=1.50 avg300=0.00 total={total}\n");
        (vmstat, format!("{}{}", line("some"), line("full")))
    };
    let at = |label: &str, (vmstat, psi): &(String, String)| {
        frame(
            1,
            label,
            &[("proc/vmstat", vmstat), ("proc/pressure/memory", psi)],
        )
    };
    let (before, after) = (files(5, 1000), files(12, 3000));
    let outcome = outcome(vec![at("from", &before), at("to", &after)], vec![]);
    let between = "between = [\"from\", \"to\"]";
    let counted = format!("{between}\nvmstat = \"pgscan_kswapd\"");
    assert_eq!(read(&counted, &outcome), Ok(7.0));
    let stalled = format!("{between}\npressure = \"memory.full.total\"");
    assert_eq!(
        read(&stalled, &outcome),
        Ok(2.0),
        "microseconds shown as milliseconds"
    );
    let average = "snapshot = \"to\"\npressure = \"memory.some.avg60\"";
    assert_eq!(read(average, &outcome), Ok(1.5));
}

#[test]
fn zones_are_added_up_or_taken_alone() {
    let zoneinfo = "Node 0, zone    DMA32\n  pages free     256\n        low      512\n\
                    Node 0, zone   Normal\n  pages free     1024\n        low      256\n";
    let outcome = outcome(vec![frame(1, "to", &[("proc/zoneinfo", zoneinfo)])], vec![]);
    let zone = |text: &str| {
        read(
            &format!("snapshot = \"to\"\nzoneinfo = \"{text}\""),
            &outcome,
        )
    };
    assert_eq!(zone("low"), Ok(3.0));
    assert_eq!(zone("Normal.free"), Ok(4.0));
    assert!(zone("Movable.free").is_err());
}

#[test]
fn samples_within_a_span_become_one_number() {
    let frames = [
        (0, "from", 9),
        (1, "", 4),
        (2, "", 2),
        (3, "to", 6),
        (9, "", 1),
    ];
    let frames =
        frames.map(|(second, label, mib)| meminfo(second * 1_000_000_000, label, mib * 1024));
    let outcome = outcome(frames.into(), vec![step("p", 1, 2, Status::Done)]);
    let free = |span: &str, over: &str| {
        read(
            &format!("during = {span}\nmeminfo = \"MemFree\"\nover = \"{over}\""),
            &outcome,
        )
    };
    assert_eq!(free("{ step = \"serve\" }", "mean"), Ok(3.0));
    assert_eq!(free("{ from = \"from\", to = \"to\" }", "maximum"), Ok(9.0));
    assert_eq!(free("\"run\"", "minimum"), Ok(1.0));
}

#[test]
fn a_share_of_two_counters_and_a_time_to_nearly_all_are_read() {
    let ksm = |second: u64, label: Option<&str>, skipped: u64, scanned: u64| {
        let file = |name: &str, number: u64| (mm::ksm::path(name), format!("{number}\n"));
        Frame {
            at: Nanos(second * 1_000_000_000),
            label: label.map(str::to_owned),
            files: [
                file("pages_skipped", skipped),
                file("pages_scanned", scanned),
                file("pages_shared", 0),
            ]
            .into(),
        }
    };
    let frames = vec![
        ksm(1, Some("from"), 10, 100),
        ksm(3, None, 10, 100),
        ksm(5, Some("to"), 40, 200),
    ];
    let outcome = outcome(frames, vec![step("p", 1, 5, Status::Done)]);
    let share = "between = [\"from\", \"to\"]\nfile = \"sys/kernel/mm/ksm/pages_skipped\"\n\
                 share-with = \"sys/kernel/mm/ksm/pages_scanned\"";
    assert_eq!(read(share, &outcome), Ok(30.0 / 130.0 * 100.0));
    let nothing = share.replace("[\"from\", \"to\"]", "[\"from\", \"from\"]");
    assert!(read(&nothing, &outcome).is_err(), "0 of 0");
    let reached = "during = { from = \"from\", to = \"to\" }\n\
                   file = \"sys/kernel/mm/ksm/pages_skipped\"\nover = \"time to 90 %\"";
    let at = read(reached, &outcome).expect("it rises");
    assert!((at - (2.0 + 2.0 * 26.0 / 30.0)).abs() < 1e-6, "{at}");
    let half = read(&reached.replace("90 %", "50 %"), &outcome).expect("it rises");
    assert!((half - (2.0 + 2.0 * 10.0 / 30.0)).abs() < 1e-6, "{half}");
    let never = reached.replace("pages_skipped", "pages_shared");
    let why = "there is nothing to reach: it is 0 at the end of \"from … to\"";
    assert_eq!(read(&never, &outcome), Err(why.to_owned()));
}

#[test]
fn figures_of_a_step_are_of_all_its_instances() {
    let steps = vec![
        step("p.1", 0, 2, Status::Done),
        step("p.2", 1, 5, Status::Done),
        step("p.3", 1, 3, Status::Killed(9)),
    ];
    let outcome = outcome(vec![], steps);
    let of = |take: &str| read(&format!("step = \"serve\"\ntake = \"{take}\""), &outcome);
    assert_eq!(of("duration"), Ok(3.0), "the median of those that finished");
    assert_eq!(of("throughput"), Ok(30.0), "150 MiB in 5 s");
    assert_eq!(of("rate"), Ok(60.0));
    assert_eq!(of("operations"), Ok(300.0));
    assert_eq!(
        (of("survivors"), of("killed"), of("failed")),
        (Ok(2.0), Ok(1.0), Ok(0.0))
    );
    let slowest = "step = \"serve\"\ntake = \"duration\"\nover = \"maximum\"";
    assert_eq!(read(slowest, &outcome), Ok(4.0));
}

#[test]
fn the_first_kill_counts_from_the_first_start() {
    let killed = |process, start, end| step(process, start, end, Status::Killed(9));
    let text = "step = \"serve\"\ntake = \"first kill\"";
    let steps = vec![
        killed("p", 4, 9),
        killed("p", 1, 4),
        step("p", 9, 10, Status::Done),
    ];
    assert_eq!(read(text, &outcome(vec![], steps)), Ok(3.0));
    let spared = outcome(vec![], vec![step("p", 0, 2, Status::Done)]);
    let error = "no instance of step \"serve\" was killed";
    assert_eq!(read(text, &spared), Err(error.to_owned()));
}

#[test]
fn a_step_that_never_finished_has_no_duration() {
    let outcome = outcome(vec![], vec![step("p", 0, 1, Status::Killed(9))]);
    let text = "step = \"serve\"\ntake = \"duration\"";
    let error = "no instance of step \"serve\" finished: p was killed";
    assert_eq!(read(text, &outcome), Err(error.to_owned()));
    let lifetime = read(&text.replace("duration", "lifetime"), &outcome);
    assert_eq!(lifetime, Ok(1.0), "but a life it had");
}

#[test]
fn a_groups_bytes_are_bytes_in_whatever_unit_they_are_shown() {
    let mut frame = Frame::default();
    let path = |name: &str| format!("sys/fs/cgroup/a/{name}");
    let files = [
        ("memory.current", "67108864\n"),
        ("memory.stat", "anon 67108864\npgsteal 64\n"),
    ];
    for (name, text) in files {
        frame.files.insert(path(name), text.to_owned());
    }
    let number = |file: &str| Item::Number {
        file: path(file),
        unit: None,
    };
    let field = |field: &str| Item::Field {
        file: path("memory.stat"),
        field: field.to_owned(),
    };
    let read = |item: Item, unit| item.read(&frame, unit);
    assert_eq!(
        read(number("memory.current"), Unit::Mib),
        Some(67_108_864.0)
    );
    assert_eq!(read(field("anon"), Unit::Mib), Some(67_108_864.0));
    assert_eq!(read(field("anon"), Unit::Count), Some(67_108_864.0));
    assert_eq!(read(field("pgsteal"), Unit::Pages), Some(262_144.0));
}
