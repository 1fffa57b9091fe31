//! Faults, the page cache and the OOM killer, as their counters and times show them.

mod common;

use common::*;
use mm::meminfo::Meminfo;
use mm::settings::Settings;
use mm::units::{Bytes, Nanos};
use mm::vmstat::Vmstat;
use scenario::Scenario;
use scenario::machine::Cost;
use scenario::outcome::{Outcome, Status};
use scenario::workload::{Access, Action, Advice, Huge, Process, Target, Until};

/// What maps a process's memory beside its regions.
const OWN_TABLE: u64 = 1;

fn page_tables(outcome: &Outcome, snapshot: &str) -> u64 {
    counter(outcome, snapshot, "nr_page_table_pages")
}

fn touched(huge: Huge) -> Outcome {
    let dontneed = Action::Advise {
        target: Target::Region("heap".to_owned()),
        advice: Advice::DontNeed,
    };
    // 4 MiB and half of one that is too short for a huge page.
    let steps = vec![
        map("heap", 5, huge),
        step(Action::Access(touch("heap"))),
        snapshot("touched"),
        step(dontneed),
        snapshot("dropped"),
        step(Action::Access(touch("heap"))),
        snapshot("again"),
        step(Action::Unmap {
            region: "heap".to_owned(),
        }),
        snapshot("unmapped"),
    ];
    run(&scenario(&[], vec![process("a", steps)]))
}

#[test]
fn a_region_takes_huge_pages_where_they_fit_and_base_pages_at_its_end() {
    let outcome = touched(Huge::System);
    let count = |snapshot, name| counter(&outcome, snapshot, name);
    assert_eq!(count("touched", "thp_fault_alloc"), 2);
    assert_eq!(count("touched", "pgfault"), OWN_PAGES + 2 + 256);
    assert_eq!(page_tables(&outcome, "touched"), OWN_TABLE + 3);
    assert_eq!(count("touched", "nr_inactive_anon"), OWN_PAGES + 1280);
}

#[test]
fn a_machine_where_nobody_measures_has_nothing_of_the_bench() {
    let steps = vec![
        map("heap", 5, Huge::Never),
        step(Action::Access(touch("heap"))),
        snapshot("touched"),
    ];
    let asked = scenario(&[], vec![process("a", steps)]);
    let touched = |asked: &Scenario| {
        let capture = plimsoll_sim::run_unmeasured(asked, &calibration());
        let outcome =
            Outcome::from_capture(capture.expect("the model runs it")).expect("well-formed");
        counter(&outcome, "touched", "nr_inactive_anon")
    };
    assert_eq!(
        touched(&asked),
        1280,
        "the pages of its region, and no other"
    );
}

#[test]
fn what_dontneed_dropped_is_faulted_in_again_huge_where_it_was() {
    let outcome = touched(Huge::System);
    let count = |snapshot, name| counter(&outcome, snapshot, name);
    assert_eq!(count("dropped", "nr_inactive_anon"), OWN_PAGES);
    assert_eq!(
        page_tables(&outcome, "dropped"),
        OWN_TABLE + 1,
        "that of the base pages"
    );
    assert_eq!(count("again", "thp_fault_alloc"), 4);
    assert_eq!(count("again", "pgfault"), OWN_PAGES + 2 * (2 + 256));
    assert_eq!(page_tables(&outcome, "unmapped"), OWN_TABLE);
}

#[test]
fn a_region_that_wants_none_takes_base_pages_and_keeps_their_tables() {
    let outcome = touched(Huge::Never);
    let count = |snapshot, name| counter(&outcome, snapshot, name);
    assert_eq!(count("touched", "thp_fault_alloc"), 0);
    assert_eq!(count("touched", "pgfault"), OWN_PAGES + 1280);
    assert_eq!(page_tables(&outcome, "dropped"), OWN_TABLE + 3);
    assert_eq!(page_tables(&outcome, "unmapped"), OWN_TABLE);
}

#[test]
fn a_huge_page_that_cannot_be_had_falls_back_to_base_pages() {
    // 44 MiB leave less than a huge page above min, but base pages.
    let steps = vec![
        map("most", 44, Huge::Never),
        step(Action::Access(touch("most"))),
        map("heap", 2, Huge::System),
        step(Action::Access(Access {
            amount: Some(Bytes(128 << 10).into()),
            ..touch("heap")
        })),
    ];
    let outcome = run(&scenario(&[], vec![process("a", steps)]));
    assert_eq!(counter(&outcome, "end", "thp_fault_fallback"), 1);
    assert_eq!(counter(&outcome, "end", "oom_kill"), 0);
}

