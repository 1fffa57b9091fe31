//! Whole logs: what is an event, and what is not.

use alloc::string::String;
use alloc::vec::Vec;

use super::*;

fn labels(log: &str) -> Vec<String> {
    let frames = frames(log);
    frames.into_iter().filter_map(|frame| frame.label).collect()
}

const KILL: &str = "Out of memory: Killed process 12 (x) total-vm:8kB, anon-rss:4kB, \
                    file-rss:2kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0";

#[test]
fn each_event_is_a_frame_with_its_time() {
    let log = alloc::format!(
        "[    1.000000] Linux version 6.1\n\
         [    2.500000] x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n\
         [    2.500001] CPU: 0 PID: 12 Comm: x Not tainted 6.1.0 #1\n\
         [    2.500002] Normal free:8kB min:16kB low:20kB high:24kB managed:4096kB\n\
         [    2.600000] {KILL}\n\
         [    3.000000] eth0: link up\n\
         [    4.000000] y: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL)\n"
    );
    assert!(is_log(&log));
    assert_eq!(labels(&log), ["oom-1", "allocation-failure-2"]);
    let frames = frames(&log);
    assert_eq!(frames[0].at, crate::units::Nanos(2_500_000_000));
    let text = &frames[0].files[PATH];
    assert!(
        text.starts_with("x invoked") && text.ends_with("oom_score_adj:0"),
        "{text}"
    );
    let report = Report::parse(text).expect("a report");
    assert_eq!(report.release.as_deref(), Some("6.1.0"));
    assert_eq!(Cause::of(&report).refusals, [Refusal::Shortage]);
}

#[test]
fn kills_without_their_reports_are_told_apart() {
    let log = "Killed process 1 (a) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n\
               Out of memory: Kill process 2 (b) score 9 or sacrifice child\n\
               Killed process 2 (b) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n";
    assert_eq!(labels(log), ["oom-1", "oom-2"]);
}

#[test]
fn other_programs_are_dropped_and_killers_among_them_kept() {
    let log = alloc::format!(
        "Jan  1 00:00:00 a kernel: x invoked oom-killer: gfp_mask=0xd0, order=0\n\
         Jan  1 00:00:00 a sshd[3]: Node 0 of this message is sshd's\n\
         Jan  1 00:00:00 a systemd-oomd[9]: Killed /b due to memory pressure for / being 90%\n\
         Jan  1 00:00:00 a kernel: {KILL}\n"
    );
    assert_eq!(labels(&log), ["oom-1", "user-space-kill-2"]);
    let frames = frames(&log);
    assert!(!frames[0].files[PATH].contains("sshd"));
    assert!(frames[1].files[PATH].starts_with("systemd-oomd: Killed /b"));
}

#[test]
fn reports_of_two_hosts_between_each_other_stay_apart() {
    let head = "invoked oom-killer: gfp_mask=0xd0, order=0";
    let log = alloc::format!(
        "Jan  1 00:00:00 a kernel: x {head}\nJan  1 00:00:00 b kernel: y {head}\n\
         Jan  1 00:00:00 a kernel: 11 pages RAM\nJan  1 00:00:00 b kernel: 22 pages RAM\n"
    );
    let frames = frames(&log);
    let ram = |at: usize| Report::parse(&frames[at].files[PATH]).and_then(|report| report.ram);
    assert_eq!(
        (ram(0), ram(1)),
        (Some(crate::units::Pages(11)), Some(crate::units::Pages(22)))
    );
}

#[test]
fn a_text_without_anything_of_memory_is_no_log() {
    for text in [
        "",
        "MemTotal: 8 kB",
        "[ 1.0] eth0: link up",
        "a b c",
        "out of memory cards",
    ] {
        assert!(!is_log(text), "{text}");
        assert!(frames(text).is_empty(), "{text}");
    }
}

/// Kernels from 4.9 on printed lists in pieces, which journals and syslogs keep as lines.
#[test]
fn lists_that_the_kernel_broke_are_put_together() {
    let pieces = [
        "Node 0 ",
        "Normal free:900kB min:1000kB low:1250kB high:1500kB managed:99999kB",
        "lowmem_reserve[]:",
        " 0",
        " 12",
        "Node 0 ",
        "Normal: ",
        "2*4kB ",
        "(UM) ",
        "0*8kB ",
        "= 8kB",
        "5 total pagecache pages",
    ];
    let lines = pieces.map(|piece| alloc::format!("Jan  1 00:00:00 a kernel: {piece}\n"));
    let head = "x: page allocation failure: order:1, mode:0x14000c0(GFP_KERNEL)\n";
    let frames = frames(&[head, &lines.concat()].concat());
    assert_eq!(frames.len(), 1);
    let report = Report::parse(&frames[0].files[PATH]).expect("a report");
    let zone = &report.zones[0];
    assert_eq!(zone.reserve, [0, 12].map(crate::units::Pages));
    assert_eq!(
        (zone.blocks.len(), zone.blocks[0].types.as_str()),
        (2, "UM")
    );
    assert_eq!(report.page_cache, Some(crate::units::Pages(5)));
}
