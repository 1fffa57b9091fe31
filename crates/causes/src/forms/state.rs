//! Kernel files of a moment: captures, trees, archives, a file alone.

use flate2::Compression;
use flate2::write::GzEncoder;
use host::looking::READABLE;
use mm::capture::{Capture, Frame};

use super::form::{Form, Holds};
use super::tools;
use crate::run::Run;

/// What a live `inspect` notes of the guest.
const FACTS: &str = "page_size\t4096\ncpus\t1\nreader\troot\nplatform\tvm\nplace\tmachine\n";

/// The folder of a sosreport.
const SOSREPORT: &str = "sosreport-web-1-2025-01-01-abcdefg";

pub(super) fn forms(run: &Run) -> Vec<Form> {
    let shots: Vec<&Frame> = run.shots().collect();
    let Some(&last) = shots.last() else {
        return Vec::new();
    };
    let mut forms = vec![
        capture("capture", &[last]),
        tree(run, last),
        tar(run, last),
        alone(last, "meminfo", &["meminfo"]),
        alone(
            last,
            "meminfo, zoneinfo, vmstat",
            &["meminfo", "zoneinfo", "vmstat"],
        ),
    ];
    // The first frame is from before the trouble began.
    if let [_, .., before, last] = shots[..] {
        forms.push(capture("capture over time", &[before, last]));
    }
    forms
}

/// What `inspect --save` writes.
fn capture(kind: &'static str, frames: &[&Frame]) -> Form {
    let frames: Vec<Frame> = frames.iter().map(|frame| saved(frame)).collect();
    let mut holds = frames.last().map(Holds::of).unwrap_or_default();
    if frames.len() > 1 {
        holds = holds.with("interval");
    }
    let text = Capture { frames }.to_text();
    Form::text(kind, "machine.capture", text, holds)
}

fn saved(frame: &Frame) -> Frame {
    let mut saved = frame.clone();
    saved.label = None;
    saved.files.retain(|path, _| is_readable(path));
    saved.files.insert("plimsoll/facts".into(), FACTS.into());
    saved
}

/// Whether a live `inspect` reads a file.
fn is_readable(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let rows = READABLE.iter();
    rows.filter(|row| row.names.contains(&name))
        .any(|row| is_in(folder, row.folder))
}

fn is_in(folder: &str, pattern: &str) -> bool {
    if let Some(below) = pattern.strip_suffix("/**") {
        return folder.starts_with(below);
    }
    let (parts, patterns) = (folder.split('/'), pattern.split('/'));
    let same = |(part, pattern): (&str, &str)| pattern == "*" || part == pattern;
    parts.clone().count() == patterns.clone().count() && parts.zip(patterns).all(same)
}

/// A folder as sosreport makes it.
fn tree(run: &Run, frame: &Frame) -> Form {
    let kernel = frame.files.iter();
    let mut files: Vec<(String, Vec<u8>)> = kernel
        .map(|(path, text)| (path.clone(), text.clone().into_bytes()))
        .collect();
    let mut command = |path: &str, text: String| {
        files.push((format!("sos_commands/{path}"), text.into_bytes()));
    };
    command("kernel/dmesg", run.log().to_owned());
    command("memory/free", tools::free(frame, "-k"));
    command("memory/free_-m", tools::free(frame, "-m"));
    command("kernel/uname_-a", tools::uname(frame));
    Form {
        kind: "tree",
        tenths: 10,
        files,
        holds: Holds::of(frame).log(run.log()),
    }
}

fn tar(run: &Run, frame: &Frame) -> Form {
    let tree = tree(run, frame);
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, bytes) in &tree.files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let path = format!("{SOSREPORT}/{path}");
        archive
            .append_data(&mut header, path, &bytes[..])
            .expect("memory takes what is written");
    }
    let bytes = archive.into_inner().and_then(GzEncoder::finish);
    Form {
        kind: "tar",
        files: vec![(
            "report.tar.gz".into(),
            bytes.expect("memory takes what is written"),
        )],
        ..tree
    }
}

/// Some files of `/proc`, as a person copies them.
fn alone(frame: &Frame, kind: &'static str, names: &[&'static str]) -> Form {
    let file = |name: &&str| {
        let text = frame.file(&format!("proc/{name}")).unwrap_or_default();
        ((*name).to_owned(), text.as_bytes().to_vec())
    };
    Form {
        kind,
        tenths: 10,
        files: names.iter().map(file).collect(),
        holds: Holds::words(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_has_what_a_live_look_reads() {
        for path in [
            "proc/meminfo",
            "proc/sys/vm/swappiness",
            "sys/fs/cgroup/a/b/memory.stat",
            "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
        ] {
            assert!(is_readable(path), "{path}");
        }
        assert!(!is_readable("proc/slabinfo"));
        assert!(!is_readable("proc/sys/vm/lowmem_reserve_ratio"));
    }
}
