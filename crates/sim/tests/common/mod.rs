//! A small machine with a made-up boot state, and short ways to say what runs on it.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test file uses its own part of this"
)]

mod boot;

use boot::{MEMINFO, VMSTAT, ZONEINFO};
use mm::capture::{Capture, Frame};
use mm::settings::{Setting, Settings};
use mm::units::{Bytes, Nanos};
use mm::vmstat::Vmstat;
use scenario::Scenario;
use scenario::calibration::{Boot, Calibration, Costs};
use scenario::machine::{Disk, File, Machine, Swap, SwapBacking};
use scenario::outcome::{Outcome, Status, StepOutcome};
use scenario::workload::{
    Access, Action, Huge, Map, Pattern, Process, Start, Step, Target, Think, Until, Via, Workload,
};

pub const MIB: u64 = 1 << 20;

/// Anonymous pages that a process has beside its regions.
pub const OWN_PAGES: u64 = 44;

/// The size of RAM that the boot state was made up for.
pub const MEMORY: Bytes = Bytes(64 * MIB);

fn costs() -> Costs {
    Costs {
        loop_ps: 100_000,
        syscall_ps: 900_000,
        cached_read_ps: 800_000,
        activate_ps: 700_000,
        read_in_ps: 3_000_000,
        request_ps: 5_000_000,
        wait_ps: 8_000_000,
        operation_ps: 100_000,
        load_ps: 60_000,
        touch_ps: 70_000,
        anon_fault_ps: 3_000_000,
        huge_fault_ps: 500_000_000,
        anon_free_ps: 1_000_000,
        reclaim_file_ps: 2_000_000,
        deactivate_ps: 600_000,
        rotate_ps: 700_000,
        swap_out_ps: 4_000_000,
        swap_in_ps: 4_000_000,
        zram_out_ps: 20_000_000,
        zram_in_ps: 10_000_000,
        map_file_ps: 1_000_000,
        map_again_ps: 400_000,
        drop_ps: 2_500_000,
        slowpath_ps: 500_000,
        draw_ps: 200_000,
        direct_ps: 500_000,
        walk_ps: 50_000,
        walk_young_ps: 100_000,
        write_call_ps: 1_200_000,
        write_ps: 1_500_000,
        dirty_ps: 700_000,
        write_in_ps: 3_000_000,
        mkwrite_ps: 2_500_000,
        writeback_ps: 3_000_000,
        written_ps: 1_000_000,
        read_done_ps: 400_000,
        interrupt_ps: 1_000_000,
        fsync_ps: 500_000,
        mkclean_ps: 1_000_000,
        commit_ps: 80_000_000,
        pass_ps: 9_000_000,
        ksm_batch_ps: 4_000_000,
        ksm_visit_ps: 800_000,
        ksm_smart_ps: 10_000,
        ksm_checksum_ps: 3_700_000,
        ksm_item_ps: 300_000,
        ksm_unstable_level_ps: 700_000,
        ksm_stable_level_ps: 150_000,
        ksm_insert_ps: 200_000,
        ksm_merge_ps: 11_000_000,
        ksm_merge_two_ps: 13_000_000,
        ksm_merge_zero_ps: 7_000_000,
        ksm_split_ps: 400_000_000,
        ksm_skip_ps: 700_000,
        ksm_leave_ps: 10_000,
        ksm_mm_ps: 2_000_000,
        ksm_forget_ps: 300_000,
        ksm_cow_ps: 5_000_000,
        ksm_cow_zero_ps: 4_000_000,
        ksm_unmerge_ps: 6_000_000,
        ksm_unmerge_zero_ps: 4_000_000,
        ksm_look_ps: 700_000,
        sleep_ps: 4_500_000,
        switch_ps: 2_900_000,
        spawn_ps: 400_000_000,
        ..Costs::default()
    }
}

