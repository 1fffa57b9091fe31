//! The alerts and the dashboard: `plimsoll.rules.test.yml` has the figures of recorded machines, what
//! fires on them, and that no panel is empty.
//!
//! `UPDATE_EXPECT=1 cargo test -p plimsoll --test metrics` writes it again.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use look::metrics::FAMILIES;
use serde_json::Value;
use testkit::programs::promtool;

use super::{of_evidence, samples};

const RULES: &str = "packaging/prometheus/plimsoll.rules.yml";
const DASHBOARD: &str = "packaging/grafana/plimsoll.json";
const TESTS: &str = "packaging/prometheus/plimsoll.rules.test.yml";

/// An alert that fires, with its labels and annotations as YAML.
struct Fires {
    alert: &'static str,
    labels: &'static str,
    annotations: &'static str,
}

const BELOW_LOW: Fires = Fires {
    alert: "PlimsollNodeBelowLow",
    labels: "{severity: warning, instance: host, node: \"0\", line: low}",
    annotations: "{summary: No zone of node 0 was above its low mark for ten minutes., \
                  description: \"kswapd reclaims all the time and does not get ahead: plimsoll \
                  inspect --section zones\"}",
};

const RUNS_OUT: Fires = Fires {
    alert: "PlimsollMemoryRunsOut",
    labels: "{severity: critical, instance: host}",
    annotations: "{summary: At the present rate MemAvailable is used up within a minute., \
                  description: \"What takes it cannot be reclaimed; swapping and kills come next: \
                  plimsoll inspect\"}",
};

const THROTTLED: Fires = Fires {
    alert: "PlimsollWritersThrottled",
    labels: "{severity: warning, instance: host, line: throttled}",
    annotations: "{summary: So much was dirty for five minutes that each write waits., \
                  description: \"A device is slower than what is written to it: plimsoll inspect \
                  --section dirty\"}",
};

const LINT: Fires = Fires {
    alert: "PlimsollLintError",
    labels: "{severity: critical, instance: host, rule: min-free-kills}",
    annotations: "{summary: A setting is refused by the kernel or does harm (min-free-kills)., \
                  description: \"plimsoll lint says where; plimsoll lint --explain min-free-kills \
                  why\"}",
};

const DRIFT: Fires = Fires {
    alert: "PlimsollDrift",
    labels: "{severity: warning, instance: host, tunable: vm.swappiness}",
    annotations: "{summary: vm.swappiness is not as plimsoll apply set it., description: plimsoll \
                  status says what it is now}",
};

const GUARD: Fires = Fires {
    alert: "PlimsollGuardStopped",
    labels: "{severity: warning, instance: host}",
    annotations: "{summary: The guard is configured here and does not run., description: systemctl \
                  status plimsoll-guard}",
};

const ALL: [&Fires; 6] = [&BELOW_LOW, &RUNS_OUT, &THROTTLED, &LINT, &DRIFT, &GUARD];

/// Recorded machines, and what fires on each; nothing else does.
const RECORDED: [(&str, &[&Fires]); 8] = [
    (
        "fixtures/writeback/vm-512mib-6.1/capture.txt",
        &[&BELOW_LOW, &THROTTLED],
    ),
    (
        "fixtures/writeback/vm-512mib-6.12/capture.txt",
        &[&THROTTLED],
    ),
    (
        "fixtures/causes/6.12/thrashing-anonymous.0.run.gz",
        &[&RUNS_OUT],
    ),
    ("fixtures/causes/6.12/min-free-raised.0.run.gz", &[&LINT]),
    ("fixtures/causes/6.12/healthy-cache.0.run.gz", &[]),
    ("fixtures/causes/6.12/healthy-swap-used.0.run.gz", &[]),
    ("fixtures/causes/6.12/healthy-group-cache.0.run.gz", &[]),
    ("fixtures/hosts/vm-24gib-6.18/capture.txt", &[]),
];

/// One that has control groups and swaps, with generations.
const BUSY: &str = "fixtures/reclaim/vm-512mib-6.12/capture.txt";

/// What no capture holds: the journal of changes, and the guard's files.
const TOLD: [(&str, &str, &[&Fires]); 2] = [
    (
        "a value that was applied and is another one, and a guard that does not run",
        "plimsoll_applied_drifted{tunable=\"vm.swappiness\"} 1\nplimsoll_guard_up 0\n",
        &[&DRIFT, &GUARD],
    ),
    (
        "a value that stands, and a guard that runs",
        "plimsoll_applied_drifted{tunable=\"vm.swappiness\"} 0\nplimsoll_guard_up 1\n",
        &[],
    ),
];

