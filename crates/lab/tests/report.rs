//! The report as a page: its sections, that it needs nothing else, that nothing of a text becomes
//! markup, and what it says where something is missing. The outcomes are made up for these tests.

use std::collections::BTreeSet;

use expect_test::expect;
use mm::capture::{Capture, Frame};
use mm::outcome::{Latency, Outcome, Status, StepOutcome};
use mm::units::{Bytes, Nanos};
use plimsoll_lab::record::{MachineView, Provenance, Record, SCHEMA, sha256};
use plimsoll_lab::report::{Pair, Report};
use plimsoll_lab::study::Study;

fn study() -> Study {
    Study::parse(include_str!("data/small-study.toml"), "small-study.toml").expect("a study")
}

fn frame(seconds: u64, label: Option<&str>, free_mib: u64, low: u64) -> Frame {
    let mut frame = Frame {
        at: Nanos(seconds * Nanos::SECOND.0),
        label: label.map(str::to_owned),
        ..Frame::default()
    };
    let meminfo = format!(
        "MemTotal: 500000 kB\nMemFree: {} kB\nMemAvailable: {} kB\nCached: {} kB\n",
        free_mib * 1024,
        free_mib * 1024,
        (450 - free_mib) * 1024
    );
    let (min, high) = (low * 4 / 5, low * 6 / 5);
    let zoneinfo = format!(
        "Node 0, zone    DMA32\n  pages free     100\n        min      {min}\n        \
         low      {low}\n        high     {high}\n        spanned  130000\n        \
         present  130000\n        managed  125000\n"
    );
    frame.files.insert("proc/meminfo".to_owned(), meminfo);
    frame.files.insert("proc/zoneinfo".to_owned(), zoneinfo);
    frame
}

fn step(process: &str, label: &str, milliseconds: u64, status: Status) -> StepOutcome {
    StepOutcome {
        process: process.to_owned(),
        label: label.to_owned(),
        start: Nanos::SECOND,
        end: Nanos(Nanos::SECOND.0 + milliseconds * Nanos::MILLI.0),
        operations: 300,
        bytes: Bytes(300 << 20),
        status,
        latency: Latency::default(),
    }
}

/// A run in which free memory was `free_mib` and the read took so long.
fn record(study: &Study, arm: &str, bench: &str, free_mib: u64, milliseconds: u64) -> Record {
    let low = if arm == "raised" { 30_000 } else { 3_000 };
    let frames = vec![
        frame(0, Some("start"), free_mib, low),
        frame(2, None, free_mib / 2, low),
        frame(4, None, free_mib / 4, low),
    ];
    let second = if arm == "raised" {
        Status::Killed(9)
    } else {
        Status::Done
    };
    let steps = vec![
        step("reader", "read", milliseconds, Status::Done),
        step("hogs.1", "hold", 2000, Status::Done),
        step("hogs.2", "hold", 2000, second),
    ];
    let machine = &study.arm(arm).expect("an arm").machine;
    Record {
        outcome: Outcome {
            capture: Capture { frames },
            steps,
        },
        provenance: Provenance {
            schema: SCHEMA,
            study: study.name.clone(),
            arm: arm.to_owned(),
            seed: 1,
            bench: bench.to_owned(),
            kernel: "6.1.0-53-cloud-amd64".to_owned(),
            command_line: Some("quiet <init>".to_owned()),
            machine: MachineView::of(machine),
            settings: vec![("vm.min_free_kbytes".to_owned(), "100000".to_owned())],
            base: Vec::new(),
            details: vec![("emulator".to_owned(), "QEMU 7.2".to_owned())],
            version: "0.1.0".to_owned(),
            program: "0".repeat(64),
            study_sha256: sha256(study.text.as_bytes()),
            study_text: study.text.clone(),
            date: "2026-11-21T22:00:00Z".to_owned(),
        },
    }
}

fn pair(study: &Study) -> Pair {
    let runs = |bench: &str, free_mib: u64, milliseconds: u64| {
        let run = |arm| record(study, arm, bench, free_mib, milliseconds);
        vec![run("plain"), run("raised")]
    };
    Pair {
        kernel: "Linux 6.1".to_owned(),
        release: "6.1.0-53-cloud-amd64".to_owned(),
        bench: "VM, virtual time".to_owned(),
        model: runs("model of Linux 6.1", 403, 3300),
        proofs: runs("VM, virtual time", 400, 3000),
    }
}

fn html(study: &Study, pairs: Vec<Pair>) -> String {
    let problems = vec!["records/x.record.gz: line 3: <broken>".to_owned()];
    let version = "0.1.0".to_owned();
    Report {
        study,
        pairs,
        problems,
        version,
    }
    .to_html()
}

fn full() -> String {
    let study = study();
    html(&study, vec![pair(&study)])
}

/// The text of every element of this name.
fn texts(html: &str, element: &str) -> Vec<String> {
    let (open, close) = (format!("<{element}"), format!("</{element}>"));
    let mut texts = Vec::new();
    for piece in html.split(&open).skip(1) {
        let (_, inside) = piece.split_once('>').expect("a tag's end");
        texts.push(inside.split(&close).next().unwrap_or_default().to_owned());
    }
    texts
}