#[test]
fn the_largest_process_is_killed_and_the_others_live() {
    let hog = |name: &str, mib| {
        let steps = vec![
            map("heap", mib, Huge::Never),
            labelled(name, Action::Access(touch("heap"))),
            sleep(100),
            labelled(&format!("{name} ends"), Action::Access(touch("heap"))),
        ];
        process(name, steps)
    };
    let outcome = run(&scenario(&[], vec![hog("large", 60), hog("small", 10)]));
    assert_eq!(statuses(&outcome, "large"), [Status::Killed(9)]);
    assert_eq!(statuses(&outcome, "small ends"), [Status::Done]);
    assert_eq!(counter(&outcome, "end", "oom_kill"), 1);
    assert_eq!(counter(&outcome, "end", "nr_inactive_anon"), 0);
}

#[test]
fn the_task_that_asks_is_killed_where_that_is_set() {
    let holder = vec![
        map("heap", 30, Huge::Never),
        step(Action::Access(touch("heap"))),
        labelled("holder", Action::Sleep(Nanos(10 * Nanos::SECOND.0))),
    ];
    let killed = |value: &str| {
        let mut machine = calibration();
        let files = &mut machine.boots[0].capture.frames[0].files;
        let path = "proc/sys/vm/oom_kill_allocating_task";
        files.insert(path.to_owned(), "0\n".to_owned());
        let asker = vec![
            step(Action::Set(vec![setting(
                "vm.oom_kill_allocating_task",
                value,
            )])),
            sleep(2000),
            map("heap", 20, Huge::Never),
            labelled("asker", Action::Access(touch("heap"))),
        ];
        let processes = vec![process("holder", holder.clone()), process("asker", asker)];
        let outcome = run_with(&scenario(&[], processes), &machine);
        assert_eq!(counter(&outcome, "end", "oom_kill"), 1);
        ["holder", "asker"].map(|label| statuses(&outcome, label) == [Status::Killed(9)])
    };
    assert_eq!(killed("0"), [true, false], "the largest");
    assert_eq!(killed("1"), [false, true], "the one that asks");
}

#[test]
fn pressure_on_dentries_and_inodes_is_kept_in_mind_and_moves_no_page() {
    let path = "proc/sys/vm/vfs_cache_pressure";
    let mut machine = calibration();
    let files = &mut machine.boots[0].capture.frames[0].files;
    files.insert(path.to_owned(), "100\n".to_owned());
    let ended = |value: &str| {
        let pressure = setting("vm.vfs_cache_pressure", value);
        let steps = vec![
            step(Action::Set(vec![pressure])),
            labelled("read", Action::Access(read(0))),
            map("heap", 30, Huge::Never),
            labelled("touch", Action::Access(touch("heap"))),
            snapshot("full"),
        ];
        let outcome = run_with(&scenario(&[80], vec![process("a", steps)]), &machine);
        let full = outcome.capture.labelled("full").expect("it was taken");
        let mut files = full.files.clone();
        let text = files.remove(path).expect("it was written");
        assert_eq!(text, format!("{value}\n"));
        let times = ["read", "touch"].map(|label| one(&outcome, label).duration());
        (files, times)
    };
    assert_eq!(ended("10000"), ended("100"));
    let finer = step(Action::Set(vec![setting(
        "vm.vfs_cache_pressure_denom",
        "1000",
    )]));
    let refused = refusal(&scenario(&[], vec![process("a", vec![finer])]));
    assert!(refused.contains("vm.vfs_cache_pressure_denom"), "{refused}");
}

#[test]
fn a_victim_ends_when_it_has_freed_its_memory_and_nobody_dies_in_between() {
    let hog = |name: &str, mib| {
        let steps = vec![
            map("heap", mib, Huge::Never),
            labelled(name, Action::Access(touch("heap"))),
        ];
        process(name, steps)
    };
    let processes = vec![hog("large", 60), hog("small", 30)];
    let lasts = |free_ps| {
        let mut calibration = calibration();
        calibration.costs.anon_free_ps = free_ps;
        let outcome = run_with(&scenario(&[], processes.clone()), &calibration);
        assert_eq!(statuses(&outcome, "small"), [Status::Done]);
        assert_eq!(counter(&outcome, "end", "oom_kill"), 1);
        milliseconds(one(&outcome, "large"))
    };
    // It held 5000 pages or more.
    assert!(lasts(20_000_000) > lasts(0) + 100);
}

