//! Real output against the schemas.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::schema::Schema;

/// The schemas, and the `schema` that each one's documents say.
const SCHEMAS: [&str; 23] = [
    "advice",
    "apply",
    "calibration",
    "changes",
    "compare",
    "explain",
    "explain-all",
    "explain-proposed",
    "fidelity",
    "fleet",
    "fleet-host",
    "guard-check",
    "guard-events",
    "guard-status",
    "inspect",
    "ksm-estimate",
    "lint",
    "recording",
    "replay",
    "studies",
    "study",
    "trace",
    "trial",
];

fn fixtures() -> PathBuf {
    testkit::checkout("fixtures")
}

/// What the verb prints, held against a schema.
#[track_caller]
pub(crate) fn assert_is(schema: &str, arguments: &[&str], folder: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null());
    let output = command.output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    let document = serde_json::from_str(&said);
    let document = document.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {stderr}"));
    let faults = Schema::named(schema).faults(&document);
    assert_eq!(faults, Vec::<String>::new(), "{arguments:?}");
    document
}

#[track_caller]
fn assert_inspected(evidence: &[&str]) -> Value {
    assert_is(
        "inspect",
        &[&["inspect", "--json"], evidence].concat(),
        &fixtures(),
    )
}

#[test]
fn every_schema_is_of_one_style() {
    let folder = testkit::checkout("docs/schemas");
    let files = fs::read_dir(folder).expect("the folder").count();
    assert_eq!(files, SCHEMAS.len(), "each schema is named in this test");
    for name in SCHEMAS {
        let schema = Schema::named(name);
        let root = &schema.0;
        let draft = "https://json-schema.org/draft/2020-12/schema";
        assert_eq!(root["$schema"], draft, "{name}");
        let says = &root["properties"]["schema"]["const"];
        assert_eq!(*says, format!("plimsoll-{name}"), "{name}");
        assert!(root["properties"]["version"]["const"].is_u64(), "{name}");
        let required = root["required"].as_array().expect("a list");
        assert!(required.contains(&"schema".into()) && required.contains(&"version".into()));
        let mut names = Vec::new();
        properties(root, &mut names);
        for property in names {
            let is_snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(property.chars().all(is_snake), "{name}: {property}");
        }
    }
}

/// The names of all properties that a schema has anywhere.
fn properties(schema: &Value, names: &mut Vec<String>) {
    let Some(object) = schema.as_object() else {
        return;
    };
    for (keyword, rule) in object {
        if let ("properties", Some(all)) = (keyword.as_str(), rule.as_object()) {
            names.extend(all.keys().cloned());
            all.values().for_each(|schema| properties(schema, names));
        } else if let ("$defs", Some(all)) = (keyword.as_str(), rule.as_object()) {
            all.values().for_each(|schema| properties(schema, names));
        } else {
            properties(rule, names);
        }
    }
}

#[test]
fn inspect_of_this_machine_is_as_its_schema_says() {
    assert_inspected(&["--interval", "0"]);
    assert_inspected(&["--interval", "0.1"]);
}

#[test]
fn inspect_of_every_captured_host_and_kernel_is_as_its_schema_says() {
    let mut seen = 0;
    for group in [
        "cases",
        "hosts",
        "inspect",
        "kernels",
        "reclaim",
        "writeback",
    ] {
        for entry in fs::read_dir(fixtures().join(group)).expect("the folder") {
            let capture = entry.expect("an entry").path().join("capture.txt");
            if capture.exists() {
                assert_inspected(&[&capture.to_string_lossy()]);
                seen += 1;
            }
        }
    }
    assert!(seen >= 20, "{seen} captures");
}

#[test]
fn inspect_of_every_kernel_log_is_as_its_schema_says() {
    let mut logs = 0;
    for entry in fs::read_dir(fixtures().join("kernel_log")).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() && !path.ends_with("README.md") {
            let document = assert_inspected(&[&path.to_string_lossy()]);
            logs += usize::from(!document["kernel_log"].is_null());
        }
    }
    assert!(logs >= 10, "{logs} of them have a report");
}

#[test]
fn inspect_of_a_time_series_is_as_its_schema_says() {
    for series in [
        "captures.txt",
        "node-exporter.txt",
        "sadf.json",
        "sar.txt",
        "vmstat-t.txt",
    ] {
        assert_inspected(&[&format!("series/{series}")]);
    }
    let document = assert_inspected(&["series/sar.txt"]);
    assert!(document["timeline"].is_object(), "it is a time series");
}