#[test]
fn every_alert_fires_on_a_recorded_trouble_and_on_nothing_healthy() {
    let path = testkit::checkout(TESTS);
    expect_test::expect_file![&path].assert_eq(&tests());
    let fired: BTreeSet<&str> = RECORDED
        .iter()
        .flat_map(|(_, fires)| *fires)
        .chain(TOLD.iter().flat_map(|(.., fires)| *fires))
        .map(|fires| fires.alert)
        .collect();
    assert_eq!(fired.len(), ALL.len(), "{fired:?}");
    let path = path.to_str().expect("UTF-8");
    if let Some(complaint) = promtool(&["test", "rules", path], "") {
        assert!(complaint.ends_with("SUCCESS\n\n"), "{complaint}");
    }
}

#[test]
fn the_rules_are_valid_and_ask_for_figures_that_there_are() {
    let rules = testkit::checkout(RULES);
    if let Some(said) = promtool(&["check", "rules", rules.to_str().expect("UTF-8")], "") {
        assert!(said.contains("SUCCESS: 9 rules found"), "{said}");
    }
    let text = testkit::text(RULES);
    let alerts = text
        .lines()
        .filter(|line| line.trim().starts_with("- alert: "));
    assert_eq!(alerts.count(), ALL.len());
    let known: BTreeSet<String> = FAMILIES.iter().map(|family| family.sample_name()).collect();
    assert!(asked().len() > 10);
    let text = text + &asked().join("\n");
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_' && c != ':');
    let asked: BTreeSet<&str> = words.filter(|word| word.starts_with("plimsoll_")).collect();
    assert!(asked.len() >= ALL.len(), "{asked:?}");
    for name in asked {
        assert!(known.contains(name), "{name}");
    }
}

/// What the panels of the dashboard ask, of every machine.
fn asked() -> Vec<String> {
    let board: Value = serde_json::from_str(&testkit::text(DASHBOARD)).expect("JSON");
    let panels = board["panels"].as_array().expect("a list").iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array());
    let asked = targets
        .flatten()
        .filter_map(|target| target["expr"].as_str());
    asked
        .map(|asked| asked.replace("$instance", ".*"))
        .collect()
}

/// The tests of rules: each machine stays as it was recorded.
fn tests() -> String {
    let mut text = String::from(
        "# Made by `cargo test -p plimsoll --test metrics` from the captures that it names.\n\
         rule_files: [plimsoll.rules.yml]\nevaluation_interval: 1m\ntests:\n",
    );
    for (path, fires) in RECORDED {
        add(path, &of_evidence(path, &[]), fires, &mut text);
    }
    for (name, figures, fires) in TOLD {
        add(name, figures, fires, &mut text);
    }
    let figures = of_evidence(BUSY, &[]) + TOLD[0].1;
    feed(
        "a machine on which every panel has something to show",
        &figures,
        &mut text,
    );
    text.push_str("    promql_expr_test:\n");
    for asked in asked() {
        let _ = write!(
            text,
            "      - expr: 'count({asked}) > bool 0'\n        eval_time: 15m\n        exp_samples: \
             [{{labels: '{{}}', value: 1}}]\n"
        );
    }
    text
}

/// The figures of a machine that stays as it is.
fn feed(name: &str, figures: &str, text: &mut String) {
    let _ = write!(
        text,
        "  - name: {name}\n    interval: 1m\n    input_series:\n"
    );
    for line in samples(figures) {
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let series = match series.strip_suffix('}') {
            Some(labels) => format!("{labels},instance=\"host\"}}"),
            None => format!("{series}{{instance=\"host\"}}"),
        };
        let _ = writeln!(
            text,
            "      - {{series: '{series}', values: '{value}+0x20'}}"
        );
    }
}

fn add(name: &str, figures: &str, fires: &[&Fires], text: &mut String) {
    feed(name, figures, text);
    text.push_str("    alert_rule_test:\n");
    for Fires {
        alert,
        labels,
        annotations,
    } in ALL
    {
        let _ = writeln!(text, "      - alertname: {alert}\n        eval_time: 15m");
        match fires.iter().any(|fires| fires.alert == *alert) {
            false => text.push_str("        exp_alerts: []\n"),
            true => {
                let _ = write!(
                    text,
                    "        exp_alerts:\n          - exp_labels: {labels}\n            \
                     exp_annotations: {annotations}\n"
                );
            }
        }
    }
}
