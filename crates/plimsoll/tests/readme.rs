//! What README.md shows is what the command prints.

use std::process::Command;

const README: &str = include_str!("../../../README.md");

#[test]
fn the_readmes_table_is_the_commands() {
    let shown = README.split("```text\n").nth(1).unwrap();
    let shown = shown.split("```").next().unwrap();
    assert!(shown.lines().count() > 3);
    let folder = tempfile::tempdir().unwrap();
    let mut plimsoll = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    plimsoll
        .args(["predict", "min-free-kbytes", "--report"])
        .current_dir(folder.path());
    let output = plimsoll.env("COLUMNS", "80").output().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    for line in shown.lines() {
        assert!(printed.contains(line), "no line \"{line}\" in:\n{printed}");
    }
    assert!(folder.path().join("min-free-kbytes.html").exists());
}