#[test]
fn what_changed_is_as_its_schema_says() {
    let sides = [
        "hosts/vm-24gib-6.18/capture.txt",
        "reclaim/vm-512mib-6.12/capture.txt",
    ];
    let arguments = [&["inspect", "--json"], &sides[..]].concat();
    let document = assert_is("compare", &arguments, &fixtures());
    assert!(
        document["settings"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
}

#[test]
fn an_explanation_is_as_its_schema_says() {
    let host = "hosts/vm-24gib-6.18/capture.txt";
    for tunable in mm::catalogue::all().step_by(6) {
        let key = tunable.name;
        let document = assert_is(
            "explain",
            &["explain", key, "--of", host, "--json"],
            &fixtures(),
        );
        assert_eq!(document["key"].as_str(), Some(key));
    }
    for key in [
        "vm.swappiness",
        "memory.high",
        "thp.hugepages-64kB.enabled",
        "bdi.max_ratio",
    ] {
        assert_is("explain", &["explain", key, "--json"], &fixtures());
    }
}

#[test]
fn a_judged_proposal_is_as_its_schema_says() {
    let host = "hosts/vm-24gib-6.18/capture.txt";
    for word in [
        "vm.min_free_kbytes=2G",
        "vm.swappiness=60",
        "bdi.sda.max_ratio=5",
    ] {
        let arguments = ["explain", word, "--of", host, "--json"];
        assert_is("explain-proposed", &arguments, &fixtures());
    }
}

#[test]
fn what_differs_from_the_kernels_choice_is_as_its_schema_says() {
    assert_is("explain-all", &["explain", "--json"], &fixtures());
    let changed = "kernels/vm-1gib-5.10/capture.txt";
    let document = assert_is(
        "explain-all",
        &["explain", "--of", changed, "--json"],
        &fixtures(),
    );
    assert!(
        document["differing"]
            .as_array()
            .is_some_and(|all| all.len() >= 5),
        "{document}"
    );
}

/// A file that is read twice, on a machine that could hold it if it kept less free.
const READER: &str = "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\n\
    memory = \"128 MiB\"\n[[machine.disk]]\nname = \"d\"\nsize = \"256 MiB\"\n\
    bandwidth = \"1 GB/s\"\n[[machine.file]]\nname = \"f\"\ndisk = \"d\"\nsize = \"48 MiB\"\n\
    [base]\n\"vm.watermark_scale_factor\" = \"1000\"\n[[arm]]\nname = \"as it is\"\n[[process]]\n\
    name = \"p\"\nsteps = [{ label = \"l\", read = { file = \"f\", pattern = \"random\", amount = \
    \"96 MiB\" } }]\n[[measure]]\nname = \"time\"\nstep = \"l\"\ntake = \"duration\"\n\
    better = \"lower\"\n";

#[test]
fn advice_is_as_its_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("reader.toml"), READER).expect("a study");
    let arguments = ["advise", "./reader.toml", "--json", "-o", "plan.conf"];
    let document = assert_is("advice", &arguments, folder.path());
    let plan = fs::read_to_string(folder.path().join("plan.conf")).expect("the plan");
    for change in document["changes"].as_array().expect("changes") {
        let (tunable, value) = (&change["tunable"], &change["value"]);
        let line = format!(
            "{} = {}",
            tunable.as_str().unwrap(),
            value.as_str().unwrap()
        );
        assert!(plan.lines().any(|it| it == line), "{line}: {plan}");
    }
    assert!(
        document["tried"].as_u64().is_some_and(|tried| tried >= 5),
        "{document}"
    );
}

#[test]
fn the_list_of_studies_is_as_its_schema_says() {
    let document = assert_is("studies", &["studies", "--json"], &fixtures());
    assert!(
        document["studies"]
            .as_array()
            .is_some_and(|all| all.len() >= 5)
    );
}

/// A folder with one real record of each arm of usb-copy on Linux 6.1.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let records = testkit::checkout("records/usb-copy");
    let below = folder.path().join("records/usb-copy");
    fs::create_dir_all(&below).expect("a folder");
    for entry in fs::read_dir(records).expect("the records") {
        let entry = entry.expect("an entry");
        if entry.file_name().to_string_lossy().contains("-1-") {
            fs::copy(entry.path(), below.join(entry.file_name())).expect("a copy");
        }
    }
    folder
}

#[test]
fn predictions_proofs_and_scores_are_as_their_schemas_say() {
    let folder = recorded();
    let one = ["predict", "usb-copy", "--repetitions", "1", "--json"];
    let predicted = assert_is("study", &one, folder.path());
    assert!(predicted["kernels"][0]["bench"].is_null());
    let reported = assert_is("study", &["report", "usb-copy", "--json"], folder.path());
    assert!(reported["kernels"][0]["bench"].is_string(), "{reported}");
    let scores = assert_is("fidelity", &["fidelity", "--json"], folder.path());
    let rows = scores["scores"][0]["rows"].as_array();
    assert!(rows.is_some_and(|rows| !rows.is_empty()), "{scores}");
}

#[test]
fn a_trace_is_as_its_schema_says() {
    let trace = "traced/memory-hogs-writing-6.1.trace.gz";
    let document = assert_is(
        "trace",
        &["report", "--trace", trace, "--json"],
        &fixtures(),
    );
    let counts = document["counts"].as_array().expect("a list");
    let server = counts
        .iter()
        .find(|it| it["task"] == "server" && it["figure"] == "direct reclaims");
    let server = server.expect("it reclaims");
    assert_eq!(server["kernel"], 166);
    assert!(
        counts.iter().all(|it| it["figure"] != "scanned"),
        "it was not traced"
    );
}

