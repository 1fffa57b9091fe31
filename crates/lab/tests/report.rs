//! The report as a page: its sections, that it needs nothing else, that nothing of a text becomes
//! markup, and what it says where something is missing. The outcomes are made up for these tests.

use std::collections::BTreeSet;

use answer::report::Report;
use expect_test::expect;
use plimsoll_lab::report::write;

mod made_up;

use made_up::{html, pair, study, texts};

fn full() -> String {
    let study = study();
    html(&study, vec![pair(&study)])
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
        free before
        Predicted: arm plain, seed 1
        Predicted: arm raised, seed 1
        Measured: arm plain, seed 1
        Measured: arm raised, seed 1"#]]
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
    let answer = texts(answer, "p").swap_remove(0).replace('\u{a0}', " ");
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
    assert!(html.contains("plimsoll prove small-study.toml</pre>"));
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
        notes: Vec::new(),
        arguments: String::new(),
        no_record: None,
        version: "0".to_owned(),
    };
    let path = folder.path().join("old.html");
    std::fs::write(&path, "the old one").expect("a file");
    let error = write(&report, &path.join("new.html"))
        .expect_err("a file is no folder")
        .to_string();
    assert!(
        error.ends_with("name another file, as in --report=FILE"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
    assert_eq!(
        std::fs::read_to_string(&path).expect("the file"),
        "the old one"
    );
    write(&report, &path).expect("a folder that can be written");
    assert_eq!(
        std::fs::read_to_string(&path).expect("the file"),
        report.to_html()
    );
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .collect();
    assert_eq!(left.len(), 1, "no half-written file is left: {left:?}");
}