/// The made-up machine: costs of the size of real ones.
pub fn calibration() -> Calibration {
    let mut frame = Frame::default();
    for (path, text) in [
        ("proc/meminfo", MEMINFO),
        ("proc/zoneinfo", ZONEINFO),
        ("proc/vmstat", VMSTAT),
        ("proc/sys/kernel/osrelease", "6.1.0\n"),
        ("proc/sys/vm/min_free_kbytes", "480\n"),
        ("proc/sys/vm/nr_hugepages", "0\n"),
        ("proc/sys/vm/page-cluster", "3\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("proc/sys/vm/watermark_boost_factor", "15000\n"),
        ("proc/sys/vm/watermark_scale_factor", "10\n"),
        ("proc/sys/vm/dirty_ratio", "20\n"),
        ("proc/sys/vm/dirty_bytes", "0\n"),
        ("proc/sys/vm/dirty_background_ratio", "10\n"),
        ("proc/sys/vm/dirty_background_bytes", "0\n"),
        ("proc/sys/vm/dirty_expire_centisecs", "3000\n"),
        ("proc/sys/vm/dirty_writeback_centisecs", "500\n"),
        ("sys/kernel/mm/lru_gen/enabled", "0x0000\n"),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
        ),
    ] {
        frame.files.insert(path.to_owned(), text.to_owned());
    }
    Calibration {
        kernel: "6.1.0".to_owned(),
        bench: "made up".to_owned(),
        costs: costs(),
        boots: vec![Boot {
            memory: MEMORY,
            capture: Capture {
                frames: vec![frame],
            },
            ready: Nanos::SECOND,
            ticks: Nanos(100_000_000),
            disks: Nanos(900_000_000),
            dirty_limit: None,
        }],
        text_kept: Bytes(0),
    }
}

/// A scenario on that machine: a disk of 100 MB/s, and a file of each of these sizes in MiB, called
/// "file 0", "file 1", …
pub fn scenario(files: &[u64], processes: Vec<Process>) -> Scenario {
    let file = |(index, mib): (usize, &u64)| File {
        name: format!("file {index}"),
        disk: "disk".to_owned(),
        size: Bytes(mib * MIB),
    };
    Scenario {
        study: "test".to_owned(),
        arm: "only".to_owned(),
        process_numbers: vec![],
        machine: Machine {
            memory: MEMORY,
            cpus: 1,
            nodes: 1,
            disks: vec![Disk {
                name: "disk".to_owned(),
                size: Bytes(1 << 40),
                read_bandwidth: Bytes(100_000_000),
                write_bandwidth: Bytes(100_000_000),
                latency: Nanos(100_000),
                seek: Nanos(2_000_000),
                channels: 1,
                queue_depth: 2,
                rotational: true,
            }],
            swaps: vec![],
            files: files.iter().enumerate().map(file).collect(),
            costs: vec![],
            file_system: scenario::machine::FileSystem::Ext4,
            recorded_on: None,
            available: None,
        },
        workload: Workload {
            cgroups: vec![],
            processes,
            deadline: None,
        },
        base: Settings::default(),
        arm_settings: Settings::default(),
        seed: 1,
        sample_every: Nanos(100_000_000),
        recorded: Default::default(),
    }
}

pub fn process(name: &str, steps: Vec<Step>) -> Process {
    Process {
        name: name.to_owned(),
        start: Start::After(Nanos::ZERO),
        count: 1,
        cgroup: None,
        oom_score_adj: 0,
        address_space: None,
        steps,
    }
}

pub fn on_demand(name: &str, steps: Vec<Step>) -> Process {
    let start = Start::OnDemand;
    Process {
        start,
        ..process(name, steps)
    }
}

pub fn step(action: Action) -> Step {
    Step {
        label: None,
        action,
    }
}

pub fn labelled(label: &str, action: Action) -> Step {
    let label = Some(label.to_owned());
    Step { label, action }
}