#[test]
fn nobody_left_to_kill_is_a_panic_of_the_kernel() {
    let steps = vec![
        map("heap", 100, Huge::Never),
        step(Action::Access(touch("heap"))),
    ];
    let exempt = Process {
        oom_score_adj: -1000,
        ..process("a", steps)
    };
    let why = refusal(&scenario(&[], vec![exempt]));
    assert!(why.starts_with("the kernel panics"), "{why}");
}

#[test]
fn a_second_reader_of_a_page_that_is_being_read_waits_for_it() {
    let reader = |name| process(name, vec![labelled(name, Action::Access(read(0)))]);
    let outcome = run(&scenario(&[8], vec![reader("a"), reader("b")]));
    assert_eq!(counter(&outcome, "end", "pgpgin"), 8192, "each page once");
    let (a, b) = (one(&outcome, "a"), one(&outcome, "b"));
    assert!(
        milliseconds(a) >= 80 && milliseconds(b) >= 80,
        "{a:?} {b:?}"
    );
    assert_eq!((a.bytes, b.bytes), (Bytes(8 * MIB), Bytes(8 * MIB)));
}

#[test]
fn a_file_that_fits_is_read_once_and_one_that_does_not_every_time() {
    let steps = |file| {
        vec![
            step(Action::Access(read(file))),
            snapshot("once"),
            step(Action::Access(read(file))),
            snapshot("twice"),
        ]
    };
    let read_kib = |mib, snapshot| {
        let mut scenario = scenario(&[mib], vec![process("a", steps(0))]);
        // Reclaim for a boosted zone passes over the pages of the others, which then live longer.
        scenario.base = Settings(vec![setting("vm.watermark_boost_factor", "0")]);
        counter(&run(&scenario), snapshot, "pgpgin")
    };
    assert_eq!(read_kib(32, "twice"), 32 << 10);
    assert_eq!(read_kib(100, "once"), 100 << 10);
    assert_eq!(read_kib(100, "twice"), 200 << 10, "a loop never hits");
}

#[test]
fn dropping_the_cache_spares_what_is_being_read() {
    let dropper = vec![sleep(20), step(Action::DropCaches), snapshot("dropped")];
    let reader = vec![labelled("read", Action::Access(read(0)))];
    let processes = vec![process("reader", reader), process("dropper", dropper)];
    let outcome = run(&scenario(&[8], processes));
    let frame = outcome.capture.labelled("dropped").expect("a snapshot");
    let meminfo = Meminfo::parse(frame.file("proc/meminfo").expect("the file"));
    let cached = meminfo.expect("the kernel's format").get("Cached");
    let cached = cached.expect("the item").0;
    assert!((1..1024).contains(&cached), "{cached} kB in flight");
    assert_eq!(one(&outcome, "read").bytes, Bytes(8 * MIB));
}

#[test]
fn the_readahead_of_a_file_goes_on_with_its_next_access() {
    // 16 reads of 32 KiB each, as one access and as sixteen: the same requests.
    let pieces = |rounds| {
        let access = Access {
            amount: Some(Bytes((512 << 10) / rounds).into()),
            block: Bytes(32 << 10),
            ..read(0)
        };
        let steps = vec![labelled(
            "all",
            repeat(Until::Times(rounds), vec![step(Action::Access(access))]),
        )];
        let outcome = run(&scenario(&[8], vec![process("a", steps)]));
        (
            counter(&outcome, "end", "pgpgin"),
            one(&outcome, "all").duration(),
        )
    };
    let (whole, parts) = (pieces(1), pieces(16));
    assert_eq!(whole.0, parts.0);
    assert!(parts.1 < whole.1 + Nanos(100_000), "{whole:?} {parts:?}");
}

#[test]
fn who_reads_alone_waits_as_long_whoever_pays_for_the_end_of_a_read() {
    let reader = vec![labelled("read", Action::Access(read(0)))];
    let scenario = scenario(&[16], vec![process("reader", reader)]);
    let lasts = |read_done_ps| {
        let mut calibration = calibration();
        calibration.costs.read_done_ps = read_done_ps;
        let outcome = run_with(&scenario, &calibration);
        one(&outcome, "read").duration().0
    };
    let (without, with) = (lasts(0), lasts(2_000_000));
    assert!(without.abs_diff(with) <= without / 50, "{without}, {with}");
}

