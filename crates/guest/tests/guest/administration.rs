//! Settings, control groups and the notes about them.

use std::fs;

use mm::settings::{Setting, Settings};
use mm::workload::{Action, Cgroup};
use plimsoll_guest as guest;
use plimsoll_guest::{ERROR, Prepared, Recorder, SKIPPED};

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

#[test]
fn a_setting_under_test_that_the_kernel_lacks_is_an_error_before_the_run() {
    let mut arm = scenario(vec![at_once("administrator", vec![step(Action::ApplyArm)])]);
    arm.arm_settings = Settings(vec![setting("ksm.run", "1")]);
    let set = step(Action::Set(vec![setting("ksm.run", "1")]));
    let workload = scenario(vec![at_once("administrator", vec![set])]);
    for lacking in [arm, workload] {
        let bench = Bench::new();
        let mut recorder = Recorder::new(&bench.place);
        let error = guest::prepare(&lacking, &bench.place, &mut recorder).expect_err("no KSM");
        let start = "settings: this kernel lacks ksm.run; ";
        assert!(error.to_string().starts_with(start), "{error}");
    }
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
    guest::make_cgroups(&bench.place, &groups).expect("groups");
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

    let missing = [group("other", &[("memory.low", "1")])];
    let error = guest::make_cgroups(&bench.place, &missing).expect_err("no such file");
    assert!(
        error
            .to_string()
            .contains("/sys/fs/cgroup/other/memory.low"),
        "{error}"
    );
}
