//! Runs that are made up, for tests of the report.

use answer::report::{Pair, Report};
use mm::capture::{Capture, Frame};
use mm::units::{Bytes, Nanos};
use scenario::outcome::{Latency, Outcome, Status, StepOutcome};
use study::Study;
use study::hash::sha256;
use study::record::{MachineView, Provenance, Record, SCHEMA};

pub(crate) fn study() -> Study {
    Study::parse(
        include_str!("../../../study/tests/studies/small-study.toml"),
        "small-study.toml",
    )
    .expect("a study")
}

pub(crate) fn frame(seconds: u64, label: Option<&str>, free_mib: u64, low: u64) -> Frame {
    let mut frame = Frame {
        at: Nanos(seconds * Nanos::SECOND.0),
        label: label.map(str::to_owned),
        ..Frame::default()
    };
    let meminfo = format!(
        "MemTotal: 500000 kB\nMemFree: {} kB\nMemAvailable: {} kB\nCached: {} kB\n",
        free_mib * 1024,
        free_mib * 1024,
        (450 - free_mib) * 1024
    );
    let (min, high) = (low * 4 / 5, low * 6 / 5);
    let zoneinfo = format!(
        "Node 0, zone    DMA32\n  pages free     100\n        min      {min}\n        \
         low      {low}\n        high     {high}\n        spanned  130000\n        \
         present  130000\n        managed  125000\n"
    );
    frame.files.insert("proc/meminfo".to_owned(), meminfo);
    frame.files.insert("proc/zoneinfo".to_owned(), zoneinfo);
    frame
}

pub(crate) fn step(process: &str, label: &str, milliseconds: u64, status: Status) -> StepOutcome {
    StepOutcome {
        process: process.to_owned(),
        label: label.to_owned(),
        start: Nanos::SECOND,
        end: Nanos(Nanos::SECOND.0 + milliseconds * Nanos::MILLI.0),
        operations: 300,
        bytes: Bytes(300 << 20),
        status,
        latency: Latency::default(),
    }
}

/// A run in which free memory was `free_mib` and the read took so long.
pub(crate) fn record(
    study: &Study,
    arm: &str,
    bench: &str,
    free_mib: u64,
    milliseconds: u64,
) -> Record {
    let low = if arm == "raised" { 30_000 } else { 3_000 };
    let frames = vec![
        frame(0, Some("start"), free_mib, low),
        frame(2, None, free_mib / 2, low),
        frame(4, None, free_mib / 4, low),
    ];
    let second = if arm == "raised" {
        Status::Killed(9)
    } else {
        Status::Done
    };
    let steps = vec![
        step("reader", "read", milliseconds, Status::Done),
        step("hogs.1", "hold", 2000, Status::Done),
        step("hogs.2", "hold", 2000, second),
    ];
    let machine = &study.arm(arm).expect("an arm").machine;
    Record {
        outcome: Outcome {
            capture: Capture { frames },
            steps,
        },
        provenance: Provenance {
            schema: SCHEMA,
            study: study.name.clone(),
            arm: arm.to_owned(),
            seed: 1,
            bench: bench.to_owned(),
            kernel: "6.1.0-53-cloud-amd64".to_owned(),
            command_line: Some("quiet <init>".to_owned()),
            machine: MachineView::of(machine),
            settings: vec![("vm.min_free_kbytes".to_owned(), "100000".to_owned())],
            base: Vec::new(),
            details: vec![("emulator".to_owned(), "QEMU 7.2".to_owned())],
            version: "0.1.0".to_owned(),
            program: "0".repeat(64),
            study_sha256: sha256(study.text.as_bytes()),
            study_text: study.text.clone(),
            date: "2026-11-21T22:00:00Z".to_owned(),
        },
    }
}

pub(crate) fn pair(study: &Study) -> Pair {
    let runs = |bench: &str, free_mib: u64, milliseconds: u64| {
        let run = |arm| record(study, arm, bench, free_mib, milliseconds);
        vec![run("plain"), run("raised")]
    };
    Pair {
        looks: 1,
        kernel: "Linux 6.1".to_owned(),
        release: "6.1.0-53-cloud-amd64".to_owned(),
        bench: "VM, virtual time".to_owned(),
        model: runs("model of Linux 6.1", 403, 3300),
        proofs: runs("VM, virtual time", 400, 3000),
    }
}

pub(crate) fn html(study: &Study, pairs: Vec<Pair>) -> String {
    let problems = vec!["records/x.record.gz: line 3: <broken>".to_owned()];
    let version = "0.1.0".to_owned();
    Report {
        study,
        pairs,
        problems,
        notes: Vec::new(),
        arguments: String::new(),
        no_record: Some("no record in records".to_owned()),
        version,
    }
    .to_html()
}

/// The text of every element of this name.
pub(crate) fn texts(html: &str, element: &str) -> Vec<String> {
    let (open, close) = (format!("<{element}"), format!("</{element}>"));
    let mut texts = Vec::new();
    for piece in html.split(&open).skip(1) {
        let (_, inside) = piece.split_once('>').expect("a tag's end");
        texts.push(inside.split(&close).next().unwrap_or_default().to_owned());
    }
    texts
}
