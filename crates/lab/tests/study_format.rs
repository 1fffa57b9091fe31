//! The study format: what it says, and what it refuses with which words.

use mm::machine::SwapBacking;
use mm::units::{Bytes, Nanos};
use mm::workload::{
    Action, Advice, Content, Huge, Pattern, Process, Start, Step, Target, Until, Via, Workload,
};
use plimsoll_lab::measure::{Class, Over, Source};
use plimsoll_lab::study::Study;

fn min_free_kbytes() -> Study {
    Study::find("min-free-kbytes").expect("the built-in study is consistent")
}

/// A study of the other systems, written down to see that it can be said.
fn other(name: &str) -> Study {
    let path = format!("{}/tests/studies/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Study::find(&path).unwrap_or_else(|error| panic!("{error}"))
}

fn process<'a>(workload: &'a Workload, name: &str) -> &'a Process {
    let found = workload
        .processes
        .iter()
        .find(|process| process.name == name);
    found.unwrap_or_else(|| panic!("there is a process {name}"))
}

fn labelled<'a>(steps: &'a [Step], label: &str) -> &'a Action {
    let found = steps
        .iter()
        .find(|step| step.label.as_deref() == Some(label));
    &found
        .unwrap_or_else(|| panic!("there is a step {label}"))
        .action
}

#[test]
fn the_first_study_is_read_as_meant() {
    let study = min_free_kbytes();
    assert_eq!(study.arms.len(), 2);
    assert_eq!(study.sample_every, Nanos(500_000_000));
    let scenario = study.scenario("raised", 7).unwrap();
    assert_eq!(scenario.machine.memory, Bytes(3840 << 20));
    assert_eq!(
        scenario.arm_settings.get("vm.min_free_kbytes"),
        Some("1500000")
    );
    assert_eq!(scenario.base.get("lru_gen.enabled"), Some("0"));
    assert_eq!(scenario.seed, 7);
    let disk = &scenario.machine.disks[0];
    assert_eq!(disk.read_bandwidth, Bytes(118_000 << 10));
    assert_eq!(disk.seek, Nanos(1_000_000_000 / 120 - 100_000));
    let three = process(&scenario.workload, "three hogs");
    assert_eq!((three.start, three.count), (Start::OnDemand, 3));
    let Action::Repeat { until, steps } = labelled(&three.steps, "hold 3") else {
        panic!("it repeats");
    };
    assert_eq!(*until, Until::Elapsed(Nanos(5_000_000_000)));
    assert_eq!(steps.len(), 2);
}

#[test]
fn memory_hogs_can_be_said() {
    let study = other("memory-hogs");
    assert_eq!(
        study.arms.len(),
        13 + 3 * 6,
        "three arms are swept over six sizes"
    );
    let backup = |arm: &str| {
        let scenario = study.scenario(arm, 1).unwrap();
        let Action::Access(access) = labelled(
            &process(&scenario.workload, "backup").steps,
            "backup writes",
        )
        .clone() else {
            panic!("it writes");
        };
        access
    };
    assert_eq!(backup("default, backup 0 B").amount, Some(Bytes(0).into()));
    assert_eq!(
        backup("mglru, backup 2 GiB").amount,
        Some(Bytes(2 << 30).into())
    );
    assert_eq!(
        (backup("direct").via, backup("mmap").via),
        (Via::Direct, Via::Mmap)
    );
    assert_eq!(backup("mlock").write_percent, 100);

    let arm = |name: &str| study.scenario(name, 1).unwrap();
    let locks = |step: &Step| {
        matches!(
            step.action,
            Action::Lock {
                target: Target::Region(_)
            }
        )
    };
    let server = |name: &str| process(&arm(name).workload, "server").steps.clone();
    assert!(server("mlock").iter().any(locks) && !server("mmap").iter().any(locks));
    assert!(matches!(&server("hugetlb")[0].action, Action::Map(map) if map.huge == Huge::Hugetlb));
    let swap = |name: &str| arm(name).machine.swaps.first().map(|swap| swap.size);
    assert_eq!(swap("no swap"), None);
    assert_eq!(swap("small swap"), Some(Bytes(32 << 20)));
    assert_eq!(swap("mlock"), Some(Bytes(512 << 20)));
}

#[test]
fn remedies_for_the_writer_can_be_said() {
    let study = other("memory-hogs");
    let arm = |name: &str| study.scenario(name, 1).unwrap();
    let cgroups = arm("memory.min").workload.cgroups;
    assert_eq!(
        cgroups[0].files,
        [("memory.min".to_owned(), "346030080".to_owned())]
    );
    let ceiling = arm("page-cache ceiling");
    let Action::Repeat {
        steps,
        until: Until::Forever,
    } = &process(&ceiling.workload, "ceiling").steps[0].action
    else {
        panic!("it repeats forever");
    };
    assert_eq!(
        steps[0].action,
        Action::Reclaim {
            cgroup: "backup".to_owned(),
            amount: Bytes(16 << 20),
            swappiness: Some(0)
        }
    );
    let limited = arm("resource limit");
    let limited = process(&limited.workload, "backup, limited");
    assert_eq!(limited.address_space, Some(Bytes(64 << 20)));
    let dropper = arm("dontneed");
    let Action::Repeat { steps, .. } = &process(&dropper.workload, "dropper").steps[0].action
    else {
        panic!("it repeats");
    };
    assert!(matches!(
        steps[0].action,
        Action::Advise {
            advice: Advice::DontNeed,
            ..
        }
    ));
}

