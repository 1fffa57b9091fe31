//! Settings, control groups and the notes about them.

use std::fs;

use mm::capture::Capture;
use mm::settings::{Setting, Settings};
use mm::units::Bytes;
use plimsoll_guest as guest;
use plimsoll_guest::{ERROR, Prepared, Recorder, SKIPPED};
use scenario::Scenario;
use scenario::outcome::UNAVAILABLE;
use scenario::workload::{Action, Cgroup, Huge, Map, Until};

use crate::bench::*;

fn setting(tunable: &str, value: &str) -> Setting {
    Setting {
        tunable: tunable.into(),
        value: value.into(),
    }
}

#[test]
fn the_arm_is_written_when_the_workload_says_so_or_before() {
    let setting = |value: &str| setting("vm.swappiness", value);
    let bench = Bench::new();
    let mut before = scenario(vec![at_once("idle", vec![])]);
    before.arm_settings = Settings(vec![setting("10")]);
    bench.run(&before);
    assert_eq!(bench.swappiness(), "10");

    let bench = Bench::new();
    let steps = vec![
        labelled("old", Action::Snapshot),
        step(Action::ApplyArm),
        labelled("new", Action::Snapshot),
        step(Action::ApplyDefaults),
    ];
    let mut within = scenario(vec![at_once("administrator", steps)]);
    within.base = Settings(vec![setting("30")]);
    within.arm_settings = Settings(vec![setting("10")]);
    let outcome = bench.run(&within);
    let value = |label| {
        let frame = outcome.capture.labelled(label).expect("a snapshot");
        frame
            .file("proc/sys/vm/swappiness")
            .map(|text| text.trim().to_owned())
    };
    assert_eq!(value("old").as_deref(), Some("30"), "the base setting");
    assert_eq!(value("new").as_deref(), Some("10"));
    assert_eq!(bench.swappiness(), "30", "what it was before the run");
}

#[test]
fn nothing_is_prepared_without_settings() {
    let bench = Bench::new();
    let mut recorder = Recorder::new(&bench.place);
    let scenario = scenario(vec![]);
    guest::perform(&scenario, &bench.place, &Prepared::default(), &mut recorder).expect("a run");
    assert!(recorder.length() > 0);
}

#[test]
fn a_base_setting_that_the_kernel_lacks_is_skipped_and_noted() {
    let bench = Bench::new();
    let mut scenario = scenario(vec![at_once("administrator", vec![step(Action::ApplyArm)])]);
    scenario.base = Settings(vec![
        setting("lru_gen.enabled", "0"),
        setting("vm.swappiness", "10"),
    ]);
    let outcome = bench.run(&scenario);
    let last = outcome.capture.frames.last().expect("frames");
    assert_eq!(last.file(SKIPPED), Some("lru_gen.enabled = 0\n"));
    assert_eq!(last.file(ERROR), None);
    assert_eq!(bench.swappiness(), "10", "the others are written");
}

/// What is noted as not available before the run, and the text of the swappiness' file then.
fn lacking(scenario: &Scenario, bench: &Bench) -> (String, String) {
    let mut recorder = Recorder::new(&bench.place);
    guest::make_cgroups(&bench.place, &scenario.workload.cgroups, &mut recorder).expect("groups");
    guest::prepare(scenario, &bench.place, &mut recorder).expect("no error");
    let is_unavailable = recorder.is_unavailable();
    recorder.abandon();
    let mut text = Vec::new();
    recorder.write_to(&mut text).expect("a vector");
    let capture = Capture::parse(&String::from_utf8(text).expect("text")).expect("a capture");
    let note = capture.frames[0].file(UNAVAILABLE).unwrap_or_default();
    assert_eq!(is_unavailable, !note.is_empty());
    (note.to_owned(), bench.swappiness())
}

