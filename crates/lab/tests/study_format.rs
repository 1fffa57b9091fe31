//! The study format: what it says, and what it refuses with which words.

use mm::units::{Bytes, Nanos};
use mm::workload::{Action, Start, Until};
use plimsoll_lab::study::Study;

fn min_free_kbytes() -> Study {
    Study::find("min-free-kbytes").expect("the built-in study is consistent")
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
    let [administrator, one, _, three] = &scenario.workload.processes[..] else {
        panic!("four processes");
    };
    assert_eq!(administrator.start, Start::After(Nanos::ZERO));
    assert_eq!((one.start, three.count), (Start::OnDemand, 3));
    let Action::Repeat { until, steps } = &three.steps[1].action else {
        panic!("the second step repeats");
    };
    assert_eq!(
        (*until, steps.len()),
        (Until::Elapsed(Nanos(5_000_000_000)), 2)
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
