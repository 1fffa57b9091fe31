//! A process instance and how far it is through its steps.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};
use scenario::access::{self, Ahead, Operations};
use scenario::outcome::{Latency, Status, StepOutcome};
use scenario::workload::{Access, Action, Huge, Process, Start, Step, Until};

use crate::bench::state::Own;
use crate::error::Error;
use crate::machine::figures::Figures;
use crate::machine::guarding::state::Guarding;
use crate::machine::replaying::Replaying;
use crate::machine::running::{Area, Running};
use crate::machine::state::{Stop, WritingOut};
use crate::mm::memcontrol::Errand;
use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::memory::state::{Held, Region};
use crate::mm::mlock::Locking;
use crate::mm::objects::Pgd;
use crate::mm::page_alloc::state::Allocation;
use crate::mm::page_writeback::Throttled;
use crate::mm::parts::Memory;
use crate::mm::readahead::{Advised, Readahead};
use crate::sched::core::Flow;

/// A process instance.
#[derive(Clone, Debug)]
pub(crate) struct Task<'a> {
    /// Index of its process in the workload.
    pub(crate) process: usize,
    /// Its scheduler entity.
    pub(crate) entity: usize,
    pub(crate) name: String,
    pub(crate) spec: &'a Process,
    pub(crate) state: TaskState,
    /// When it began the step that it waits to perform.
    pub(crate) began: Option<Nanos>,
    /// When it began to fill the region that it has mapped.
    pub(crate) began_to_fill: Option<Nanos>,
    /// Steps it is inside of, outermost first.
    pub(crate) frames: Vec<Frame<'a>>,
    /// The access, or the recording, that it is in the middle of.
    pub(crate) access: Option<Box<Running<'a>>>,
    pub(crate) replaying: Option<Box<Replaying<'a>>>,
    pub(crate) regions: BTreeMap<&'a str, Region>,
    /// The access streams of its steps, by the step's path.
    streams: BTreeMap<String, Ahead>,
    pub(crate) tables: access::Tables,
    /// Bytes that its accesses went beyond their amounts, where an operation stands for many.
    overshoots: BTreeMap<String, u64>,
    /// What it has beside its regions.
    pub(crate) own: Own,
    /// Its top page table.
    pub(crate) pgd: Option<Pgd>,
    /// Readahead of the files it has open, by the file's index: as long as it lives.
    readaheads: BTreeMap<usize, Readahead>,
    /// Totals, for the progress note.
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    /// Resident pages, and the page-table pages that map them.
    pub(crate) rss: u64,
    pub(crate) page_tables: u64,
    /// Files that it reaches through a mapping, by index.
    pub(crate) mapped: BTreeSet<usize>,
    /// How far the lock of a file has come that it is in the middle of.
    pub(crate) locking: Locking,
    /// What it has as the guard.
    pub(crate) guarding: Option<Box<Guarding>>,
    /// The allocation it is in the middle of.
    pub(crate) allocation: Allocation,
    /// How fast it dirties pages, as the kernel knows it.
    pub(crate) throttled: Throttled,
    /// The files that it is writing out.
    pub(crate) writing_out: Option<Box<WritingOut<'a>>>,
    /// Its control group.
    pub(crate) group: GroupId,
    /// It is on the first of two NUMA nodes.
    pub(crate) on_first_node: bool,
    /// Pages that it charged above a high limit.
    pub(crate) over_high: u64,
    /// The OOM killer of its group has chosen it: it ends with the next page, had or not.
    pub(crate) dying: bool,
    /// It was killed and frees its memory: the next page table of its first region.
    pub(crate) exiting: Option<usize>,
    /// Reclaim that it has to do for a group before it goes on.
    pub(crate) errand: Option<Errand>,
    /// The step before, and when it began, where it is over only when the task goes on: it asked
    /// for such reclaim, or slept.
    pub(crate) ordered: Option<(&'a str, Nanos)>,
    /// CPU time below a nanosecond that is still to be paid, in picoseconds.
    pub(crate) owed_ps: u64,
}

/// What a task is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskState {
    /// Waits for demand.
    Idle,
    /// Starts by itself later.
    Due,
    /// Running, or waiting for a disk, a timer or another process.
    Alive,
    /// At its end.
    Ended,
}

/// A list of steps and the place in it.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) at: usize,
    /// For the steps of a repetition.
    pub(crate) repeat: Option<Repetition<'a>>,
}

