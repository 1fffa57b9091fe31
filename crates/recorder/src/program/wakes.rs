//! Which task wakes which: what a task waits for when it does not wait for a disk.
//!
//! Only tasks that have a slot are looked at, as whoever reads a file has one: of others nothing is
//! done again, so nobody can wait for them.

use super::super::event::{STEP, WOKE};
use super::super::hooks::When;
use super::{
    Frame, Helper, KEPT, Label, Maker, NOW, Part, Program, R0, R1, R2, R7, R8, R9, RAN, RAN_THEN,
    Register, SENT, SINCE, WAITED, WAITED_THEN, Width,
};

/// `TASK_INTERRUPTIBLE`: sockets, pipes, futexes and children are waited for in this state, and
/// disks are not.
const INTERRUPTIBLE: i32 = 1;

/// `TASK_UNINTERRUPTIBLE`: so disks are waited for, dirty limits and locks, which whoever does the
/// same again waits for too.
const UNINTERRUPTIBLE: i32 = 2;

/// Bits of `preempt_count`: in an interrupt, and in what softirqs do.
const HARDIRQ: i32 = 0x00ff_0000;
const SOFTIRQ: i32 = 0x0000_0100;

/// What is sent to this machine itself arrives in a softirq at once. Other softirqs run in
/// whichever task was interrupted.
const AT_ONCE: i32 = 1_000_000;

impl Maker<'_> {
    /// Notes what a task has run when it leaves its CPU, and how long the next one has waited
    /// (`sched_switch`).
    pub(crate) fn switched(&self) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.now();
        let end = program.end;
        program.end = program.code.label();
        program.left()?;
        let next = std::mem::replace(&mut program.end, end);
        program.code.stand(next);
        program.came()?;
        Some(program.finish())
    }

    /// Notes that the task sends something to this machine itself (`loopback_xmit`).
    pub(crate) fn sent(&self) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.task();
        program.own_slot()?;
        program.now();
        program.code.load(Width::Eight, R1, Frame, NOW);
        program.code.store(Width::Eight, R9, SENT, R1);
        Some(program.finish())
    }

    /// Hands out that a task wakes another (`sched_waking`).
    pub(crate) fn woke(&self) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.argument(R7, 0);
        program.only_asleep()?;
        program.task();
        program.by_a_task()?;
        program.slot(R7)?;
        let end = program.end;
        let code = &mut program.code;
        code.load(Width::Four, R1, R0, 0);
        code.jump_if_different(R1, R2, end);
        code.load(Width::Eight, R1, R0, RAN);
        code.store(Width::Eight, Frame, RAN_THEN, R1);
        code.load(Width::Eight, R1, R0, WAITED);
        code.shift_right(R1, STEP as i32);
        code.store(Width::Eight, Frame, WAITED_THEN, R1);
        program.place();
        program.done()?;
        program.began(When::Begin)?;
        program.code.load(Width::Eight, R1, Frame, RAN_THEN);
        program.put(Part::Length, R1);
        program.code.load(Width::Eight, R1, Frame, WAITED_THEN);
        program.put(Part::Inode, R1);
        program.member(R1, R7, ("task_struct", "pid"), Width::Four)?;
        program.put(Part::Offset, R1);
        program.member(R1, R7, ("task_struct", "nvcsw"), Width::Eight)?;
        program.put(Part::Size, R1);
        program.send(WOKE as i32);
        Some(program.finish())
    }
}

impl Program<'_> {
    fn left(&mut self) -> Option<()> {
        self.argument(R8, 1);
        self.own_slot()?;
        self.code.copy(R0, R9);
        self.ran();
        self.code.store(Width::Eight, R9, RAN, R1);
        self.code.store_value(R9, SINCE, 0);
        let end = self.end;
        self.state(R8)?;
        self.code.and(R1, UNINTERRUPTIBLE);
        self.code.jump_if(R1, 0, end);
        self.code.load(Width::Eight, R1, Frame, NOW);
        self.code.store(Width::Eight, R9, SINCE, R1);
        Some(())
    }

    fn came(&mut self) -> Option<()> {
        self.argument(R8, 2);
        self.own_slot()?;
        let not_waited = self.code.label();
        let code = &mut self.code;
        code.load(Width::Eight, R2, R9, SINCE);
        code.jump_if(R2, 0, not_waited);
        code.load(Width::Eight, R1, Frame, NOW);
        code.subtract(R1, R2);
        code.load(Width::Eight, R2, R9, WAITED);
        code.add_register(R1, R2);
        code.store(Width::Eight, R9, WAITED, R1);
        code.stand(not_waited);
        code.load(Width::Eight, R1, Frame, NOW);
        code.store(Width::Eight, R9, SINCE, R1);
        Some(())
    }

    /// `R1` = the state of a task.
    fn state(&mut self, of: Register) -> Option<()> {
        let names = ["__state", "state"].into_iter();
        let mut names = names.filter(|name| self.of.btf.offset("task_struct", name).is_some());
        let name = names.next()?;
        self.member(R1, of, ("task_struct", name), Width::Four)
    }

    /// `R9` = the slot of the task in `R8`; ends where it has none.
    fn own_slot(&mut self) -> Option<()> {
        let end = self.end;
        self.slot(R8)?;
        self.code.load(Width::Four, R1, R0, 0);
        self.code.jump_if_different(R1, R2, end);
        self.code.copy(R9, R0);
        Some(())
    }

    /// Ends unless the task in `R7` sleeps of its own accord.
    fn only_asleep(&mut self) -> Option<()> {
        let end = self.end;
        self.state(R7)?;
        self.code.and(R1, INTERRUPTIBLE);
        self.code.jump_if(R1, 0, end);
        self.member(R1, R7, ("task_struct", "on_cpu"), Width::Four)?;
        self.code.jump_unless(R1, 0, end);
        Some(())
    }

    /// Ends unless the task in `R8`, which has a slot, is at it itself: timers and disks interrupt
    /// any.
    fn by_a_task(&mut self) -> Option<()> {
        let (end, is_so) = (self.end, self.code.label());
        self.preempt_count()?;
        self.code.and(R1, HARDIRQ);
        self.code.jump_unless(R1, 0, end);
        self.own_slot()?;
        self.now();
        self.code.load(Width::Eight, R1, Frame, KEPT);
        self.code.and(R1, SOFTIRQ);
        self.code.jump_if(R1, 0, is_so);
        self.at_once(is_so);
        self.code.jump(end);
        self.code.stand(is_so);
        Some(())
    }

    fn at_once(&mut self, is_so: Label) {
        self.code.load(Width::Eight, R1, Frame, NOW);
        self.code.load(Width::Eight, R2, R9, SENT);
        self.code.subtract(R1, R2);
        self.code.jump_if_below(R1, AT_ONCE, is_so);
    }

    /// `R1` = the CPU's count, which is kept on the stack too. It has had two places.
    fn preempt_count(&mut self) -> Option<()> {
        let btf = self.of.btf;
        let alone = || Some((btf.variable("__preempt_count")?, 0));
        let hot = || {
            let offset = btf.offset("pcpu_hot", "preempt_count")?;
            Some((btf.variable("pcpu_hot")?, i16::try_from(offset).ok()?))
        };
        let (variable, offset) = hot().or_else(alone)?;
        self.code.variable(R1, variable);
        self.code.call(Helper::ThisCpuPointer);
        self.code.load(Width::Four, R1, R0, offset);
        self.code.store(Width::Eight, Frame, KEPT, R1);
        Some(())
    }
}
