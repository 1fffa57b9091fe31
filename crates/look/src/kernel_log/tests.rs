//! What is said to the logs of `fixtures/kernel_log`: whole screens, and the first one's figures.

use std::path::PathBuf;

use expect_test::expect_file;
use mm::capture::Capture;

use crate::page::{Canvas, Charset};
use crate::sections::Extent;
use crate::view::View;

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
    testkit::checkout("fixtures/kernel_log")
}

fn capture(log: &str) -> Capture {
    let text = testkit::text(&format!("fixtures/kernel_log/{log}"));
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

/// What a log says from these lines alone.
fn said(lines: &[&str]) -> String {
    let log = lines.join("\n") + "\n";
    let frames = mm::kernel_log::frames(&log);
    let view = View::of(&Capture { frames }, None).expect("a report");
    let shown = text(&view);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

const NORMAL: &str = "Node 0 Normal free:124kB min:10088kB low:12608kB high:15132kB \
                      active_anon:830108kB inactive_anon:104416kB active_file:15692kB \
                      inactive_file:887136kB unevictable:0kB present:3939840kB \
                      slab_reclaimable:100kB slab_unreclaimable:200kB all_unreclaimable? no";

/// The zones whose lines were cut away hold most of this machine.
#[test]
fn of_a_log_that_begins_behind_a_zone_nothing_is_summed() {
    let lists = "Node 0 DMA32: 4492*4kB 1997*8kB 62*16kB = 34936kB";
    let own = "Node 0 Normal: 0*4kB 0*8kB 0*16kB = 0kB";
    let failed = [
        "SLUB: Unable to allocate memory on node -1 (gfp=0x20)",
        "  cache: some_cache, object size: 448, buffer size: 448, default order: 0, min order: 0",
        "  node 0: slabs: 1, objs: 9, free: 0",
    ];
    let pages = ["3080176 pages RAM", "62353 pages reserved"];
    let whole = [&[NORMAL, own][..], &pages, &failed].concat();
    assert!(said(&whole).contains("in no line"), "{}", said(&whole));
    let cut = [&[NORMAL, lists, own][..], &pages, &failed].concat();
    assert!(!said(&cut).contains("in no line"), "{}", said(&cut));
}

#[test]
fn a_failed_allocation_is_never_laid_to_the_limit_of_a_group() {
    let zone = "Normal free:248344kB min:2444kB low:3052kB high:3660kB present:1048572kB \
                managed:737280kB mlocked:0kB";
    for (order, what) in [
        (10, "4096 kB in one piece stands in the free lists"),
        (0, "the lines of the zone that refused are not in this log"),
    ] {
        let head =
            format!("app: page allocation failure: order:{order}, mode:0x2084020(GFP_ATOMIC)");
        let free = "Normal: 900*4kB 9*8kB = 3672kB";
        let lines: &[&str] = match order {
            0 => &[&head, "Mem-Info:", zone, free],
            _ => &[&head, "Mem-Info:", zone],
        };
        let said = said(lines);
        assert!(said.contains(what), "{said}");
        assert!(
            !said.contains("control groups are to be looked at"),
            "{said}"
        );
    }
}

fn said_of(log: &str, label: &str) -> String {
    let frames = mm::kernel_log::frames(log);
    let view = View::of(&Capture { frames }, Some(label)).expect("a report");
    view.kernel_log.expect("a report").diagnosis.join(" ")
}

#[test]
fn a_slab_failure_says_that_zone_and_order_stand_elsewhere() {
    let slab = "SLUB: Unable to allocate memory on node -1, gfp=0x20(GFP_ATOMIC)\n\
                cache: skbuff_head_cache, object size: 232, buffer size: 256, default order: 1\n\
                node 0: slabs: 10, objs: 160, free: 0\n";
    let alone = said_of(slab, "slab-failure-1");
    assert!(alone.contains("names neither the zones"), "{alone}");
    let head = "y: page allocation failure: order:1, mode:0x20(GFP_ATOMIC)\n";
    let between = "[    9.000000] eth0 is up\n".repeat(200);
    let both = said_of(&format!("{head}{between}{slab}"), "slab-failure-2");
    assert!(both.contains("(--at allocation-failure-1)"), "{both}");
}

#[test]
fn a_reserve_that_is_cut_away_is_said_to_be_missing() {
    let log = "x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n\
        Node 0 DMA free:15900kB min:64kB low:80kB high:96kB managed:15908kB\n\
        Node 0 Normal free:8kB min:1600kB low:2000kB high:2400kB managed:4000000kB\n";
    let said = said_of(log, "oom-1");
    assert!(
        said.contains("All that it may use is used: Normal"),
        "{said}"
    );
    assert!(
        said.contains("Whether DMA (node 0) refused is not known"),
        "{said}"
    );
}
