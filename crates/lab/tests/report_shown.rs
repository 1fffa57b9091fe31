//! What a study asks to be shown first: its charts, its distributions and its table of arms. The
//! outcomes are made up for these tests.

use answer::report::arms::{Arms, arms};
use answer::report::{Pair, Report};
use expect_test::expect;
use scenario::outcome::UNAVAILABLE;
use study::Study;
use study::record::Record;

mod made_up;

use made_up::{html, record, study, texts};

const SHOWN: &str = r#"
[[arm]]
name = "patched"
asks = "a <patched> kernel"
settings = { "vm.swappiness" = 0 }

[[arm]]
name = "old"
asks = "a kernel of 2013"
model-only = true
settings = { "model.kswapd" = "before 3.11" }

[[chart]]
title = "Reads & reserves"
measure = "read"
along = "reserve"
points = [{ arm = "plain", at = 0 }, { arm = "patched", at = 0.5 }, { arm = "raised", at = 2 }]
published = "3 s"

[[distribution]]
title = "Each read"
measure = "read"

[table]
title = "The arms"
row = "remedy"
columns = ["read", "survivors"]
sort = "read"

[[table.effect]]
measure = "free before"
more = "more free"
less = "less free"

[[table.effect]]
measure = "survivors"
less = "survivors left"
"#;

fn shown_study() -> Study {
    let text = format!("{}{SHOWN}", study().text);
    Study::parse(&text, "small-study.toml").expect("a study")
}

fn lacking(mut record: Record) -> Record {
    record.outcome.steps.clear();
    let last = record.outcome.capture.frames.last_mut().expect("a frame");
    last.files
        .insert(UNAVAILABLE.to_owned(), "vm.patched\n".to_owned());
    record
}

/// The raised arm reads faster and has less free.
fn pair(study: &Study, kernel: &str) -> Pair {
    let run = |bench: &str, arm: &str, free_mib, milliseconds| {
        record(study, arm, bench, free_mib, milliseconds)
    };
    let (model, vm) = ("model of Linux", "VM, virtual time");
    Pair {
        kernel: kernel.to_owned(),
        release: kernel.to_owned(),
        bench: vm.to_owned(),
        model: vec![
            run(model, "plain", 400, 3300),
            run(model, "raised", 300, 1000),
            run(model, "patched", 400, 2000),
            run(model, "old", 400, 500),
        ],
        proofs: vec![
            run(vm, "plain", 400, 3000),
            run(vm, "raised", 300, 1500),
            lacking(run(vm, "patched", 400, 2000)),
        ],
        looks: 1,
    }
}

fn table(study: &Study, pair: &Pair) -> Arms {
    let names: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let verdicts = pair.verdicts(study);
    arms(study, &names, pair, &pair.rows(study), &verdicts).expect("the study has a table")
}

