//! The model on the built-in calibrations: machines of every size boot with sane numbers.

use answer::bench::{Bench as _, Run};
use answer::calibration;
use answer::model_bench::ModelBench;
use mm::meminfo::Meminfo;
use mm::settings::{Setting, Settings};
use mm::units::{Bytes, Nanos, PageSize};
use mm::zoneinfo::Zoneinfo;
use scenario::Scenario;
use scenario::machine::Machine;
use scenario::outcome::{Outcome, PROGRESS};
use scenario::workload::{Action, Process, Start, Step, Workload};

/// A machine that does nothing but look at itself.
fn idle(memory: Bytes) -> Scenario {
    let step = Step {
        label: Some("idle".to_owned()),
        action: Action::Snapshot,
    };
    Scenario {
        study: "sizes".to_owned(),
        arm: "only".to_owned(),
        process_numbers: vec![],
        machine: Machine {
            memory,
            cpus: 1,
            nodes: 1,
            disks: vec![],
            swaps: vec![],
            files: vec![],
            costs: vec![],
            file_system: scenario::machine::FileSystem::Ext4,
            recorded_on: None,
            available: None,
        },
        workload: Workload {
            cgroups: vec![],
            processes: vec![Process {
                name: "administrator".to_owned(),
                start: Start::After(Nanos::ZERO),
                count: 1,
                cgroup: None,
                oom_score_adj: 0,
                address_space: None,
                steps: vec![step],
            }],
            deadline: None,
        },
        base: Settings(vec![Setting {
            tunable: "lru_gen.enabled".to_owned(),
            value: "0".to_owned(),
        }]),
        arm_settings: Settings::default(),
        seed: 1,
        sample_every: Nanos::SECOND,
        recorded: Default::default(),
    }
}

/// Pages are conserved at the samples (asserted inside); here the kernel's numbers agree.
#[test]
fn machines_from_256_mib_to_4_tib_boot_with_sane_watermarks() {
    let sizes = [
        256,
        512,
        700,
        1536,
        3072,
        3400,
        3584,
        3585,
        4096,
        6144,
        16 << 10,
        256 << 10,
        4 << 20,
    ];
    for kernel in calibration::kernels() {
        let calibration = calibration::built_in(kernel).expect("it is built in");
        for mib in sizes {
            let memory = Bytes(mib << 20);
            let capture = sim::run(&idle(memory), &calibration).expect("it boots");
            let frame = capture.labelled("idle").expect("the snapshot");
            let text = frame.file("proc/zoneinfo").expect("the file");
            let zones = Zoneinfo::parse(text).expect("the kernel's format").zones;
            let managed: u64 = zones.iter().map(|zone| zone.managed.0).sum();
            let pages = memory.pages_floor(PageSize::FOUR_KIB).0;
            assert!(
                managed < pages && managed > pages * 3 / 4,
                "{kernel}, {mib} MiB: {managed}"
            );
            for zone in zones.iter().filter(|zone| zone.is_populated()) {
                let marks = zone.unboosted();
                assert!(
                    marks.min <= marks.low && marks.low <= marks.high,
                    "{zone:?}"
                );
                assert!(
                    marks.high < zone.free && zone.free <= zone.managed,
                    "{zone:?}"
                );
                assert!(
                    zone.managed <= zone.present && zone.present <= zone.spanned,
                    "{zone:?}"
                );
            }
        }
    }
}

#[test]
fn a_database_host_of_4_tib_under_a_backup_is_sampled_with_sane_figures() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/database-backup.toml"
    );
    let study = plimsoll_lab::find::find(path).expect("the study");
    let scenario = study.scenario("default", 1).expect("the arm");
    assert_eq!(sim::sampling::automatic(&scenario), 2048);
    let calibration = calibration::built_in("6.1").expect("a calibration");
    let run = Run {
        scenario: &scenario,
    };
    let capture = ModelBench::new(calibration).run(run, &mut |_| ());
    let outcome = Outcome::from_capture(capture.expect("it runs")).expect("its notes");
    // The very last frame is of the machine after its processes were ended.
    let last = outcome
        .capture
        .frames
        .iter()
        .rev()
        .nth(1)
        .expect("a sample");
    let meminfo = Meminfo::parse(last.file("proc/meminfo").expect("the file")).expect("its format");
    let gib = |item| meminfo.get(item).expect("an item").0 >> 20;
    assert!(
        (4000..4096).contains(&gib("MemTotal")),
        "{}",
        gib("MemTotal")
    );
    // The buffers' 1024, and 2 of weights for each of the four readers.
    assert!(
        (1031..=1033).contains(&gib("AnonPages")),
        "{}",
        gib("AnonPages")
    );
    assert!(
        gib("MemFree") < 16,
        "the backup filled memory: {}",
        gib("MemFree")
    );
    let progress = last.file(PROGRESS).expect("the note");
    let done = |name: &str| {
        let line = progress.lines().find(|line| line.starts_with(name));
        let mut words = line.expect("the process").split(' ').skip(1);
        words
            .next()
            .expect("operations")
            .parse::<u64>()
            .expect("a number")
    };
    let hour = 3600 * 10_000;
    assert!(
        (hour * 99 / 100..=hour * 101 / 100).contains(&done("reader.1")),
        "{progress}"
    );
    // Windows of 128 KiB take 100 us and 65 us each, one or two at a time: 0.8 to 1.6 GB/s.
    assert!(
        (2_700_000..5_500_000).contains(&done("backup")),
        "{progress}"
    );
}
