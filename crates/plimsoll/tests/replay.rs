//! `plimsoll replay` from outside.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with a trace: a loop over 1000 pages, as CSV and as binary records.
fn traces() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let objects: Vec<u64> = (0..5000).map(|at| at % 1000 * 4096).collect();
    let text: String = objects.iter().map(|object| format!("{object}\n")).collect();
    fs::write(folder.path().join("loop.csv"), text).unwrap();
    let mut bytes = Vec::new();
    lab::trace::write_oracle_general(&mut bytes, objects.into_iter()).unwrap();
    fs::write(folder.path().join("loop.bin"), bytes).unwrap();
    folder
}

fn replay(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).arg("replay").args(arguments);
    command.output().unwrap()
}

#[test]
fn the_table_has_a_line_for_each_memory_size() {
    let folder = traces();
    let output = replay(
        folder.path(),
        &["loop.bin", "--memory", "50%,4000 KiB,2000"],
    );
    assert_eq!(output.status.code(), Some(0));
    let expected = expect_test::expect![[r#"
        loop.bin: 5000 accesses to 1000 pages

               pages     memory  of trace        misses      refaults  miss ratio
                 500    1.9 MiB    50.0 %          5000          4000      1.0000
                1000    3.9 MiB   100.0 %          1000             0      0.2000
                2000    7.8 MiB   200.0 %          1000             0      0.2000
    "#]];
    expected.assert_eq(&String::from_utf8(output.stdout).unwrap());
}

#[test]
fn both_formats_give_the_same_figures_as_json() {
    let folder = traces();
    let figures = |name: &str| {
        let output = replay(folder.path(), &[name, "--memory", "10%", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["schema"], "plimsoll-replay");
        assert_eq!(json["results"][0]["memory_pages"], 100);
        json["results"].clone()
    };
    assert_eq!(figures("loop.bin"), figures("loop.csv"));
}

#[test]
fn generations_are_replayed_where_they_are_asked_for() {
    let folder = traces();
    let often = (0..6).flat_map(|_| 0..200);
    let lines: String = often.chain(200..1200).map(|at| format!("{at}\n")).collect();
    fs::write(folder.path().join("scan.csv"), lines).unwrap();
    let refills = |lru: &str| {
        let arguments = ["scan.csv", "--memory", "500", "--json", "--lru", lru];
        let output = replay(folder.path(), &arguments);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["lru"], lru);
        json["results"][0]["refills"].as_u64().unwrap()
    };
    assert_eq!(refills("classic"), 0, "they are on the active list");
    assert_eq!(refills("mglru"), 200, "they are protected");
}

#[test]
fn bad_input_is_one_line_with_the_place() {
    let folder = traces();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("cut.bin", &[1; 30]);
    write("bad.csv", b"1\n2\nthree\n");
    write("empty.csv", b"");
    write("text.trace", &[b'7'; 48]);
    let cases: [(&[&str], &str); 8] = [
        (
            &["text.trace", "--memory", "1"],
            "text.trace: it is text, not oracleGeneral records; ",
        ),
        (
            &["none.bin", "--memory", "1"],
            "none.bin: No such file or directory",
        ),
        (
            &["cut.bin", "--memory", "1"],
            "cut.bin: record 2 at byte 24 has 6 of 24 bytes",
        ),
        (
            &["bad.csv", "--memory", "1"],
            "bad.csv: line 3: \"three\" is no object id",
        ),
        (
            &["empty.csv", "--memory", "1"],
            "empty.csv: the trace is empty",
        ),
        (
            &["loop.csv", "--memory", "5 B"],
            "--memory 5 B: less than one page",
        ),
        (&["loop.csv", "--memory", "5 mib"], "did you mean `MiB`?"),
        (&["loop.csv"], "--memory"),
    ];
    for (arguments, message) in cases {
        let output = replay(folder.path(), arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
    let said = ["text.trace", "--memory", "1", "--format", "oracleGeneral"];
    let output = replay(folder.path(), &said);
    assert_eq!(output.status.code(), Some(0), "who says so is believed");
}

/// Columns `version,time,op,size,lbn`: two numeric ones stand before the object.
const NAMED: &str = include_str!("../../../fixtures/traces/cloudphysics-io.csv");

/// What `replay` prints of a trace at 100 pages.
fn figures_at_100(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = replay(
        folder,
        &[arguments, &["--memory", "100", "--json"]].concat(),
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {stderr}"))
}

fn assert_is_the_sample(json: &serde_json::Value) {
    assert_eq!(
        (&json["pages"], &json["accesses"]),
        (&507.into(), &1500.into())
    );
    let result = &json["results"][0];
    assert_eq!(
        (&result["misses"], &result["refaults"]),
        (&654.into(), &147.into())
    );
    assert_eq!(result["miss_ratio"], 0.436);
}

#[test]
fn the_object_of_a_csv_trace_is_found_by_the_name_of_its_column() {
    let folder = tempfile::tempdir().unwrap();
    let renamed = NAMED.replacen("lbn", "sector", 1);
    let damaged = format!("\u{feff}{}", NAMED.replace('\n', "\r\n").replace(',', ";"));
    for (name, text) in [
        ("io.csv", NAMED),
        ("io.log", NAMED),
        ("damaged.csv", damaged.as_str()),
        ("tabs.tsv", &NAMED.replace(',', "\t")),
        ("renamed.csv", renamed.as_str()),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    for name in ["io.csv", "io.log", "damaged.csv", "tabs.tsv"] {
        let json = figures_at_100(folder.path(), &[name]);
        assert_is_the_sample(&json);
        assert_eq!(json["object"], "lbn");
    }
    for column in ["sector", "5"] {
        assert_is_the_sample(&figures_at_100(
            folder.path(),
            &["renamed.csv", "--object", column],
        ));
    }
    let output = replay(folder.path(), &["renamed.csv", "--memory", "100"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let columns = "the columns are `version`, `time`, `op`, `size`, `sector`";
    assert!(stderr.contains(columns), "{stderr}");
}

#[test]
fn vscsi_traces_of_both_versions_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for line in NAMED.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, time, command, size, block] = fields[..] else {
            panic!("{line}");
        };
        let (time, block): (u64, u64) = (time.parse().unwrap(), block.parse().unwrap());
        let (time, block) = (time.to_le_bytes(), block.to_le_bytes());
        let size = size.parse::<u32>().unwrap().to_le_bytes();
        let command = u16::from_str_radix(command, 16).unwrap().to_le_bytes();
        one.extend(
            [
                &[0; 4][..],
                &size,
                &[1, 0, 0, 0],
                &command,
                &[0, 1],
                &block,
                &time,
            ]
            .concat(),
        );
        let head = [&command[..], &[0, 2], &[0; 4], &size, &[1, 0, 0, 0]].concat();
        two.extend([&head[..], &block, &time, &[0; 8]].concat());
    }
    for (name, bytes) in [("one.vscsi", &one), ("one.bin", &one), ("two.vscsi", &two)] {
        fs::write(folder.path().join(name), bytes).unwrap();
        assert_is_the_sample(&figures_at_100(folder.path(), &[name]));
    }
}
