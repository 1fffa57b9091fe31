//! The table, the pages and the fixtures belong together, and every rule finds what it is for and
//! nothing beside it.

use std::collections::BTreeSet;
use std::fs;

use conf::Entry;
use evidence::path::is_configuration;
use mm::capture::{Capture, Frame};
use mm::prng::Prng;
use mm::snapshot::Snapshot;

use super::choice::Choice;
use super::fix::Fix;
use super::machine::Machine;
use super::page::SECTIONS;
use super::read::{self, Form};
use super::report::Report;
use super::rule::Rule;
use super::scope::{Extent, Scope};
use super::table::{self, RULES};
use super::text::Text;
use super::tree::{self, Known};

/// The names of the files of a folder, without their extension.
fn stems(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(testkit::checkout(folder)).expect("the folder");
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
    RULES.iter().for_each(|rule| rule.entry().check(&SECTIONS));
}

#[test]
fn the_document_lists_every_rule_as_it_is() {
    let document = fs::read_to_string(testkit::checkout("docs/lint.md")).expect("the document");
    let listed: Vec<&str> = document
        .lines()
        .filter(|line| line.starts_with("| ["))
        .collect();
    let expected: Vec<String> = RULES.iter().map(|rule| rule.entry().row("rules")).collect();
    assert_eq!(listed, expected);
}

/// What all rules say of a frame: its texts of configuration are all of a machine's; each other
/// text, and each profile of TuneD, stands for itself.
fn report(frame: &Frame) -> Report {
    let machine = Machine::of(Snapshot::parse(frame));
    let is_text = |path: &str| !path.starts_with("proc/") && !path.starts_with("sys/");
    let of_machine = |path: &str, text: &str| {
        let known = is_configuration(path) || text.is_empty();
        known && !path.starts_with("usr/lib/tuned/")
    };
    let texts = frame.files.iter().filter(|(path, _)| is_text(path));
    let (texts, others): (Vec<_>, Vec<_>) = texts.partition(|(path, text)| of_machine(path, text));
    let tree = texts
        .into_iter()
        .map(|(path, text)| (path, Entry::File(text.clone())))
        .collect();
    let mut scopes = vec![tree::scope(&tree, Known::Everything, "", &machine)];
    for (path, text) in others {
        let form = read::form(path, text).expect("a text that holds settings");
        scopes.push(alone(path, text, form, &machine));
    }
    Report::of(&scopes, &Choice::default())
}

fn alone<'a>(path: &str, text: &str, form: Form, machine: &'a Machine) -> Scope<'a> {
    let text = Text::new(path, text, form);
    Scope::of(vec![text], Extent::Part, machine)
}

fn fixture(name: &str) -> Capture {
    testkit::capture(&format!("fixtures/lint/{name}"))
}

/// How often a rule finds something in a frame, and how often it does not know.
fn said(rule: &Rule, frame: &Frame) -> [usize; 2] {
    let report = report(frame);
    let of = |name: &str| name == rule.name;
    [
        report.findings.iter().filter(|it| of(it.rule.name)).count(),
        report.unknown.iter().filter(|it| of(it.rule.name)).count(),
    ]
}

