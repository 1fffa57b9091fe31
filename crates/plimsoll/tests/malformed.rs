//! `inspect` never panics, whatever a capture holds: the fixtures with numbers, words and lines changed.

use std::fs;
use std::path::Path;
use std::process::Command;

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
