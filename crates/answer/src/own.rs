//! The arm of one's own settings.

use mm::catalogue;
use mm::settings::{Setting, Settings};
use scenario::workload::Action;
use study::{Limit, Study};

use crate::refused::Refused;

/// The arm that `--set` and `--limit` make.
pub const OWN_ARM: &str = "yours";

/// The study with one more arm that has these settings; as it is where there are none.
///
/// # Errors
/// A setting that does not exist, is out of range, is set twice, or that the machine lacks.
pub fn with_settings(study: Study, settings: &[Setting]) -> Result<Study, Refused> {
    if settings.is_empty() {
        return Ok(study);
    }
    let refused = |why: String| Refused(why).at("--set");
    for (index, setting) in settings.iter().enumerate() {
        catalogue::check(setting).map_err(|why| refused(why.to_string()))?;
        let name = &setting.tunable;
        if settings[..index].iter().any(|other| other.tunable == *name) {
            return Err(refused(format!("{name} is set twice; give it one value")));
        }
    }
    let settings = Settings(settings.to_vec());
    let own = study.with_arm(OWN_ARM, &settings);
    own.map_err(|why| refused(why.to_string()))
}

/// The tunables about anonymous memory: what they do hangs on what processes map and touch.
const ANONYMOUS: [&str; 6] = [
    "vm.swappiness",
    "vm.page-cluster",
    "vm.overcommit_",
    "thp.",
    "ksm.",
    "zswap.",
];

/// Refuses settings about anonymous memory where a recording has none: "no difference" would be no
/// answer.
///
/// # Errors
/// One of the settings is such a one.
pub fn check_anonymous(study: &Study, settings: &[Setting]) -> Result<(), Refused> {
    if study.observed.is_none() || maps(study) {
        return Ok(());
    }
    let about = |it: &&Setting| ANONYMOUS.iter().any(|name| it.tunable.starts_with(name));
    match settings.iter().find(about) {
        None => Ok(()),
        Some(setting) => Err(Refused(format!(
            "--set: {} is about anonymous memory, which this recording does not have{}; try it on \
             the machine itself with `plimsoll trial`",
            setting.tunable,
            why_none(study)
        ))),
    }
}

/// " (lru_gen is not enabled)": why a recording has no anonymous memory, where it says so.
pub(crate) fn why_none(study: &Study) -> String {
    let said = study.observed.as_ref().and_then(|it| it.ages.as_deref());
    let why = said.and_then(|it| it.strip_prefix("none: "));
    why.map_or(String::new(), |why| format!(" ({why})"))
}

/// Whether a process of the study has memory of its own.
#[must_use]
pub fn maps(study: &Study) -> bool {
    let is_map = |action: &Action| matches!(action, Action::Map(_));
    study.arms.iter().any(|arm| arm.workload.any_action(is_map))
}

/// The study whose own arm has these limits of control groups, and what is to be said of them.
///
/// # Errors
/// A group that the study lacks, or that has more than its limit beside the page cache.
pub fn with_limits(study: Study, limits: &[Limit]) -> Result<(Study, Vec<String>), Refused> {
    if limits.is_empty() {
        return Ok((study, Vec::new()));
    }
    let has_arm = own_arms(&study).next().is_some();
    let study = match has_arm {
        true => study,
        false => study.with_arm(OWN_ARM, &Settings::default())?,
    };
    let limited = study.with_limits(OWN_ARM, limits);
    limited.map_err(|why| Refused::from(why).at("--limit"))
}

/// The names of the arm of one's own: several where a sweep of the study takes all arms.
pub fn own_arms(study: &Study) -> impl Iterator<Item = String> {
    let names = study.arms.iter().map(|arm| &arm.name);
    let own = names.filter(|name| match name.strip_prefix(OWN_ARM) {
        Some(rest) => rest.is_empty() || rest.starts_with(", "),
        None => false,
    });
    own.cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::units::PageSize;

    fn setting(text: &str) -> Setting {
        catalogue::typed(text, PageSize::FOUR_KIB).unwrap()
    }

    #[test]
    fn a_setting_of_ones_own_becomes_an_arm() {
        let study = Study::built_in("min-free-kbytes").unwrap();
        let own = [setting("vm.min_free_kbytes=300000")];
        let study = with_settings(study, &own).unwrap();
        let scenario = study.scenario(OWN_ARM, 1).unwrap();
        assert_eq!(
            scenario.arm_settings.get("vm.min_free_kbytes"),
            Some("300000")
        );
        let again = Study::parse(&study.text, "again").unwrap();
        assert_eq!(
            again.scenario(OWN_ARM, 1).unwrap(),
            scenario,
            "the text says so too"
        );
    }

    #[test]
    fn an_arm_of_ones_own_is_for_the_model_only_where_all_arms_are() {
        let own = [setting("vm.swappiness=60")];
        for (name, model_only) in [("file-copy", true), ("min-free-kbytes", false)] {
            let study = with_settings(Study::built_in(name).unwrap(), &own).unwrap();
            assert_eq!(study.arm(OWN_ARM).unwrap().model_only, model_only, "{name}");
        }
    }

    #[test]
    fn an_arm_of_ones_own_takes_part_in_the_sweeps_of_all_arms() {
        let text = "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\nmemory = \"1 GiB\"\n\
                    [parameters]\nn = 1\n[[sweep]]\nparameter = \"n\"\nvalues = [1, 2]\n\
                    [[arm]]\nname = \"a\"\n\
                    [[process]]\nname = \"p\"\nsteps = [{ label = \"l\", sleep = \"1 s\" }]\n\
                    [[measure]]\nname = \"m\"\nstep = \"l\"\ntake = \"duration\"\n";
        let own = [setting("vm.swappiness=60")];
        let study = with_settings(Study::parse(text, "s").unwrap(), &own).unwrap();
        let names: Vec<String> = own_arms(&study).collect();
        assert_eq!(names, ["yours, n 1", "yours, n 2"]);
    }

    #[test]
    fn what_is_wrong_with_a_setting_is_placed_at_the_option_and_at_no_line_of_the_study() {
        let study = Study::built_in("min-free-kbytes").unwrap();
        let lacking = [setting("bdi.disc.max_ratio=50")];
        let error = with_settings(study, &lacking).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("--set: unknown disk `disc`"), "{text}");
    }
}
