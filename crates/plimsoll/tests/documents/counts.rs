//! How many figures hold, and how many rules there are: documents say what the tables have.

use std::fs;

#[derive(serde::Deserialize)]
struct Scores {
    score: Vec<Score>,
}

/// A row of records/score.toml.
#[derive(serde::Deserialize)]
struct Score {
    study: String,
    kernel: String,
    held: u32,
    figures: u32,
}

fn score() -> Vec<Score> {
    let path = testkit::checkout("records/score.toml");
    let text = fs::read_to_string(path).expect("the score");
    toml::from_str::<Scores>(&text).expect("scores").score
}

/// How many figures hold in the rows that are picked, and how many there are.
fn held(score: &[Score], is_picked: impl Fn(&Score) -> bool) -> (u32, u32) {
    let rows = score.iter().filter(|row| is_picked(row));
    rows.fold((0, 0), |(held, figures), row| {
        (held + row.held, figures + row.figures)
    })
}

/// A document says each of these, wherever its lines break.
fn assert_says(document: &str, sentences: &[String]) {
    let text = fs::read_to_string(testkit::checkout(document)).expect("a document");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in sentences {
        assert!(text.contains(said), "{document} does not say: {said}");
    }
}

#[test]
fn the_readmes_counts_are_those_of_the_tables() {
    let score = score();
    let (held_by_guard, of_guard) = held(&score, |row| row.study.ends_with(", guard"));
    let (held, figures) = held(&score, |row| !row.study.ends_with(", guard"));
    let rules = fs::read_dir(testkit::checkout("docs/rules")).expect("a folder");
    assert_says(
        "README.md",
        &[
            format!("{held} of the {figures} recorded figures hold"),
            format!("{held_by_guard} of {of_guard} on the arms that run the guard"),
            format!("{} rules, each with a page", rules.count()),
        ],
    );
}

#[test]
fn the_kernels_that_are_predicted_are_those_with_a_calibration() {
    let kernels: Vec<_> = answer::calibration::kernels().collect();
    let row = format!("| `predict` | {} |", kernels.join(", "));
    assert_says("docs/kernels.md", &[row]);
}

#[test]
fn the_counts_of_studies_are_those_of_the_score() {
    const FIRST_SIX: [&str; 6] = [
        "min-free-kbytes",
        "memory-hogs",
        "working-set",
        "usb-copy",
        "writeback",
        "ksm",
    ];
    let score = score();
    let of = |studies: &[&str], kernel: &str| {
        held(&score, |row| {
            studies.contains(&row.study.as_str()) && row.kernel.ends_with(kernel)
        })
    };
    let on = |study: &str, kernel: &str| of(&[study, &format!("{study}, guard")], kernel);

    let (older, newer) = (on("cache-ceiling", " 6.1"), on("cache-ceiling", " 6.12"));
    let (min_free, ksm) = (of(&["min-free-kbytes"], ""), of(&["ksm"], ""));
    assert_eq!((min_free.0, ksm.0), (min_free.1, ksm.1), "all hold");
    assert_says(
        "docs/what-to-set.md",
        &[
            format!("{} of {} hold on 6.1", older.0, older.1),
            format!("and {} of {} on 6.12", newer.0, newer.1),
            format!("all {} figures of the prediction hold", min_free.1),
            format!("all {} figures hold", ksm.1),
        ],
    );

    let (first, ceiling, bursts) = (
        of(&FIRST_SIX, ""),
        of(&["cache-ceiling"], ""),
        of(&["bursts"], ""),
    );
    let (older, newer) = (of(&["writeback"], " 6.1"), of(&["writeback"], " 6.12"));
    assert_says(
        "docs/model.md",
        &[
            format!("records {} of {} figures hold", first.0, first.1),
            format!("{} of {} (tau 0.91 and 0.90)", ceiling.0, ceiling.1),
            format!("{} of {} (tau 1.0) hold", bursts.0, bursts.1),
            format!(
                "`writeback` {} of {} figures hold on 6.1 and {} on 6.12",
                older.0, older.1, newer.0
            ),
        ],
    );
}
