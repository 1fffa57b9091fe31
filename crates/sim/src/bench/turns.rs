//! CPUs that take turns: how a VM in virtual time runs several.
//!
//! QEMU executes all of them on one thread, and its clock counts what they execute together, so
//! they share one stream of instructions. In each round every CPU may have an equal part of the
//! time to the next timer (`rr_cpu_thread_fn`, `icount_percpu_budget`, QEMU 10); one that has
//! nothing to run passes at once. Only a prediction that is compared with such a VM takes turns:
//! the CPUs of a user's machine are whole.

use mm::units::Nanos;

use crate::sched::cpu::BUDGET;

/// The least turn: shorter ones would be steps of a few nanoseconds before each timer.
const LEAST: Nanos = Nanos(BUDGET / 1000);

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    cpus: u64,
    now: Nanos,
    /// The CPU that has the turn, or is the first to be asked for the next one.
    cpu: usize,
    /// It has the turn, until then.
    until: Option<Nanos>,
    /// What a CPU has of this round.
    share: Nanos,
}

impl Turns {
    pub(crate) fn new(cpus: usize) -> Self {
        Self {
            cpus: cpus as u64,
            now: Nanos::ZERO,
            cpu: 0,
            until: None,
            share: Nanos::ZERO,
        }
    }

    /// Which of the `busy` CPUs goes on, and when: the one that has the turn, else the next of
    /// those that have something to run by now, else the first that will.
    pub(crate) fn next(
        &self,
        busy: &[usize],
        ready_at: impl Fn(usize) -> Nanos,
    ) -> Option<(usize, Nanos)> {
        let (before, behind) = busy.split_at(busy.partition_point(|&cpu| cpu < self.cpu));
        let mut in_turn = behind.iter().chain(before).copied();
        let now = in_turn.clone().find(|&cpu| ready_at(cpu) <= self.now);
        let later = || in_turn.by_ref().min_by_key(|&cpu| ready_at(cpu));
        let cpu = now.or_else(later)?;
        Some((cpu, ready_at(cpu).max(self.now)))
    }

    /// A CPU goes on at `now`; where it did not have the turn, it has it from here on. The next
    /// timer goes off at `timer`.
    pub(crate) fn begin(&mut self, cpu: usize, now: Nanos, timer: Nanos) {
        self.now = now;
        if self.until.is_some() && self.cpu == cpu {
            return;
        }
        if cpu < self.cpu || self.share == Nanos::ZERO {
            self.share = Nanos(timer.saturating_sub(now).0 / self.cpus).max(LEAST);
        }
        (self.cpu, self.until) = (cpu, Some(now + self.share));
    }

    /// Until when it has the turn.
    pub(crate) fn until(&self) -> Option<Nanos> {
        self.until
    }

    /// The CPU that has the turn has run until `to`.
    pub(crate) fn account(&mut self, to: Nanos) {
        self.now = to;
        if self.until.is_some_and(|until| until <= to) {
            self.pass();
        }
    }

    /// The CPU that has the turn has nothing to run, or has had its part.
    pub(crate) fn pass(&mut self) {
        self.until = None;
        self.cpu += 1;
        if self.cpu as u64 >= self.cpus {
            (self.cpu, self.share) = (0, Nanos::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const MS: u64 = 1_000_000;

    /// Who runs how long until the timer at 4 ms, where these CPUs are busy all the time.
    fn round(cpus: usize, busy: &[usize]) -> Vec<(usize, u64)> {
        let (mut turns, mut ran) = (Turns::new(cpus), Vec::new());
        let timer = Nanos(4 * MS);
        while turns.now < timer {
            let (cpu, now) = turns.next(busy, |_| Nanos::ZERO).expect("one is busy");
            turns.begin(cpu, now, timer);
            let to = turns.until().map_or(timer, |until| until.min(timer));
            turns.account(to);
            ran.push((cpu, (to.0 - now.0) / 1000));
        }
        ran
    }

    #[test]
    fn two_busy_cpus_have_half_of_the_time_each() {
        assert_eq!(round(2, &[0, 1]), [(0, 2000), (1, 2000)]);
        assert_eq!(round(4, &[0, 1, 2, 3]), [0, 1, 2, 3].map(|cpu| (cpu, 1000)));
    }

    #[test]
    fn one_alone_has_all_of_it_and_its_turns_end_at_the_least() {
        let alone = round(2, &[1]);
        let all: u64 = alone.iter().map(|(_, micros)| micros).sum();
        assert!(all.abs_diff(4000) < 10, "{alone:?}");
        assert_eq!(alone[..3], [(1, 2000), (1, 1000), (1, 500)]);
        assert!(alone.len() <= 10, "{alone:?}");
    }

    #[test]
    fn one_that_is_ready_later_waits_and_none_is_passed_over() {
        let turns = Turns::new(3);
        let at = [30, 10, 20].map(Nanos);
        assert_eq!(turns.next(&[0, 1, 2], |cpu| at[cpu]), Some((1, Nanos(10))));
        assert_eq!(turns.next(&[0], |cpu| at[cpu]), Some((0, Nanos(30))));
        assert_eq!(turns.next(&[], |cpu| at[cpu]), None);
    }
}
