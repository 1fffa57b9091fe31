//! The kinds of evidence, with examples that are cut to their telling parts.

use std::fs;
use std::path::{Path, PathBuf};

use mm::capture::Capture;
use testkit::damage::Examples;

/// A kind of evidence.
pub(super) struct Kind {
    /// Its name, which is also that of the input.
    pub(super) name: &'static str,
    /// Inputs; pieces of those of other kinds get into them.
    pub(super) examples: Examples,
}

/// Lines that are kept of a text, and of each file of a machine's capture.
const LINES: usize = 60;

/// Bytes of a document that is one line or is to stay whole.
const DOCUMENT: usize = 12 << 10;

/// How an example is cut.
#[derive(Clone, Copy)]
enum Cut {
    /// It is short.
    Whole,
    /// The first lines.
    Lines,
    /// The first bytes.
    Bytes,
    /// The first lines of each file in its last frame.
    Files,
}

/// Kinds: name, cut, and the fixtures, a folder standing for the files in it.
const KINDS: &[(&str, Cut, &[&str])] = &[
    (
        "capture",
        Cut::Whole,
        &[
            "cases/03-zoneinfo-3.4-highmem",
            "cases/06-free-pages-are-cma",
        ],
    ),
    (
        "hand-made",
        Cut::Whole,
        &["cases/07-lowmem-reserve-5.10", "cases/14-partial-pastes"],
    ),
    (
        "machine",
        Cut::Files,
        &[
            "inspect/vm-512mib-6.12/capture.txt",
            "kernels/vm-2-nodes-5.10",
        ],
    ),
    (
        "moments",
        Cut::Lines,
        &[
            "cases/08-reading-remakes-the-reserve",
            "series/captures.txt",
        ],
    ),
    ("kernel-file", Cut::Lines, &["evidence/tree/proc"]),
    (
        "paste",
        Cut::Lines,
        &["evidence/paste.txt", "evidence/beside.txt"],
    ),
    (
        "line-ends",
        Cut::Whole,
        &["evidence/crlf.txt", "evidence/crlf-inside.txt"],
    ),
    (
        "padding",
        Cut::Whole,
        &["evidence/nul.txt", "evidence/nul-all.txt"],
    ),
    ("tar", Cut::Whole, &["evidence/sosreport.tar"]),
    ("tar.gz", Cut::Whole, &["evidence/sosreport.tar.gz"]),
    ("tar.xz", Cut::Whole, &["evidence/sosreport.tar.xz"]),
    ("tar.zst", Cut::Whole, &["evidence/sosreport.tar.zst"]),
    (
        "kernel-log",
        Cut::Whole,
        &["kernel_log", "evidence/oom.log"],
    ),
    (
        "journal.json",
        Cut::Whole,
        &["kernel_log/cgroup-v2-6.12.json"],
    ),
    (
        "vmstat",
        Cut::Lines,
        &[
            "series/vmstat-5.txt",
            "series/vmstat-a.txt",
            "series/vmstat-t.txt",
        ],
    ),
    (
        "sar",
        Cut::Lines,
        &[
            "series/sar.txt",
            "series/sar-restart.txt",
            "series/sar-human.txt",
        ],
    ),
    ("sadf.json", Cut::Bytes, &["series/sadf.json"]),
    ("node-exporter", Cut::Whole, &["series/node-exporter.txt"]),
];

/// Every kind.
pub(super) fn all() -> Vec<Kind> {
    let fixtures = testkit::checkout("fixtures");
    let kinds = KINDS.iter().map(|&(name, cut, paths)| {
        let files = paths.iter().flat_map(|path| files(&fixtures.join(path)));
        let examples = files.map(|file| cut.of(fs::read(file).expect("a fixture")));
        (name, examples.collect())
    });
    let kinds: Vec<(&str, Vec<Vec<u8>>)> = kinds.collect();
    let all = kinds.iter().flat_map(|(_, examples)| examples);
    let kind = |(name, examples): &(&'static str, Vec<Vec<u8>>)| Kind {
        name,
        examples: Examples::of("evidence", examples.clone()).beside(all.clone().cloned()),
    };
    kinds.iter().map(kind).collect()
}

/// The file, or the files of a folder, in order.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).expect("a folder of fixtures");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths
        .filter(|path| path.is_file() && !path.ends_with("README.md"))
        .collect();
    files.sort();
    files
}

impl Cut {
    fn of(self, mut bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Whole => bytes,
            Self::Bytes => {
                bytes.truncate(DOCUMENT);
                bytes
            }
            Self::Lines => first_lines(&String::from_utf8(bytes).expect("text"), LINES * 3),
            Self::Files => last_frame(&String::from_utf8(bytes).expect("text")),
        }
    }
}

fn first_lines(text: &str, lines: usize) -> Vec<u8> {
    let lines = text.split_inclusive('\n').take(lines);
    lines.collect::<String>().into_bytes()
}

/// The last frame of a capture, with the first lines of each file.
fn last_frame(text: &str) -> Vec<u8> {
    let mut capture = Capture::recover(text).expect("a capture").capture;
    capture.frames.drain(..capture.frames.len() - 1);
    for text in capture
        .frames
        .iter_mut()
        .flat_map(|frame| frame.files.values_mut())
    {
        *text = String::from_utf8(first_lines(text, LINES)).expect("it was text");
    }
    capture.to_text().into_bytes()
}
