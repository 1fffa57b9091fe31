//! Logs of all kernels in all forms: the cause that their own numbers give.

use plimsoll_mm::kernel_log::{
    self, Answer, Cause, Event, Holders, PATH, Refusal, Report, Whose, ZoneCheck,
};
use plimsoll_mm::units::{Kib, Nanos, Pages};
use plimsoll_mm::zoneinfo::ZoneKind;
use proptest::prelude::*;
use testkit::damage::Examples;

const FILES: [&str; 13] = [
    "pi4-6.x-cma.log",
    "global-2.6.32.syslog",
    "global-5.4.log",
    "cgroup-v1-3.10.syslog",
    "cgroup-v2-6.12.json",
    "fragmented-order2-4.4.log",
    "cpuset-5.4.netconsole",
    "mempolicy-5.4.log",
    "dma-zone-5.10.log",
    "lowmem-32bit-3.16.log",
    "atomic-order0-4.19.mail",
    "order4-6.12.log",
    "not-the-kernel.log",
];

fn log(name: &str) -> String {
    testkit::text(&format!("fixtures/kernel_log/{name}"))
}

/// The only report of a log, with its cause.
fn read(name: &str) -> (Report, Cause) {
    let log = log(name);
    assert!(kernel_log::is_log(&log), "{name}");
    let frames = kernel_log::frames(&log);
    assert_eq!(frames.len(), 1, "{name}: one event");
    let report = Report::parse(&frames[0].files[PATH]).expect("a report");
    let cause = Cause::of(&report);
    (report, cause)
}

fn zone(cause: &Cause, node: u32, kind: ZoneKind) -> ZoneCheck {
    let same = |zone: &&ZoneCheck| zone.node == node && zone.kind == kind;
    *cause
        .zones
        .iter()
        .find(same)
        .expect("the zone is in the report")
}

/// Case 15: 507 MiB are free and the kernel kills.
#[test]
fn free_pages_of_cma_do_not_serve_and_boost_hides_the_rest() {
    let (report, cause) = read("pi4-6.x-cma.log");
    assert_eq!(
        cause.whose,
        Whose::Dump,
        "no line says that anything failed"
    );
    assert!(cause.assumed);
    // The boost holds back 2.3 MB of the zone: it refuses, and is not the story.
    assert_eq!(
        cause.refusals,
        [Refusal::Cma, Refusal::Shortage, Refusal::Boost]
    );
    let dma = zone(&cause, 0, ZoneKind::Dma);
    assert_eq!(
        (dma.free, dma.cma, dma.usable),
        (Kib(519_112), Kib(513_592), Kib(5520))
    );
    assert_eq!(
        (dma.min, dma.boost, dma.reserve),
        (Kib(10_428), Kib(7216), Kib(0))
    );
    assert_eq!(report.zones[0].reserve, [0, 0, 3188, 3188].map(Pages));
    assert_eq!(
        (report.swap, report.swap_free),
        (Some(Kib(785_668)), Some(Kib(785_668)))
    );
}

#[test]
fn a_machine_without_memory_left_is_short_from_2_6_32_on() {
    for (name, victim, kind, release) in [
        (
            "global-2.6.32.syslog",
            "mysqld",
            ZoneKind::Dma32,
            "2.6.32-431.el6.x86_64",
        ),
        (
            "global-5.4.log",
            "java",
            ZoneKind::Normal,
            "5.4.0-42-generic",
        ),
    ] {
        let (report, cause) = read(name);
        assert_eq!(
            (cause.whose, cause.refusals[0]),
            (Whose::Machine, Refusal::Shortage),
            "{name}"
        );
        assert_eq!(report.killed[0].name, victim);
        assert_eq!(report.release.as_deref(), Some(release));
        assert_eq!(
            cause.telling(Refusal::Shortage).map(|zone| zone.kind),
            Some(kind)
        );
        assert!(
            cause
                .zones
                .iter()
                .all(|zone| zone.answer == Answer::Refused)
        );
        let holders = Holders::of(&report);
        assert_eq!(
            holders.largest().map(|part| part.name),
            Some("anonymous"),
            "{name}"
        );
        assert_eq!(report.swap_free, Some(Kib(0)));
        assert_eq!(report.processes.largest[0].name, victim);
    }
}

