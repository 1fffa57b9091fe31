//! What a study sets on every arm and a kernel does not boot with: its figures are of no kernel as
//! it comes.

use std::collections::BTreeSet;

use mm::settings::Setting;
use mm::snapshot::Snapshot;

use crate::calibration;
use study::{Arm, Study};

/// "every arm has lru_gen.enabled = 0, the kernel boots with 7" for the kernel of this release;
/// `None` where nothing differs, or where no calibration says what the kernel boots with.
///
/// An arm that sets the tunable itself is no arm that has it from the base.
#[must_use]
pub fn unlike_boot(study: &Study, release: &str) -> Option<String> {
    let calibration = calibration::built_in(release).ok()?;
    let boot = calibration.boots.first()?.capture.frames.first()?;
    let booted = Snapshot::parse(boot).tunables;
    let differs = |it: &&Setting| {
        let booted = booted.get(it.tunable.as_str());
        booted.is_some_and(|booted| !is_same(booted, &it.value))
    };
    let base = study.arms.iter().flat_map(|arm| &arm.base.0);
    let found: BTreeSet<(&str, &str)> = base
        .filter(differs)
        .map(|it| (it.tunable.as_str(), it.value.as_str()))
        .collect();
    let said = found.iter().map(|(tunable, value)| {
        let whose = whose(study, tunable);
        let booted = &booted[tunable];
        let booted = number(booted).map_or_else(|| booted.clone(), |it| it.to_string());
        format!("{whose} has {tunable} = {value}, the kernel boots with {booted}")
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// "every arm", or "every arm that does not say otherwise".
fn whose(study: &Study, tunable: &str) -> &'static str {
    let sets = |arm: &Arm| arm.settings.get(tunable).is_some();
    match study.arms.iter().any(sets) {
        true => "every arm that does not set it",
        false => "every arm",
    }
}

fn is_same(booted: &str, value: &str) -> bool {
    match (number(booted), number(value)) {
        (Some(booted), Some(value)) => booted == value,
        _ => booted.trim() == value.trim(),
    }
}

/// A value as a number, which the kernel may print in base 16; `None` where it is a word.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_that_the_kernel_does_not_boot_with_is_said() {
        let study = Study::built_in("memory-hogs").unwrap();
        let expected = "every arm that does not set it has lru_gen.enabled = 0, the kernel boots \
                        with 7";
        assert_eq!(unlike_boot(&study, "6.12").as_deref(), Some(expected));
        assert_eq!(unlike_boot(&study, "6.1"), None, "it boots with 0");
        assert_eq!(unlike_boot(&study, "2.4"), None);
    }
}
