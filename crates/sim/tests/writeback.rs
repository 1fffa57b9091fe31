//! What becomes of pages that are written to: when they go to their disk, who waits for it, and
//! what limits them.

mod common;

use common::*;
use mm::units::{Bytes, Nanos};
use scenario::Scenario;
use scenario::machine::{Disk, File};
use scenario::outcome::Outcome;
use scenario::workload::{
    Access, Action, Advice, Cgroup, Huge, Pattern, Process, Step, Target, Think, Until, Via,
};

/// The block with the disk's inodes: a page of the disk that a commit leaves dirty.
const INODES: u64 = 1;

fn write(file: usize) -> Access {
    Access {
        write_percent: 100,
        ..read(file)
    }
}

fn sync(file: usize) -> Action {
    Action::Sync {
        file: format!("file {file}"),
    }
}

fn wait_seconds(seconds: u64) -> Step {
    sleep(seconds * 1000)
}

fn writer(file: usize, amount: u64) -> Vec<Step> {
    let amount = Some(Bytes(amount * MIB).into());
    vec![
        labelled(
            "write",
            Action::Access(Access {
                amount,
                ..write(file)
            }),
        ),
        snapshot("written"),
    ]
}

fn of_steps(files: &[u64], steps: Vec<Step>) -> Outcome {
    run(&with(files, vec![process("a", steps)], &[]))
}

fn with(files: &[u64], processes: Vec<Process>, settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = scenario(files, processes);
    scenario.base.0 = settings
        .iter()
        .map(|(name, value)| setting(name, value))
        .collect();
    scenario
}

/// Bytes a second of a step.
fn rate(outcome: &Outcome, label: &str) -> f64 {
    let step = one(outcome, label);
    step.bytes.0 as f64 / (step.duration().0 as f64 / 1e9)
}

#[test]
fn a_little_that_is_dirty_is_written_at_once_by_a_new_disk_and_when_it_is_old_after_that() {
    let mut steps = writer(0, 1);
    steps.extend([wait_seconds(6), snapshot("after 6")]);
    steps.extend(writer(0, 1));
    for second in [5, 35] {
        steps.push(wait_seconds(second));
        steps.push(snapshot(&format!("later by {second}")));
    }
    let outcome = of_steps(&[8], steps);
    // Nothing was written to the disk before, so its share of the threshold is nothing.
    assert_eq!(counter(&outcome, "after 6", "nr_written"), 256);
    assert_eq!(
        counter(&outcome, "later by 5", "nr_dirty"),
        256 + INODES,
        "not old yet"
    );
    assert_eq!(counter(&outcome, "later by 35", "nr_dirty"), 0);
    assert_eq!(counter(&outcome, "later by 35", "nr_written"), 512 + INODES);
}

#[test]
fn above_the_background_threshold_the_flusher_writes_at_once() {
    let mut steps = writer(0, 6);
    steps.extend([wait_seconds(1), snapshot("later")]);
    let outcome = of_steps(&[8], steps);
    let background = counter(&outcome, "written", "nr_dirty_background_threshold");
    assert!((500..1536).contains(&background), "{background}");
    assert!(counter(&outcome, "later", "nr_dirty") <= background);
}

/// 6 MiB are handed over and written while another task uses the CPU. What pages take when they
/// end comes from that task, as what they take when they are handed over does.
#[test]
fn what_a_disk_s_interrupt_takes_the_task_lacks_that_runs() {
    let busy = Access {
        amount: Some(Bytes(40_000 * MIB).into()),
        ..touch("own")
    };
    let busy = vec![
        map("own", 1, Huge::Never),
        labelled("busy", Action::Access(busy)),
    ];
    let processes = [process("writer", writer(0, 6)), process("busy", busy)];
    let scenario = with(&[8], processes.to_vec(), &[]);
    let lasts = |written_ps| {
        let mut calibration = calibration();
        calibration.costs.written_ps = written_ps;
        let outcome = run_with(&scenario, &calibration);
        one(&outcome, "busy").duration()
    };
    let (free, dear) = (lasts(0), lasts(100_000_000));
    let lacks = dear.saturating_sub(free);
    let pages = lacks.0 / 100_000;
    assert!(
        (1400..=1536).contains(&pages),
        "{lacks}: {pages} of 1536 pages"
    );
}

