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
fn a_fork_that_a_group_may_not_have_is_an_event() {
    let line = "cgroup: fork rejected by pids controller in /shop/jobs";
    assert!(is_log(line));
    assert_eq!(
        labels(&alloc::format!("[    0.591307] {line}\n")),
        ["fork-refusal-1"]
    );
    let report = Report::parse(line).expect("a report");
    assert_eq!(
        (report.event, &report.group.name[..]),
        (Event::Fork, "/shop/jobs")
    );
    assert_eq!(Cause::of(&report).whose, Whose::Pids);
    assert!(!is_log("cgroup: fork rejected by pids controller in"));
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

fn report_of(log: &str) -> Report {
    let frames = frames(log);
    let frame = frames.last().expect("an event");
    Report::parse(&frame.files[PATH]).expect("a report")
}

const HEAD: &str = "x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n";

/// A report that is cut behind its head may be of a group's limit: only what the log says counts.
#[test]
fn a_log_that_is_cut_behind_the_request_blames_neither_zones_nor_a_group() {
    let whose = |rest: &str| Cause::of(&report_of(&alloc::format!("{HEAD}{rest}"))).whose;
    assert_eq!(
        whose("CPU: 1 PID: 2 Comm: x Not tainted 5.4.0 #1\n"),
        Whose::Unknown
    );
    assert_eq!(whose(" mem_cgroup_out_of_memory+0xbd/0xe0\n"), Whose::Group);
    assert_eq!(
        whose(" ? mem_cgroup_out_of_memory+0xbd/0xe0\n"),
        Whose::Unknown
    );
    assert_eq!(
        whose(" __alloc_pages_slowpath+0x6e9/0x754\n"),
        Whose::Machine
    );
    assert_eq!(whose(KILL), Whose::Machine);
}

#[test]
fn releases_are_read_without_a_taint_as_well() {
    let of = |line: &str| report_of(&alloc::format!("{HEAD}{line}\n")).release;
    let old = of("CPU: 5 PID: 1 Comm: x 4.9.24-coreos #1");
    assert_eq!(old.as_deref(), Some("4.9.24-coreos"));
    let tainted = of("CPU: 5 PID: 1 Comm: x Tainted: G W O 5.4.17-2136 #2");
    assert_eq!(tainted.as_deref(), Some("5.4.17-2136"));
}

/// Headers of a hypervisor, of Talos, of a vendor's CPUs, and of a month in another language.
#[test]
fn strange_headers_are_taken_off() {
    for head in [
        "2023-12-04T10:49:30.127Z In(05) vcpu-5 - Guest: <3>[39291577.009360] ",
        "[2-3219.1870] ",
        "user: warning: [2026-01-12T20:27:31.913975631Z]: ",
        "avril 16 21:08:50 host kernel: ",
        "9月  3 05:57:48 host kernel: ",
        "[二 9月  3 05:57:48 2024] ",
    ] {
        let log = alloc::format!("{head}{HEAD}");
        assert_eq!(report_of(&log).task, "x", "{head}");
    }
    let oomd = "avril 16 21:08:50 systemd-oomd[9]: Killed /b due to memory pressure for /\n";
    assert_eq!(labels(oomd), ["user-space-kill-1"]);
}

#[test]
fn what_a_container_and_cma_say_are_events() {
    let pod = "    Last State:     Terminated\n      Reason:       OOMKilled\n      \
               Exit Code:    137\n    Limits:\n      memory:  100Mi\n";
    assert_eq!(labels(pod), ["container-1"]);
    let report = report_of(pod);
    assert_eq!(report.container_limit.as_deref(), Some("100Mi"));
    assert_eq!(Cause::of(&report).whose, Whose::Container);
    let alive = "\"OOMKilled\": false,\n\"ExitCode\": 137,\n";
    assert_eq!(labels(alive), ["exit-137-1"]);
    let cma = "cma: cma_alloc: reserved: alloc failed, req-size: 2025 pages, ret: -12\n";
    assert_eq!(labels(cma), ["cma-failure-1"]);
    let told = "Warning OOMKilling  Memory cgroup out of memory: Kill process 4481 (a) score 9\n";
    assert_eq!(labels(told), ["oom-1"]);
    let plan = "Mar 27 18:46:05 h earlyoom[1]: sending SIGTERM when mem <=  4.00%,\n";
    assert!(!is_log(plan));
}

/// The release beside a report decides over the guess by the bits.
#[test]
fn flags_without_names_are_read_by_the_release_that_is_told() {
    let mut report = report_of("x: page allocation failure: order:0, mode:0x2080020\n");
    let table = |report: &Report| report.gfp.as_ref().map(|gfp| (gfp.table, gfp.guessed));
    assert_eq!(table(&report), Some((Some(Table::Since4x4), true)));
    report.told_release("3.10.0");
    assert_eq!(table(&report), Some((Some(Table::Wait), false)));
}

#[test]
fn linux_2_4_says_that_an_allocation_failed_and_whom_it_killed() {
    let failed =
        "Aug 27 17:20:03 h kernel: __alloc_pages: 0-order allocation failed (gfp=0x20/0)\n";
    let frames = frames(&failed.repeat(3));
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].label.as_deref(), Some("allocation-failure-1"));
    let report = Report::parse(failed).expect("a report");
    assert_eq!(
        (report.event, report.order),
        (Event::AllocationFailure, Some(0))
    );
    assert!(report.gfp.expect("flags").is_atomic());
    let killed = "__alloc_pages: 0-order allocation failed (gfp=0x1d2/0) from c012845e\n\
                  VM: killing process a.out\n";
    let frames = super::frames(&killed.repeat(2));
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0].label.as_deref(), Some("oom-1"));
    let report = Report::parse(killed).expect("a report");
    let cause = Cause::of(&report);
    assert_eq!(
        (cause.whose, cause.refusals[0]),
        (Whose::Machine, Refusal::Shortage)
    );
    assert_eq!(report.killed[0].name, "a.out");
    assert!(report.gfp.expect("flags").highmem);
}