#[test]
fn a_setting_under_test_that_the_kernel_lacks_is_noted_and_nothing_is_written() {
    let mut arm = scenario(vec![at_once("administrator", vec![step(Action::ApplyArm)])]);
    arm.arm_settings = Settings(vec![setting("ksm.run", "1")]);
    let set = Action::Set(vec![
        setting("ksm.run", "1"),
        setting("vm.clean_low_ratio", "9"),
    ]);
    let again = Action::Repeat {
        until: Until::Times(1),
        steps: vec![step(set.clone())],
    };
    let workload = scenario(vec![at_once("administrator", vec![step(set), step(again)])]);
    for (mut asked, note) in [
        (arm, "ksm.run\n"),
        (workload, "ksm.run\nvm.clean_low_ratio\n"),
    ] {
        asked.base = Settings(vec![setting("vm.swappiness", "10")]);
        let expected = (note.to_owned(), "60".to_owned());
        assert_eq!(lacking(&asked, &Bench::new()), expected);
    }
}

#[test]
fn memory_that_the_kernel_was_built_without_is_noted() {
    let asked = Map {
        huge: Huge::Advise,
        mergeable: true,
        ..map("heap", Bytes(1 << 20))
    };
    let asked = scenario(vec![at_once("heap", vec![step(Action::Map(asked))])]);
    let bench = Bench::new();
    let note = "transparent_hugepage\nksm\n";
    assert_eq!(lacking(&asked, &bench).0, note);
    for part in ["transparent_hugepage", "ksm"] {
        let folder = bench.place.root.join("sys/kernel/mm").join(part);
        fs::create_dir_all(folder).expect("a folder");
    }
    assert_eq!(lacking(&asked, &bench).0, "");
}

#[test]
fn a_disks_own_tunable_is_found_under_the_name_that_the_kernel_gives_the_disk() {
    let arm = |value: &str| {
        let mut arm = scenario(vec![at_once("administrator", vec![step(Action::ApplyArm)])]);
        arm.arm_settings = Settings(vec![setting("bdi.stick.max_ratio", value)]);
        arm
    };
    let mut bench = Bench::new();
    bench.place.devices.insert("stick".into(), "pdb".into());
    let missing = ("bdi.stick.max_ratio\n".to_owned(), "60".to_owned());
    assert_eq!(lacking(&arm("5"), &bench), missing, "by the study's name");

    let path = bench.place.root.join("sys/block/pdb/bdi/max_ratio");
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(&path, "100\n").expect("a file");
    bench.run(&arm("5"));
    assert_eq!(fs::read_to_string(&path).expect("there"), "5\n");
    let mut back = arm("7");
    back.workload.processes[0]
        .steps
        .push(step(Action::ApplyDefaults));
    bench.run(&back);
    assert_eq!(
        fs::read_to_string(&path).expect("there"),
        "5\n",
        "as before"
    );
}

/// A bench whose group "a" has these files, as the kernel would make them.
fn grouped(files: &[&str]) -> (Bench, Cgroup) {
    let bench = Bench::new();
    for directory in ["sys/fs/cgroup", "sys/fs/cgroup/a"] {
        fs::create_dir_all(bench.place.root.join(directory)).expect("a directory");
        let put = |file: &str, text| {
            let path = bench.place.root.join(&format!("{directory}/{file}"));
            fs::write(path, text).expect("a file");
        };
        files.iter().for_each(|file| put(file, ""));
        put("cgroup.subtree_control", "");
        put("cgroup.controllers", "cpu memory\n");
    }
    let cgroup = Cgroup {
        path: "a".into(),
        files: vec![],
    };
    (bench, cgroup)
}

#[test]
fn a_file_or_a_controller_of_a_group_that_the_kernel_lacks_is_noted() {
    let (bench, mut cgroup) = grouped(&["memory.max"]);
    let write = |file: &str| (file.to_owned(), "1".to_owned());
    cgroup.files = vec![
        write("memory.max"),
        write("memory.zswap.max"),
        write("io.max"),
    ];
    let later = Action::SetCgroup {
        cgroup: "a".into(),
        file: write("memory.later"),
    };
    let reclaim = Action::Reclaim {
        cgroup: "a".into(),
        amount: Bytes(4096),
        swappiness: None,
    };
    let steps = vec![step(later), step(reclaim)];
    let mut scenario = scenario(vec![at_once("administrator", steps)]);
    scenario.workload.cgroups = vec![cgroup];
    let expected = "the io controller of control groups\nmemory.zswap.max\nio.max\n\
                    memory.later\nmemory.reclaim\n";
    assert_eq!(lacking(&scenario, &bench).0, expected);
}

