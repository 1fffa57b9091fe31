//! `inspect` takes what people have, and says what it took it for.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/evidence")
        .join(name)
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("inspect").args(arguments);
    command
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn done(output: Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What is shown of evidence.
fn json(evidence: &[&str]) -> Value {
    let mut command = command(&["--json"]);
    let output = command.args(evidence).output().expect("the binary runs");
    serde_json::from_str(&done(output)).expect("JSON")
}

/// What is shown of evidence, but for where it came from.
fn shown(evidence: &[&str]) -> Value {
    let mut json = json(evidence);
    json.as_object_mut().expect("an object").remove("evidence");
    json
}

/// What `inspect -` shows of this.
fn piped(bytes: &[u8]) -> Value {
    let mut child = command(&["--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(bytes).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_str(&done(output)).expect("JSON")
}

fn put(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, content).expect("a file");
    path
}

#[test]
fn cr_lf_and_nul_padding_lose_nothing() {
    let whole = json(&[text(&fixture("crlf-inside.txt"))]);
    let minimum = &whole["watermark_rule"]["min_free_kbytes"];
    assert_eq!(minimum, 1227, "{whole}");
    for damaged in ["crlf.txt", "nul.txt", "nul-all.txt"] {
        assert_eq!(json(&[text(&fixture(damaged))]), whole, "{damaged}");
    }
}

#[test]
fn a_folder_its_tar_and_its_loose_files_say_the_same() {
    let tree = fixture("tree");
    let whole = shown(&[text(&tree)]);
    assert_eq!(
        whole["memory"]["total_bytes"],
        8_164_548_u64 * 1024,
        "{whole}"
    );
    assert_eq!(shown(&[text(&fixture("sosreport.tar"))]), whole);
    let loose: Vec<PathBuf> = ["meminfo", "zoneinfo", "vmstat", "buddyinfo"]
        .iter()
        .map(|name| tree.join("proc").join(name))
        .chain(
            ["min_free_kbytes", "swappiness", "watermark_scale_factor"]
                .map(|name| tree.join("proc/sys/vm").join(name)),
        )
        .collect();
    let loose: Vec<&str> = loose.iter().map(|path| text(path)).collect();
    assert_eq!(shown(&loose), whole);
}

#[test]
fn a_paste_is_split_at_its_prompts() {
    let paste = json(&[text(&fixture("paste.txt"))]);
    assert_eq!(paste["machine"]["kernel"], "5.4.0-99-generic");
    assert_eq!(paste["memory"]["total_bytes"], 4_026_036_u64 * 1024);
    let read = paste["evidence"][0]["read"]
        .as_str()
        .expect("what was read");
    assert_eq!(read, "release, meminfo, 3 settings");
    assert!(paste["evidence"][0]["passed_over"].is_null(), "{paste}");
}

#[test]
fn a_part_of_a_file_is_known_by_its_lines() {
    let part = json(&[text(&fixture("zone-normal.txt"))]);
    assert_eq!(part["evidence"][0]["read"], "zoneinfo");
    assert_eq!(part["zones"][0]["name"], "Normal", "{part}");
}

#[test]
fn standard_input_and_a_pipe_are_evidence() {
    let paste = fs::read(fixture("paste.txt")).expect("the paste");
    let mut from_file = json(&[text(&fixture("paste.txt"))]);
    from_file["evidence"][0]["source"] = "standard input".into();
    assert_eq!(piped(&paste), from_file);
}

#[test]
fn what_was_not_taken_is_said_with_its_line() {
    let shown = piped(b"MemTotal: 8 kB\nMemFree: 4 kB\n\nHelp, it swaps!\n");
    let passed = shown["evidence"][0]["passed_over"][0]
        .as_str()
        .expect("one place");
    assert_eq!(passed, "line 4: \"Help, it swaps!\" not recognised");
}

#[test]
fn tables_and_logs_are_named_for_what_they_are() {
    let read = |name: &str| json(&[text(&fixture(name))])["evidence"][0]["read"].clone();
    assert_eq!(read("vmstat-5.txt"), "vmstat's table");
    assert_eq!(read("oom.log"), "kernel log");
}

#[test]
fn compressed_archives_say_what_the_tar_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = shown(&[text(&fixture("sosreport.tar"))]);
    for (tool, end) in [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")] {
        let tar = fs::File::open(fixture("sosreport.tar")).expect("the tar");
        let packed = Command::new(tool).arg("-c").stdin(tar).output();
        let Ok(packed) = packed else {
            println!("skipped: {end}: no {tool} here");
            continue;
        };
        let path = put(&folder, &format!("report.tar.{end}"), packed.stdout);
        assert_eq!(shown(&[text(&path)]), whole, "{end}");
    }
}

#[test]
fn a_file_of_another_kernel_takes_its_facts_from_flags() {
    let evidence = fixture("zone-normal.txt");
    let flags = ["--kernel", "5.15.0", "--page-size", "64K", "--cpus", "4"];
    let shown = json(&[&flags[..], &[text(&evidence)]].concat());
    assert_eq!(shown["machine"]["kernel"], "5.15.0");
    assert_eq!(shown["machine"]["page_size"], 65536);
}