#[test]
fn working_set_can_be_said() {
    let study = other("working-set");
    let scenario = study.scenario("cgroup", 1).unwrap();
    assert_eq!(scenario.workload.deadline, Some(Nanos(120_000_000_000)));
    assert_eq!(
        scenario.machine.swaps[0].backing,
        SwapBacking::Zram { ratio_milli: 3000 }
    );
    let reader = process(&scenario.workload, "re-reader");
    assert_eq!(reader.start, Start::After(Nanos(2_000_000_000)));
    assert_eq!(reader.cgroup.as_deref(), Some("protected"));
    let classic = study.scenario("classic", 1).unwrap();
    assert_eq!(process(&classic.workload, "re-reader").cgroup, None);
    let Action::Repeat { until, .. } = reader.steps[0].action else {
        panic!("it repeats");
    };
    assert_eq!(until, Until::Times(20));
    let slowest = &study.measures[1];
    assert!(matches!(
        slowest.source,
        Source::Step {
            over: Over::Maximum,
            ..
        }
    ));
    assert!((slowest.published["le9uo"].amount - 1.37).abs() < 1e-9);
}

#[test]
fn writeback_can_be_said() {
    let study = other("writeback");
    let names: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names.len(), 12);
    assert_eq!(names[9], "ratio, background 90");
    let scenario = study.scenario("ratio, background 90", 1).unwrap();
    let written: Vec<String> = scenario
        .arm_settings
        .0
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        written,
        [
            "vm.dirty_ratio = 90",
            "vm.dirty_background_ratio = 90",
            "vm.dirty_expire_centisecs = 3000"
        ],
        "in the order of the text"
    );
    let Action::Access(serve) =
        labelled(&process(&scenario.workload, "cache").steps, "serve").clone()
    else {
        panic!("it serves");
    };
    assert_eq!(
        serve.pattern,
        Pattern::Zipf {
            exponent_milli: 800
        }
    );
    assert_eq!(
        (serve.via, serve.write_percent, serve.rate),
        (Via::Mmap, 25, 4000)
    );
    assert_eq!(serve.time_limit, Some(Nanos(60_000_000_000)));
    assert_eq!(
        scenario.machine.disks[0].write_bandwidth,
        Bytes(300_000_000)
    );
    let classes: Vec<Class> = study.measures.iter().map(|m| m.unit.class()).collect();
    assert_eq!(
        classes,
        [
            Class::Count,
            Class::Time,
            Class::Size,
            Class::Size,
            Class::Size
        ]
    );
}

#[test]
fn ksm_can_be_said() {
    let study = other("ksm");
    assert_eq!(study.arms.len(), 9);
    let scenario = study.scenario("smart scan, pages 9000", 1).unwrap();
    assert_eq!(scenario.arm_settings.get("ksm.pages_to_scan"), Some("9000"));
    let guest = process(&scenario.workload, "guest");
    let names: Vec<String> = guest.instances().collect();
    assert_eq!(names[7], "guest.8");
    let Action::Map(ram) = &guest.steps[0].action else {
        panic!("it maps");
    };
    assert!(ram.mergeable);
    let kinds: Vec<(&Content, u8)> = ram
        .contents
        .iter()
        .map(|c| (&c.content, c.percent))
        .collect();
    let class = "guest-os".to_owned();
    assert_eq!(
        kinds,
        [
            (&Content::Identical { class }, 40),
            (&Content::Repeated { copies: 4 }, 10),
            (&Content::Zero, 15),
            (
                &Content::Volatile {
                    every: Nanos(2_000_000_000)
                },
                5
            ),
            (&Content::Unique, 20),
        ]
    );
}

#[test]
fn an_unknown_arm_names_the_nearest() {
    let error = min_free_kbytes().scenario("rased", 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "study min-free-kbytes has no arm `rased`; did you mean `raised`?"
    );
}

#[test]
fn an_unknown_study_names_the_nearest() {
    let error = Study::find("min-free-kbyte").unwrap_err().to_string();
    assert!(error.contains("did you mean `min-free-kbytes`?"), "{error}");
    let error = Study::find("/no/such/study.toml").unwrap_err().to_string();
    assert!(
        error.contains("/no/such/study.toml: No such file"),
        "{error}"
    );
}