#[test]
fn every_rule_finds_what_it_is_for_and_is_silent_beside_it() {
    for rule in RULES {
        let capture = fixture(&format!("rules/{}.txt", rule.name));
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

/// A row of fixtures/lint/published.toml.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Mistake {
    settings: Option<String>,
    capture: Option<String>,
    finds: Vec<String>,
    says: Option<String>,
    source: String,
}

#[test]
fn mistakes_that_were_published_are_found() {
    #[derive(serde::Deserialize)]
    struct Published {
        mistake: Vec<Mistake>,
    }
    let path = testkit::checkout("fixtures/lint/published.toml");
    let text = fs::read_to_string(path).expect("the list");
    let published: Published = toml::from_str(&text).expect("a list");
    assert!(published.mistake.len() >= 12);
    for mistake in published.mistake {
        let none = Machine::default();
        let report = match (&mistake.settings, &mistake.capture) {
            (Some(text), _) => {
                let scope = alone("a.conf", text, Form::Sysctl, &none);
                Report::of(&[scope], &Choice::default())
            }
            (None, capture) => {
                let capture = fixture(capture.as_ref().expect("settings or a capture"));
                report(capture.frames.first().expect("a frame"))
            }
        };
        for name in &mistake.finds {
            let wanted = mistake.finds.iter().filter(|other| *other == name).count();
            let found = report.findings.iter().filter(|it| it.rule.name == name);
            assert_eq!(found.count(), wanted, "{name}: {}", mistake.source);
        }
        let says = mistake.says.unwrap_or_default();
        let said = report.findings.iter().any(|it| it.what.contains(&says));
        assert!(said, "{says}: {}", mistake.source);
    }
}

#[test]
fn what_distributions_install_has_these_findings_and_no_others() {
    let all: [(&str, &[&str]); 8] = [
        ("arch", &[]),
        ("cachyos", &["two-writers"]),
        ("debian-12", &[]),
        ("debian-13", &[]),
        ("fedora", &[]),
        ("saptune", &["key-of-patch"]),
        (
            "tuned-2.20",
            &["zone-reclaim", "dirty-ratio-high", "dirty-ratio-high"],
        ),
        ("ubuntu", &[]),
    ];
    assert_eq!(
        fs::read_dir(testkit::checkout("fixtures/lint/distributions"))
            .expect("it")
            .count(),
        all.len()
    );
    for (name, expected) in all {
        let capture = fixture(&format!("distributions/{name}.txt"));
        let report = report(capture.frames.first().expect("a frame"));
        let found = report.findings.iter().map(|finding| finding.rule.name);
        assert_eq!(found.collect::<Vec<_>>(), expected, "{name}");
        assert!(report.settings >= 3, "{name} is read");
    }
}

/// A text of words that settings are made of, in no order.
fn noise(random: &mut Prng) -> String {
    const WORDS: [&str; 40] = [
        "vm.",
        "swappiness",
        "dirty_bytes",
        "vm.dirty_ratio",
        "=",
        " = ",
        ":",
        "\n",
        "\n",
        "\n",
        "\r",
        "#",
        ";",
        "-",
        "w ",
        "w+ ",
        "/sys/kernel/mm/ksm/run",
        "/proc/sys/vm/",
        " - - - - ",
        "\"",
        "\\",
        "0",
        "1",
        "99999999999999999999",
        "0x",
        "%",
        "[vm]",
        "[",
        "]",
        "{",
        "}",
        "{{",
        "SYSCTL{vm/swappiness}",
        ",",
        "*",
        "# plimsoll: allow(",
        "dirty-pair",
        ") why",
        "\u{e4}",
        "\0",
    ];
    let words = (0..random.below(40)).map(|_| {
        let at = usize::try_from(random.below(WORDS.len() as u64)).expect("it is small");
        WORDS[at]
    });
    words.collect()
}

#[test]
fn no_text_makes_a_rule_panic() {
    let capture = fixture("rules/min-free-kills.txt");
    let known = Machine::of(Snapshot::parse(capture.frames.first().expect("a frame")));
    let forms = [
        Form::Sysctl,
        Form::Tmpfiles,
        Form::Udev,
        Form::Tuned,
        Form::Yaml,
    ];
    let mut random = Prng::new(32);
    let mut settings = 0;
    for round in 0..4000 {
        let text = noise(&mut random);
        let form = forms[round % forms.len()];
        let scope = alone("a", &text, form, &known).with_live_values();
        settings += scope.settings.len();
        let report = Report::of(&[scope], &Choice::default());
        let fixes: Vec<&Fix> = report
            .findings
            .iter()
            .filter_map(|it| it.fix.as_ref())
            .collect();
        super::fix::fixed(&text, &fixes);
    }
    assert!(settings > 400, "{settings}");
}

#[test]
fn a_long_text_takes_time_by_its_length() {
    let lines = [
        "vm.swappiness = 10 # 90 % used",
        "# plimsoll: allow(dirty-pair) x",
        "vm.dirty_bytes = 5",
        "vm.swapiness = x",
        "# plimsoll: allow(x)",
        "vm.dirty_ratio = 10",
        "w",
    ];
    let text = lines.join("\n").repeat(2000);
    let machine = Machine::default();
    let scope = alone("a.conf", &text, Form::Sysctl, &machine);
    // Were a rule to look at all lines for each line, this would take minutes.
    let report = Report::of(&[scope], &Choice::default());
    assert!(report.findings.len() > 2000, "{}", report.findings.len());
}