#[test]
fn a_flusher_that_was_woken_takes_the_cpu_from_who_woke_it_in_the_middle_of_a_write() {
    let whole = Access {
        amount: Some(Bytes(3 * MIB / 2).into()),
        block: Bytes(3 * MIB / 2),
        ..write(0)
    };
    let steps = vec![labelled("write", Action::Access(whole))];
    let settings = [("vm.dirty_background_bytes", "1048576")];
    let scenario = with(&[8], vec![process("writer", steps)], &settings);
    let lasts = |writeback_ps| {
        let mut calibration = calibration();
        calibration.costs.writeback_ps = writeback_ps;
        one(&run_with(&scenario, &calibration), "write")
            .duration()
            .0
    };
    // The flusher is 3 ms behind when it wakes, and runs at least to the next tick.
    let lacks = lasts(20_000_000) - lasts(0);
    assert!(lacks > 1_000_000, "{lacks} ns");
}

#[test]
fn who_writes_more_than_fits_writes_as_fast_as_the_disk() {
    let outcome = of_steps(&[200], writer(0, 200));
    let rate = rate(&outcome, "write");
    assert!((9.0e7..1.1e8).contains(&rate), "{rate} of 100 MB/s");
    let dirty =
        counter(&outcome, "written", "nr_dirty") + counter(&outcome, "written", "nr_writeback");
    let threshold = counter(&outcome, "written", "nr_dirty_threshold");
    assert!(dirty <= threshold + 64, "{dirty} of {threshold}");
}

#[test]
fn two_who_write_to_one_disk_share_it() {
    let both = [0, 1].map(|file| process(&format!("writer {file}"), writer(file, 100)));
    let outcome = run(&with(&[100, 100], both.to_vec(), &[]));
    let rates: Vec<f64> = outcome
        .labelled("write")
        .map(|step| step.bytes.0 as f64 / step.duration().0 as f64 * 1e9)
        .collect();
    let [a, b] = rates[..] else {
        panic!("two writers")
    };
    assert!((0.8..1.25).contains(&(a / b)), "{a} and {b}");
}

#[test]
fn a_group_has_thresholds_of_its_own() {
    let dirty = |cgroup: Option<&str>, settings: &[(&str, &str)]| {
        let writer = Process {
            cgroup: cgroup.map(str::to_owned),
            ..process("a", writer(0, 12))
        };
        let mut scenario = with(&[16], vec![writer], settings);
        scenario.workload.cgroups = vec![Cgroup {
            path: "g".into(),
            files: vec![("memory.max".into(), "24M".into())],
        }];
        let outcome = run(&scenario);
        counter(&outcome, "written", "nr_dirty") + counter(&outcome, "written", "nr_writeback")
    };
    let ratios = [
        ("vm.dirty_background_ratio", "20"),
        ("vm.dirty_ratio", "40"),
    ];
    assert_eq!(
        dirty(None, &ratios),
        3072,
        "the machine is not at its threshold"
    );
    let held = dirty(Some("g"), &ratios);
    assert!(held <= 2457, "{held} dirty, above two fifths of 6144 pages");
}

#[test]
fn pages_that_are_handed_over_together_end_together() {
    let mut steps = writer(0, 4);
    for second in [6, 2] {
        steps.push(wait_seconds(second));
        steps.push(snapshot(&format!("later by {second}")));
    }
    let mut scenario = with(&[8], vec![process("a", steps)], &[]);
    scenario.machine.disks[0].write_bandwidth = Bytes(2 * MIB);
    let outcome = run(&scenario);
    let pages = |snapshot| {
        ["nr_dirty", "nr_writeback", "nr_written"].map(|name| counter(&outcome, snapshot, name))
    };
    assert_eq!(pages("later by 6"), [0, 1024, 0], "half are on the disk");
    assert_eq!(pages("later by 2"), [INODES, 0, 1024]);
}

#[test]
fn a_file_that_is_not_old_goes_on_to_be_written_by_the_timer_only_before_6_10() {
    let steps = || {
        let mut steps = writer(0, 1);
        steps.push(step(sync(0)));
        steps.extend(writer(1, 13));
        steps.extend([wait_seconds(1), snapshot("one slice later")]);
        steps.extend([wait_seconds(5), snapshot("after the timer")]);
        vec![process("a", steps)]
    };
    let settings = [
        ("vm.dirty_background_bytes", "8388608"),
        ("vm.dirty_bytes", "25165824"),
    ];
    let scenario = with(&[8, 16], steps(), &settings);
    let dirty = |release: &str| {
        let mut calibration = calibration();
        let files = &mut calibration.boots[0].capture.frames[0].files;
        files.insert("proc/sys/kernel/osrelease".into(), release.into());
        let outcome = run_with(&scenario, &calibration);
        ["one slice later", "after the timer"].map(|at| counter(&outcome, at, "nr_dirty"))
    };
    let [left, early] = dirty("6.9.0\n");
    assert!((1025..=2048).contains(&left), "{left} at the threshold");
    assert_eq!(early, INODES);
    assert_eq!(dirty("6.10.0\n"), [left, left - 1024 + INODES]);
}

