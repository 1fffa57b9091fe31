//! Bad `[table]`, `[[chart]]` and `[[distribution]]`: each is refused in one line with the place,
//! what is wrong and the way out.

use expect_test::{Expect, expect};
use plimsoll_study::Study;

const GOOD: &str = include_str!("studies/small-study.toml");

const SHOWN: &str = r#"
[[chart]]
title = "A chart"
measure = "read"
along = "reserve"
points = [{ arm = "plain", at = 0.5 }, { arm = "raised", at = 60 }]

[[distribution]]
title = "A distribution"
measure = "read"

[table]
title = "A table"
columns = ["read"]
sort = "read"
except = ["plain"]

[[table.effect]]
measure = "free before"
less = "less free"
"#;

/// What is said of the good study with `old` replaced by `new` in what is shown; its line counts
/// from there.
fn said(old: &str, new: &str) -> String {
    assert!(SHOWN.contains(old), "{old}");
    let text = format!("{GOOD}{}", SHOWN.replacen(old, new, 1));
    let error = Study::parse(&text, "s.toml").expect_err(new);
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    let line = error.line - GOOD.lines().count();
    format!(
        "{line}:{} {}\n    {}",
        error.column, error.what, error.way_out
    )
}

fn refused(changes: &[(&str, &str)], expected: Expect) {
    let said: Vec<String> = changes.iter().map(|(old, new)| said(old, new)).collect();
    expected.assert_eq(&said.join("\n"));
}

#[test]
fn what_is_shown_is_read() {
    let study = Study::parse(&format!("{GOOD}{SHOWN}"), "s.toml").expect("a study");
    let places: Vec<f64> = study.shown.charts[0]
        .points
        .iter()
        .map(|(_, at)| *at)
        .collect();
    assert_eq!(places, [0.5, 60.0]);
    assert_eq!(study.shown.distributions[0].step, "read");
    let table = study.shown.table.expect("a table");
    assert_eq!(
        (table.row.as_str(), table.except),
        ("arm", vec!["plain".to_owned()])
    );
    assert_eq!(table.effects[0].more, None);
}

#[test]
fn what_is_shown_names_arms_and_measures_that_are_there() {
    let changes = [
        ("arm = \"plain\"", "arm = \"plan\""),
        ("measure = \"read\"\nalong", "measure = \"rad\"\nalong"),
        ("except = [\"plain\"]", "except = [\"plian\"]"),
        ("columns = [\"read\"]", "columns = [\"reads\"]"),
        ("sort = \"read\"", "sort = \"raed\""),
        ("measure = \"free before\"", "measure = \"pages\""),
        ("along", "alnog"),
        ("less =", "worse ="),
    ];
    refused(
        &changes,
        expect![[r#"
        6:19 `arm` in a point of [[chart]] names an unknown arm `plan`
            did you mean `plain`?
        4:11 `measure` in [[chart]] names an unknown measure `rad`
            did you mean `read`?
        16:11 `except` in [table] names an unknown arm `plian`
            did you mean `plain`?
        14:12 `columns` in [table] names an unknown measure `reads`
            did you mean `read`?
        15:8 `sort` in [table] names an unknown measure `raed`
            did you mean `read`?
        19:11 `measure` in [[table.effect]] names an unknown measure `pages`
            there is `free before`, `read`, `survivors`
        5:1 unknown key `alnog` in [[chart]]
            did you mean `along`?
        20:1 unknown key `worse` in [[table.effect]]
            there is `measure`, `more`, `less`"#]],
    );
}

#[test]
fn what_is_shown_is_named_once_and_is_not_nothing() {
    let changes = [
        ("columns = [\"read\"]", "columns = [\"read\", \"read\"]"),
        ("columns = [\"read\"]", "columns = []"),
        ("except = [\"plain\"]", "except = [\"plain\", \"plain\"]"),
        ("except = [\"plain\"]", "except = [\"plain\", \"raised\"]"),
        ("{ arm = \"raised\"", "{ arm = \"plain\""),
        ("at = 60", "at = 0.5"),
        ("at = 0.5", "at = -1"),
        ("at = 60", "at = inf"),
        (", { arm = \"raised\", at = 60 }", ""),
        ("less = \"less free\"\n", ""),
        ("title = \"A table\"", "title = \" \""),
        ("title = \"A distribution\"\n", ""),
        ("[table]", "[[table]]"),
    ];
    refused(
        &changes,
        expect![[r#"
        14:20 `columns` in [table] names `read` twice
            name it once
        14:11 `columns` in [table] is an empty list
            write at least one measure
        16:20 `except` in [table] names `plain` twice
            name it once
        16:10 [table] leaves out every arm
            leave some in
        6:10 `points` in [[chart]] names arm `plain` twice
            name it once
        6:63 `at` in a point of [[chart]] is 0.5
            write a larger number than that of the point before
        6:33 `at` in a point of [[chart]] is -1
            write a number from 0 to 1000000000
        6:63 `at` in a point of [[chart]] is inf
            write a number
        6:10 `points` in [[chart]] has fewer than two points
            give each arm of the chart a point
        18:1 [[table.effect]] says nothing
            say in `more` or `less` what a larger or smaller number means
        13:9 `title` in [table] is " "
            write some words
        8:1 [[distribution]] lacks `title`
            add `title = …`
        12:1 [table] is a list
            write a table"#]],
    );
}

#[test]
fn a_distribution_is_of_a_steps_durations() {
    let change = (
        "measure = \"read\"\n\n[table]",
        "measure = \"survivors\"\n\n[table]",
    );
    refused(
        &[change],
        expect![[r#"
        10:11 `measure` in [[distribution]] is "survivors"
            write a measure that takes a step's duration"#]],
    );
}
