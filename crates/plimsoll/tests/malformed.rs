//! No verb panics or hangs, whatever it is given: captures with numbers, words and lines changed,
//! and what is no study and no trace.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mm::prng::Prng;

/// Changed captures a fixture.
const SEEDS: u64 = 40;

/// Numbers that break careless arithmetic.
const NUMBERS: [&str; 6] = [
    "0",
    "1",
    "18446744073709551615",
    "9223372036854775807",
    "-1",
    "x",
];

/// The text with one line in `every` changed.
fn changed(text: &str, prng: &mut Prng, every: u64) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        match (prng.below(every), prng.below(3)) {
            (0, 0) => {}
            (0, 1) => lines.extend([line.to_owned(), line.to_owned()]),
            (0, _) => lines.push(with_other_number(line, prng)),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

fn with_other_number(line: &str, prng: &mut Prng) -> String {
    let pick = usize::try_from(prng.below(NUMBERS.len() as u64)).expect("a small number");
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let other = |word| if is_number(word) { NUMBERS[pick] } else { word };
    line.split(' ').map(other).collect::<Vec<_>>().join(" ")
}

/// The capture's files, changed one by one so that the capture's own format stays whole.
fn broken(capture: &mm::capture::Capture, seed: u64) -> mm::capture::Capture {
    let mut prng = Prng::new(seed);
    let every = 2 + prng.below(60);
    let mut capture = capture.clone();
    for frame in &mut capture.frames {
        for text in frame.files.values_mut() {
            *text = changed(text, &mut prng, every);
        }
    }
    capture
}

#[test]
fn a_changed_capture_is_shown_or_refused_in_one_line() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.txt");
    for fixture in [
        "hosts/vm-24gib-6.18",
        "inspect/vm-512mib-6.12",
        "reclaim/vm-512mib-6.12",
    ] {
        let text = fs::read_to_string(fixtures.join(fixture).join("capture.txt"));
        let capture = mm::capture::Capture::parse(&text.expect("a fixture")).expect("a capture");
        for seed in 0..SEEDS {
            fs::write(&path, broken(&capture, seed).to_text()).expect("a file");
            for form in ["--json", "--charset=ascii"] {
                let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
                command.args(["inspect", form, "--from"]).arg(&path);
                let output = command.output().expect("the binary runs");
                let stderr = String::from_utf8_lossy(&output.stderr);
                let place = format!("{fixture}, seed {seed}, {form}: {stderr}");
                assert!(matches!(output.status.code(), Some(0 | 2)), "{place}");
                assert!(stderr.lines().count() <= 1, "{place}");
            }
        }
    }
}

/// Runs a verb on what it cannot use: exit code 2, one line that says `message`, in 10 s (of a
/// machine that does other work too).
#[track_caller]
fn assert_refused(arguments: &[&str], message: &str) {
    let began = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(arguments).stdin(Stdio::null());
    let output = command.output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.contains(message), "{arguments:?}: {stderr}");
    assert!(began.elapsed() < Duration::from_secs(10), "{arguments:?}");
}

#[test]
fn what_is_no_study_is_refused_in_one_line() {
    for verb in ["predict", "prove", "report"] {
        assert_refused(&[verb, "nosuch"], "there is `min-free-kbytes`");
        for path in ["/dev/zero", "/dev/null", "/"] {
            assert_refused(&[verb, path], "not a study: a text file of at most 1 MiB");
        }
    }
}

#[test]
fn what_is_no_trace_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes, message) in [
        ("empty", &b""[..], "the trace is empty"),
        ("one-byte", b"\x01", "has 1 of 24 bytes"),
        ("nul", &[0; 4800], "200 records, all of size 0"),
        ("nul.csv", &[0; 480], "the trace is empty"),
        (
            "packed.csv",
            b"\x1f\x8b\x08",
            "unpack it first (`gunzip FILE`)",
        ),
        ("a.twr", &[0; 48], "it is a twr trace, which is not read"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("a file");
        let path = path.to_str().expect("a name");
        assert_refused(&["replay", path, "--memory", "1"], message);
    }
    for path in ["/dev/zero", "/"] {
        assert_refused(
            &["replay", path, "--memory", "1"],
            "neither a file nor a pipe",
        );
    }
    let binary = env!("CARGO_BIN_EXE_plimsoll");
    assert_refused(
        &["replay", binary, "--memory", "1"],
        "no oracleGeneral trace",
    );
}

#[test]
fn a_study_that_would_take_days_or_all_memory_is_refused_with_the_figure() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("study.toml");
    for (steps, message) in [
        (
            "{ repeat = { times = 1000000000000, steps = [{ sleep = \"0 s\" }] } }",
            "1.0e12 steps",
        ),
        (
            "{ map = { region = \"r\", size = \"512 TiB\" } }",
            "needs about 1.7 TiB",
        ),
        (
            "{ read = { file = \"f\", block = \"1 B\", amount = \"1 kB\", pattern = \"zipf 1\" } }",
            "4.3e9 blocks",
        ),
    ] {
        let text = format!(
            "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\nmemory = \"1 GiB\"\n\
             [[machine.disk]]\nname = \"d\"\nsize = \"8 GiB\"\nbandwidth = \"1 GB/s\"\n\
             [[machine.file]]\nname = \"f\"\ndisk = \"d\"\nsize = \"4 GiB\"\n\
             [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\nsteps = [{steps}]\n"
        );
        fs::write(&path, text).expect("a file");
        let path = path.to_str().expect("a name");
        let memory = message.replace("4.3e9 blocks", "needs about");
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let output = command.args(["predict", path]).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        // Which of memory and time is too little first depends on this machine.
        let said = stderr.contains(message) || stderr.contains(&memory);
        assert!(said && stderr.contains("give --even-so"), "{stderr}");
    }
}