#[test]
fn fsync_waits_for_the_disk_and_leaves_nothing_of_the_file_dirty() {
    let mut steps = writer(0, 4);
    steps.extend([labelled("sync", sync(0)), snapshot("synced")]);
    let outcome = of_steps(&[8], steps);
    assert_eq!(counter(&outcome, "synced", "nr_dirty"), INODES);
    assert_eq!(counter(&outcome, "synced", "nr_writeback"), 0);
    // 4 MiB at 100 MB/s, and the journal behind it, with a seek there.
    let took = milliseconds(one(&outcome, "sync"));
    assert!((40..60).contains(&took), "{took} ms");
}

#[test]
fn advice_that_a_file_is_not_needed_begins_to_write_it_and_waits_for_nothing() {
    let advice = Action::Advise {
        target: Target::File("file 0".to_owned()),
        advice: Advice::DontNeed,
    };
    let mut steps = writer(0, 1);
    steps.extend([
        labelled("advise", advice),
        snapshot("advised"),
        wait_seconds(1),
        snapshot("later"),
    ]);
    let outcome = of_steps(&[8], steps);
    assert_eq!(counter(&outcome, "written", "nr_dirty"), 256);
    assert_eq!(counter(&outcome, "advised", "nr_dirty"), 0);
    assert!(counter(&outcome, "advised", "nr_writeback") > 0);
    assert!(milliseconds(one(&outcome, "advise")) < 5);
    assert_eq!(counter(&outcome, "later", "nr_written"), 256);
}

#[test]
fn a_writer_waits_while_the_block_with_its_inode_goes_to_the_journal() {
    let for_seconds = |seconds: u64, access: Access| Access {
        time_limit: Some(Nanos(seconds * Nanos::SECOND.0)),
        ..access
    };
    let slowest = |seconds| {
        let page = Access {
            block: Bytes(4096),
            think: Think::Constant(Nanos(10_000_000)),
            ..for_seconds(seconds, write(0))
        };
        let filler = Access {
            via: Via::Direct,
            block: Bytes(MIB),
            ..for_seconds(9, write(1))
        };
        let writes = vec![labelled("write", Action::Access(page))];
        let fills = vec![labelled("fill", Action::Access(filler))];
        let processes = vec![process("writer", writes), process("filler", fills)];
        let mut scenario = with(&[8, 8], processes, &[]);
        scenario.machine.disks[0].write_bandwidth = Bytes(1_000_000);
        one(&run(&scenario), "write").latency.max.0 / 1_000_000
    };
    assert_eq!(slowest(4), 0, "no transaction is old");
    // Behind a request of a second, which is one of two in the device.
    let waited = slowest(9);
    assert!((500..2500).contains(&waited), "{waited} ms");
}

#[test]
fn mapping_what_another_process_maps_is_cheaper_and_a_store_there_costs_what_a_load_does() {
    let access = |label: &str, via: Via, write_percent| {
        let access = Access {
            via,
            amount: Some(Bytes(MIB).into()),
            write_percent,
            ..read(0)
        };
        labelled(label, Action::Access(access))
    };
    let first = vec![
        access("cached", Via::Syscall, 0),
        access("map", Via::Mmap, 0),
        step(Action::Start {
            process: "other".to_owned(),
        }),
        step(Action::Wait {
            process: "other".to_owned(),
        }),
        access("dirtied", Via::Mmap, 100),
        access("stored", Via::Mmap, 100),
    ];
    let other = vec![
        access("map again", Via::Mmap, 0),
        access("loaded", Via::Mmap, 0),
    ];
    let processes = vec![process("first", first), on_demand("other", other)];
    let outcome = run(&with(&[8], processes, &[]));
    let took = |label| one(&outcome, label).duration().0;
    // 16 faults, each 0.6 us cheaper.
    assert!((9_500..9_700).contains(&(took("map") - took("map again"))));
    assert_eq!(took("stored"), took("loaded"));
}

#[test]
fn a_store_to_a_mapped_page_faults_again_once_the_page_was_written() {
    let store = || {
        let mapped = Access {
            via: Via::Mmap,
            amount: Some(Bytes(MIB).into()),
            ..write(0)
        };
        step(Action::Access(mapped))
    };
    let mut steps = vec![store(), snapshot("stored"), store(), snapshot("again")];
    steps.extend([
        step(sync(0)),
        snapshot("synced"),
        store(),
        snapshot("end of it"),
    ]);
    let outcome = of_steps(&[8], steps);
    let faults = |from, to| counter(&outcome, to, "pgfault") - counter(&outcome, from, "pgfault");
    assert_eq!(faults("stored", "again"), 0, "the pages are dirty");
    assert_eq!(
        faults("synced", "end of it"),
        256,
        "each is write-protected"
    );
    assert_eq!(counter(&outcome, "end of it", "nr_dirtied"), 512 + INODES);
}

