//! What a run leaves: snapshots, samples and the figures of its steps.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use mm::capture::{Capture, Frame};
use mm::lru_gen::TABLE;
use mm::psi::PATHS;
use mm::units::{Bytes, Nanos};
use scenario::outcome::{PROGRESS, STEPS, StepOutcome};
use scenario::workload::Workload;

use crate::error::Error;
use crate::fs::proc::Procfs;
use crate::machine::task::Task;
use crate::machine::tasks::Tasks;
use crate::machine::tunables::Tunables;
use crate::mm::ksm::Template;
use crate::mm::mm_init;
use crate::mm::parts::Memory;
use crate::sched::psi::{Pressure, Resource, SYSTEM};

/// The CPU time of kswapd and of ksmd.
const KSWAPD: &str = "proc/kswapd0/schedstat";
const KSMD: &str = "proc/ksmd/schedstat";
const DISKSTATS: &str = mm::diskstats::PATH;

/// Samples and snapshots after which a run is given up: at 8 KiB each they fill most of a gigabyte.
const FRAMES: u64 = 100_000;

/// Collects a run's capture.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    procfs: Procfs,
    /// The files of samepage merging, where the workload has something to merge.
    merging: Template,
    boot: BTreeMap<String, String>,
    capture: Capture,
    steps: Vec<StepOutcome>,
    /// Samples and snapshots so far.
    frames: u64,
}

impl Recorder {
    pub(crate) fn new(boot: &mm_init::State, workload: &Workload) -> Self {
        let procfs = Procfs::new(boot);
        let (capture, steps) = (Capture::default(), Vec::new());
        Self {
            procfs,
            merging: match workload.offers_pages() {
                true => Template::of(&boot.frame),
                false => Template::default(),
            },
            boot: boot.frame.files.clone(),
            capture,
            steps,
            frames: 0,
        }
    }

    /// Notes that a sample or a snapshot is taken; they are bounded, as they stay in memory.
    pub(crate) fn count_frame(&mut self) -> Result<(), Error> {
        self.frames += 1;
        match self.frames > FRAMES {
            true => Err(Error::Endless {
                limit: "100000 samples and snapshots",
            }),
            false => Ok(()),
        }
    }

    /// `MemAvailable` now.
    pub(crate) fn available(&self, memory: &Memory) -> Bytes {
        Bytes(self.procfs.available(memory).max(0).unsigned_abs() * 4096)
    }

    /// Whether samples and snapshots hold what merging shows.
    pub(crate) fn reads_merging(&self) -> bool {
        !self.merging.is_empty()
    }

    /// Notes the figures of a labelled step; a step without a label has none.
    pub(crate) fn step(&mut self, outcome: Option<StepOutcome>) {
        self.steps.extend(outcome);
    }

    /// A full snapshot.
    pub(crate) fn snapshot(
        &mut self,
        at: Nanos,
        label: Option<&str>,
        memory: &Memory,
        tunables: &Tunables,
        tasks: &Tasks<'_>,
        pressure: &mut Pressure,
    ) {
        let mut files = self.all_files(at, memory, tunables);
        files.extend(self.merging_of_tasks(memory, tasks));
        self.add_pressure(&mut files, memory, pressure, at);
        self.push(at, label, files);
    }

    /// Adds how far every task is to the snapshot just taken. `current` takes it, and is not in the
    /// table.
    pub(crate) fn add_progress(&mut self, tasks: &Tasks<'_>, current: &Task<'_>) {
        if let Some(frame) = self.capture.frames.last_mut() {
            let text = progress(tasks, Some(current));
            frame.files.insert(PROGRESS.to_string(), text);
        }
    }

    /// A periodic sample.
    pub(crate) fn sample(
        &mut self,
        at: Nanos,
        memory: &Memory,
        tasks: &Tasks<'_>,
        pressure: &mut Pressure,
    ) {
        let mut files = BTreeMap::new();
        files.insert("proc/meminfo".to_string(), self.procfs.meminfo(memory));
        files.insert("proc/vmstat".to_string(), self.procfs.vmstat(memory));
        if self.reads_merging() {
            files.extend(self.merging.files(memory));
            files.insert(KSMD.to_string(), self.schedstat(KSMD, memory.ksm.cpu_time));
        }
        if self.boot.contains_key(PATHS[0]) {
            let text = pressure.text(SYSTEM, Resource::Memory, at);
            files.insert(PATHS[0].to_string(), text);
        }
        files.insert(PROGRESS.to_string(), progress(tasks, None));
        self.push(at, None, files);
    }

    /// The last frame: everything, and the steps.
    pub(crate) fn finish(
        &mut self,
        at: Nanos,
        memory: &Memory,
        tunables: &Tunables,
        tasks: &Tasks<'_>,
        pressure: &mut Pressure,
    ) {
        let mut files = self.all_files(at, memory, tunables);
        self.add_pressure(&mut files, memory, pressure, at);
        files.insert(PROGRESS.to_string(), progress(tasks, None));
        let mut steps = String::new();
        self.steps.iter().for_each(|step| step.write(&mut steps));
        files.insert(STEPS.to_string(), steps);
        self.push(at, None, files);
    }