#[test]
fn a_replay_is_as_its_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let objects: String = (0..500)
        .map(|at| format!("{}\n", at % 100 * 4096))
        .collect();
    fs::write(folder.path().join("plain.csv"), &objects).expect("a file");
    fs::write(folder.path().join("named.csv"), format!("page\n{objects}")).expect("a file");
    for (trace, object) in [("plain.csv", None), ("named.csv", Some("page"))] {
        let arguments = ["replay", trace, "--memory", "10%,50", "--json"];
        let document = assert_is("replay", &arguments, folder.path());
        assert_eq!(document["object"].as_str(), object);
        assert_eq!(document["results"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn an_estimate_of_merging_is_as_its_schema_says() {
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("sleep runs");
    let pid = sleeper.id().to_string();
    let arguments = [
        "ksm",
        "estimate",
        "--json",
        "--sample-time",
        "0",
        "--pid",
        &pid,
    ];
    let document = assert_is("ksm-estimate", &arguments, &fixtures());
    sleeper.kill().expect("it lives");
    sleeper.wait().expect("it ends");
    let read = !document["estimate"].is_null();
    assert!(read || !document["unread"].is_null(), "{document}");
}

/// Settings with faults of every kind of output: of a line and of a file, with a change and without
/// one, and a question that cannot be answered.
fn faulty() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("etc/sysctl.d");
    fs::create_dir_all(&below).expect("a folder");
    let text =
        "vm.swapiness = 10\nvm.drop_caches = 3\nvm.swappiness = 0\nvm.min_free_kbytes = 512\n";
    fs::write(below.join("50 db.conf"), text).expect("a file");
    fs::write(below.join("60-db"), "vm.swappiness = 60\n").expect("a file");
    folder
}

#[test]
fn findings_of_lint_are_as_their_schema_says() {
    let folder = faulty();
    let document = assert_is("lint", &["lint", ".", "--json"], folder.path());
    let findings = document["findings"].as_array().expect("a list");
    let has = |key: &str| findings.iter().any(|finding| !finding[key].is_null());
    assert!(has("fix") && has("needs") && has("what") && has("line"));
    assert!(findings.iter().any(|finding| finding["line"].is_null()));
    let clean = assert_is(
        "lint",
        &["lint", "etc/sysctl.d", "--json", "--select", "dirty-pair"],
        folder.path(),
    );
    assert_eq!(clean["findings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn sarif_is_as_the_official_schema_says_and_lists_all_rules_on_a_clean_run() {
    let folder = faulty();
    let text = fs::read_to_string(fixtures().join("lint/sarif-schema-2.1.0.json"));
    let schema = Schema(serde_json::from_str(&text.expect("a fixture")).expect("JSON"));
    let rules = testkit::checkout("docs/rules");
    let rules = fs::read_dir(rules).expect("the pages").count();
    for (select, is_clean) in [(&[][..], false), (&["--select", "dirty-pair"][..], true)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let command = command
            .args(["lint", ".", "--format", "sarif"])
            .args(select);
        let output = command
            .current_dir(folder.path())
            .output()
            .expect("the binary runs");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(schema.faults(&document), Vec::<String>::new());
        let run = &document["runs"][0];
        let listed = run["tool"]["driver"]["rules"].as_array().map(Vec::len);
        assert_eq!(listed, Some(rules));
        let results = run["results"].as_array().expect("a list");
        assert_eq!(results.is_empty(), is_clean, "{results:?}");
    }
}

#[test]
fn a_plan_and_the_changes_of_this_machine_are_as_their_schemas_say() {
    let here = fixtures();
    let words = [
        "apply",
        "swappiness=1",
        "dirty_bytes=64M",
        "--dry-run",
        "--json",
    ];
    let plan = assert_is("apply", &words, &here);
    let writes = plan["writes"].as_array().expect("a list");
    assert_eq!(writes.last().expect("a write")["to_bytes"], 64 << 20);
    assert!(plan["change"].is_null());
    let words = ["trial", "swappiness=1", "--dry-run", "--json"];
    let planned = assert_is("trial", &words, &here);
    assert!(planned["verdict"].is_null());
    assert_is("changes", &["status", "--json"], &here);
    assert_is("changes", &["history", "--json"], &here);
}

#[test]
fn hosts_and_all_of_them_are_as_their_schemas() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["fleet", "--json", "causes/6.1", "kernels"]);
    let output = command.current_dir(fixtures()).output().expect("it runs");
    let said = String::from_utf8(output.stdout).expect("text");
    let documents: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let (all, hosts) = documents.split_last().expect("a line of all");
    assert_eq!(all["hosts"], hosts.len());
    assert!(hosts.len() > 5 && all["findings"].as_array().is_some_and(|it| !it.is_empty()));
    for (schema, document) in hosts
        .iter()
        .map(|host| ("fleet-host", host))
        .chain([("fleet", all)])
    {
        let faults = Schema::named(schema).faults(document);
        assert_eq!(faults, Vec::<String>::new(), "{document}");
    }
}
