//! What is said to the logs of `fixtures/kernel_log`: whole screens, and the first one's figures.

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use mm::capture::Capture;

use crate::page::{Canvas, Charset};
use crate::view::{Extent, View};

const LOGS: [&str; 13] = [
    "atomic-order0-4.19.mail",
    "cgroup-v1-3.10.syslog",
    "cgroup-v2-6.12.json",
    "cpuset-5.4.netconsole",
    "dma-zone-5.10.log",
    "fragmented-order2-4.4.log",
    "global-2.6.32.syslog",
    "global-5.4.log",
    "lowmem-32bit-3.16.log",
    "mempolicy-5.4.log",
    "not-the-kernel.log",
    "order4-6.12.log",
    "pi4-6.x-cma.log",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernel_log")
}

fn capture(log: &str) -> Capture {
    let text = std::fs::read_to_string(folder().join(log)).expect("the fixture is there");
    Capture {
        frames: mm::kernel_log::frames(&text),
    }
}

fn text(view: &View) -> String {
    let text = view.text(
        Canvas {
            width: 100,
            charset: Charset::Ascii,
        },
        &Extent::All,
    );
    crate::style::plain(&text)
}

/// The sentences before the first heading, a line each.
fn diagnosis(log: &str) -> Vec<String> {
    let view = View::of(&capture(log), None).expect("a report");
    view.kernel_log.expect("a report").diagnosis
}

#[test]
fn each_log_is_explained_as_it_was_checked_by_hand() {
    for log in LOGS {
        let view = View::of(&capture(log), None).expect("a report");
        let shown = folder().join("shown").join(log).with_extension("txt");
        expect_file![shown].assert_eq(&text(&view));
    }
}

#[test]
fn the_answer_has_at_most_five_sentences_of_one_subject_each() {
    for log in LOGS {
        let diagnosis = diagnosis(log);
        assert!((1..=5).contains(&diagnosis.len()), "{log}");
        for sentence in &diagnosis {
            assert!(
                sentence.ends_with('.') && sentence.len() < 330,
                "{log}: {sentence}"
            );
        }
    }
}

/// Case 15: the numbers of the right answer stand on the first screen.
#[test]
fn free_cma_and_boost_are_told_with_their_numbers() {
    let diagnosis = diagnosis("pi4-6.x-cma.log").join(" ");
    for part in [
        "519112 kB free, of them 513592 kB CMA's",
        "5520 kB count, below the min mark of 10428 kB",
        "10428 kB, 7216 kB are boost",
        "without it 3212 kB, and 5520 kB would be enough",
        "767 MiB of 767 MiB swap are free",
    ] {
        let lower = diagnosis.to_lowercase();
        assert!(lower.contains(&part.to_lowercase()), "{part}: {diagnosis}");
    }
}

#[test]
fn a_label_chooses_one_of_several_events_and_all_are_listed() {
    let capture = capture("not-the-kernel.log");
    let view = View::of(&capture, Some("overcommit-5")).expect("the label is there");
    let text = text(&view);
    assert!(
        text.contains("Overcommit refused 17179869184 bytes"),
        "{text}"
    );
    assert!(text.contains("hung-task-6"), "{text}");
    let unknown = View::of(&capture, Some("oom-9")).expect_err("no such event");
    assert!(unknown.to_string().contains("overcommit-5"), "{unknown}");
}
