//! What the model does not run, it refuses in one line with the place.

mod common;

use common::*;
use mm::settings::Settings;
use mm::units::{Bytes, Nanos};
use scenario::workload::{Access, Action, Huge, Map, Until};

fn refused_step(action: Action) -> String {
    let inner = step(repeat(Until::Times(1), vec![sleep(1), step(action)]));
    refusal(&scenario(&[1], vec![process("a", vec![inner])]))
}

#[test]
fn a_mechanism_that_is_lacking_is_named_with_its_step() {
    assert_eq!(
        refused_step(mergeable(Huge::Hugetlb)),
        "the model does not simulate samepage merging of hugetlb pages (process a, step 1, step \
         2); run it on a real kernel with `plimsoll prove`, and see docs/model.md"
    );
}

fn mergeable(huge: Huge) -> Action {
    Action::Map(Map {
        region: "heap".to_owned(),
        size: Bytes(MIB).into(),
        huge,
        mergeable: true,
        populate: false,
        contents: Vec::new(),
    })
}

#[test]
fn a_machine_or_workload_that_needs_more_is_refused() {
    let idle = || scenario(&[], vec![process("a", vec![sleep(1)])]);
    let mut nodes = idle();
    nodes.machine.nodes = 3;
    assert!(refusal(&nodes).contains("more than two NUMA nodes (machine)"));
    let mut small = idle();
    small.machine.memory = Bytes(8 * MIB);
    assert!(refusal(&small).starts_with("8 MiB of RAM is too little"));
}

#[test]
fn what_is_not_there_is_named() {
    let region = Action::Unmap {
        region: "heap".to_owned(),
    };
    assert_eq!(refused_step(region), "process a: there is no region heap");
    assert_eq!(
        refused_step(Action::Access(touch("heap"))),
        "process a: there is no region heap"
    );
    assert_eq!(
        refused_step(Action::Access(read(7))),
        "process a: there is no file file 7"
    );
    assert_eq!(
        refused_step(start("nobody").action),
        "process a: there is no process nobody"
    );
    let mut lost = scenario(&[1, 1], vec![process("a", vec![sleep(1)])]);
    lost.machine.files[0].disk = "tape".to_owned();
    assert_eq!(refusal(&lost), "file file 0: there is no disk tape");
}

#[test]
fn sizes_beyond_the_model_are_refused() {
    let large = scenario(
        &[],
        vec![process("a", vec![map("heap", 1 << 24, Huge::Never)])],
    );
    assert!(refusal(&large).contains("more than 16 TiB"));
    let none = Access {
        block: Bytes(0),
        ..read(0)
    };
    assert!(refused_step(Action::Access(none)).contains("blocks of 0 bytes"));
    let none = Access {
        blocks: 0,
        ..touch("heap")
    };
    assert!(refused_step(Action::Access(none)).contains("operations of 0 blocks"));
}

#[test]
fn a_value_that_the_kernel_would_not_take_is_refused() {
    let with = |tunable, value| {
        let mut scenario = scenario(&[], vec![process("a", vec![sleep(1)])]);
        scenario.arm_settings = Settings(vec![setting(tunable, value)]);
        refusal(&scenario)
    };
    let many = "99999999999999";
    assert!(with("vm.min_free_kbytes", many).starts_with("vm.min_free_kbytes = 99999999999999: "));
    assert!(with("vm.dirty_ratio", "200").contains("an integer from 0 to 100"));
    assert!(with("lru_gen.enabled", "8").contains("0x"));
    assert!(with("vm.stat_interval", "3").contains("the tunable vm.stat_interval"));
}

#[test]
fn the_deadline_ends_those_that_wait_for_each_other_and_a_sleep_of_centuries() {
    let long = process("c", vec![step(Action::Sleep(Nanos(u64::MAX)))]);
    let processes = vec![
        process("a", vec![wait("b")]),
        process("b", vec![wait("a")]),
        long,
    ];
    let mut scenario = scenario(&[], processes);
    scenario.workload.deadline = Some(Nanos::SECOND);
    let last = run(&scenario).capture.frames.pop().expect("a frame");
    assert_eq!(last.at, Nanos::SECOND);
}
