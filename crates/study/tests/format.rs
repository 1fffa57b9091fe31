//! The study format: what it says, and what it refuses with which words.

use mm::units::{Bytes, Nanos};
use plimsoll_study::Study;
use plimsoll_study::measure::Class;
use scenario::machine::SwapBacking;
use scenario::workload::{
    Action, Advice, Content, Daemon, Huge, Pattern, Process, Size, Start, Step, Target, Think,
    Until, Via, Workload,
};

fn min_free_kbytes() -> Study {
    built_in("min-free-kbytes")
}

fn built_in(name: &str) -> Study {
    Study::built_in(name).unwrap_or_else(|| panic!("{name} is built in"))
}

/// A study of the other systems, written down to see that it can be said.
fn other(text: &str) -> Study {
    Study::parse(text, "other.toml").unwrap_or_else(|error| panic!("{error}"))
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
    assert_eq!(study.arms.len(), 3);
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
fn memory_hogs_is_read_as_meant() {
    let study = built_in("memory-hogs");
    let access = |arm: &str, process_name: &str, label: &str| {
        let scenario = study.scenario(arm, 1).unwrap();
        match labelled(&process(&scenario.workload, process_name).steps, label) {
            Action::Access(access) => access.clone(),
            other => panic!("{other:?} is no access"),
        }
    };
    let share = |thousandths| Some(Size::OfAvailable { thousandths });
    let backup = |arm: &str| access(arm, "backup", "backup");
    assert_eq!(backup("default").amount, share(1000));
    assert_eq!(backup("backup of 4 x free").amount, share(80));
    assert_eq!(backup("no backup").amount, Some(Bytes(0).into()));
    assert_eq!(
        (backup("direct").via, backup("mmap").via),
        (Via::Direct, Via::Mmap)
    );
    let beside = access("default", "server", "beside the backup");
    assert_eq!(
        (beside.write_percent, beside.think),
        (30, Think::Constant(Nanos(100_000)))
    );

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
    let Action::Map(map) = &server("hugetlb")[1].action else {
        panic!("it maps after it has applied the arm");
    };
    assert_eq!((map.huge, Some(map.size)), (Huge::Hugetlb, share(900)));
    let swap = |name: &str| arm(name).machine.swaps.first().map(|swap| swap.size);
    assert_eq!(swap("no swap"), None);
    assert_eq!(swap("small swap"), Some(Bytes(16 << 20)));
    assert_eq!(swap("mlock"), Some(Bytes(512 << 20)));
}

#[test]
fn remedies_for_the_writer_can_be_said() {
    let study = built_in("memory-hogs");
    let arm = |name: &str| study.scenario(name, 1).unwrap();
    let group = |name: &str, of: &str| process(&arm(name).workload, of).cgroup.clone();
    assert_eq!(arm("default").workload.cgroups, []);
    assert_eq!(group("default", "server"), None);
    assert_eq!(group("memory.min", "server").as_deref(), Some("server"));
    assert_eq!(group("memory.min", "backup"), None);
    assert_eq!(
        arm("memory.max").workload.cgroups[0].files,
        [("memory.max".to_owned(), "16777216".to_owned())]
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
    let limit = |name: &str| process(&arm(name).workload, "backup").address_space;
    assert_eq!(limit("resource limit"), Some(Bytes(64 << 20)));
    assert_eq!(limit("default"), None);
    let dontneed = arm("dontneed");
    let Action::Repeat { steps, .. } =
        labelled(&process(&dontneed.workload, "backup").steps, "backup")
    else {
        panic!("it repeats");
    };
    assert!(matches!(
        steps[1].action,
        Action::Advise {
            advice: Advice::DontNeed,
            ..
        }
    ));
}

#[test]
fn working_set_is_read_as_meant() {
    let study = built_in("working-set");
    let scenario = study.scenario("memory.low", 1).unwrap();
    assert_eq!(scenario.workload.deadline, Some(Nanos(120_000_000_000)));
    let reader = process(&scenario.workload, "re-reader");
    assert_eq!(reader.start, Start::After(Nanos::ZERO));
    assert_eq!(reader.cgroup.as_deref(), Some("protected"));
    let classic = study.scenario("classic", 1).unwrap();
    assert_eq!(process(&classic.workload, "re-reader").cgroup, None);
    let tail = process(&classic.workload, "tail");
    assert_eq!((tail.start, tail.oom_score_adj), (Start::OnDemand, 1000));
    let rounds = |step: &Step| match &step.action {
        Action::Repeat { until, .. } => Some(*until),
        _ => None,
    };
    let rounds: Vec<Until> = reader.steps.iter().filter_map(rounds).collect();
    assert_eq!(rounds, [Until::Times(15)]);
}

#[test]
fn swap_may_be_compressed_memory() {
    let text = built_in("working-set").text;
    let zram = "[[machine.swap]]\nzram-ratio = 3\nsize = \"256 MiB\"\n[[machine.disk]]";
    let study = Study::parse(&text.replacen("[[machine.disk]]", zram, 1), "test").unwrap();
    assert_eq!(
        study.arms[0].machine.swaps[0].backing,
        SwapBacking::Zram { ratio_milli: 3000 }
    );
}

#[test]
fn writeback_can_be_said() {
    let study = other(include_str!("studies/writeback.toml"));
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
fn ksm_lets_the_daemon_decide_on_its_own_arm_and_the_guests_have_their_arms_pages() {
    let study = built_in("ksm");
    let decisions = |arm: &str| {
        let scenario = study.scenario(arm, 1).unwrap();
        let steps = &process(&scenario.workload, "administrator").steps;
        let inner = steps.iter().filter_map(|step| match &step.action {
            Action::Repeat { until, steps } => Some((*until, &steps[0].action)),
            _ => None,
        });
        let decides = |(until, action): (Until, &Action)| {
            (until, *action == Action::Daemon(Daemon::Ksmtuned))
        };
        inner.map(decides).collect::<Vec<_>>()
    };
    assert_eq!(decisions("ksmtuned"), [(Until::Times(10), true)]);
    assert_eq!(decisions("advisor"), []);
    let huge = |arm: &str| {
        let scenario = study.scenario(arm, 1).unwrap();
        match &process(&scenario.workload, "guest").steps[0].action {
            Action::Map(map) => map.huge,
            other => panic!("{other:?} is no map"),
        }
    };
    assert_eq!(huge("huge pages"), Huge::Advise);
    assert_eq!(huge("1250 pages"), Huge::Never);
}

#[test]
fn bursts_lets_each_daemon_decide_on_its_own_arm() {
    fn decisions(steps: &[Step]) -> Vec<Daemon> {
        let of_step = |step: &Step| match &step.action {
            Action::Daemon(daemon) => vec![*daemon],
            Action::Repeat { steps, .. } => decisions(steps),
            _ => Vec::new(),
        };
        steps.iter().flat_map(of_step).collect()
    }
    let study = built_in("bursts");
    for (arm, expected) in [
        ("guard", vec![]),
        ("adaptivemmd", vec![Daemon::Adaptivemmd]),
        ("katalyst", vec![Daemon::Katalyst]),
    ] {
        let scenario = study.scenario(arm, 1).unwrap();
        let processes = scenario.workload.processes.iter();
        let found: Vec<_> = processes.flat_map(|it| decisions(&it.steps)).collect();
        assert_eq!(found, expected, "{arm}");
    }
}

#[test]
fn ksm_can_be_said() {
    let study = other(include_str!("studies/ksm.toml"));
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