#[test]
fn a_limit_of_a_control_group_is_told_from_the_machines_end() {
    let (report, cause) = read("cgroup-v1-3.10.syslog");
    assert_eq!(cause.whose, Whose::Group);
    assert_eq!(report.group.name, "/system.slice/docker-0011.scope");
    let memory = report.group.memory.expect("the counter");
    assert!(memory.is_full() && memory.failures == 4711);
    assert_eq!(
        report.group.memory_and_swap.and_then(|both| both.limit),
        memory.limit
    );
    let (report, cause) = read("cgroup-v2-6.12.json");
    assert_eq!(cause.whose, Whose::Group);
    assert!(report.group.name.ends_with("/cri-2.scope"));
    assert_eq!(report.group.swap.and_then(|swap| swap.limit), Some(Kib(0)));
    assert_eq!(report.group.shmem().map(|shmem| shmem.0), Some(350_224_384));
    assert_eq!(report.killed.len(), 2);
    assert!(report.whole_group);
    assert!(
        report.page_told,
        "692000 kB were killed of a row of 173000 pages"
    );
    let frames = kernel_log::frames(&log("cgroup-v2-6.12.json"));
    assert_eq!(frames[0].at, Nanos(86_400_000_000_000));
}

#[test]
fn fragmentation_is_told_from_shortage_by_the_free_lists() {
    let (report, cause) = read("fragmented-order2-4.4.log");
    assert_eq!(
        (cause.whose, cause.refusals[0]),
        (Whose::Machine, Refusal::Fragmented)
    );
    assert_eq!(zone(&cause, 0, ZoneKind::Dma32).answer, Answer::NoBlock);
    assert_eq!(zone(&cause, 0, ZoneKind::Dma).answer, Answer::Refused);
    let gfp = report.gfp.expect("flags");
    assert_eq!(
        gfp.table.map(kernel_log::Table::releases),
        Some("4.4 to 4.11")
    );
    assert!(gfp.direct_reclaim && gfp.fs && !gfp.movable);
    // The process that was chosen is not the one that was killed.
    assert_eq!(
        report
            .killed
            .iter()
            .map(|killed| killed.pid)
            .collect::<Vec<_>>(),
        [5161]
    );
    let (report, cause) = read("order4-6.12.log");
    assert_eq!(report.event, Event::AllocationFailure);
    assert!(cause.is_costly() && cause.refusals[0] == Refusal::Fragmented);
    let zone = zone(&cause, 0, ZoneKind::Dma32);
    assert_eq!(
        (zone.highatomic, zone.usable),
        (Kib(2048), Kib(104_096 - 2048 - 60))
    );
}

#[test]
fn nodes_that_are_not_allowed_are_told_with_what_they_have() {
    for (name, whose) in [
        ("cpuset-5.4.netconsole", Whose::Cpuset),
        ("mempolicy-5.4.log", Whose::Policy),
    ] {
        let (_, cause) = read(name);
        assert_eq!(
            (cause.whose, cause.refusals[0]),
            (whose, Refusal::OtherNodes),
            "{name}"
        );
        assert_eq!(zone(&cause, 0, ZoneKind::Normal).answer, Answer::OtherNode);
        assert_eq!(zone(&cause, 1, ZoneKind::Normal).answer, Answer::Refused);
    }
}

#[test]
fn a_request_for_a_low_zone_is_not_served_by_higher_ones() {
    let (report, cause) = read("dma-zone-5.10.log");
    assert_eq!(report.event, Event::AllocationFailure);
    assert_eq!(cause.refusals[0], Refusal::HigherZones);
    assert_eq!(
        zone(&cause, 0, ZoneKind::Dma32).answer,
        Answer::AboveRequest
    );
    assert_eq!(zone(&cause, 0, ZoneKind::Dma).reserve, Kib(0));
    let (report, cause) = read("lowmem-32bit-3.16.log");
    assert_eq!(
        (cause.whose, cause.refusals[0]),
        (Whose::Machine, Refusal::HigherZones)
    );
    assert_eq!(
        zone(&cause, 0, ZoneKind::HighMem).answer,
        Answer::AboveRequest
    );
    assert_eq!(zone(&cause, 0, ZoneKind::Dma).reserve, Kib(840 * 4));
    assert!(
        report
            .gfp
            .is_some_and(|gfp| gfp.table == Some(kernel_log::Table::Wait))
    );
}