/// A plain file takes any words, as a kernel does that knows them.
#[test]
fn reclaim_is_asked_with_the_swappiness_that_the_study_says() {
    let (bench, cgroup) = grouped(&["memory.reclaim"]);
    let reclaim = Action::Reclaim {
        cgroup: "a".into(),
        amount: Bytes(4096),
        swappiness: Some(7),
    };
    let mut scenario = scenario(vec![at_once("administrator", vec![step(reclaim)])]);
    scenario.workload.cgroups = vec![cgroup];
    assert_eq!(lacking(&scenario, &bench).0, "");
    let path = bench.place.root.join("sys/fs/cgroup/a/memory.reclaim");
    let probe = fs::read_to_string(&path).expect("a file");
    assert_eq!(probe, "0 swappiness=7", "nothing is reclaimed by the probe");
    bench.run(&scenario);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.starts_with("4096 swappiness=7"), "{text}");
}

#[test]
fn what_cannot_be_written_is_an_error_of_the_run() {
    let bench = Bench::new();
    let file = ("memory.max".to_owned(), "1".to_owned());
    let cgroup = "none".to_owned();
    let steps = vec![step(Action::SetCgroup { cgroup, file })];
    let outcome = bench.run(&scenario(vec![at_once("administrator", steps)]));
    let last = outcome.capture.frames.last().expect("frames");
    let error = last.file(ERROR).expect("the note");
    let start = "administrator, step 0: /sys/fs/cgroup/none/memory.max: ";
    assert!(error.starts_with(start), "{error}");

    let mut refused = scenario(vec![]);
    refused.base = Settings(vec![setting("vm.swappiness", "many")]);
    let mut recorder = Recorder::new(&bench.place);
    let error = guest::prepare(&refused, &bench.place, &mut recorder).expect_err("no number");
    assert!(
        error.to_string().contains("vm.swappiness = many"),
        "{error}"
    );
}

#[test]
fn control_groups_are_made_below_those_that_pass_their_controllers_on() {
    let bench = Bench::new();
    let root = bench.place.root.join("sys/fs/cgroup");
    for group in ["", "services", "services/database"] {
        fs::create_dir_all(root.join(group)).expect("a directory");
        for file in ["cgroup.subtree_control", "cgroup.procs", "memory.max"] {
            fs::write(root.join(group).join(file), "").expect("a file");
        }
    }
    let group = |path: &str, files: &[(&str, &str)]| Cgroup {
        path: path.into(),
        files: files
            .iter()
            .map(|(f, t)| ((*f).into(), (*t).into()))
            .collect(),
    };
    let groups = [
        group("services", &[]),
        group("services/database", &[("memory.max", "268435456")]),
    ];
    let mut recorder = Recorder::new(&bench.place);
    guest::make_cgroups(&bench.place, &groups, &mut recorder).expect("groups");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("a file");
    assert_eq!(read("cgroup.subtree_control"), "+memory");
    assert_eq!(read("services/cgroup.subtree_control"), "+memory");
    assert_eq!(read("services/database/cgroup.subtree_control"), "");
    assert_eq!(read("services/database/memory.max"), "268435456");

    let mut member = at_once("member", vec![]);
    member.cgroup = Some("services/database".into());
    bench.run(&scenario(vec![member]));
    assert_eq!(
        read("services/database/cgroup.procs"),
        "0",
        "it joins by itself"
    );
}

#[test]
fn a_control_group_that_cannot_be_made_is_one_line_with_the_way_out() {
    let (bench, mut cgroup) = grouped(&[]);
    fs::write(bench.place.root.join("sys/fs/cgroup/b"), "").expect("a file");
    cgroup.path = "b".into();
    let mut recorder = Recorder::new(&bench.place);
    let error = guest::make_cgroups(&bench.place, &[cgroup], &mut recorder).expect_err("a file");
    let expected = "control group b: /sys/fs/cgroup/b: File exists (os error 17); correct its \
                    [[cgroup]] in the study";
    assert_eq!(error.to_string(), expected);
}