#[test]
fn the_best_arm_comes_first_and_what_was_not_measured_last() {
    let study = shown_study();
    let table = table(&study, &pair(&study, "Linux 6.1"));
    let line = |row: &answer::report::arms::ArmRow| {
        let note = row.note.as_deref().unwrap_or("-");
        format!("{} | {note} | {}", row.arm, table.words(row))
    };
    let lines: Vec<String> = table.rows.iter().map(line).collect();
    expect![[r#"
        raised | - | Side effects: less free by 25 %, survivors left: 1.
        plain | - | The side effects of the others are seen against it.
        old | For the model only | Asks for a kernel of 2013.
        patched | Not available here: vm.patched | Asks for a <patched> kernel."#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn arms_that_were_not_asked_for_are_not_in_the_table() {
    let study = shown_study();
    let pair = pair(&study, "Linux 6.1");
    let verdicts = pair.verdicts(&study);
    let wanted = ["raised", "patched"];
    let table = arms(&study, &wanted, &pair, &pair.rows(&study), &verdicts);
    let names: Vec<String> = table
        .expect("a table")
        .rows
        .into_iter()
        .map(|row| row.arm)
        .collect();
    assert_eq!(names, wanted);
}

#[test]
fn the_pages_table_has_predicted_and_measured_beside_each_other() {
    let study = shown_study();
    let html = html(&study, vec![pair(&study, "Linux 6.1")]);
    let table = html
        .split("<table class=\"stack arms\">")
        .nth(1)
        .expect("a table");
    let table = table.split("</table>").next().expect("its end");
    let number = |cell: &String| cell.split('<').next().unwrap_or_default().to_owned();
    let rows = texts(table, "tr").into_iter().skip(2);
    let rows = rows.map(|row| {
        texts(&row, "td")
            .iter()
            .map(number)
            .collect::<Vec<_>>()
            .join(" | ")
    });
    let rows: Vec<String> = rows.step_by(2).collect();
    let expected = [
        "1 | 1.00 s | 1.50 s | 1 | 1",
        "2 | 3.30 s | 3.00 s | 2 | 2",
        " | 0.500 s | – | 2 | –",
        " | 2.00 s | – | 2 | –",
    ];
    assert_eq!(rows, expected);
    assert!(
        table.contains("<b>Not available here: vm.patched.</b>"),
        "{table}"
    );
    assert!(table.contains("a &lt;patched&gt; kernel") && !table.contains("<patched>"));
}

#[test]
fn the_charts_of_two_kernels_have_one_scale() {
    let study = shown_study();
    let mut slow = pair(&study, "Linux 6.12");
    slow.proofs = vec![record(&study, "plain", "VM, virtual time", 400, 9000)];
    let html = html(&study, vec![pair(&study, "Linux 6.1"), slow]);
    let chart = html
        .split("<h2>Reads &amp; reserves</h2>")
        .nth(1)
        .expect("a chart");
    let chart = chart.split("<h2>").next().expect("the next section");
    let described = texts(chart, "desc");
    expect![[r#"
        Measured “read” by reserve: at 0 3.00 s (predicted 3.30 s), at 0.5 not available (predicted 2.00 s), at 2 1.50 s (predicted 1.00 s).
        Measured “read” by reserve: at 0 9.00 s (predicted 3.30 s), at 0.5 – (predicted 2.00 s), at 2 – (predicted 1.00 s)."#]].assert_eq(&described.join("\n"));
    let heights = |figure: &String| -> Vec<String> {
        let words = texts(figure, "text")
            .into_iter()
            .map(|text| text.trim().to_owned());
        words.filter(|word| word.ends_with(" s")).collect()
    };
    let figures = texts(chart, "figure");
    assert_eq!(
        heights(&figures[0]),
        ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]
    );
    assert_eq!(heights(&figures[0]), heights(&figures[1]));
    assert!(chart.contains("Published: 3\u{a0}s.") && chart.contains("> published</li>"));
}

#[test]
fn a_distribution_says_what_the_kernel_lacks() {
    let study = shown_study();
    let html = html(&study, vec![pair(&study, "Linux 6.1")]);
    let strips = html
        .split("<h2>Each read</h2>")
        .nth(1)
        .expect("a distribution");
    let described = texts(strips, "desc").swap_remove(0);
    expect![[r#"
        plain: measured 3.00 s, at most 3.00 s
        predicted 3.30 s, at most 3.30 s
        raised: measured 1.50 s, at most 1.50 s
        predicted 1.00 s, at most 1.00 s
        patched: not available here: vm.patched
        predicted 2.00 s, at most 2.00 s
        old: not run
        predicted 0.500 s, at most 0.500 s"#]]
    .assert_eq(&described.replace("; ", "\n"));
}

#[test]
fn a_study_that_asks_for_nothing_shows_nothing_first() {
    let html = html(&study(), vec![made_up::pair(&study())]);
    assert!(!html.contains("stack arms") && !html.contains("class=\"beside\""));
}

#[test]
fn the_answer_stands_for_every_kernel_and_not_with_holes() {
    let study = shown_study();
    let both = vec![pair(&study, "Linux 6.1"), pair(&study, "Linux 6.12")];
    let page = html(&study, both.clone());
    assert_eq!(
        page.matches("<summary>The same on Linux 6.12</summary>")
            .count(),
        2,
        "answer and why"
    );
    let without = both.into_iter().map(|mut pair| {
        pair.model.retain(|record| record.provenance.arm != "plain");
        pair.proofs
            .retain(|record| record.provenance.arm != "plain");
        pair
    });
    let page = html(&study, without.collect());
    assert!(
        !page.contains("aria-label=\"The answer\""),
        "it speaks of an arm that was not run"
    );
}

/// A run of which every text is evil, too.
fn evil_run(study: &Study, arm: &str, evil: &str) -> Record {
    let mut run = record(study, arm, &format!("{evil}bench"), 400, 3000);
    for step in &mut run.outcome.steps {
        step.process.insert_str(0, evil);
        step.label.insert_str(0, evil);
    }
    for frame in &mut run.outcome.capture.frames {
        frame.label = frame.label.take().map(|label| format!("{evil}{label}"));
    }
    let of_run = &mut run.provenance;
    let texts = [
        &mut of_run.kernel,
        &mut of_run.version,
        &mut of_run.program,
        &mut of_run.date,
    ];
    texts.into_iter().for_each(|text| text.insert_str(0, evil));
    of_run.command_line = Some(evil.to_owned());
    for pairs in [&mut of_run.settings, &mut of_run.base, &mut of_run.details] {
        pairs.push((format!("{evil}name"), format!("{evil}value")));
    }
    run
}

#[test]
fn no_text_of_a_study_or_record_becomes_markup() {
    let evil = "<x-evil\"'>&";
    let text = include_str!("data/evil-study.toml");
    let text = text.replace('@', &evil.replace('"', "\\\""));
    let study = Study::parse(&text, &format!("{evil}.toml")).expect("a study");
    let runs = || {
        let arms = study.arms.iter();
        arms.map(|arm| evil_run(&study, &arm.name, evil)).collect()
    };
    let text = |name: &str| format!("{evil}{name}");
    let pair = |name: &str| Pair {
        kernel: text(name),
        release: text("release"),
        bench: text("bench"),
        model: runs(),
        proofs: runs(),
        looks: 1,
    };
    let report = Report {
        study: &study,
        pairs: vec![pair("one"), pair("other")],
        problems: vec![text("problem")],
        notes: vec![text("note")],
        no_record: Some(text("record")),
        arguments: text("arguments"),
        version: text("version"),
    };
    let html = report.to_html();
    assert!(
        !html.contains("<x-evil") && !html.contains("x-evil\""),
        "{html}"
    );
    for name in [
        "title",
        "question",
        "code",
        "answer",
        "publication",
        "plain",
        "read",
        "why",
        "chart",
        "along",
        "distribution",
        "table",
        "row",
        "asks",
        "value",
        "problem",
        "note",
        "arguments",
        "version",
        "one",
    ] {
        let shown = format!("&lt;x-evil&quot;&#39;&gt;&amp;{name}");
        let in_chart = format!("&lt;x-evil&quot;&apos;&gt;&amp;{name}");
        assert!(html.contains(&shown) || html.contains(&in_chart), "{name}");
    }
}
