//! A trace of a few lines.

use super::*;
use mm::capture::{Capture, Frame};

const LINES: &str = "\
# tracer: nop
          server-124     [000] .....     3.100000: mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_HIGHUSER_MOVABLE
          server-124     [000] .....     3.100050: mm_vmscan_lru_shrink_inactive: nid=0 nr_scanned=32 nr_reclaimed=1 nr_dirty=0
          server-124     [000] .....     3.100060: mm_vmscan_write_folio: page=00000000 pfn=0x12 flags=RECLAIM_WB_ANON
          server-124     [000] .....     3.103000: mm_vmscan_throttled: nid=0 usec_timeout=100000 usect_delayed=2500 reason=VMSCAN_THROTTLE_WRITEBACK
          server-124     [000] .....     3.104000: mm_vmscan_direct_reclaim_end: nr_reclaimed=3
    kworker/u2:1-9       [000] .....     3.105000: block_bio_queue: 259,0 WS 2048 + 2560 [kworker/u2:1]
          server-124     [000] .....     3.105001: block_bio_queue: 259,1 R 8 + 8 [server]
          server-124     [000] .....     3.105002: block_bio_queue: 259,1 D 8 + 64 [server]
          backup-125     [000] .....     3.106000: balance_dirty_pages: bdi 259:0: limit=1 pause=8 period=8 think=0 cgroup_ino=1
          backup-125     [000] .....     3.116000: balance_dirty_pages: bdi 259:0: limit=1 pause=-2 period=0 think=0 cgroup_ino=1
         kswapd0-40      [000] .....     3.117000: mm_vmscan_kswapd_wake: nid=0 order=0
          server-124     [000] .....     3.118000: mark_victim: pid=124
          server-124     [000] .....     3.119000: sched_wakeup: comm=x
";

fn outcome(trace: &str) -> Outcome {
    let mut frame = Frame::default();
    let files = [
        (TRACE, trace),
        (TRACED, "lost 7\nabsent vmscan:mm_vmscan_writepage\n"),
        (BOOT, "ready 1000000000\ndisks 1\n"),
    ];
    for (path, text) in files {
        frame.files.insert(path.to_owned(), text.to_owned());
    }
    let frames = vec![frame];
    Outcome {
        capture: Capture { frames },
        ..Outcome::default()
    }
}

fn scenario() -> Scenario {
    let study = crate::Study::built_in("memory-hogs").expect("it is built in");
    study.scenario("default", 1).expect("its arm")
}

#[test]
fn each_event_counts_for_its_task_in_the_models_terms() {
    let scenario = scenario();
    let (traced, kept) = read(&scenario, &outcome(LINES)).expect("a trace");
    assert_eq!((kept.lost, kept.absent.len()), (7, 1));
    assert_eq!(kept.events["sched_wakeup"], 1);
    let shown: Vec<(&str, Figure, u64)> = traced
        .counts
        .iter()
        .map(|it| {
            (
                traced.tasks[it.task as usize].as_str(),
                it.figure,
                it.amount,
            )
        })
        .collect();
    use Figure::{
        DirectReclaims, KswapdRuns, OomKills, PauseTime, Pauses, Read, ReclaimTime,
        ReclaimWaitTime, ReclaimWaits, ReclaimedDirectly, Scanned, SwappedOut, Written,
    };
    let expected = [
        ("server", DirectReclaims, 1),
        ("server", Scanned, 32),
        ("server", SwappedOut, 1),
        ("server", ReclaimWaits, 1),
        ("server", ReclaimWaitTime, 2_500_000),
        ("server", ReclaimTime, 4_000_000),
        ("server", ReclaimedDirectly, 3),
        ("kworker", Written, 320),
        ("server", Read, 1),
        ("backup", Pauses, 1),
        ("backup", PauseTime, 8_000_000),
        ("kswapd0", KswapdRuns, 1),
        ("server", OomKills, 1),
    ];
    assert_eq!(shown, expected);
    let begins = scenario.begins(Nanos(1_000_000_000));
    assert_eq!(traced.counts[0].at, Nanos(3_100_000_000) - begins);
}

#[test]
fn what_is_no_trace_is_one_line() {
    let mut none = outcome("");
    none.capture.frames[0].files.remove(TRACE);
    let said = |outcome: &Outcome| read(&scenario(), outcome).expect_err("none").to_string();
    assert!(said(&none).contains("expected the trace of a run"));
    let damaged = LINES.replace("nr_scanned=32", "nr_scanned=x");
    let damaged = said(&outcome(&damaged));
    assert!(damaged.contains("line 3: nr_scanned"), "{damaged}");
    assert!(said(&outcome("half a line")).contains("line 1: half a line"));
}