/// The machine with a disk for swap, and a swap area.
pub fn with_swap(mut scenario: Scenario, backing: SwapBacking, mib: u64) -> Scenario {
    scenario.machine.disks.push(Disk {
        name: "swap disk".to_owned(),
        seek: Nanos::ZERO,
        rotational: false,
        queue_depth: 64,
        ..scenario.machine.disks[0].clone()
    });
    let size = Bytes(mib * MIB);
    scenario.machine.swaps.push(Swap { backing, size });
    scenario
}

pub fn on_disk() -> SwapBacking {
    SwapBacking::Disk("swap disk".to_owned())
}

pub fn sleep(milliseconds: u64) -> Step {
    step(Action::Sleep(Nanos(milliseconds * 1_000_000)))
}

pub fn snapshot(label: &str) -> Step {
    labelled(label, Action::Snapshot)
}

pub fn start(process: &str) -> Step {
    let process = process.to_owned();
    step(Action::Start { process })
}

pub fn wait(process: &str) -> Step {
    let process = process.to_owned();
    step(Action::Wait { process })
}

pub fn kill(process: &str) -> Step {
    let process = process.to_owned();
    step(Action::Kill { process })
}

pub fn repeat(until: Until, steps: Vec<Step>) -> Action {
    Action::Repeat { until, steps }
}

/// A sequential read of a whole file, 128 KiB at a time.
pub fn read(file: usize) -> Access {
    Access {
        target: Target::File(format!("file {file}")),
        ..touch("")
    }
}

/// Writes a word into each page of a region, 128 KiB an operation.
pub fn touch(region: &str) -> Access {
    Access {
        target: Target::Region(region.to_owned()),
        via: Via::Syscall,
        pattern: Pattern::Sequential,
        amount: None,
        time_limit: None,
        block: Bytes(128 << 10),
        blocks: 1,
        write_percent: 0,
        think: Think::NONE,
        rate: 0,
        compute: Nanos::ZERO,
        classes: Vec::new(),
    }
}

pub fn map(region: &str, mib: u64, huge: Huge) -> Step {
    step(Action::Map(Map {
        region: region.to_owned(),
        size: Bytes(mib * MIB).into(),
        huge,
        mergeable: false,
        populate: false,
        contents: vec![],
    }))
}

pub fn setting(tunable: &str, value: &str) -> Setting {
    Setting {
        tunable: tunable.to_owned(),
        value: value.to_owned(),
    }
}

pub fn run(scenario: &Scenario) -> Outcome {
    run_with(scenario, &calibration())
}

/// As [`run`], by another calibration.
pub fn run_with(scenario: &Scenario, calibration: &Calibration) -> Outcome {
    let capture = plimsoll_sim::run(scenario, calibration).expect("the model runs it");
    Outcome::from_capture(capture).expect("its own notes are well-formed")
}

/// Why the model refuses a scenario.
pub fn refusal(scenario: &Scenario) -> String {
    let error = plimsoll_sim::run(scenario, &calibration()).expect_err("the model refuses it");
    error.to_string()
}

/// The one step of this label.
pub fn one<'a>(outcome: &'a Outcome, label: &'a str) -> &'a StepOutcome {
    let mut steps = outcome.labelled(label);
    let step = steps.next().expect("the step ended");
    assert!(steps.next().is_none(), "there is one {label}");
    step
}

/// How long a step took, rounded.
pub fn milliseconds(step: &StepOutcome) -> u64 {
    (step.duration().0 + 500_000) / 1_000_000
}

/// A counter of /proc/vmstat at a snapshot, or at the end where it is "end".
pub fn counter(outcome: &Outcome, snapshot: &str, name: &str) -> u64 {
    let frame = match snapshot {
        "end" => outcome.capture.frames.last(),
        _ => outcome.capture.labelled(snapshot),
    };
    let text = frame.and_then(|frame| frame.file("proc/vmstat"));
    let vmstat = Vmstat::parse(text.expect("a full frame")).expect("the kernel's format");
    vmstat.get(name).expect("the counter is there")
}

pub fn statuses(outcome: &Outcome, label: &str) -> Vec<Status> {
    let steps = outcome.labelled(label);
    steps.map(|step| step.status.clone()).collect()
}
