//! Samepage merging on a machine that is too small for what its guests hold: beside swap, control
//! groups and locks. Each run checks at every sample that no page and no charge is lost.

mod common;

use common::*;
use mm::settings::Settings;
use mm::units::Bytes;
use scenario::Scenario;
use scenario::calibration::Calibration;
use scenario::machine::SwapBacking;
use scenario::outcome::{Outcome, Status};
use scenario::workload::{
    Access, Action, Cgroup, Content, ContentShare, Huge, Map, Pattern, Process, Step, Target,
};

/// Guests of 16 MiB each, half of it alike: merged they are a little larger than the machine.
const GUESTS: u32 = 8;

/// The machine, whose kernel can merge.
fn machine() -> Calibration {
    let mut machine = calibration();
    let files = &mut machine.boots[0].capture.frames[0].files;
    for file in ["run", "pages_to_scan", "sleep_millisecs", "pages_sharing"] {
        let path = format!("sys/kernel/mm/ksm/{file}");
        files.insert(path, "0\n".into());
    }
    files.insert("sys/fs/cgroup/memory.stat".into(), "anon 0\n".into());
    let vmstat = files.get_mut("proc/vmstat").expect("it is there");
    vmstat.push_str("ksm_swpin_copy 0\n");
    machine
}

fn touches(label: &str, write_percent: u8) -> Step {
    let access = Access {
        write_percent,
        pattern: Pattern::Random,
        amount: Some(Bytes(64 * MIB).into()),
        ..touch("ram")
    };
    labelled(label, Action::Access(access))
}

/// A guest fills its memory, waits until it is merged, and uses it; `more` comes before that.
fn guests(more: Vec<Step>) -> Process {
    let content = Content::Identical { class: "os".into() };
    let ram = Map {
        region: "ram".to_owned(),
        size: Bytes(16 * MIB).into(),
        huge: Huge::Never,
        mergeable: true,
        populate: false,
        contents: vec![ContentShare {
            content,
            percent: 50,
        }],
    };
    let fill = Access {
        write_percent: 100,
        ..touch("ram")
    };
    let mut steps = vec![
        step(Action::Map(ram)),
        labelled("fill", Action::Access(fill)),
        sleep(2000),
    ];
    steps.extend(more);
    steps.extend([touches("read", 0), touches("write", 30)]);
    Process {
        count: GUESTS,
        ..process("guest", steps)
    }
}

fn scenario_of(run: &str, guests: Process, backing: SwapBacking) -> Scenario {
    let mut scenario = with_swap(scenario(&[], vec![guests]), backing, 128);
    scenario.arm_settings = Settings(vec![
        setting("ksm.run", run),
        setting("ksm.pages_to_scan", "5000"),
    ]);
    scenario
}

fn zram() -> SwapBacking {
    SwapBacking::Zram { ratio_milli: 4000 }
}

fn all_done(outcome: &Outcome) {
    let done = statuses(outcome, "write");
    assert_eq!(done, vec![Status::Done; GUESTS as usize]);
}

#[test]
fn guests_that_are_merged_swap_less_and_what_comes_back_is_copied() {
    let mut copies = 0;
    for backing in [on_disk(), zram()] {
        for generations in ["0", "7"] {
            let ran = |run| {
                let mut scenario = scenario_of(run, guests(vec![]), backing.clone());
                let lru = setting("lru_gen.enabled", generations);
                scenario.base = Settings(vec![lru]);
                run_with(&scenario, &machine())
            };
            let (apart, merged) = (ran("0"), ran("1"));
            [&apart, &merged].into_iter().for_each(all_done);
            let swapped = |outcome| counter(outcome, "end", "pswpin");
            // With zram this machine thrashes: the copies take again what merging has saved.
            assert!(
                backing == zram() || swapped(&merged) < swapped(&apart),
                "{backing:?}, generations {generations}: {} of {}",
                swapped(&merged),
                swapped(&apart)
            );
            assert_eq!(counter(&apart, "end", "ksm_swpin_copy"), 0);
            copies += counter(&merged, "end", "ksm_swpin_copy");
        }
    }
    assert!(
        copies > 0,
        "on the classic lists merged pages are active, and stay"
    );
}

#[test]
fn guests_of_a_group_that_are_merged_stay_within_its_limit() {
    for file in ["memory.max", "memory.high"] {
        let mut guests = guests(vec![]);
        guests.cgroup = Some("guests".to_owned());
        let mut scenario = scenario_of("1", guests, on_disk());
        scenario.workload.cgroups = vec![Cgroup {
            path: "guests".to_owned(),
            files: vec![(file.to_owned(), "32M".to_owned())],
        }];
        let outcome = run_with(&scenario, &machine());
        all_done(&outcome);
        assert!(counter(&outcome, "end", "ksm_swpin_copy") > 0);
    }
}

#[test]
fn a_guest_that_is_locked_is_merged_and_not_swapped() {
    let lock = Action::Lock {
        target: Target::Region("ram".to_owned()),
    };
    let mut guests = guests(vec![step(lock), sleep(1000), snapshot("locked")]);
    guests.count = 2;
    let outcome = run_with(&scenario_of("1", guests, zram()), &machine());
    let frame = outcome.capture.labelled("locked").expect("it is there");
    let file = |name: &str| {
        let text = frame.file(&format!("sys/kernel/mm/ksm/{name}"));
        text.map_or(0, |text| text.trim().parse().unwrap_or(0))
    };
    assert_eq!(
        file("pages_sharing"),
        2048,
        "of each the half that is alike"
    );
    assert_eq!(counter(&outcome, "end", "ksm_swpin_copy"), 0);
    assert_eq!(statuses(&outcome, "write"), vec![Status::Done; 2]);
}