/// A repetition under way.
#[derive(Clone, Debug)]
pub(crate) struct Repetition<'a> {
    pub(crate) until: Until,
    pub(crate) label: Option<&'a str>,
    pub(crate) began: Nanos,
    pub(crate) rounds: u64,
    /// The task's totals when it began.
    operations: u64,
    bytes: u64,
}

impl<'a> Task<'a> {
    pub(crate) fn new(process: usize, spec: &'a Process, name: String, entity: usize) -> Self {
        let state = match spec.start {
            Start::OnDemand => TaskState::Idle,
            Start::After(_) => TaskState::Due,
        };
        Self {
            process,
            entity,
            name,
            spec,
            state,
            began: None,
            began_to_fill: None,
            frames: Vec::new(),
            access: None,
            replaying: None,
            regions: BTreeMap::new(),
            streams: BTreeMap::new(),
            tables: access::Tables::default(),
            overshoots: BTreeMap::new(),
            own: Own::default(),
            pgd: None,
            readaheads: BTreeMap::new(),
            operations: 0,
            bytes: 0,
            rss: 0,
            page_tables: 0,
            mapped: BTreeSet::new(),
            locking: Locking::default(),
            guarding: None,
            allocation: Allocation::default(),
            throttled: Throttled::default(),
            writing_out: None,
            group: ROOT,
            on_first_node: false,
            over_high: 0,
            dying: false,
            exiting: None,
            errand: None,
            ordered: None,
            owed_ps: 0,
        }
    }

    /// Its name as a place in a scenario, for errors.
    pub(crate) fn place(&self) -> String {
        alloc::format!("process {}", self.name)
    }

    /// Puts it before its first step; a second life begins as the first one did.
    pub(crate) fn start(&mut self) {
        self.state = TaskState::Alive;
        self.on_first_node = false;
        self.dying = false;
        self.exiting = None;
        self.began = None;
        self.began_to_fill = None;
        self.throttled = Throttled::default();
        self.writing_out = None;
        self.streams.clear();
        self.overshoots.clear();
        self.readaheads.clear();
        self.frames.push(Frame {
            steps: &self.spec.steps,
            at: 0,
            repeat: None,
        });
    }

    /// Goes on to the step after the one it is at.
    pub(crate) fn go_past_step(&mut self) {
        self.frames
            .last_mut()
            .expect("a running task is inside its steps")
            .at += 1;
    }

    /// How something that may stop it leaves it: one that was killed frees its memory next.
    pub(crate) fn stopped(&mut self, stop: Option<Stop>) -> Flow {
        if stop == Some(Stop::Killed) {
            self.exiting = Some(0);
        }
        Stop::flow(stop)
    }

    /// Takes on what a region of it has come to hold.
    pub(crate) fn hold(&mut self, held: Held) {
        self.rss += held.pages;
        self.page_tables += held.page_tables;
    }

    pub(super) fn let_go(&mut self, held: Held) {
        self.rss -= held.pages;
        self.page_tables -= held.page_tables;
    }

    /// A region for it, still empty.
    pub(crate) fn new_region(
        &self,
        memory: &mut Memory,
        size: Bytes,
        huge: Huge,
    ) -> Result<Region, Error> {
        let region = memory.map_region(size, huge, self.group);
        region.ok_or_else(|| Error::too_large(self.place()))
    }

    /// Unmaps a region and frees its pages (`do_munmap`); `None` where there is none of that name.
    pub(crate) fn unmap(&mut self, memory: &mut Memory, name: &str) -> Option<()> {
        let region = self.regions.remove(name)?;
        self.free_region(memory, region);
        Some(())
    }

    /// Frees a region that was unmapped.
    pub(crate) fn free_region(&mut self, memory: &mut Memory, region: Region) {
        let held = memory.unmap_region(region);
        self.let_go(held);
    }

    /// Frees the pages of a region, which stays (`zap_page_range_single`).
    pub(crate) fn drop_region(&mut self, memory: &mut Memory, region: &mut Region) {
        let held = memory.drop_region(region);
        self.let_go(held);
    }

    /// Whether it stands at a wait for another process.
    pub(crate) fn waits_for_process(&self) -> bool {
        let Some(frame) = self.frames.last() else {
            return false;
        };
        let step = frame.steps.get(frame.at);
        let is_at_step = self.access.is_none() && self.replaying.is_none();
        is_at_step && step.is_some_and(|s| matches!(s.action, Action::Wait { .. }))
    }

