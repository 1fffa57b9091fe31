//! The tasks of a group by what they do, and which stalls that makes.

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

/// Tasks of a group by what they do.
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

    /// At least the number of tasks that are not idle, and 0 only if all are.
    pub(super) fn busy(&self) -> u64 {
        self.running + self.iowait + self.memstall - self.memstall_running
    }

    /// For each stall how many of the CPUs that could be busy it concerns, and the number of these.
    pub(super) fn stalled(&self, cpus: u64) -> ([u64; STALLS], u64) {
        let threads = self.busy().min(cpus);
        let some = |tasks: u64| tasks.min(threads);
        let full = |tasks, productive| full(threads, tasks, productive);
        // A CPU that reclaims gives no room to what could be productive.
        let productive = self.running - self.memstall_running;
        let productive = productive.min(threads.saturating_sub(self.memstall_on_cpu));
        let waiting = self.running - self.on_cpu;
        let shares = [
            some(self.iowait),
            full(self.iowait, self.running),
            some(self.memstall),
            full(self.memstall, productive),
            some(waiting),
            full(waiting, self.on_cpu),
        ];
        (shares, threads)
    }

    /// The full stall for memory where a task that reclaims passes for productive.
    pub(super) fn stalled_but_for_reclaim(&self, cpus: u64) -> u64 {
        full(self.busy().min(cpus), self.memstall, self.running)
    }
}

/// Of the CPUs that could be busy, those that a stall of tasks leaves without a productive one.
fn full(threads: u64, tasks: u64, productive: u64) -> u64 {
    match tasks {
        0 => 0,
        _ => threads - productive.min(threads),
    }
}
