//! What asks for memory: processes, each a list of steps, in control groups.
//!
//! The same value runs on the model and on a real kernel. Randomness comes from the scenario's seed
//! alone, through [`crate::access`], so that both perform the same accesses.

use alloc::string::String;
use alloc::vec::Vec;

pub use mm::daemon::Daemon;
pub use mm::quantity::{Size, Think};
use mm::settings::Setting;
use mm::units::{Bytes, Nanos};

/// Everything that asks for memory in a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Control groups, parents before children.
    pub cgroups: Vec<Cgroup>,
    /// Processes, in the order in which those that start at once are started.
    pub processes: Vec<Process>,
    /// The run ends this long after its start even if processes still work; without it, when every
    /// process that was started has ended.
    pub deadline: Option<Nanos>,
}

/// A control group (cgroup v2) and what is written into its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// Path below the root of the hierarchy, as in `services/database`.
    pub path: String,
    /// File and text, in order: `("memory.max", "268435456")`.
    pub files: Vec<(String, String)>,
}

/// A process, or `count` like processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Unique within the workload.
    pub name: String,
    /// When it starts.
    pub start: Start,
    /// How many of it; the instances are called `name.1`, `name.2`, … where there are several.
    pub count: u32,
    /// The control group it starts in, by path.
    pub cgroup: Option<String>,
    /// `/proc/PID/oom_score_adj`, -1000 to 1000.
    pub oom_score_adj: i16,
    /// Limit of its address space (`RLIMIT_AS`).
    pub address_space: Option<Bytes>,
    /// What it does, in order.
    pub steps: Vec<Step>,
}

/// When a process starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// This long after the run's beginning; zero for "at once".
    After(Nanos),
    /// When another process's [`Action::Start`] names it.
    OnDemand,
}

/// One thing a process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name under which its figures are reported; a step without one is not reported.
    pub label: Option<String>,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take a full snapshot of the kernel's files, under the step's label.
    Snapshot,
    /// Write the arm's settings, as an administrator would mid-run.
    ApplyArm,
    /// Write back the values that the arm's tunables had before the run.
    ApplyDefaults,
    /// Write these settings.
    Set(Vec<Setting>),
    /// Write into a file of a control group.
    SetCgroup {
        /// Path of the group.
        cgroup: String,
        /// File and text.
        file: (String, String),
    },
    /// Let a daemon decide once, and write what it decides. It remembers what it did before.
    Daemon(Daemon),
    /// Be the guard with this configuration, until killed: keys and texts, as
    /// `("floor.clean_min", "15 %")`.
    Guard(Vec<(String, String)>),
    /// Close a file. The next access opens it again.
    Close {
        /// The file.
        file: String,
    },
    /// Read, write or touch a file or a region.
    Access(Access),
    /// Do again what was recorded.
    Replay(Replay),
    /// Make an anonymous region; it costs nothing until it is touched (or locked).
    Map(Map),
    /// Unmap a region.
    Unmap {
        /// The region.
        region: String,
    },
    /// `madvise` a region or `posix_fadvise` a file.
    Advise {
        /// What the advice is about.
        target: Target,
        /// The advice.
        advice: Advice,
    },
    /// `mlock` a region or, through a mapping, a file.
    Lock {
        /// What is locked.
        target: Target,
    },
    /// `fsync` a file.
    Sync {
        /// The file.
        file: String,
    },
    /// `sync`, then drop the page cache and reclaimable slab (`vm.drop_caches` = 3).
    DropCaches,
    /// Proactive reclaim: write to `memory.reclaim`.
    Reclaim {
        /// Path of the control group.
        cgroup: String,
        /// How much.
        amount: Bytes,
        /// `swappiness=`, where the kernel knows it.
        swappiness: Option<u8>,
    },
    /// Run on the CPUs of a NUMA node from here on (`numactl --cpunodebind`).
    RunOnNode {
        /// The node, from 0.
        node: u32,
    },
    /// Do nothing for a while.
    Sleep(Nanos),
    /// Start a process that waits for demand; again, where it has ended. What runs is left alone.
    Start {
        /// The process (all its instances).
        process: String,
    },
    /// Wait until all instances of a process have ended.
    Wait {
        /// The process.
        process: String,
    },
    /// Kill all instances of a process (`SIGKILL`).
    Kill {
        /// The process.
        process: String,
    },
    /// Do the steps again and again.
    Repeat {
        /// When it ends.
        until: Until,
        /// What is repeated.
        steps: Vec<Step>,
    },
}

/// When a repetition ends; it is checked before each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this many rounds.
    Times(u64),
    /// At the first round that would begin this long after the repetition began.
    Elapsed(Nanos),
    /// Never: the process ends by being killed or by the workload's deadline.
    Forever,
}

/// A run of accesses to one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// What is accessed.
    pub target: Target,
    /// How the bytes are reached (a region is always reached through its mapping).
    pub via: Via,
    /// Which block comes next.
    pub pattern: Pattern,
    /// Bytes to access in all, reached in whole blocks; `None` for once the target's size.
    pub amount: Option<Size>,
    /// Ends the step this long after its start, whatever was reached by then.
    pub time_limit: Option<Nanos>,
    /// Bytes per operation. Regions are touched one word per page of the block.
    pub block: Bytes,
    /// Blocks per operation, each drawn by the pattern and reached by a call of its own: the keys
    /// of one request. 1 or more.
    pub blocks: u32,
    /// Blocks that are written rather than read, in percent (0 to 100).
    pub write_percent: u8,
    /// CPU time that the process uses for itself after every operation.
    pub compute: Nanos,
    /// Sleep after every operation.
    pub think: Think,
    /// Operations due per second, counted from the first: one that was late is made up for; 0 for
    /// as fast as it goes.
    pub rate: u32,
    /// What [`Pattern::Classes`] draws from, by the page.
    pub classes: Vec<Class>,
}

