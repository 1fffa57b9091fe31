//! Evidence that is damaged at random: each kind of it, changed many times over, is read or refused
//! within two seconds and 256 MiB, and nothing panics.
//!
//! `cargo xtask fuzz-evidence` runs many inputs (`PLIMSOLL_INPUTS`, `PLIMSOLL_SECONDS`); a plain
//! test run takes few. An input that fails is printed with its kind and seed.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mm::capture::Capture;
use mm::evidence::redact;
use mm::prng::Prng;
use mm::snapshot::Snapshot;
use plimsoll_lab::evidence;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Inputs of each kind where nothing else is asked.
const FEW: u64 = 150;

/// Address space of the whole test.
const MEMORY: u64 = 256 << 20;

/// What one input may take.
const LONGEST: Duration = Duration::from_secs(2);

/// An input of each kind, with its name.
fn kinds() -> Vec<(PathBuf, Vec<u8>)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/evidence");
    let mut kinds = Vec::new();
    let mut folders = vec![fixtures];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the fixtures") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.ends_with("README.md") => {}
                false => kinds.push((path.clone(), fs::read(&path).expect("a fixture"))),
            }
        }
    }
    kinds.sort();
    kinds
}

fn asked(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// A place in a text of this length.
fn at(prng: &mut Prng, length: usize) -> usize {
    usize::try_from(prng.below(length as u64 + 1)).expect("it fits")
}

/// A span of a text, with a length that is small more often than not.
fn span(prng: &mut Prng, length: usize) -> std::ops::Range<usize> {
    let (from, most) = (at(prng, length), 1 << prng.below(14));
    from..(from + at(prng, most)).min(length)
}

/// One change.
fn change(bytes: &mut Vec<u8>, other: &[u8], prng: &mut Prng) {
    let length = bytes.len();
    match prng.below(9) {
        0 => bytes.truncate(at(prng, length)),
        1 => drop(bytes.drain(..at(prng, length))),
        2 => drop(bytes.drain(span(prng, length))),
        3 => {
            let piece = bytes[span(prng, length)].to_vec();
            let to = at(prng, length);
            bytes.splice(to..to, piece);
        }
        4 => {
            let piece = other[span(prng, other.len())].to_vec();
            let to = at(prng, length);
            bytes.splice(to..to, piece);
        }
        5 => shuffle_lines(bytes, prng),
        6 => numbers(bytes, prng),
        _ => {
            for _ in 0..1 + prng.below(8) {
                if let Some(byte) = bytes.len().checked_sub(1).map(|last| at(prng, last)) {
                    bytes[byte] = prng.next_u64().to_le_bytes()[0];
                }
            }
        }
    }
}

fn shuffle_lines(bytes: &mut Vec<u8>, prng: &mut Prng) {
    let mut lines: Vec<Vec<u8>> = bytes
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..1 + prng.below(10) {
        let last = lines.len() - 1;
        let (one, other) = (at(prng, last), at(prng, last));
        lines.swap(one, other);
    }
    *bytes = lines.join(&b'\n');
}

/// Digits become the largest: numbers that break careless arithmetic.
fn numbers(bytes: &mut [u8], prng: &mut Prng) {
    let range = span(prng, bytes.len());
    let digits = bytes[range].iter_mut().filter(|byte| byte.is_ascii_digit());
    digits.for_each(|byte| *byte = b'9');
}

/// Reads an input and computes what follows from it.
fn performed(bytes: &[u8], name: &str) {
    let Ok(found) = evidence::read_stream(Cursor::new(bytes), name) else {
        return;
    };
    for frame in &found.frames {
        let snapshot = Snapshot::parse(frame);
        let _ = snapshot.watermarks();
        let _ = snapshot.available();
        let _ = snapshot.thresholds();
    }
    let capture = Capture {
        frames: found.frames,
    };
    let text = redact::redacted(&capture).to_text();
    assert!(Capture::recover(&text).is_ok(), "what is saved can be read");
}

#[test]
fn damaged_evidence_is_read_or_refused_in_time_and_memory() {
    let old = getrlimit(Resource::As);
    let current = Some(MEMORY);
    setrlimit(Resource::As, Rlimit { current, ..old }).expect("a lower limit is allowed");
    let inputs = asked("PLIMSOLL_INPUTS").unwrap_or(FEW);
    let seconds = asked("PLIMSOLL_SECONDS").map(Duration::from_secs);
    let kinds = kinds();
    for (which, (path, bytes)) in kinds.iter().enumerate() {
        let name = path.to_string_lossy();
        let begun = Instant::now();
        let mut done = 0;
        while done < inputs && seconds.is_none_or(|seconds| begun.elapsed() < seconds) {
            let mut prng =
                Prng::for_part(done, &path.file_name().expect("a name").to_string_lossy());
            let other = &kinds[(which + at(&mut prng, kinds.len() - 1)) % kinds.len()].1;
            let mut input = bytes.clone();
            for _ in 0..1 + prng.below(4) {
                change(&mut input, other, &mut prng);
            }
            let one = Instant::now();
            let read = std::panic::catch_unwind(|| performed(&input, &name));
            assert!(read.is_ok(), "{name}, seed {done}: it panics");
            assert!(
                one.elapsed() < LONGEST,
                "{name}, seed {done}: {:?}",
                one.elapsed()
            );
            done += 1;
        }
        println!(
            "{name}: {done} inputs in {:.1} s",
            begun.elapsed().as_secs_f64()
        );
    }
}
