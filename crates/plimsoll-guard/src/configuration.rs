//! The configuration: a TOML file and its drop-ins.

use std::path::Path;

use guard::{Config, text};
use host::drop_ins::{self, Writer};

/// Reads the file and `FILE.d/*.toml` in order of name; where one policy is named, only its
/// section counts.
///
/// # Errors
/// One line: `FILE: KEY: why; way out`.
pub(crate) fn read(path: &Path, only: Option<&str>) -> Result<Config, String> {
    let files = drop_ins::read(path, Writer::Root)?;
    let names = files.iter().map(|(file, _)| file.display().to_string());
    let names: Vec<String> = names.collect();
    let texts = files.iter().map(|(_, text)| text.as_str());
    let mut pairs = text::of_files(names.iter().map(String::as_str).zip(texts))
        .map_err(|error| error.to_string())?;
    if let Some(policy) = only {
        pairs.retain(|(key, _)| key.split('.').next() == Some(policy));
    }
    Config::of(&pairs).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_is_named_is_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("guard.toml");
        let text = "metrics = \"/a\"\n[floor]\nclean_min = \"5 %\"\n[ceiling]\ntotal = \"1 GiB\"\n";
        std::fs::write(&path, text).expect("a file");
        let all = read(&path, None).expect("a configuration");
        assert!(all.floor.is_some() && all.ceiling.is_some() && all.metrics.is_some());
        let one = read(&path, Some("ceiling")).expect("a configuration");
        assert_eq!(one.ceiling, all.ceiling);
        assert!(one.floor.is_none() && one.metrics.is_none());
    }

    #[test]
    fn the_packaged_example_turns_nothing_on_and_names_every_key() {
        let example = include_str!("../../../packaging/guard.toml");
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("guard.toml");
        std::fs::write(&path, example).expect("a file");
        assert_eq!(
            read(&path, None).expect("a configuration"),
            Config::default()
        );
        let lines = example.lines().filter_map(|line| line.strip_prefix("# "));
        let settings = lines.filter(|line| line.starts_with('[') || line.contains(" = "));
        let settings: Vec<&str> = settings.collect();
        std::fs::write(&path, settings.join("\n")).expect("a file");
        let pairs = guard::text::pairs(&settings.join("\n")).expect("TOML");
        read(&path, None).expect("a configuration");
        for key in guard::config::KEYS {
            assert!(
                pairs.iter().any(|(named, _)| named.starts_with(key)),
                "{key}"
            );
        }
    }
}
