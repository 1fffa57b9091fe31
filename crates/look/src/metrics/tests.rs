//! What a machine's figures are, line by line.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::expect;
use mm::capture::Frame;
use mm::snapshot::Snapshot;
use mm::units::Nanos;

use super::*;

fn snapshot(at: Nanos, files: &[(&str, &str)]) -> Snapshot {
    let files = files
        .iter()
        .map(|&(path, text)| (path.to_owned(), text.to_owned()));
    Snapshot::parse(&Frame {
        at,
        label: None,
        files: files.collect(),
    })
}

fn zone(free: u64) -> String {
    format!(
        "Node 0, zone   Normal\n  pages free     {free}\n        boost    10\n        min      \
         100\n        low      125\n        high     150\n        spanned  200000\n        present  \
         200000\n        managed  200000\n        protection: (0, 0)\n  nr_zone_inactive_file 1\n\
         Node 0, zone  Movable\n  pages free     0\n        min      0\n        low      0\n        \
         high     0\n        spanned  0\n        present  0\n        managed  0\n        \
         protection: (0, 0)\n"
    )
}

/// The lines of a family, without what is about it.
fn lines<'a>(text: &'a str, family: &str) -> Vec<&'a str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let of = |line: &&str| line.split(['{', ' ']).next() == Some(family);
    lines.filter(of).collect()
}

/// Of a machine whose reader noted what it read, so that all its zones are there.
const LIVE: (&str, &str) = ("plimsoll/facts", "reader\troot\n");