/// What a task of a recording did, done again by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The number of its stream.
    pub stream: u32,
    /// Runs that are passed over first.
    pub skip: u64,
    /// Runs that are performed; `None` for all that are left.
    pub runs: Option<u64>,
    /// When the next one begins.
    pub pace: Pace,
    /// CPU time before each run, in place of what was recorded of it.
    pub compute: Option<Nanos>,
    /// Ends the step this long after its start.
    pub time_limit: Option<Nanos>,
}

/// When a run of a recording begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// After what the task computed and slept since the run before: a slower disk slows it down.
    #[default]
    Closed,
    /// As long after the first one as it was, as far as the process can keep up.
    Clock,
}

/// Pages of a region that are accessed equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Accesses of each page in a million seconds.
    pub rate_micro: u64,
    /// How many pages.
    pub pages: u64,
}

/// What an access, an advice or a lock is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file of the machine, by name.
    File(String),
    /// A region that the process mapped, by name.
    Region(String),
}

/// How the bytes of a file are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// `read` and `write` through the page cache.
    Syscall,
    /// Loads and stores through a shared mapping.
    Mmap,
    /// `O_DIRECT`, past the page cache.
    Direct,
}

/// Which block of the target comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One after the other, from the start again at the end.
    Sequential,
    /// Each equally likely.
    Random,
    /// Block of rank k with probability proportional to 1 / k^s; ranks are scattered over the
    /// target by a permutation that the seed fixes.
    Zipf {
        /// The exponent s in thousandths (0 to 4000): 990 is the usual 0.99.
        exponent_milli: u32,
    },
    /// By [`Access::classes`], whose pages are scattered over the target by a permutation that the
    /// seed fixes.
    Classes,
}

/// An anonymous region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Its name within the process.
    pub region: String,
    /// Its size.
    pub size: Size,
    /// Which pages it is made of.
    pub huge: Huge,
    /// Offered to KSM (`MADV_MERGEABLE`).
    pub mergeable: bool,
    /// Filled at once (`MAP_POPULATE`).
    pub populate: bool,
    /// What its pages hold, in percent of the region; what is left of 100 is unique content.
    pub contents: Vec<ContentShare>,
}

/// Huge pages of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Huge {
    /// As the system's THP setting says.
    #[default]
    System,
    /// `MADV_HUGEPAGE`.
    Advise,
    /// `MADV_NOHUGEPAGE`.
    Never,
    /// From the hugetlb pool (`MAP_HUGETLB`).
    Hugetlb,
}

/// A share of a region's pages that hold the same kind of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentShare {
    /// The kind.
    pub content: Content,
    /// Its share of the region in percent.
    pub percent: u8,
}

/// What a page holds, as far as merging is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Page i of this class holds the same bytes in every process that names the class.
    Identical {
        /// The class, as in `"guest-os"`.
        class: String,
    },
    /// The same bytes occur `copies` times within the region and nowhere else.
    Repeated {
        /// How often.
        copies: u32,
    },
    /// Bytes that occur nowhere else.
    Unique,
    /// All zero.
    Zero,
    /// Rewritten with new bytes this often.
    Volatile {
        /// Time between two changes of one page.
        every: Nanos,
    },
}

/// Advice about a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// `POSIX_FADV_DONTNEED` or `MADV_DONTNEED`: drop it now.
    DontNeed,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
    /// `POSIX_FADV_SEQUENTIAL` or `MADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_RANDOM` or `MADV_RANDOM`.
    Random,
    /// `POSIX_FADV_WILLNEED` or `MADV_WILLNEED`.
    WillNeed,
    /// `MADV_COLD`.
    Cold,
    /// `MADV_PAGEOUT`.
    PageOut,
    /// `MADV_HUGEPAGE`.
    HugePage,
    /// `MADV_NOHUGEPAGE`.
    NoHugePage,
    /// `MADV_MERGEABLE`.
    Mergeable,
    /// `MADV_UNMERGEABLE`.
    Unmergeable,
}

impl Workload {
    /// Whether any process does such a thing, within repetitions too.
    pub fn any_action(&self, is_wanted: impl Fn(&Action) -> bool) -> bool {
        let mut processes = self.processes.iter();
        processes.any(|process| any_action(&process.steps, &is_wanted))
    }

    /// Whether any process offers pages to be merged (KSM).
    #[must_use]
    pub fn offers_pages(&self) -> bool {
        self.processes.iter().any(Process::offers_pages)
    }
}

impl Process {
    /// Whether it offers pages to be merged (KSM).
    #[must_use]
    pub fn offers_pages(&self) -> bool {
        any_action(&self.steps, &|action| match action {
            Action::Map(map) => map.mergeable,
            Action::Advise { advice, .. } => *advice == Advice::Mergeable,
            _ => false,
        })
    }

    /// The names of its instances: the plain name, or `name.1`, `name.2`, … where there are
    /// several.
    pub fn instances(&self) -> impl Iterator<Item = String> + '_ {
        (1..=self.count).map(move |index| match self.count {
            1 => self.name.clone(),
            _ => alloc::format!("{}.{index}", self.name),
        })
    }
}

fn any_action(steps: &[Step], is_wanted: &impl Fn(&Action) -> bool) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Repeat { steps, .. } => any_action(steps, is_wanted),
        action => is_wanted(action),
    })
}
