//! The configuration: a TOML file and its drop-ins, as keys and texts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use guard::Config;
use host::reason;
use toml::de::{DeTable, DeValue};

/// Reads the file and `FILE.d/*.toml` in order of name. A key of a later file takes the place of
/// an earlier one's.
///
/// # Errors
/// One line: `FILE: KEY: why; way out`.
pub(crate) fn read(path: &Path) -> Result<Config, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for file in files(path) {
        let named = |error: String| format!("{}: {error}", file.display());
        let text = fs::read_to_string(&file).map_err(|error| {
            let way_out = match error.kind() {
                io::ErrorKind::NotFound => "; name another with --config FILE",
                _ => "",
            };
            named(format!("{}{way_out}", reason(&error)))
        })?;
        let own = flatten(&text).map_err(named)?;
        // Each file by itself, so that the error names the right one.
        let each = own.iter().map(|(key, text)| (key.as_str(), text.as_str()));
        Config::read(each).map_err(|error| named(error.to_string()))?;
        pairs.retain(|(key, _)| own.iter().all(|(other, _)| other != key));
        pairs.extend(own);
    }
    let pairs = pairs
        .iter()
        .map(|(key, text)| (key.as_str(), text.as_str()));
    Config::read(pairs).map_err(|error| format!("{}: {error}", path.display()))
}

/// The file and its drop-ins.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut folder = path.as_os_str().to_owned();
    folder.push(".d");
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut drop_ins: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    drop_ins.sort_unstable();
    let mut files = vec![path.to_owned()];
    files.append(&mut drop_ins);
    files
}

/// `[a.b] c = "d"` becomes `("a.b.c", "d")`; a list repeats its key.
fn flatten(text: &str) -> Result<Vec<(String, String)>, String> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..at]
            .iter()
            .filter(|&&b| b == b'\n')
            .count()
            + 1;
        let way_out = "it is TOML, as in [floor] and below it clean_min = \"15 %\"";
        format!("line {line}: {}; {way_out}", error.message())
    })?;
    let mut pairs = Vec::new();
    add_table(&mut pairs, "", table.get_ref())?;
    Ok(pairs)
}

fn add_table(
    pairs: &mut Vec<(String, String)>,
    prefix: &str,
    table: &DeTable<'_>,
) -> Result<(), String> {
    for (name, value) in table {
        let name = name.get_ref();
        let key = match prefix {
            "" => name.to_string(),
            prefix => format!("{prefix}.{name}"),
        };
        add(pairs, &key, value.get_ref())?;
    }
    Ok(())
}

fn add(pairs: &mut Vec<(String, String)>, key: &str, value: &DeValue<'_>) -> Result<(), String> {
    match value {
        DeValue::String(text) => pairs.push((key.to_owned(), text.to_string())),
        DeValue::Table(table) => add_table(pairs, key, table)?,
        DeValue::Array(values) => {
            for value in values {
                add(pairs, key, value.get_ref())?;
            }
        }
        _ => {
            let way_out = "write it in quotation marks, as \"512 MiB\" or \"15 %\"";
            return Err(format!("{key}: this is no text; {way_out}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard::config::Amount;
    use mm::units::Bytes;

    fn written(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("guard.toml");
        fs::create_dir(directory.path().join("guard.toml.d")).expect("a directory");
        for (name, text) in files {
            fs::write(directory.path().join(name), text).expect("a file");
        }
        (directory, path)
    }

    #[test]
    fn sections_lists_and_drop_ins_become_one_configuration() {
        let (_directory, path) = written(&[
            (
                "guard.toml",
                "[floor]\nclean_min = \"15 %\"\nkeep = [\"/a\", \"/b\"]\n\
                 [ceiling.groups]\n\"system.slice/a.service\" = \"8 MiB\"\n",
            ),
            ("guard.toml.d/20.toml", "floor.clean_min = \"5 %\"\n"),
            ("guard.toml.d/10.toml", "floor.clean_min = \"6 %\"\n"),
            ("guard.toml.d/30.conf", "nothing"),
        ]);
        let config = read(&path).expect("a configuration");
        let floor = config.floor.clone().expect("a floor");
        assert_eq!(floor.clean_min, Amount::OfTotal(50));
        assert_eq!(floor.keep, ["/a", "/b"]);
        let groups = config.ceiling.expect("a ceiling").groups;
        let expected = (
            "system.slice/a.service".into(),
            Amount::Bytes(Bytes(8 << 20)),
        );
        assert_eq!(groups, [expected]);
    }

    #[test]
    fn the_packaged_example_turns_nothing_on_and_is_a_configuration_without_its_comments() {
        let example = include_str!("../../../packaging/guard.toml");
        let (_directory, path) = written(&[("guard.toml", example)]);
        assert_eq!(read(&path).expect("a configuration"), Config::default());
        let lines = example.lines().filter_map(|line| line.strip_prefix("# "));
        let settings = lines.filter(|line| line.starts_with('[') || line.contains(" = "));
        let (_directory, path) =
            written(&[("guard.toml", &settings.collect::<Vec<_>>().join("\n"))]);
        let config = read(&path).expect("a configuration");
        assert!(config.floor.is_some() && config.ceiling.is_some());
    }

    #[test]
    fn what_the_policies_write_is_read_back() {
        let pairs = [
            ("ceiling.groups.a.b/c", "8 MiB"),
            ("floor.keep", "/a \"b\""),
        ];
        let pairs = pairs.map(|(key, text)| (key.to_owned(), text.to_owned()));
        let mut back = flatten(&guard::config::to_toml(&pairs)).expect("TOML");
        back.sort_unstable();
        assert_eq!(back, pairs);
    }

    #[test]
    fn an_error_names_the_file_the_key_and_the_way_out() {
        let error = |text| {
            let (directory, path) = written(&[("guard.toml", text)]);
            let said = read(&path).expect_err("no configuration");
            said.replace(&format!("{}/", directory.path().display()), "")
        };
        assert_eq!(
            error("[floor]\nclean_mn = \"1 %\"\n"),
            "guard.toml: `floor.clean_mn`: there is no such key; did you mean `floor.clean_min`?"
        );
        assert_eq!(
            error("[floor]\nclean_min = 15\n"),
            "guard.toml: floor.clean_min: this is no text; \
             write it in quotation marks, as \"512 MiB\" or \"15 %\""
        );
        assert!(error("[floor\n").starts_with("guard.toml: line 1: "));
        let outside = error("[ceiling.groups]\n\"../a\" = \"1 MiB\"\n");
        assert!(outside.contains("no control group"), "{outside}");
        let missing = read(Path::new("/missing/guard.toml")).expect_err("no file");
        assert!(missing.ends_with("No such file or directory; name another with --config FILE"));
    }
}
