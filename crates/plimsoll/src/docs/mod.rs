//! The documents that are made from the code: a test that they are fresh, and how they are made.
//!
//! `cargo xtask docs` runs the test with `UPDATE_EXPECT=1`, which writes them again.
#![cfg(test)]

mod cli_reference;
mod schemas;
mod tunables;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use crate::cli::Cli;

/// Where they lie, from the root of the checkout: path and text.
type Documents = BTreeMap<PathBuf, String>;

/// Folders that hold nothing else; a file that is not made any more has to go.
const FOLDERS: &[&str] = &["docs/man", "docs/schemas"];

#[test]
fn generated_documents_are_fresh() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let documents = generate();
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        write(root, &documents);
    }
    let way_out = "run `cargo xtask docs`";
    for (path, text) in &documents {
        let found = fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(found == *text, "{} is not fresh: {way_out}", path.display());
    }
    let strangers = strangers(root, &documents);
    assert!(
        strangers.is_empty(),
        "not made any more: {strangers:?}: {way_out}"
    );
}

#[test]
fn a_man_page_refers_to_pages_that_there_are() {
    let documents = man_pages();
    let names: Vec<String> = documents.keys().map(|path| page_name(path)).collect();
    for (path, text) in &documents {
        let referred = text.lines().filter_map(|line| line.strip_suffix("(1)"));
        for name in referred.map(|line| line.replace('\\', "")) {
            assert!(names.contains(&name), "{}: {name}(1)", path.display());
        }
    }
}

fn page_name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn generate() -> Documents {
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut documents = man_pages();
    documents.extend(schemas::schemas());
    documents.insert("docs/cli.md".into(), cli_reference::markdown(&command));
    documents.insert("docs/tunables.md".into(), tunables::markdown());
    documents
}

/// One page for the command and one for each verb.
fn man_pages() -> Documents {
    let folder = tempfile::tempdir().unwrap();
    let mut command = without_help(Cli::command().term_width(100));
    command.build();
    let command = command.mut_subcommands(without_globals);
    clap_mangen::generate_to(command, folder.path()).unwrap();
    let pages = fs::read_dir(folder.path()).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        (Path::new("docs/man").join(entry.file_name()), text)
    });
    pages.collect()
}

/// What goes with every verb stands in the page of the command.
fn without_globals(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| match argument.is_global_set() {
        true => argument.hide(true),
        false => argument,
    });
    command.mut_subcommands(without_globals)
}

/// `help` is a verb that has no page, so no page may name one.
fn without_help(command: clap::Command) -> clap::Command {
    let command = command.disable_help_subcommand(true);
    command.mut_subcommands(without_help)
}

fn write(root: &Path, documents: &Documents) {
    for path in strangers(root, documents) {
        fs::remove_file(root.join(path)).unwrap();
    }
    for (path, text) in documents {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Files in the folders of generated documents that are not generated.
fn strangers(root: &Path, documents: &Documents) -> Vec<PathBuf> {
    let files = FOLDERS.iter().flat_map(|folder| {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        entries.map(move |entry| Path::new(folder).join(entry.unwrap().file_name()))
    });
    files.filter(|path| !documents.contains_key(path)).collect()
}
