//! Paths of tunables stand in the catalogue and nowhere else.

use super::violation::Violation;
use crate::tree::Source;

/// Where they stand.
const CATALOGUE: &str = "crates/mm/src/catalogue/";
/// The file that has the folders, a constant each.
const FOLDERS: &str = "crates/mm/src/catalogue/folder.rs";

/// The rule: outside tests no text of the code has a folder of tunables in it.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let folders = folders(sources);
    let elsewhere = sources
        .iter()
        .filter(|source| source.is_rust() && !source.path.starts_with(CATALOGUE));
    elsewhere
        .flat_map(|source| {
            let code = source.text.lines().take(source.tests_begin()).enumerate();
            let code = code.filter(|(_, line)| !line.trim_start().starts_with("//"));
            let named = code.filter_map(|(at, line)| {
                let folder = folders.iter().find(|folder| has(line, folder))?;
                Some((at, folder))
            });
            named.map(|(at, folder)| {
                let what = format!("{folder} is the catalogue's: ask mm::catalogue for the path");
                Violation::at(source, at + 1, what)
            })
        })
        .collect()
}

/// The values of the constants.
fn folders(sources: &[Source]) -> Vec<&str> {
    let source = sources.iter().find(|source| source.path == FOLDERS);
    let lines = source
        .map(|source| source.text.lines())
        .into_iter()
        .flatten();
    let constants = lines.filter(|line| line.starts_with("pub const ") && !line.contains("fn "));
    constants
        .filter_map(|line| line.split('"').nth(1))
        .collect()
}

/// Whether a line has the folder, and no longer name that begins as it does.
fn has(line: &str, folder: &str) -> bool {
    let mut behind = line
        .match_indices(folder)
        .map(|(at, _)| &line[at + folder.len()..]);
    behind.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    const VM: &str = "pub const VM: &str = \"proc/sys/vm\";\n";

    #[test]
    fn a_path_outside_the_catalogue_is_found() {
        let code = "let a = \"/proc/sys/vm/swappiness\";\n";
        let said = run(check, &[(FOLDERS, VM), ("crates/conf/src/a.rs", code)]);
        let what = "proc/sys/vm is the catalogue's: ask mm::catalogue for the path";
        assert_eq!(said, [format!("crates/conf/src/a.rs:1: {what}")]);
    }

    #[test]
    fn comments_tests_the_catalogue_and_longer_names_are_let_be() {
        let path = "\"proc/sys/vm/swappiness\"";
        for (file, code) in [
            ("crates/conf/src/a.rs", format!("// {path}\n")),
            (
                "crates/conf/src/a.rs",
                format!("#[cfg(test)]\nlet a = {path};\n"),
            ),
            ("crates/conf/tests/a.rs", format!("let a = {path};\n")),
            (
                "crates/mm/src/catalogue/vm.rs",
                format!("let a = {path};\n"),
            ),
            (
                "crates/conf/src/a.rs",
                "let a = \"proc/sys/vmware\";\n".to_owned(),
            ),
        ] {
            assert!(
                run(check, &[(FOLDERS, VM), (file, &code)]).is_empty(),
                "{code}"
            );
        }
    }
}
