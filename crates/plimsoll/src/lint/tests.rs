//! The table, the pages and the fixtures belong together, and every rule finds what it is for and
//! nothing beside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use conf::Entry;
use mm::capture::{Capture, Frame};
use mm::evidence::path::is_configuration;
use mm::snapshot::Snapshot;

use super::machine::Machine;
use super::page::SECTIONS;
use super::read;
use super::report::{Choice, Report};
use super::rule::Rule;
use super::scope::{Extent, Scope, Text};
use super::table::{self, RULES};
use super::tree::{self, Known};

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of the files of a folder, without their extension.
fn stems(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(checkout().join(folder)).expect("the folder");
    let stem = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        path.file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    entries.map(stem).collect()
}

#[test]
fn every_rule_has_a_page_and_a_fixture_and_there_are_no_others() {
    let names: BTreeSet<String> = table::names().map(str::to_owned).collect();
    assert_eq!(names.len(), RULES.len(), "a name stands once");
    assert!(names.len() >= 40, "{}", names.len());
    assert_eq!(stems("docs/rules"), names);
    assert_eq!(stems("fixtures/lint/rules"), names);
}

#[test]
fn a_page_has_its_name_its_severity_and_every_section() {
    for rule in RULES {
        let head = format!("# {}\n\nSeverity: {}.\n\n", rule.name, rule.severity.word());
        assert!(rule.page.starts_with(&head), "{}", rule.name);
        assert!(rule.summary().ends_with('.'), "{}", rule.name);
        let headings: Vec<&str> = rule
            .page
            .lines()
            .filter_map(|l| l.strip_prefix("## "))
            .collect();
        assert_eq!(headings, SECTIONS, "{}", rule.name);
        for section in SECTIONS {
            assert!(rule.section(section).len() > 3, "{}: {section}", rule.name);
        }
    }
}

/// What a rule says of a frame of its fixture: how often it finds something, and how often it does
/// not know.
fn said(rule: &Rule, frame: &Frame) -> [usize; 2] {
    let machine = Machine::of(Snapshot::parse(frame));
    let (texts, others): (Vec<_>, Vec<_>) = frame
        .files
        .iter()
        .filter(|(path, _)| !path.starts_with("proc/") && !path.starts_with("sys/"))
        .partition(|(path, _)| is_configuration(path) || path.starts_with("usr/"));
    let tree = texts
        .into_iter()
        .map(|(path, text)| (path, Entry::File(text.clone())))
        .collect();
    let mut scopes = vec![tree::scope(&tree, Known::Everything, "", &machine)];
    for (path, text) in others {
        let form = read::form(path, text).expect("a text that holds settings");
        let text = Text {
            path: path.clone(),
            text: text.clone(),
            form,
            is_read: true,
        };
        scopes.push(Scope::of(vec![text], Extent::Part, &machine));
    }
    let report = Report::of(&scopes, &Choice::default());
    let of = |name: &str| name == rule.name;
    [
        report.findings.iter().filter(|it| of(it.rule.name)).count(),
        report.unknown.iter().filter(|it| of(it.rule.name)).count(),
    ]
}

#[test]
fn every_rule_finds_what_it_is_for_and_is_silent_beside_it() {
    for rule in RULES {
        let path = checkout().join(format!("fixtures/lint/rules/{}.txt", rule.name));
        let text = fs::read_to_string(path).expect("the fixture");
        let capture = Capture::parse(&text).expect("a capture");
        let of = |label: &str| {
            let frame = capture.labelled(label).expect("the frame");
            said(rule, frame)
        };
        assert_eq!(of("finds"), [1, 0], "{}", rule.name);
        assert_eq!(of("silent"), [0, 0], "{}", rule.name);
        if capture.labelled("unknown").is_some() {
            assert_eq!(of("unknown"), [0, 1], "{}", rule.name);
        }
    }
}
