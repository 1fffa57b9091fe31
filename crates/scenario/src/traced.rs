//! What the tasks of a run met, one count after the other: of a kernel that was traced, and of the
//! model. Both are told in the same terms, so that it can be found where they part.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use mm::units::Nanos;

/// Path of the note, in the last frame, that holds the kernel's trace buffer as text.
pub const TRACE: &str = "plimsoll/trace";
/// Path of the note about it: `lost N`, the events that found the buffer full; `absent EVENT`, each
/// tracepoint that this kernel lacks.
pub const TRACED: &str = "plimsoll/traced";

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// A task reclaims itself, as no zone has a page for it.
    DirectReclaims,
    /// Pages that it got.
    ReclaimedDirectly,
    /// How long that took, waits included.
    ReclaimTime,
    /// Reclaim waits for pages to be written.
    ReclaimWaits,
    /// How long, in ticks as the kernel tells it: a wait of a tick may last nearly two.
    ReclaimWaitTime,
    /// kswapd begins to balance the zones.
    KswapdRuns,
    /// Pages of the inactive lists that were looked at.
    Scanned,
    /// Pages that reclaim wrote.
    SwappedOut,
    /// Pages that were asked of disks.
    Read,
    /// Pages that were handed to disks.
    Written,
    /// A task pauses as too much is dirty.
    Pauses,
    /// How long.
    PauseTime,
    /// The OOM killer chose a victim.
    OomKills,
}

/// What a figure's amounts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// How often.
    Times,
    /// Pages of 4 KiB.
    Pages,
    /// Nanoseconds.
    Nanos,
}

/// One count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// When, since the run began; a span counts at its end.
    pub at: Nanos,
    /// The task, as an index of [`Traced::tasks`].
    pub task: u32,
    /// What.
    pub figure: Figure,
    /// How much, in the figure's unit.
    pub amount: u64,
}

/// What the tasks of a run met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Names: those of the workload's processes, `kswapd0`, `kworker` and `jbd2` for all threads
    /// of the kernel that write files and journals, and what else a kernel has.
    pub tasks: Vec<String>,
    /// In the order of their time but for spans, which count when they end.
    pub counts: Vec<Count>,
}

impl Figure {
    /// All.
    pub const ALL: [Self; 13] = [
        Self::DirectReclaims,
        Self::ReclaimedDirectly,
        Self::ReclaimTime,
        Self::ReclaimWaits,
        Self::ReclaimWaitTime,
        Self::KswapdRuns,
        Self::Scanned,
        Self::SwappedOut,
        Self::Read,
        Self::Written,
        Self::Pauses,
        Self::PauseTime,
        Self::OomKills,
    ];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DirectReclaims => "direct reclaims",
            Self::ReclaimedDirectly => "reclaimed directly",
            Self::ReclaimTime => "time in reclaim",
            Self::ReclaimWaits => "waits of reclaim",
            Self::ReclaimWaitTime => "time of these waits",
            Self::KswapdRuns => "runs of kswapd",
            Self::Scanned => "scanned",
            Self::SwappedOut => "swapped out",
            Self::Read => "read",
            Self::Written => "written",
            Self::Pauses => "pauses for dirty pages",
            Self::PauseTime => "time of these pauses",
            Self::OomKills => "OOM kills",
        }
    }

    /// What its amounts are.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::DirectReclaims
            | Self::ReclaimWaits
            | Self::KswapdRuns
            | Self::Pauses
            | Self::OomKills => Unit::Times,
            Self::ReclaimTime | Self::ReclaimWaitTime | Self::PauseTime => Unit::Nanos,
            Self::ReclaimedDirectly
            | Self::Scanned
            | Self::SwappedOut
            | Self::Read
            | Self::Written => Unit::Pages,
        }
    }
}

impl Traced {
    /// The number of a task, which is added where it is new.
    pub fn task(&mut self, name: &str) -> u32 {
        let known = self.tasks.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.tasks.push(name.to_owned());
            self.tasks.len() - 1
        });
        index as u32
    }

    /// Adds a count; one of nothing is none.
    pub fn add(&mut self, at: Nanos, task: u32, figure: Figure, amount: u64) {
        let count = Count {
            at,
            task,
            figure,
            amount,
        };
        self.counts.extend((amount > 0).then_some(count));
    }
}
