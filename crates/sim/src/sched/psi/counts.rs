//! The tasks of a group on one CPU by what they do, and which stalls that makes.

/// What a group can be in: some and full of I/O, of memory and of the CPU.
pub(super) const STALLS: usize = 6;

/// What a task does, as far as pressure is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doing {
    /// It has a CPU or wants one.
    pub(crate) running: bool,
    /// It has a CPU.
    pub(crate) on_cpu: bool,
    /// It sleeps until a read or write is done.
    pub(crate) iowait: bool,
    /// What it does or waits for is reclaim's work, or a page back that reclaim took too early.
    pub(crate) memstall: bool,
}

/// Tasks by what they do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    running: u64,
    on_cpu: u64,
    iowait: u64,
    memstall: u64,
    memstall_running: u64,
    memstall_on_cpu: u64,
}

impl Counts {
    pub(super) fn add(&mut self, doing: Doing) {
        for (count, holds) in self.each(doing) {
            *count += u64::from(holds);
        }
    }

    pub(super) fn remove(&mut self, doing: Doing) {
        for (count, holds) in self.each(doing) {
            *count -= u64::from(holds);
        }
    }

    fn each(&mut self, doing: Doing) -> [(&mut u64, bool); 6] {
        [
            (&mut self.running, doing.running),
            (&mut self.on_cpu, doing.on_cpu),
            (&mut self.iowait, doing.iowait),
            (&mut self.memstall, doing.memstall),
            (&mut self.memstall_running, doing.memstall && doing.running),
            (&mut self.memstall_on_cpu, doing.memstall && doing.on_cpu),
        ]
    }

    pub(super) fn are_idle(&self) -> bool {
        self.running + self.iowait + self.memstall == 0
    }

    /// In which stalls the CPU is (`test_states`).
    pub(super) fn stalled(&self) -> [bool; STALLS] {
        let waiting = self.running - self.on_cpu;
        [
            self.iowait > 0,
            self.iowait > 0 && self.running == 0,
            self.memstall > 0,
            // A CPU that reclaims gives no room to what could be productive.
            self.memstall > 0
                && (self.running == self.memstall_running || self.memstall_on_cpu > 0),
            waiting > 0,
            waiting > 0 && self.on_cpu == 0,
        ]
    }

    /// Whether it is in a full stall for memory where a task that reclaims passes for productive.
    pub(super) fn waits_for_memory(&self) -> bool {
        self.memstall > 0 && self.running == 0
    }
}
