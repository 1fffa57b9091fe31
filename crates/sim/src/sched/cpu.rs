//! What runs: the task in hand, the CPU time it uses, and what every mechanism asks for: the rules
//! of this kernel, its costs, its clock and its event counters (per CPU in a kernel, too).
//!
//! Every operation adds its CPU time to [`Cpu::spent`]; the task that asked for it pays.

use alloc::vec::Vec;

use mm::units::Nanos;
use scenario::calibration::Costs;

use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::page_writeback::Throttled;
use crate::mm::vmstat::Events;
use crate::rules::Rules;
use crate::sched::timer::Clock;

/// The most CPU time between two looks at the clock, in picoseconds: 30 microseconds.
pub(crate) const BUDGET: u64 = 30_000_000;

/// The CPU, as what runs on it sees it.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// Real pages that each page stands for.
    pub(crate) scale: u64,
    /// CPUs of the machine.
    pub(crate) cpus: u64,
    /// How this kernel reclaims: its release, and the tunables that say so.
    pub(crate) rules: Rules,
    pub(crate) costs: Costs,
    pub(crate) clock: Clock,
    pub(crate) events: Events,
    /// When the step under way began.
    pub(crate) began: Nanos,
    /// CPU time used since it was last taken, in picoseconds.
    pub(crate) spent: u64,
    /// The part of it at its end that nothing interrupts: copying from the page cache.
    pub(crate) unbroken: u64,
    /// CPU time that a disk's interrupt has used since it was last taken, in picoseconds.
    pub(crate) in_interrupt: u64,
    /// CPU time after which a step lets the scheduler look, in picoseconds.
    pub(crate) budget: u64,
    /// When the task that runs began and ended to work for reclaim, since that was last taken.
    pub(crate) stalls: Vec<(Nanos, bool)>,
    /// Allocations give the CPU away when kswapd is woken, as they may in a kernel (`might_alloc`).
    pub(crate) may_yield: bool,
    pub(crate) current: Current,
}

/// The task that runs, as the mechanisms see it (`current`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Current {
    /// Its group.
    pub(crate) group: GroupId,
    /// The group in whose name reclaim goes on: the root, or one that met a limit.
    pub(crate) reclaiming: GroupId,
    /// Pages that it charged above a high limit since it was last looked at.
    pub(crate) over_high: u64,
    /// What is known of it as one that dirties pages.
    pub(crate) throttled: Throttled,
    /// The entity of the scheduler that it is.
    pub(crate) entity: usize,
    /// Its process, as an entity of the scheduler: whose page tables are used.
    pub(crate) space: usize,
    /// A fault on a mapped file is reading.
    pub(crate) in_fault: bool,
}

impl Cpu {
    pub(crate) fn new(costs: Costs) -> Self {
        Self {
            scale: 1,
            cpus: 1,
            rules: Rules::default(),
            costs,
            clock: Clock::default(),
            events: Events::default(),
            began: Nanos::ZERO,
            spent: 0,
            unbroken: 0,
            in_interrupt: 0,
            budget: u64::MAX,
            stalls: Vec::new(),
            may_yield: false,
            current: Current::default(),
        }
    }

    /// Uses as much of a task's own CPU time, in picoseconds, as the budget has left.
    pub(crate) fn use_up(&mut self, own_ps: &mut u64) {
        let part = (*own_ps).min(self.budget.saturating_sub(self.spent));
        *own_ps -= part;
        self.spent += part;
    }
}
