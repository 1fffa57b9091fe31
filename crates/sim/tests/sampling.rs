//! A sampled run against the exact one, on sizes where both run.

mod common;

use common::*;
use mm::units::{Bytes, Nanos};
use plimsoll_sim::{run_sampled, sampling};
use scenario::Scenario;
use scenario::machine::Swap;
use scenario::machine::SwapBacking;
use scenario::outcome::Outcome;
use scenario::workload::{Access, Action, Cgroup, Huge, Pattern, Until};

/// Half a gigabyte of memory; a file of 2 GiB and one of 1 GiB on a fast disk.
fn machine(processes: Vec<scenario::workload::Process>) -> Scenario {
    let mut scenario = scenario(&[2048, 1024], processes);
    scenario.machine.memory = Bytes(512 * MIB);
    let disk = &mut scenario.machine.disks[0];
    disk.read_bandwidth = Bytes(1_000_000_000);
    (disk.latency, disk.seek) = (Nanos(60_000), Nanos(20_000));
    (disk.channels, disk.queue_depth) = (4, 32);
    scenario.sample_every = Nanos::SECOND;
    scenario
}

/// Zipf-distributed reads of 4 KiB from the larger file.
fn zipf(exponent_milli: u32) -> Access {
    Access {
        pattern: Pattern::Zipf { exponent_milli },
        block: Bytes(4096),
        ..read(0)
    }
}

fn sampled(scenario: &Scenario, scale: u64) -> Outcome {
    let capture = run_sampled(scenario, &calibration(), scale).expect("the model runs it");
    Outcome::from_capture(capture).expect("its own notes are well-formed")
}

/// Pages read from the disk for each page accessed under this label, from the snapshot "warm" on.
fn miss_ratio(outcome: &Outcome, labels: &[&str]) -> f64 {
    let bytes = |label| one(outcome, label).bytes.0;
    let accessed: u64 = labels.iter().map(|label| bytes(label)).sum();
    let read = counter(outcome, "end", "pgpgin") - counter(outcome, "warm", "pgpgin");
    read as f64 * 1024.0 / accessed as f64
}

/// That the miss ratio at scales 8 and 16 is within 0.01 of the exact one.
fn assert_close(scenario: &Scenario, labels: &[&str]) {
    let exact = miss_ratio(&sampled(scenario, 1), labels);
    assert!(exact > 0.02 && exact < 0.98, "{exact} tells nothing");
    for scale in [8, 16] {
        let ratio = miss_ratio(&sampled(scenario, scale), labels);
        println!("scale {scale}: {ratio:.4} against {exact:.4}");
        assert!(
            (ratio - exact).abs() <= 0.01,
            "scale {scale}: {ratio:.4} against {exact:.4}"
        );
    }
}

#[test]
fn the_miss_ratio_of_zipf_reads_is_that_of_the_exact_run() {
    for exponent in [600, 800, 1000] {
        let steps = vec![
            step(Action::Access(zipf(exponent))),
            snapshot("warm"),
            labelled("reads", Action::Access(zipf(exponent))),
        ];
        assert_close(&machine(vec![process("reader", steps)]), &["reads"]);
    }
}

/// Zipf reads at a rate beside a backup that reads another file again and again.
fn mixed() -> Scenario {
    let timed = |access: Access, seconds| Access {
        amount: Some(Bytes(1 << 40).into()),
        time_limit: Some(Nanos(seconds * Nanos::SECOND.0)),
        ..access
    };
    let paced = Access {
        rate: 6000,
        ..zipf(900)
    };
    let warm = step(Action::Access(timed(paced.clone(), 30)));
    let steps = |label| labelled(label, Action::Access(timed(paced.clone(), 20)));
    let reader = vec![warm, snapshot("warm"), steps("reads")];
    let slow = Access {
        rate: 1000,
        ..read(1)
    };
    let backup = vec![
        step(Action::Access(timed(slow.clone(), 30))),
        labelled("backup", Action::Access(timed(slow, 20))),
    ];
    machine(vec![process("reader", reader), process("backup", backup)])
}

#[test]
fn the_miss_ratio_of_reads_beside_a_backup_is_that_of_the_exact_run() {
    assert_close(&mixed(), &["reads", "backup"]);
}

#[test]
fn operations_rates_and_latencies_are_those_of_the_real_machine() {
    let (exact, coarse) = (sampled(&mixed(), 1), sampled(&mixed(), 16));
    for label in ["reads", "backup"] {
        let [exact, coarse] = [&exact, &coarse].map(|outcome| one(outcome, label));
        let ratio = coarse.operations as f64 / exact.operations as f64;
        assert!((0.98..1.02).contains(&ratio), "{label}: {ratio}");
        assert!(
            coarse.latency.p50.0 < 2 * exact.latency.p50.0,
            "{label}: {:?}",
            coarse.latency
        );
    }
}