#[test]
fn who_computes_pays_for_the_end_of_anothers_reads() {
    let busy = repeat(
        Until::Times(2000),
        vec![step(Action::Access(touch("heap")))],
    );
    let busy = vec![map("heap", 8, Huge::Never), labelled("busy", busy)];
    let reader = vec![step(Action::Access(read(0)))];
    let mut scenario = scenario(&[4], vec![process("busy", busy), process("reader", reader)]);
    scenario.machine.cpus = 2;
    let lasts = |read_done_ps| {
        let mut calibration = calibration();
        calibration.costs.read_done_ps = read_done_ps;
        let outcome = run_with(&scenario, &calibration);
        one(&outcome, "busy").duration().0
    };
    let more = lasts(2_000_000) - lasts(0);
    let pages = 4 * MIB / 4096 * 2_000;
    // Interrupts move where it looks at the clock, which moves its end by some microseconds.
    let near = more.abs_diff(pages) <= pages / 100;
    assert!(near, "{more}: 1024 pages, 2 us each");
}

#[test]
fn a_disk_s_interrupt_counts_as_cpu_time_of_kswapd_where_it_interrupts_it() {
    let scenario = scenario(
        &[400],
        vec![process("reader", vec![step(Action::Access(read(0)))])],
    );
    // While kswapd takes 20 us for a page the disk goes on with what is read ahead.
    let for_a_page = |read_done_ps| {
        let mut calibration = calibration();
        calibration.costs.reclaim_file_ps = 20_000_000;
        calibration.costs.read_done_ps = read_done_ps;
        let outcome = run_with(&scenario, &calibration);
        let end = outcome.capture.frames.last().expect("a frame");
        let time = end.file("proc/kswapd0/schedstat").expect("kswapd's time");
        let time: u64 = time.split(' ').next().unwrap().parse().expect("a number");
        time / counter(&outcome, "end", "pgsteal_kswapd")
    };
    let (free, dear) = (for_a_page(0), for_a_page(2_000_000));
    assert!((20_000..21_000).contains(&free), "{free} ns");
    assert!(
        (free + 500..free + 2000).contains(&dear),
        "{dear} ns beside {free}"
    );
}

#[test]
fn the_end_of_a_read_takes_no_more_than_the_read_costs_on_a_machine_with_costs_of_its_own() {
    let reader = vec![labelled("read", Action::Access(read(0)))];
    let mut scenario = scenario(&[4], vec![process("reader", reader)]);
    scenario.machine.costs = ["read-in", "request"]
        .map(|name| Cost {
            name: name.to_owned(),
            picoseconds: 1000,
        })
        .to_vec();
    let calibration = calibration();
    assert!(calibration.costs.read_done_ps > 1000 && calibration.costs.interrupt_ps > 1000);
    assert_eq!(
        statuses(&run_with(&scenario, &calibration), "read"),
        [Status::Done]
    );
}

#[test]
fn what_a_readahead_window_has_not_come_to_is_not_there_yet() {
    let reader = vec![labelled("read", Action::Access(read(0)))];
    let mut scenario = scenario(&[4], vec![process("reader", reader)]);
    scenario.sample_every = Nanos(10_000_000);
    let mut slow = calibration();
    slow.costs.read_in_ps = 1_000_000_000;
    slow.costs.read_done_ps = 0;
    let outcome = run_with(&scenario, &slow);
    let frames = outcome.capture.frames.iter();
    let cached: Vec<u64> = frames
        .filter_map(|frame| Vmstat::parse(frame.file("proc/vmstat")?).ok())
        .filter_map(|vmstat| vmstat.get("nr_inactive_file"))
        .collect();
    let most = cached
        .windows(2)
        .map(|two| two[1].saturating_sub(two[0]))
        .max();
    assert_eq!(most, Some(10), "a page takes 1 ms: {cached:?}");
}

#[test]
fn kswapd_waits_for_writes_where_it_meets_no_other_pages() {
    let throttled = |limit: &str| {
        let written = Access {
            write_percent: 100,
            amount: Some(Bytes(200 * MIB).into()),
            ..read(0)
        };
        let steps = vec![
            map("heap", 24, Huge::Never),
            step(Action::Access(touch("heap"))),
            step(Action::Access(written)),
            snapshot("written"),
        ];
        let mut scenario = scenario(&[256], vec![process("a", steps)]);
        scenario.base.0 = vec![
            setting("vm.dirty_bytes", limit),
            setting("vm.dirty_background_bytes", "8192"),
        ];
        counter(&run(&scenario), "written", "nr_throttled_written")
    };
    assert!(throttled("40000000") > 1000);
    assert_eq!(throttled("4194304"), 0);
}