#[test]
fn distances_are_in_bytes_and_negative_below_a_line() {
    let text = zone(120);
    let facts = Facts {
        now: snapshot(Nanos::SECOND, &[LIVE, ("proc/zoneinfo", &text)]),
        ..Facts::default()
    };
    expect![[r#"
        # HELP plimsoll_zone_distance_bytes How far the free pages of a zone that count are above its min, low and high mark, boost included; negative below.
        # TYPE plimsoll_zone_distance_bytes gauge
        plimsoll_zone_distance_bytes{node="0",zone="Normal",line="min"} 81920
        plimsoll_zone_distance_bytes{node="0",zone="Normal",line="low"} -20480
        plimsoll_zone_distance_bytes{node="0",zone="Normal",line="high"} -122880
        # HELP plimsoll_zone_boost_bytes By how much the marks of a zone are raised for now.
        # TYPE plimsoll_zone_boost_bytes gauge
        plimsoll_zone_boost_bytes{node="0",zone="Normal"} 40960
        # HELP plimsoll_node_distance_bytes How far the best zone of a node is above each mark and what it keeps back from requests that could use a higher zone. Below low, kswapd reclaims; below min, tasks do.
        # TYPE plimsoll_node_distance_bytes gauge
        plimsoll_node_distance_bytes{node="0",line="min"} 81920
        plimsoll_node_distance_bytes{node="0",line="low"} -20480
        plimsoll_node_distance_bytes{node="0",line="high"} -122880
    "#]]
    .assert_eq(&facts.text(Form::Prometheus));
}

#[test]
fn seconds_are_told_only_of_a_distance_that_falls() {
    let node = |before: u64, now: u64| {
        let (before, now) = (zone(before), zone(now));
        let facts = Facts {
            now: snapshot(Nanos(3 * Nanos::SECOND.0), &[LIVE, ("proc/zoneinfo", &now)]),
            before: Some(snapshot(Nanos::SECOND, &[LIVE, ("proc/zoneinfo", &before)])),
            ..Facts::default()
        };
        let text = facts.text(Form::Prometheus);
        let lines = lines(&text, "plimsoll_node_line_seconds");
        let values = lines.iter().map(|line| line.rsplit(' ').next());
        values
            .map(|value| value.expect("a value").parse().expect("a number"))
            .collect::<Vec<f64>>()
    };
    // 40 pages in 2 s; the marks lie 100, 75 and 50 pages below.
    assert_eq!(node(240, 200), [5.0, 3.75, 2.5]);
    assert_eq!(node(160, 120), [1.0, 0.0, 0.0]);
    assert!(node(200, 240).is_empty() && node(200, 200).is_empty());
}

#[test]
fn what_is_missing_has_no_sample() {
    let nothing = Facts::default();
    assert_eq!(nothing.text(Form::Prometheus), "");
    assert_eq!(nothing.text(Form::OpenMetrics), "# EOF\n");
    let group = [("sys/fs/cgroup/a/memory.current", "4096\n")];
    let facts = Facts {
        now: snapshot(Nanos::SECOND, &group),
        ..Facts::default()
    };
    let text = facts.text(Form::Prometheus);
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let samples: Vec<&str> = samples.collect();
    assert_eq!(samples, ["plimsoll_group_memory_bytes{group=\"/a\"} 4096"]);
}

#[test]
fn names_are_escaped_and_the_largest_groups_are_shown() {
    let bad = "sys/fs/cgroup/a\"b\\c\u{1b}[31m\n.slice/memory.current";
    let mut files = vec![(bad.to_owned(), "90000\n".to_owned())];
    for number in 0..30 {
        let path = format!("sys/fs/cgroup/g{number}/memory.current");
        files.push((path, format!("{}\n", 100 + number)));
    }
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let facts = Facts {
        now: snapshot(Nanos::SECOND, &files),
        ..Facts::default()
    };
    let text = facts.text(Form::Prometheus);
    let groups = lines(&text, "plimsoll_group_memory_bytes");
    assert_eq!(groups.len(), MOST_GROUPS);
    assert_eq!(
        groups[0],
        r#"plimsoll_group_memory_bytes{group="/a\"b\\c\\u001b[31m\n.slice"} 90000"#
    );
    assert!(!text.contains("\"/g9\"") && text.contains("\"/g29\""));
}

#[test]
fn a_counter_has_its_end_where_each_form_has_it() {
    let stat = "workingset_refault_anon 1\nworkingset_refault_file 2\npgscan 4\npgsteal 3\n";
    let files = [
        ("sys/fs/cgroup/a/memory.current", "4096\n"),
        ("sys/fs/cgroup/a/memory.stat", stat),
    ];
    let facts = Facts {
        now: snapshot(Nanos::SECOND, &files),
        ..Facts::default()
    };
    let open = facts.text(Form::OpenMetrics);
    for line in [
        "# TYPE plimsoll_group_refaulted_bytes counter",
        "# UNIT plimsoll_group_refaulted_bytes bytes",
        "plimsoll_group_refaulted_bytes_total{group=\"/a\",type=\"file\"} 8192",
    ] {
        assert!(open.lines().any(|it| it == line), "{line}\n{open}");
    }
    let line = "# TYPE plimsoll_group_refaulted_bytes_total counter\n";
    assert!(facts.text(Form::Prometheus).contains(line));
}

#[test]
fn what_plimsoll_knows_itself_is_told() {
    let applied = |tunable: &str, drifted| Applied {
        tunable: tunable.to_owned(),
        drifted,
    };
    let facts = Facts {
        lint: Some(Arc::default()),
        applied: Some(vec![
            applied("vm.swappiness", false),
            applied("vm.dirty_ratio", true),
            applied("vm.dirty_ratio", false),
        ]),
        guard: Some(Guard::Killed),
        ..Facts::default()
    };
    let text = facts.text(Form::Prometheus);
    let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    expect![[r#"
        plimsoll_lint_findings{severity="note"} 0
        plimsoll_lint_findings{severity="warning"} 0
        plimsoll_lint_findings{severity="error"} 0
        plimsoll_applied_drifted{tunable="vm.dirty_ratio"} 1
        plimsoll_applied_drifted{tunable="vm.swappiness"} 0
        plimsoll_guard_up 0
        plimsoll_guard_left_behind 1"#]]
    .assert_eq(&samples.join("\n"));
}

#[test]
fn the_ages_are_those_of_generations_with_pages() {
    let table = "memcg 1 /\n node 0\n 1 9000 0 0\n 2 4000 3 0\n 3 500 0 7\nmemcg 2 /a\n node 0\n 7 \
                 6000 1 1\n 8 100 0 0\n";
    let facts = Facts {
        now: snapshot(Nanos::SECOND, &[(mm::lru_gen::TABLE, table)]),
        ..Facts::default()
    };
    let text = facts.text(Form::Prometheus);
    let ages = lines(&text, "plimsoll_lru_gen_age_seconds");
    let family = "plimsoll_lru_gen_age_seconds{node=\"0\",generation=";
    assert_eq!(
        ages,
        [
            format!("{family}\"youngest\"}} 0.5"),
            format!("{family}\"oldest\"}} 6")
        ]
    );
}

#[test]
fn every_family_has_a_name_of_its_own_and_a_sentence() {
    let names: BTreeSet<String> = FAMILIES.iter().map(Family::name).collect();
    assert_eq!(names.len(), FAMILIES.len());
    for family in FAMILIES {
        let name = family.name();
        let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(name.chars().all(is_plain), "{name}");
        assert!(
            family.help.ends_with('.') && !family.help.contains(['\n', '\\']),
            "{name}"
        );
    }
}