/// A mail broke the lines; 5616 kB leave 2106 kB to an atomic request: 5616 - 2808 - 702.
#[test]
fn an_atomic_request_may_use_five_eighths_of_min() {
    let (report, cause) = read("atomic-order0-4.19.mail");
    assert_eq!(
        (report.event, cause.refusals[0]),
        (Event::AllocationFailure, Refusal::Shortage)
    );
    let dma32 = zone(&cause, 0, ZoneKind::Dma32);
    assert_eq!(
        (dma32.usable, dma32.mark, dma32.answer),
        (Kib(2100), Kib(2106), Answer::Refused)
    );
    assert_eq!(zone(&cause, 0, ZoneKind::Dma).reserve, Kib(1950 * 4));
    assert_eq!(report.zones[0].blocks.len(), 11);
}

#[test]
fn what_was_not_the_kernel_is_said_to_be_so() {
    let frames = kernel_log::frames(&log("not-the-kernel.log"));
    let read = |frame: &plimsoll_mm::capture::Frame| {
        let report = Report::parse(&frame.files[PATH]).expect("an event");
        (
            frame.label.clone().unwrap_or_default(),
            Cause::of(&report).whose,
        )
    };
    let events: Vec<_> = frames.iter().map(read).collect();
    let expected = [
        ("user-space-kill-1", Whose::UserSpace),
        ("user-space-kill-2", Whose::UserSpace),
        ("user-space-kill-3", Whose::UserSpace),
        ("exit-137-4", Whose::UserSpace),
        ("overcommit-5", Whose::Overcommit),
        ("hung-task-6", Whose::Stuck),
    ];
    let expected = expected.map(|(label, whose)| (label.to_owned(), whose));
    assert_eq!(events, expected);
}

/// The same report in every form gives the same messages.
#[test]
fn the_form_of_a_log_does_not_matter() {
    let plain = log("global-5.4.log");
    let bare: Vec<&str> = plain
        .lines()
        .filter_map(|line| Some(line.split_once("] ")?.1))
        .collect();
    let expected = &kernel_log::frames(&plain)[0].files[PATH];
    for prefix in [
        "",
        "> [   12.000001] ",
        "<4>[   12.000001] ",
        "kern  :warn  : [   12.000001] ",
        "[  +0.000007] ",
        "[Mon Jan  1 00:00:00 2024] ",
        "4,77,12000001,-;",
        "Jan  1 00:00:00 host kernel: [   12.000001] ",
        "Jan 01 00:00:00.000001 host kernel: ",
        "2024-01-01T00:00:00+0000 host kernel: ",
        "[   12.000001][ T2101] ",
        "<4>1 2024-01-01T00:00:00.000001+00:00 host kernel - - - [   12.000001] ",
        "2024-01-01T00:00:00,000001+00:00 ",
    ] {
        let lines: Vec<String> = bare
            .iter()
            .map(|line| format!("{prefix}{line}\r\n"))
            .collect();
        let frames = kernel_log::frames(&lines.concat());
        assert_eq!(frames.len(), 1, "{prefix}");
        assert_eq!(&frames[0].files[PATH], expected, "{prefix}");
    }
}

#[test]
fn a_long_log_gives_all_its_reports() {
    let log = log("global-5.4.log").repeat(300);
    let frames = kernel_log::frames(&log);
    assert_eq!(frames.len(), 300);
    assert_eq!(frames[299].label.as_deref(), Some("oom-300"));
    assert_eq!(frames[0].files, frames[299].files);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No panic, and no more messages than there were.
    #[test]
    fn a_damaged_log_is_read_as_far_as_it_goes(
        damaged in Examples::of("evidence", FILES.map(log)).damaged(),
    ) {
        let text = damaged.text();
        let _ = kernel_log::is_log(&text);
        for frame in kernel_log::frames(&text) {
            prop_assert!(frame.files[PATH].len() <= text.len() * 2 + 200);
            if let Some(report) = Report::parse(&frame.files[PATH]) {
                let _ = (Cause::of(&report), Holders::of(&report));
            }
        }
    }

    #[test]
    fn arbitrary_text_is_survived(text in ".{0,400}") {
        let _ = kernel_log::is_log(&text);
        let _ = kernel_log::frames(&text);
        if let Some(report) = Report::parse(&text) {
            let _ = (Cause::of(&report), Holders::of(&report));
        }
    }
}