#[test]
fn a_page_that_is_written_in_part_is_read_first() {
    let small = |block| Access {
        block: Bytes(block),
        amount: Some(Bytes(MIB).into()),
        ..write(0)
    };
    let steps = |block| vec![step(Action::Access(small(block))), snapshot("written")];
    let whole = of_steps(&[8], steps(4096));
    let parts = of_steps(&[8], steps(1000));
    let reads = |outcome: &Outcome| counter(outcome, "written", "pgpgin");
    assert_eq!(reads(&parts) - reads(&whole), 1028, "KiB of 257 pages");
}

#[test]
fn a_slow_disk_with_a_strict_limit_does_not_fill_the_threshold() {
    let dirty_on = |settings: &[(&str, &str)]| {
        let copy = vec![process(
            "copy",
            vec![labelled(
                "write",
                Action::Access(Access {
                    time_limit: Some(Nanos(20 * Nanos::SECOND.0)),
                    ..write(1)
                }),
            )],
        )];
        let mut scenario = with(&[8], copy, settings);
        let stick = Disk {
            name: "stick".to_owned(),
            write_bandwidth: Bytes(4_000_000),
            ..scenario.machine.disks[0].clone()
        };
        scenario.machine.disks.push(stick);
        scenario.machine.files.push(File {
            name: "file 1".to_owned(),
            disk: "stick".to_owned(),
            size: Bytes(400 * MIB),
        });
        let outcome = run(&scenario);
        outcome
            .capture
            .frames
            .iter()
            .filter_map(|frame| {
                let text = frame.file("proc/vmstat")?;
                let count = |name: &str| {
                    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
                    line.parse::<u64>().ok()
                };
                Some(count("nr_dirty ")? + count("nr_writeback ")?)
            })
            .max()
            .expect("samples")
    };
    let free = dirty_on(&[]);
    let bounded = dirty_on(&[
        ("bdi.stick.max_ratio", "5"),
        ("bdi.stick.strict_limit", "1"),
    ]);
    assert!(free > 1500, "the stick fills the threshold: {free}");
    assert!(bounded < free / 5, "{bounded} of {free}");
}

#[test]
fn reclaim_leaves_dirty_pages_to_the_flusher_and_takes_them_once_they_are_written() {
    let dirty = Access {
        pattern: Pattern::Random,
        amount: Some(Bytes(40 * MIB).into()),
        ..write(0)
    };
    let steps = vec![
        step(Action::Access(dirty)),
        step(repeat(Until::Times(3), vec![step(Action::Access(read(1)))])),
        snapshot("read"),
    ];
    let limits = [
        ("vm.dirty_ratio", "90"),
        ("vm.dirty_background_ratio", "80"),
    ];
    let outcome = run(&with(&[60, 60], vec![process("a", steps)], &limits));
    assert!(counter(&outcome, "read", "nr_vmscan_immediate_reclaim") > 0);
    assert!(
        counter(&outcome, "read", "nr_written") > 0,
        "reclaim woke the flusher"
    );
    assert_eq!(lost(&outcome), 0);
}

/// Dirtied pages that are neither written, nor being written, nor dirty still.
fn lost(outcome: &Outcome) -> u64 {
    let count = |name| counter(outcome, "read", name);
    count("nr_dirtied") - count("nr_written") - count("nr_writeback") - count("nr_dirty")
}

#[test]
fn a_commit_leaves_its_descriptor_and_its_record_in_the_page_cache() {
    let mut steps = Vec::new();
    for file in 0..4 {
        steps.extend(writer(file, 1));
        steps.push(step(sync(file)));
        steps.push(snapshot(&format!("file {file}")));
    }
    steps.extend([step(Action::DropCaches), snapshot("dropped")]);
    let outcome = of_steps(&[1; 4], steps);
    let active = |at: &str| counter(&outcome, at, "nr_active_file");
    for file in 1..4 {
        let [before, now] = [file - 1, file].map(|file| format!("file {file}"));
        assert_eq!(active(&now) - active(&before), 2, "in use at once");
    }
    assert_eq!(active("dropped"), 0);
}

#[test]
fn the_page_cache_is_dropped_once_it_is_clean() {
    let mut steps = writer(0, 4);
    steps.extend([labelled("drop", Action::DropCaches), snapshot("dropped")]);
    let outcome = of_steps(&[8], steps);
    assert_eq!(counter(&outcome, "dropped", "nr_dirty"), 0);
    assert_eq!(counter(&outcome, "dropped", "nr_inactive_file"), 0);
    assert!(milliseconds(one(&outcome, "drop")) >= 40);
}