#[test]
fn the_kernels_files_show_the_real_machine() {
    let meminfo = |scale| {
        let steps = vec![labelled("reads", Action::Access(zipf(900)))];
        let outcome = sampled(&machine(vec![process("reader", steps)]), scale);
        let last = outcome.capture.frames.last().expect("a frame");
        let text = last.file("proc/meminfo").expect("the file");
        mm::meminfo::Meminfo::parse(text).expect("the kernel's format")
    };
    let (exact, coarse) = (meminfo(1), meminfo(16));
    for item in ["MemTotal", "MemFree", "MemAvailable", "Cached"] {
        let kib = |file: &mm::meminfo::Meminfo| file.get(item).expect("an item").0 as f64;
        let (exact, coarse) = (kib(&exact), kib(&coarse));
        assert!(
            (exact - coarse).abs() < 0.02 * kib_total(),
            "{item}: {exact} against {coarse}"
        );
    }
}

fn kib_total() -> f64 {
    (512 << 10) as f64
}

#[test]
fn short_accesses_in_a_loop_do_what_they_would_in_all() {
    // Each round reads 8 blocks; an operation at scale 16 stands for 16.
    let short = Access {
        amount: Some(Bytes(8 * 4096).into()),
        ..zipf(900)
    };
    let round = vec![step(Action::Access(short)), sleep(1)];
    let steps = vec![labelled("rounds", repeat(Until::Times(500), round))];
    let outcome = sampled(&machine(vec![process("reader", steps)]), 16);
    assert_eq!(one(&outcome, "rounds").operations, 500 * 8);
}

#[test]
fn anonymous_memory_and_swap_are_sampled_too() {
    let steps = vec![
        map("heap", 700, Huge::Never),
        step(Action::Access(touch("heap"))),
        snapshot("touched"),
        labelled("again", Action::Access(touch("heap"))),
    ];
    let mut scenario = machine(vec![process("a", steps)]);
    let backing = SwapBacking::Disk("disk".to_owned());
    scenario.machine.swaps = vec![Swap {
        backing,
        size: Bytes(1024 * MIB),
    }];
    let out = |scale| counter(&sampled(&scenario, scale), "touched", "pswpout") as f64;
    let (exact, coarse) = (out(1), out(16));
    // Batches of 32 and writes under way keep their simulated sizes: counts of swap are held to the
    // factor that such counts are held to against a kernel.
    assert!(
        (2.0 / 3.0..1.5).contains(&(coarse / exact)),
        "{coarse} against {exact}"
    );
}

#[test]
fn what_is_not_sampled_is_refused_with_the_way_out() {
    let mut scenario = machine(vec![]);
    scenario.workload.cgroups = vec![Cgroup {
        path: "g".to_owned(),
        files: vec![],
    }];
    let why = run_sampled(&scenario, &calibration(), 8)
        .expect_err("it is refused")
        .to_string();
    assert_eq!(
        why,
        "the model does not sample control groups (workload); simulate every page, with --scale 1"
    );
    scenario.machine.memory = Bytes(1 << 40);
    assert_eq!(
        sampling::automatic(&scenario),
        1,
        "nor does the automatic scale ask for it"
    );
    let why = run_sampled(&scenario, &calibration(), 3).expect_err("no power of two");
    assert!(why.to_string().contains("a power of two"), "{why}");
}

#[test]
fn the_automatic_scale_is_one_up_to_32_gib_and_bounds_the_pages_beyond() {
    let scale = |access: Access, gib: u64| {
        let steps = vec![step(Action::Access(access))];
        let mut scenario = machine(vec![process("reader", steps)]);
        scenario.machine.files.clear();
        scenario.machine.memory = Bytes(gib << 30);
        sampling::automatic(&scenario)
    };
    let at_random = [32, 33, 64, 4096].map(|gib| scale(zipf(900), gib));
    assert_eq!(at_random, [1, 8, 8, 512]);
    let in_order = [32, 33, 64, 4096].map(|gib| scale(read(0), gib));
    assert_eq!(in_order, [1, 64, 64, 4096]);
    let stays = [32, 33, 64, 4096].map(|gib| scale(touch("heap"), gib));
    assert_eq!(
        stays, in_order,
        "without swap nobody chooses among its pages"
    );
}

#[test]
fn memory_keeps_its_pages_beside_files_of_any_size() {
    let steps = vec![step(Action::Access(read(0)))];
    let mut scenario = machine(vec![process("reader", steps)]);
    scenario.machine.memory = Bytes(33 << 30);
    scenario.machine.files[0].size = Bytes(40 << 40);
    assert_eq!(sampling::automatic(&scenario), 2048, "4224 pages of memory");
}