/// `CONFIG_PRINTK_CALLER` says which task prints: two failures at once are two reports.
#[test]
fn reports_of_two_tasks_between_each_other_stay_apart() {
    let log = "\
        [   10.000001][  T100] a: page allocation failure: order:0, mode:0x820(GFP_ATOMIC)\n\
        [   10.000002][   C1] b: page allocation failure: order:3, mode:0x820(GFP_ATOMIC)\n\
        [   10.000003][  T100] CPU: 0 PID: 100 Comm: a Not tainted 6.6.1 #1\n\
        [   10.000004][   C1] CPU: 1 PID: 200 Comm: b Not tainted 6.6.1 #1\n\
        [   10.000005][  T100] Node 0 Normal free:40kB min:800kB low:900kB high:1000kB \
        managed:90000kB\n\
        [   10.000006][   C1] Node 0 Normal free:44kB min:800kB low:900kB high:1000kB \
        managed:90000kB\n\
        [   10.000007][  T100] lowmem_reserve[]: 0 0 0\n\
        [   10.000008][   C1] lowmem_reserve[]: 0 0 0\n\
        [   10.000009][  T100] 11 pages RAM\n[   10.000010][   C1] 11 pages RAM\n";
    let reports: Vec<Report> = frames(log)
        .iter()
        .filter_map(|frame| Report::parse(&frame.files[PATH]))
        .collect();
    let told = |report: &Report| {
        let free = report.zones[0].kib("free").0;
        (report.task.clone(), report.order, free, report.mixed)
    };
    assert_eq!(told(&reports[0]), ("a".into(), Some(0), 40, false));
    assert_eq!(told(&reports[1]), ("b".into(), Some(3), 44, false));
    assert_eq!(reports.len(), 2);
}

/// Without the caller nothing keeps them apart, and the report says that it is mixed.
#[test]
fn a_report_with_two_lines_of_a_zone_is_mixed() {
    let zone = |free| {
        alloc::format!(
            "Node 0 Normal free:{free}kB min:800kB low:900kB high:1000kB managed:90000kB\n"
        )
    };
    let head = "b: page allocation failure: order:0, mode:0x820(GFP_ATOMIC)\n";
    let of = |a, b| {
        let text = alloc::format!("{head}{}{}lowmem_reserve[]: 0 0 0\n", zone(a), zone(b));
        Report::parse(&text).expect("a report")
    };
    let mixed = of(40, 44);
    assert!(mixed.mixed && mixed.zones.len() == 1);
    assert!(!of(40, 40).mixed, "a console prints a line twice");
}

#[test]
fn two_messages_in_one_line_are_two() {
    let log = "[    2.500000] x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n\
        [    2.500001] Node 0 DMA free:15900kB min:64kB low:80kB high:96kB managed:15908kB\n\
        [    2.500002] lowmem_reserve[]: 0 2974 7000 7000Node 0 DMA32 free:8kB min:16kB low:20kB \
        high:24kB managed:3000000kB\n\
        [    2.500003] lowmem_reserve[]: 0 0 4026 4026<4>[    2.500004] Node 0 Normal free:8kB \
        min:16kB low:20kB high:24kB managed:4000000kB\n";
    let frames = frames(log);
    let report = Report::parse(&frames[0].files[PATH]).expect("a report");
    let reserves: Vec<usize> = report.zones.iter().map(|zone| zone.reserve.len()).collect();
    assert_eq!(reserves, [4, 4, 0]);
    assert_eq!(report.zones[0].reserve[3], crate::units::Pages(7000));
    assert_eq!(Cause::of(&report).refusals, [Refusal::Shortage]);
    assert_eq!(
        labels("Node 0 is what lowmem_reserve[]: is about, he wrote\n").len(),
        0
    );
}

/// A zone above its mark may still keep its reserve: without that line nobody knows.
#[test]
fn without_the_lowmem_reserve_a_lower_zone_is_not_said_to_serve() {
    let zones = "Node 0 DMA free:15900kB min:64kB low:80kB high:96kB managed:15908kB\n\
        RESERVE\nNode 0 Normal free:FREEkB min:1600kB low:1700kB high:1800kB managed:4000000kB\n";
    let of = |reserve: &str, free: &str| {
        let zones = zones.replace("RESERVE", reserve).replace("FREE", free);
        let head = "x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0";
        Cause::of(&Report::parse(&alloc::format!("{head}\n{zones}")).expect("a report"))
    };
    let cut = of("", "8");
    assert_eq!(cut.refusals, [Refusal::Shortage]);
    assert_eq!(cut.zones[0].answer, Answer::NoReserve);
    assert_eq!(
        of("lowmem_reserve[]: 0 0 7000 7000", "8").zones[0].answer,
        Answer::Refused
    );
    assert_eq!(
        of("lowmem_reserve[]: 0 0 0 0", "8").refusals,
        [Refusal::Unseen]
    );
    assert_eq!(
        of("", "9000").refusals,
        [Refusal::Unseen],
        "Normal has none above it"
    );
}