    /// The path of the step it is at: indices joined by points.
    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.frames {
            let gap = if path.is_empty() { "" } else { "." };
            path.push_str(&alloc::format!("{gap}{}", frame.at));
        }
        path
    }

    /// Begins an access to `target`.
    pub(crate) fn begin_access(
        &mut self,
        access: &'a Access,
        label: Option<&'a str>,
        target: Area,
        amount: Bytes,
        now: Nanos,
        seed: u64,
    ) {
        let path = self.path();
        let size = target.size();
        let operations_to_do = self.streams.remove(&path).unwrap_or_else(|| {
            let prng = access::stream(seed, &self.name, &path);
            let favourites = access::favourites(seed, &self.name, &access.target);
            let blocks = access::blocks(size, access.block);
            let tables = &mut self.tables;
            let operations = Operations::new(access, blocks, prng, favourites, tables);
            Ahead::new(operations, tables)
        });
        let readahead = match target {
            Area::File { index, .. } => self.readaheads.get(&index).copied(),
            Area::Region { .. } => None,
        };
        let amount = self.less_overshoot(&path, amount.0);
        self.access = Some(Box::new(Running {
            access,
            target,
            amount,
            figures: Figures::new(label, now),
            operation: None,
            compute_ps: 0,
            begun: None,
            touched: [false; 3],
            operations_to_do,
            readahead: readahead.unwrap_or(Readahead::NEW),
            writing_out: None,
            path,
        }));
    }

    /// Leaves a complete access; its stream is kept for the step's next round, the file's
    /// readahead for its next access.
    pub(crate) fn finish_access(&mut self, running: Box<Running<'a>>, scale: u64) {
        if scale > 1 && running.figures.bytes > running.amount {
            let beyond = self.overshoots.entry(running.path.clone()).or_default();
            *beyond += running.figures.bytes - running.amount;
        }
        if let Area::File { index, .. } = running.target {
            self.readaheads.insert(index, running.readahead);
        }
        self.streams.insert(running.path, running.operations_to_do);
        self.go_past_step();
    }

    /// What is left of an amount after what earlier rounds of the step have done of it.
    fn less_overshoot(&mut self, path: &str, amount: u64) -> u64 {
        let Some(beyond) = self.overshoots.get_mut(path) else {
            return amount;
        };
        let done = amount.min(*beyond);
        *beyond -= done;
        amount - done
    }

    /// Says how it will read a file, for the accesses to come.
    pub(crate) fn advise_reading(&mut self, file: usize, advised: Advised) {
        self.readaheads.insert(file, Readahead::new(advised));
    }

    /// Whether it has a file open, and has accessed it.
    pub(crate) fn has_open(&self, file: usize) -> bool {
        self.readaheads.contains_key(&file)
    }

    /// Forgets the readahead of a file that it closes.
    pub(crate) fn close(&mut self, file: usize) {
        self.readaheads.remove(&file);
    }

    /// Readahead of a file that it has open.
    pub(crate) fn readahead(&mut self, file: usize) -> &mut Readahead {
        self.readaheads.entry(file).or_insert(Readahead::NEW)
    }

    /// Readahead of all files that it has open, by the file's index.
    pub(crate) fn take_readaheads(&mut self) -> BTreeMap<usize, Readahead> {
        core::mem::take(&mut self.readaheads)
    }

    /// Begins a repetition.
    pub(crate) fn begin_repeat(
        &mut self,
        until: Until,
        steps: &'a [Step],
        label: Option<&'a str>,
        now: Nanos,
    ) {
        let (operations, bytes) = (self.operations, self.bytes);
        let repeat = Repetition {
            until,
            label,
            began: now,
            rounds: 0,
            operations,
            bytes,
        };
        self.frames.push(Frame {
            steps,
            at: 0,
            repeat: Some(repeat),
        });
    }

    /// The figures of a labelled repetition that ends now.
    pub(crate) fn repetition_outcome(
        &self,
        repeat: &Repetition<'a>,
        now: Nanos,
        status: Status,
    ) -> Option<StepOutcome> {
        Some(StepOutcome {
            process: self.name.clone(),
            label: String::from(repeat.label?),
            start: repeat.began,
            end: now,
            operations: self.operations - repeat.operations,
            bytes: Bytes(self.bytes - repeat.bytes),
            status,
            latency: Latency::default(),
        })
    }
}