    /// What the kernel says of each process that runs, where the workload has something to merge.
    fn merging_of_tasks(&self, memory: &Memory, tasks: &Tasks<'_>) -> Vec<(String, String)> {
        tasks
            .alive()
            .flat_map(|task| self.merging.files_of(&task.name, task.entity, memory))
            .collect()
    }

    /// The `schedstat` of a thread that has used so much more CPU time since boot; the other
    /// figures stand still.
    fn schedstat(&self, path: &str, more: Nanos) -> String {
        let boot = self.boot.get(path).map_or("0 0 0", String::as_str);
        let mut words = boot.split_whitespace();
        let ran: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let mut text = alloc::format!("{}", ran + more.0);
        for word in words {
            text.push(' ');
            text.push_str(word);
        }
        text.push('\n');
        text
    }

    /// `/proc/meminfo` now.
    pub(crate) fn meminfo(&self, memory: &Memory) -> String {
        self.procfs.meminfo(memory)
    }

    /// `/proc/vmstat` and `/proc/zoneinfo` now.
    pub(crate) fn vmstat_and_zoneinfo(&self, memory: &Memory) -> (String, String) {
        (self.procfs.vmstat(memory), self.procfs.zoneinfo(memory))
    }

    /// `/proc/diskstats` now.
    pub(crate) fn diskstats(&self, memory: &Memory, at: Nanos) -> String {
        let disks = memory.io.disks.iter().enumerate();
        let disks = disks.map(|(index, disk)| disk.stats.line(index, memory.cpu.scale, at));
        disks.collect()
    }

    fn push(&mut self, at: Nanos, label: Option<&str>, files: BTreeMap<String, String>) {
        let label = label.map(str::to_string);
        self.capture.frames.push(Frame { at, label, files });
    }

    /// Adds the pressure files, where the kernel that booted has them: the system's, and memory's
    /// of each control group.
    fn add_pressure(
        &self,
        files: &mut BTreeMap<String, String>,
        memory: &Memory,
        pressure: &mut Pressure,
        at: Nanos,
    ) {
        let resources = [Resource::Memory, Resource::Io, Resource::Cpu];
        for (path, resource) in PATHS.into_iter().zip(resources) {
            if self.boot.contains_key(path) {
                files.insert(path.to_string(), pressure.text(SYSTEM, resource, at));
            }
        }
        if !self.boot.contains_key(PATHS[0]) {
            return;
        }
        for group in memory.groups.all() {
            let path = memory.groups.file(group, "memory.pressure");
            files.insert(path, pressure.text(group, Resource::Memory, at));
        }
    }

    pub(crate) fn into_capture(self) -> Capture {
        self.capture
    }

    fn all_files(
        &self,
        at: Nanos,
        memory: &Memory,
        tunables: &Tunables,
    ) -> BTreeMap<String, String> {
        let known =
            |path: &str| path.starts_with("proc/sys/kernel/osrelease") || path == "proc/swaps";
        let fixed = self.boot.iter().filter(|(path, _)| known(path));
        let mut files: BTreeMap<String, String> = fixed
            .map(|(path, text)| (path.clone(), text.clone()))
            .collect();
        files.insert("proc/meminfo".to_string(), self.procfs.meminfo(memory));
        files.insert("proc/vmstat".to_string(), self.procfs.vmstat(memory));
        files.insert("proc/zoneinfo".to_string(), self.procfs.zoneinfo(memory));
        files.insert(DISKSTATS.to_string(), self.diskstats(memory, at));
        let threads = [
            (KSWAPD, memory.zones.kswapd.cpu_time),
            (KSMD, memory.ksm.cpu_time),
        ];
        for (path, cpu_time) in threads {
            files.insert(path.to_string(), self.schedstat(path, cpu_time));
        }
        let like = self.boot.get("sys/fs/cgroup/memory.stat");
        let like = like.map_or("", String::as_str);
        let (folios, lruvecs, objects) = (&memory.folios, &memory.lruvecs, &memory.objects);
        files.extend((memory.groups).group_files(folios, lruvecs, objects, like));
        let table = memory
            .lruvecs
            .generations_table(&memory.cpu, &memory.groups, at);
        files.extend(table.map(|text| (TABLE.to_string(), text)));
        files.extend(
            tunables
                .files()
                .map(|(path, text)| (path.to_string(), text)),
        );
        files.extend(self.merging.files(memory));
        files
    }
}

/// Operations and bytes of every task so far, a line each.
fn progress(tasks: &Tasks<'_>, current: Option<&Task<'_>>) -> String {
    let mut text = String::new();
    for task in (0..tasks.len()).filter_map(|index| tasks.get(index).or(current)) {
        let _ = writeln!(text, "{} {} {}", task.name, task.operations, task.bytes);
    }
    text
}
