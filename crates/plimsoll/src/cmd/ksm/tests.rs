//! The page on machines other than this one: its own memory read, beside other machines' files of
//! KSM.

use std::time::Duration;

use host::Root;
use host::pages::{self, Limits};
use host::processes::Process;
use mm::formula::ksmd::VisitCost;
use mm::ksm::Ksm;
use mm::notes::{Place, Reader};
use mm::units::{Nanos, PageSize};

use super::figures::{Figures, Looked};
use super::text;
use crate::term::{Canvas, Charset};

/// What the page says of this process on a machine whose kernel has these files of KSM.
fn said(ksm: Option<&[(&str, &str)]>, place: Place) -> String {
    let root = Root::default();
    let processes = [Process::read(&root, std::process::id()).expect("it runs")];
    let limits = Limits {
        cpu: Nanos::SECOND,
        keep: 100_000,
        between: Duration::ZERO,
    };
    let reading = pages::read(&root, &processes, PageSize::FOUR_KIB, &limits);
    let looked = Looked {
        processes: &processes,
        reading: &reading,
        page: PageSize::FOUR_KIB,
        ksm: ksm.map(parsed),
        visit: VisitCost {
            page: Nanos(1500),
            line: Nanos(100),
        },
        between: Duration::ZERO,
        limit: Duration::from_secs(1),
        place,
        reader: Reader::Root,
    };
    let canvas = Canvas {
        width: 200,
        charset: Charset::Unicode,
    };
    text::page(&Figures::of(&looked), canvas)
}

fn parsed(files: &[(&str, &str)]) -> Ksm {
    let mut ksm = Ksm::default();
    for (name, text) in files {
        ksm.read(&mm::ksm::path(name), text)
            .expect("a kernel's file");
    }
    ksm
}

#[track_caller]
fn assert_says(page: &str, all_of: &[&str], none_of: &[&str]) {
    for text in all_of {
        assert!(page.contains(text), "{text:?} is not in:\n{page}");
    }
    for text in none_of {
        assert!(!page.contains(text), "{text:?} is in:\n{page}");
    }
}

const STOPPED: [(&str, &str); 5] = [
    ("run", "0"),
    ("pages_to_scan", "200"),
    ("sleep_millisecs", "20"),
    ("merge_across_nodes", "1"),
    ("advisor_mode", "[none] scan-time"),
];

const BOUNDS: [(&str, &str); 4] = [
    ("advisor_max_cpu", "70"),
    ("advisor_target_scan_time", "200"),
    ("advisor_min_pages_to_scan", "500"),
    ("advisor_max_pages_to_scan", "30000"),
];

#[test]
fn a_kernel_without_ksm_is_named_and_its_figures_are_those_of_the_defaults() {
    let page = said(None, Place::Machine);
    assert_says(
        &page,
        &["This kernel has no KSM", "built without CONFIG_KSM", "9000"],
        &["as it is set", "the advisor's"],
    );
}

#[test]
fn what_is_set_stands_among_the_paces_and_an_idle_advisor_too() {
    let files = [&STOPPED[..], &BOUNDS].concat();
    let page = said(Some(&files), Place::Machine);
    assert_says(
        &page,
        &["200, as it is set", "the advisor's"],
        &[
            "advisor is on",
            "KSM is running",
            "merge_across_nodes is 0",
            "This kernel has no KSM",
        ],
    );
}

#[test]
fn an_advisor_that_is_on_locks_pages_to_scan_and_the_page_says_so() {
    let mut files = [&STOPPED[..], &BOUNDS].concat();
    files.extend([
        ("advisor_mode", "none [scan-time]"),
        ("run", "1"),
        ("merge_across_nodes", "0"),
    ]);
    let page = said(Some(&files), Place::Container);
    assert_says(
        &page,
        &[
            "The scan-time advisor is on",
            "the kernel refuses other values",
            "the advisor's",
            "KSM is running",
            "merge_across_nodes is 0",
            "This is a container",
        ],
        &["as it is set"],
    );
}

#[test]
fn a_kernel_that_is_set_to_unmerge_is_said_to_be() {
    let page = said(Some(&[("run", "2")]), Place::Machine);
    assert_says(&page, &["KSM is set to unmerge"], &[]);
}

#[test]
fn the_first_line_has_the_saving_and_the_interval_of_the_table() {
    let page = said(None, Place::Machine);
    let (title, table) = page.split_once("\n\n").expect("a title");
    let row = table.lines().find(|line| line.contains("becomes free"));
    let row = row.expect("the row");
    let saving = row.trim().trim_start_matches("becomes free").trim();
    let (figure, about) = saving.split_once("  ").expect("a figure");
    assert!(
        title.contains(&format!("would free {figure} of ")),
        "{title}\n{row}"
    );
    let (_, interval) = about.split_once("; ").expect("an interval");
    assert!(title.contains(interval), "{title}\n{row}");
}
