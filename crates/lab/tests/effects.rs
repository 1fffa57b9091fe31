//! `records/effects.tsv`, which `explain` answers from, against the records.
//!
//! `UPDATE_EXPECT=1 cargo test -p plimsoll-lab --test effects` writes it: after new records, and
//! when the model changed.

use std::path::PathBuf;

use look::measured::{self, ArmEffect};
use plimsoll_lab::effects;
use plimsoll_lab::store::Store;
use study::BUILT_IN;

fn records() -> PathBuf {
    testkit::checkout("records")
}

fn computed(name: &str) -> Vec<ArmEffect> {
    let study = plimsoll_lab::find::find(name).expect("a built-in study");
    effects::of_study(&study, &Store::new(records())).expect("records/ can be read")
}

fn kept(study: &str) -> Vec<ArmEffect> {
    let all = measured::kept().into_iter();
    all.filter(|effect| effect.study == study).collect()
}

/// When it is written everything is computed. The check leaves the model to the score and takes the
/// two studies with the fewest records.
#[test]
fn what_is_kept_is_what_the_records_say() {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let proved = BUILT_IN
            .iter()
            .filter(|(name, _)| records().join(name).is_dir());
        let all = proved.flat_map(|(name, _)| computed(name));
        let text = measured::to_text(&all.collect::<Vec<_>>());
        std::fs::write(records().join("effects.tsv"), text).expect("records/ can be written");
        return;
    }
    for name in ["min-free-kbytes", "working-set"] {
        let study = plimsoll_lab::find::find(name).expect("a built-in study");
        let now = effects::of_records(&study, &Store::new(records()));
        let kept = kept(name).into_iter().map(ArmEffect::without_the_model);
        let kept: Vec<ArmEffect> = kept.collect();
        assert!(!kept.is_empty());
        assert_eq!(
            kept,
            now.expect("records/ can be read"),
            "new records? see above"
        );
    }
}

#[test]
fn every_arm_that_is_kept_is_one_of_its_study_and_sets_what_is_said() {
    let all = measured::kept();
    assert_eq!(
        measured::to_text(&all),
        measured::TABLE,
        "every line is read"
    );
    for effect in &all {
        let study = plimsoll_lab::find::find(&effect.study).expect("a built-in study");
        let arm = study.arm(&effect.arm).expect("its arm");
        assert!(study.arm(&effect.baseline).is_ok(), "{effect:?}");
        assert!(
            study
                .measures
                .iter()
                .any(|measure| measure.name == effect.measure)
        );
        for setting in effect.settings.split(", ") {
            let (tunable, value) = setting.split_once('=').expect("a setting");
            assert_eq!(arm.settings.get(tunable), Some(value), "{effect:?}");
            assert_eq!(effect.value_of(tunable), Some(value));
        }
    }
}

#[test]
fn the_tunables_of_the_proved_studies_were_found_on_both_kernels() {
    for (tunable, study) in [
        ("vm.min_free_kbytes", "min-free-kbytes"),
        ("vm.swappiness", "memory-hogs"),
        ("lru_gen.min_ttl_ms", "working-set"),
        ("vm.dirty_ratio", "writeback"),
        ("bdi.stick.max_ratio", "usb-copy"),
        ("ksm.pages_to_scan", "ksm"),
    ] {
        let found = measured::kept().into_iter();
        let found: Vec<ArmEffect> = found.filter(|it| it.value_of(tunable).is_some()).collect();
        for kernel in ["Linux 6.1", "Linux 6.12"] {
            let of = |effect: &&ArmEffect| effect.study == study && effect.kernel == kernel;
            assert!(
                found.iter().any(|effect| of(&effect)),
                "{tunable} on {kernel}"
            );
        }
    }
}
