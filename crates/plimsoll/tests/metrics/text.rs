//! What is printed and written.

use std::fs;

use look::metrics::{FAMILIES, Family};
use testkit::programs::{openmetrics, promtool};

use super::{metrics, of_evidence, said, samples, shown};

const EVIDENCE: [&str; 5] = [
    "fixtures/hosts/vm-24gib-6.18/capture.txt",
    "fixtures/reclaim/vm-512mib-6.1/capture.txt",
    "fixtures/reclaim/vm-512mib-6.12/capture.txt",
    "fixtures/writeback/vm-512mib-6.1/capture.txt",
    "fixtures/causes/6.12/min-free-raised.0.run.gz",
];

/// Series of a common machine.
const SERIES: usize = 300;

#[test]
fn promtool_has_no_complaint() {
    let mut texts: Vec<String> = EVIDENCE.map(|path| of_evidence(path, &[])).into();
    texts.push(said(&metrics(&[]), "this machine"));
    for text in texts {
        assert!(samples(&text).count() > 10, "{text}");
        if let Some(complaint) = promtool(&["check", "metrics"], &text) {
            assert_eq!(complaint, "", "{text}");
        }
    }
}

#[test]
fn the_strict_parser_of_openmetrics_finds_every_sample() {
    let mut texts: Vec<String> = EVIDENCE
        .map(|path| of_evidence(path, &["--openmetrics"]))
        .into();
    texts.push(said(&metrics(&["--openmetrics"]), "this machine"));
    for text in texts {
        let count = samples(&text).count();
        if let Some(found) = openmetrics(&text) {
            assert_eq!(found, format!("{count}\n"), "{text}");
        }
    }
}

#[test]
fn the_figures_of_a_machine_are_bounded() {
    let text = said(&metrics(&["--over", "1s"]), "this machine");
    assert!(samples(&text).count() <= SERIES, "{text}");
    let reclaim = of_evidence(EVIDENCE[2], &[]);
    assert!(samples(&reclaim).count() <= SERIES, "{reclaim}");
}

#[test]
fn hostile_names_are_told_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let group = folder
        .path()
        .join("sys/fs/cgroup")
        .join("a\"\\\n\u{1b}[2J} 1");
    fs::create_dir_all(&group).expect("a folder");
    fs::write(group.join("memory.current"), "4096\n").expect("a file");
    for form in [&["--openmetrics"][..], &[]] {
        let arguments = [&[shown(folder.path())], form].concat();
        let text = said(&metrics(&arguments), "a folder");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(
            text.contains(r#"{group="/a\"\\\n\\u001b[2J} 1"} 4096"#),
            "{text}"
        );
        let found = match form.is_empty() {
            true => promtool(&["check", "metrics"], &text).map(|said| said.is_empty()),
            false => openmetrics(&text).map(|said| said.trim().parse::<usize>().is_ok()),
        };
        assert_ne!(found, Some(false), "{text}");
    }
}

#[test]
fn a_file_is_replaced_as_a_whole_and_others_may_read_it() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plimsoll.prom");
    fs::write(&file, "old").expect("a file");
    let before = fs::metadata(&file).expect("a file").ino();
    let evidence = testkit::checkout(EVIDENCE[0]);
    let arguments = [shown(&evidence), "--output", shown(&file)];
    assert_eq!(said(&metrics(&arguments), "a file"), "");
    let text = fs::read_to_string(&file).expect("a file");
    assert_eq!(text, of_evidence(EVIDENCE[0], &[]));
    let now = fs::metadata(&file).expect("a file");
    assert_ne!(now.ino(), before, "it was written in place");
    assert_eq!(now.permissions().mode() & 0o444, 0o444);
    let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn what_cannot_be_done_is_an_error_in_one_line() {
    let two = EVIDENCE.map(testkit::checkout);
    for (arguments, expected) in [
        (vec!["/nowhere"], "/nowhere"),
        (vec![shown(&two[0]), shown(&two[1])], "give one at a time"),
        (vec!["--listen", "0.0.0.0:0"], "add --expose"),
        (vec!["--listen", "localhost"], "invalid socket address"),
        (vec!["--over", "1s", shown(&two[0])], "cannot be used with"),
        (vec!["--output", "/nowhere/x.prom"], "/nowhere/x.prom"),
    ] {
        let output = metrics(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains(expected) && stderr.lines().count() == 1,
            "{arguments:?}: {stderr}"
        );
    }
}

/// The families as docs/metrics.md lists them.
fn families() -> String {
    let row = |family: &Family| {
        let (name, kind) = (family.sample_name(), family.kind.word());
        let labels = family.labels;
        format!(
            "| `{name}` | {kind} | {labels} | {} | {} |\n",
            family.help, family.from
        )
    };
    let rows: String = FAMILIES.iter().map(row).collect();
    format!("| figure | kind | labels | what it says | made of |\n|---|---|---|---|---|\n{rows}")
}

#[test]
fn the_document_lists_every_family() {
    let path = testkit::checkout("docs/metrics.md");
    let text = testkit::text("docs/metrics.md");
    let (before, rest) = text.split_once("| figure |").expect("the table");
    let (_, behind) = rest.split_once("\n\n").expect("what is behind it");
    let fresh = format!("{before}{}\n{behind}", families());
    expect_test::expect_file![path].assert_eq(&fresh);
}

#[test]
fn no_name_is_one_of_the_guards_own() {
    let guards = guard::figures::FAMILIES.map(|(name, ..)| format!("plimsoll_guard_{name}"));
    let ours = FAMILIES.iter().map(Family::sample_name);
    let same: Vec<String> = ours.filter(|name| guards.contains(name)).collect();
    assert!(same.is_empty(), "{same:?}");
}