#[test]
fn the_sections_stand_in_their_order() {
    let html = full();
    let outline = [texts(&html, "h1"), texts(&html, "h2"), texts(&html, "h3")]
        .concat()
        .join("\n");
    expect![[r#"
        Tests &lt;of&gt; the &quot;report&quot; &amp; its parts
        Linux 6.1: predicted and measured
        Verdicts: each arm against the first
        The published experiment beside ours
        Why the numbers are what they are
        How to repeat it
        Limits
        Linux 6.1: the load line
        Linux 6.1: times
        Linux 6.1: who survived
        Linux 6.1, measured
        free before"#]]
    .assert_eq(&outline);
}

#[test]
fn the_table_holds_every_figure_and_its_error() {
    let html = full();
    let table = html
        .split("<table class=\"stack compare\">")
        .nth(1)
        .expect("a table");
    let table = table.split("</table>").next().expect("its end");
    let rows = texts(table, "tr")
        .into_iter()
        .skip(1)
        .map(|row| texts(&row, "td").join(" | "));
    let rows: Vec<String> = rows.collect();
    expect![[r#"
        plain |  | 403 MiB | 400 MiB | <span class="mark good">+0.75 %, holds</span>
        raised | 400 MiB | 403 MiB | 400 MiB | <span class="mark good">+0.75 %, holds</span>
        plain | 3 s | 3.30 s | 3.00 s | <span class="mark bad">+10.00 %, misses</span>
        raised |  | 3.30 s | 3.00 s | <span class="mark bad">+10.00 %, misses</span>
        plain |  | 2 | 2 | <span class="mark good">equal, holds</span>
        raised |  | 1 | 1 | <span class="mark good">equal, holds</span>"#]]
    .assert_eq(&rows.join("\n"));
    assert!(html.contains("4 of 6 figures are within their tolerance"));
}

#[test]
fn the_answer_has_the_kernels_numbers_and_nothing_of_it_is_markup() {
    let html = full();
    let answer = html
        .split("aria-label=\"The answer\">")
        .nth(1)
        .expect("an answer");
    let answer = texts(answer, "p").swap_remove(0);
    expect![
        "Free went from 400 MiB to 0.391 GiB, <code>vm.swappiness</code> &lt;i&gt;or&lt;/i&gt; not."
    ]
    .assert_eq(&answer);
    for hostile in ["<b>this</b>", "<i>or</i>", "<of>", "<broken>", "<init>"] {
        assert!(!html.contains(hostile), "{hostile}");
    }
}

#[test]
fn it_refers_to_nothing_outside() {
    let html = full();
    for reference in [
        "<script", "<link", "<img", "<iframe", "src=", "href=", "@import", "url(",
    ] {
        assert!(!html.contains(reference), "{reference}");
    }
    let rest = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assert!(!rest.contains("http"), "an address other than SVG's name");
}

#[test]
fn tags_are_balanced_and_names_are_unique() {
    let html = full();
    // Opened before the style sheet, in the part that is passed over.
    let mut open = vec!["html", "head"];
    let body = html.split_once("</style>").expect("a style sheet").1;
    for piece in body.split('<').skip(1) {
        let tag = piece.split_once('>').expect("a tag's end").0;
        let name = tag
            .split([' ', '\n', '/'])
            .find(|word| !word.is_empty())
            .expect("a name");
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "in …{piece}"),
            (false, true) => {}
            (false, false) => open.push(name),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    let ids: Vec<&str> = html
        .split(" id=\"")
        .skip(1)
        .filter_map(|p| p.split('"').next())
        .collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "{ids:?}");
    assert!(
        ids.len() >= 8,
        "each chart, wide and narrow, has a title and a description"
    );
}

#[test]
fn the_commands_repeat_these_runs() {
    let html = full();
    let commands = html
        .split("<h2>How to repeat it</h2>")
        .nth(1)
        .expect("a section");
    expect![[r#"
        plimsoll predict small-study.toml --kernel 6.1 --seed 1 --repetitions 1
        plimsoll prove small-study.toml --kernel 6.1 --seed 1 --repetitions 1
        plimsoll report small-study.toml"#]]
    .assert_eq(&texts(commands, "pre")[0]);
    for word in [
        "QEMU 7.2",
        "quiet &lt;init&gt;",
        "2026-11-21T22:00:00Z",
        "512 MiB of memory",
    ] {
        assert!(commands.contains(word), "{word}");
    }
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    assert_eq!(full(), full());
}

#[test]
fn without_a_proof_it_says_so_and_has_no_empty_columns() {
    let study = study();
    let mut pair = pair(&study);
    pair.proofs.clear();
    let html = html(&study, vec![pair]);
    assert!(html.contains("Nothing was proved yet."));
    assert!(html.contains("plimsoll prove small-study.toml\n"));
    assert!(html.contains("no kernel was run"));
    assert!(!html.contains(">Measured<") && !html.contains(">Calibration error"));
}

#[test]
fn a_proof_without_a_prediction_is_shown_too() {
    let study = study();
    let mut pair = pair(&study);
    pair.model.clear();
    let html = html(&study, vec![pair]);
    assert!(!html.contains("Nothing was proved yet."));
    assert!(html.contains("no figure to compare"));
    assert!(html.contains("no figure has both a prediction and a measurement."));
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_old_one() {
    let study = study();
    let folder = tempfile::tempdir().expect("a folder");
    let pairs = vec![pair(&study)];
    let report = Report {
        study: &study,
        pairs,
        problems: Vec::new(),
        version: "0".to_owned(),
    };
    let path = folder.path().join("old.html");
    std::fs::write(&path, "the old one").expect("a file");
    let error = report
        .write(&path.join("new.html"))
        .expect_err("a file is no folder")
        .to_string();
    assert!(error.ends_with("name another folder with --out"), "{error}");
    assert_eq!(error.lines().count(), 1);
    assert_eq!(
        std::fs::read_to_string(&path).expect("the file"),
        "the old one"
    );
    report.write(&path).expect("a folder that can be written");
    assert_eq!(
        std::fs::read_to_string(&path).expect("the file"),
        report.to_html()
    );
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .collect();
    assert_eq!(left.len(), 1, "no half-written file is left: {left:?}");
}
