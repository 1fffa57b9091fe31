//! Interrupts of disks under way (`kernel/softirq.c`), one after the other: they share the CPU that
//! they interrupt.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use mm::units::Nanos;

#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts {
    /// When the last of them is over.
    until: Nanos,
    /// The tasks that each wakes at its end.
    wakes: VecDeque<Vec<usize>>,
}

impl Interrupts {
    /// Begins one of this length behind those under way; when it is over.
    pub(super) fn begin(&mut self, time: Nanos, wakes: Vec<usize>, now: Nanos) -> Nanos {
        self.until = self.until.max(now) + time;
        self.wakes.push_back(wakes);
        self.until
    }

    /// Ends the first one: the tasks that it wakes.
    pub(super) fn end(&mut self) -> Vec<usize> {
        self.wakes.pop_front().unwrap_or_default()
    }

    /// Lets none of them wake a task.
    pub(super) fn wake_no_more(&mut self, entity: usize) {
        for woken in &mut self.wakes {
            woken.retain(|waiting| *waiting != entity);
        }
    }
}
