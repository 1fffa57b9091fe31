//! What is asked for: settings on the command line, in a file, or those of a study's arm.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use conf::sysctl_d::{self, Loader, Says};
use lab::study::Study;
use mm::settings::Setting;

use crate::cmd::set;

/// The settings, checked against the catalogue, in the order in which they are written; a tunable
/// that is named twice has its last value.
pub(crate) fn settings(words: &[String]) -> anyhow::Result<Vec<Setting>> {
    let mut all: Vec<Setting> = Vec::new();
    for word in words {
        all.extend(of_word(word)?);
    }
    let mut settings: Vec<Setting> = Vec::new();
    for setting in all {
        mm::catalogue::check(&setting)?;
        settings.retain(|known| known.tunable != setting.tunable);
        settings.push(setting);
    }
    if settings.is_empty() {
        bail!("nothing to set: write vm.swappiness=10, a sysctl.d file or STUDY:ARM");
    }
    Ok(settings)
}

fn of_word(word: &str) -> anyhow::Result<Vec<Setting>> {
    if Path::new(word).is_file() {
        return of_file(word);
    }
    if word.contains('=') {
        let setting = set::setting(word).map_err(|error| anyhow!(error))?;
        return Ok(vec![setting]);
    }
    match word.split_once(':') {
        Some((study, arm)) => of_arm(study, arm),
        None => bail!("{word}: neither KEY=VALUE, nor a file, nor STUDY:ARM"),
    }
}

/// The lines of a `sysctl.d` file; keys of `/sys` may stand there too.
fn of_file(path: &str) -> anyhow::Result<Vec<Setting>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{path}: cannot be read"))?;
    let lines = sysctl_d::lines(&text, Loader::Systemd).into_iter();
    let settings = lines.filter_map(|line| {
        let at = || format!("{path}: line {}", line.number);
        match line.says {
            Says::Sets { key, value, .. } => {
                let setting = set::of(key, value).map_err(|error| anyhow!(error));
                Some(setting.with_context(at))
            }
            Says::Excludes(key) => Some(Err(anyhow!(
                "{}: -{key} leaves a key alone, which is nothing to set",
                at()
            ))),
            Says::Nothing | Says::Comment(_) => None,
            Says::Nonsense(_) => Some(Err(anyhow!("{}: write it as vm.swappiness = 10", at()))),
        }
    });
    settings.collect()
}

fn of_arm(study: &str, arm: &str) -> anyhow::Result<Vec<Setting>> {
    let study = Study::find(study)?;
    let names = || {
        let names = study.arms.iter().map(|arm| arm.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let found = study.arms.iter().find(|it| it.name == arm);
    let found = found.ok_or_else(|| anyhow!("{}: no arm {arm}; it has {}", study.name, names()))?;
    if found.settings.is_empty() {
        bail!("{}:{arm} sets no tunable of the machine", study.name);
    }
    Ok(found.settings.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let settings = settings(&words).map_err(|error| format!("{error:#}"))?;
        Ok(settings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_last_value_of_a_tunable_counts() {
        let asked = asked(&["swappiness=10", "vm.dirty_bytes=64M", "vm/swappiness=20"]);
        assert_eq!(
            asked.expect("settings"),
            ["vm.dirty_bytes = 67108864", "vm.swappiness = 20"]
        );
    }

    #[test]
    fn a_studys_arm_is_what_it_sets() {
        let settings = asked(&["memory-hogs:swappiness 30"]);
        assert_eq!(settings.expect("an arm"), ["vm.swappiness = 30"]);
        let error = asked(&["memory-hogs:nothing"]).unwrap_err();
        assert!(error.contains("no arm nothing; it has"), "{error}");
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, "# mine\nvm.swappiness = 10\nvm.swapines = 3\n").expect("a file");
        let path = file.path().to_str().expect("a path");
        let error = asked(&[path]).unwrap_err();
        assert!(error.contains("line 3: vm.swapines"), "{error}");
        for (word, what) in [
            ("vm.swappiness", "neither KEY=VALUE"),
            ("vm.swappiness=many", "expected an integer"),
            ("vm.drop_caches=3x", "vm.drop_caches"),
        ] {
            let error = asked(&[word]).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
