//! The programs: at the begin of a function the time is noted, at its end an event is handed out.
//!
//! An event is written where it is read: its place in the ring is taken by one atomic addition, and
//! its number, stored last, says that it is whole. So there is no lock, no copy and no helper.

mod file;
mod wakes;

use scenario::recording::Kind;

use super::assembly::{Assembly, Helper, Label, Register, Width};
use super::btf::Btf;
use super::event::{ADDED, PAGE, Part, SET, STEP};
use super::hooks::{Hook, Range, SYSCTL, When};
use super::ring::{EVENTS, HEAD, LOST, ROOM, TAIL};
use Register::{Frame, R0, R1, R2, R3, R6, R7, R8, R9};

/// How many tasks can be within a function at once: slots, by the lowest bits of the thread.
pub(crate) const SLOTS: u32 = 1 << 14;

/// A slot: the thread, when it began, what it had run then, and how often it had slept and how long
/// it had waited; what it had run when it last left its CPU; when it last sent something to this
/// machine itself; how long it has waited; and since when it runs, or waits off its CPU, or 0.
pub(crate) const SLOT: u32 = 8 * WORD as u32;
const RAN: i16 = 4 * WORD;
const SENT: i16 = 5 * WORD;
const WAITED: i16 = 6 * WORD;
const SINCE: i16 = 7 * WORD;

const WORD: i16 = 8;
const HALF: i16 = 4;

/// On the stack: the time, the number of the event, what is read, a key, and what is kept.
const NOW: i16 = -WORD;
const NUMBER: i16 = NOW - WORD;
const READ: i16 = NUMBER - WORD;
const KEY: i16 = READ - WORD;
const KEPT: i16 = KEY - WORD;
/// What a task had run, and how long it had waited.
const RAN_THEN: i16 = KEPT - WORD;
const WAITED_THEN: i16 = RAN_THEN - WORD;

/// The maps that programs share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maps {
    pub(crate) slots: i32,
    /// The events.
    pub(crate) events: i32,
    /// How far they are written and read, and how many found no place.
    pub(crate) counters: i32,
}

/// How memory of the kernel is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// By a load, which the verifier holds against BTF: from programs at functions.
    Loads,
    /// By a helper.
    Helper,
}

/// Whether it is seen when tasks leave their CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switches {
    Seen,
    Unseen,
}

/// What a program is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maker<'a> {
    pub(crate) btf: &'a Btf,
    pub(crate) maps: Maps,
    pub(crate) reading: Reading,
    pub(crate) switches: Switches,
    /// The process that is not looked at: our own.
    pub(crate) except: u32,
}

/// A program that is being made; nothing comes of it where BTF lacks what it needs. `R6` has the
/// arguments; of a program that hands out an event `R7` has the inode, `R8` the task, and `R9` the
/// event.
struct Program<'a> {
    of: Maker<'a>,
    code: Assembly,
    end: Label,
}

impl Maker<'_> {
    /// What runs at the begin of a function whose end is waited for.
    pub(crate) fn begin(&self) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.task();
        program.only_others()?;
        program.now();
        program.counts()?;
        program.slot(R8)?;
        program.claim();
        program.code.copy(R9, R0);
        program.code.load(Width::Eight, R1, Frame, NOW);
        program.code.store(Width::Eight, R9, WORD, R1);
        program.ran();
        program.code.store(Width::Eight, R9, 2 * WORD, R1);
        program.waited();
        program.code.store(Width::Four, R9, 3 * WORD + HALF, R1);
        let members = [
            (HALF, "tgid", Width::Four),
            (3 * WORD, "nvcsw", Width::Four),
        ];
        for (place, name, width) in members {
            program.member(R1, R8, ("task_struct", name), width)?;
            program.code.store(width, R9, place, R1);
        }
        Some(program.finish())
    }

    /// What hands out an event.
    pub(crate) fn event(&self, hook: &Hook) -> Option<Vec<u64>> {
        let kind = Kind::ALL.iter().position(|&kind| kind == hook.kind)?;
        self.handed_out(hook, kind)
    }

    /// What hands out that a tunable was written.
    pub(crate) fn set(&self) -> Option<Vec<u64>> {
        self.handed_out(&SYSCTL, SET)
    }

    fn handed_out(&self, hook: &Hook, kind: usize) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.only(hook);
        program.task();
        if hook.when != When::Both {
            program.only_others()?;
        }
        program.inode(hook)?;
        program.only_regular()?;
        program.only_on_disks()?;
        program.now();
        program.place();
        program.done()?;
        program.began(hook.when)?;
        program.range(hook)?;
        program.file()?;
        program.send(kind as i32);
        Some(program.finish())
    }

    /// What hands out the pages of a folio that came into the page cache.
    pub(crate) fn added(&self) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.argument(R8, 0);
        program.member(R7, R8, ("folio", "mapping"), Width::Eight)?;
        program.host()?;
        program.place();
        program.member(R1, R8, ("folio", "index"), Width::Eight)?;
        program.put(Part::Offset, R1);
        program.pages_of_folio()?;
        program.file()?;
        program.send(ADDED as i32);
        Some(program.finish())
    }
}

/// Where a part lies in the event.
fn at(part: Part) -> i16 {
    part as i16 * WORD
}

impl<'a> Program<'a> {
    fn new(of: Maker<'a>) -> Self {
        let mut code = Assembly::default();
        let end = code.label();
        code.copy(R6, R1);
        Self { of, code, end }
    }

    fn finish(mut self) -> Vec<u64> {
        self.code.stand(self.end);
        self.code.exit();
        self.code.finish()
    }

    /// `to` = a member of what `from` points to. Loses the registers that calls lose.
    fn member(
        &mut self,
        to: Register,
        from: Register,
        (structure, path): (&str, &str),
        width: Width,
    ) -> Option<()> {
        let offset = i16::try_from(self.of.btf.offset(structure, path)?).ok()?;
        self.load(to, from, offset, width);
        Some(())
    }

    fn load(&mut self, to: Register, from: Register, offset: i16, width: Width) {
        match self.of.reading {
            Reading::Loads => self.code.load(width, to, from, offset),
            Reading::Helper => self.read(to, from, offset, width),
        }
    }

    /// The same by a helper, from any address.
    fn read(&mut self, to: Register, from: Register, offset: i16, width: Width) {
        let bytes = match width {
            Width::Two => 2,
            Width::Four => 4,
            Width::Eight => 8,
        };
        let code = &mut self.code;
        code.copy(R3, from);
        code.add(R3, i32::from(offset));
        code.store_value(Frame, READ, 0);
        code.copy(R1, Frame);
        code.add(R1, i32::from(READ));
        code.set(R2, bytes);
        code.call(Helper::ProbeReadKernel);
        code.load(width, to, Frame, READ);
    }

    /// Puts an argument into a register.
    fn argument(&mut self, to: Register, number: i16) {
        self.code.load(Width::Eight, to, R6, number * WORD);
    }

    /// Puts a part into the event.
    fn put(&mut self, part: Part, from: Register) {
        self.code.store(Width::Eight, R9, at(part), from);
    }

    fn put_half(&mut self, part: Part, half: i16, from: Register) {
        self.code.store(Width::Four, R9, at(part) + half, from);
    }

    /// Ends where an argument is not what is wanted, or nothing was read or written.
    fn only(&mut self, hook: &Hook) {
        if let Some(only) = hook.only {
            self.argument(R1, only.argument);
            let end = self.end;
            self.code.and(R1, only.bits);
            self.code.jump_unless(R1, only.are, end);
        }
        let returns_bytes = matches!(
            hook.range,
            Range::Moved | Range::Next | Range::MovedBehind(_)
        );
        if returns_bytes {
            self.argument(R1, hook.arguments);
            let end = self.end;
            self.code.jump_if_at_most(R1, 0, end);
        }
    }

    /// `R8` = the task.
    fn task(&mut self) {
        self.code.call(match self.of.reading {
            Reading::Loads => Helper::GetCurrentTaskBtf,
            Reading::Helper => Helper::GetCurrentTask,
        });
        self.code.copy(R8, R0);
    }

    /// Ends if the task is ours.
    fn only_others(&mut self) -> Option<()> {
        self.member(R1, R8, ("task_struct", "tgid"), Width::Four)?;
        let (end, except) = (self.end, self.of.except.cast_signed());
        self.code.jump_if(R1, except, end);
        Some(())
    }

    /// Notes the time on the stack.
    fn now(&mut self) {
        self.code.call(Helper::KtimeGetNs);
        self.code.store(Width::Eight, Frame, NOW, R0);
    }

    /// Where switches are not seen, keeps on the stack what the kernel counts of the task in `R8`:
    /// its CPU time, which lags by up to a tick, and what it has read from disks.
    fn counts(&mut self) -> Option<()> {
        if self.of.switches == Switches::Seen {
            return Some(());
        }
        let ran = ("task_struct", "se.sum_exec_runtime");
        self.member(R1, R8, ran, Width::Eight)?;
        self.code.store(Width::Eight, Frame, RAN_THEN, R1);
        let read = ("task_struct", "ioac.read_bytes");
        match self.of.btf.offset(read.0, read.1) {
            Some(_) => self.member(R1, R8, read, Width::Eight)?,
            None => self.code.set(R1, 0),
        }
        self.code.store(Width::Eight, Frame, WAITED_THEN, R1);
        Some(())
    }

    /// `R1` = the CPU time of the task that runs, whose slot is in `R0`.
    fn ran(&mut self) {
        let code = &mut self.code;
        if self.of.switches == Switches::Unseen {
            return code.load(Width::Eight, R1, Frame, RAN_THEN);
        }
        code.load(Width::Eight, R1, R0, RAN);
        code.load(Width::Eight, R2, Frame, NOW);
        code.add_register(R1, R2);
        code.load(Width::Eight, R2, R0, SINCE);
        code.subtract(R1, R2);
    }

    /// `R1` = how long it has waited, in steps.
    fn waited(&mut self) {
        match self.of.switches {
            Switches::Seen => self.code.load(Width::Eight, R1, R0, WAITED),
            Switches::Unseen => self.code.load(Width::Eight, R1, Frame, WAITED_THEN),
        }
        self.code.shift_right(R1, STEP as i32);
    }

    /// `R0` = the slot of a task, `R2` = its thread.
    fn slot(&mut self, of: Register) -> Option<()> {
        self.member(R1, of, ("task_struct", "pid"), Width::Four)?;
        self.code.store(Width::Four, Frame, READ, R1);
        self.code.and(R1, SLOTS as i32 - 1);
        self.look_up(self.of.maps.slots);
        self.code.load(Width::Four, R2, Frame, READ);
        Some(())
    }

    /// Gives the slot in `R0` to the thread in `R2`, if it is another's.
    fn claim(&mut self) {
        let (others, own) = (self.code.label(), self.code.label());
        let code = &mut self.code;
        code.load(Width::Four, R1, R0, 0);
        code.jump_if_different(R1, R2, others);
        code.jump(own);
        code.stand(others);
        code.store(Width::Four, R0, 0, R2);
        for place in [RAN, SENT, WAITED] {
            code.store_value(R0, place, 0);
        }
        code.load(Width::Eight, R1, Frame, NOW);
        code.store(Width::Eight, R0, SINCE, R1);
        code.stand(own);
    }

    /// `R0` = what an array has at the place in `R1`; the kernel does it without a call.
    fn look_up(&mut self, map: i32) {
        let end = self.end;
        let code = &mut self.code;
        code.store(Width::Four, Frame, KEY, R1);
        code.map(R1, map);
        code.copy(R2, Frame);
        code.add(R2, i32::from(KEY));
        code.call(Helper::MapLookup);
        code.jump_if(R0, 0, end);
    }

    /// `R9` = the place of the next event; where there is none, the event is counted as lost.
    fn place(&mut self) {
        let (maps, end) = (self.of.maps, self.end);
        let code = &mut self.code;
        let has_room = code.label();
        code.map_value(R1, maps.counters);
        code.load(Width::Eight, R2, R1, HEAD);
        code.load(Width::Eight, R3, R1, TAIL);
        code.subtract(R2, R3);
        code.set(R0, 1);
        code.jump_if_below(R2, ROOM as i32, has_room);
        code.add_atomically(R1, LOST, R0);
        code.jump(end);
        code.stand(has_room);
        code.take_atomically(R1, HEAD, R0);
        code.store(Width::Eight, Frame, NUMBER, R0);
        code.copy(R1, R0);
        code.and(R1, EVENTS as i32 - 1);
        self.look_up(maps.events);
        self.code.copy(R9, R0);
    }

    /// What the task has done until now, and its name.
    fn done(&mut self) -> Option<()> {
        self.code.load(Width::Eight, R1, Frame, NOW);
        self.put(Part::Ended, R1);
        self.member(R1, R8, ("task_struct", "nvcsw"), Width::Eight)?;
        self.put_half(Part::Slept, HALF, R1);
        let name = i16::try_from(self.of.btf.offset("task_struct", "comm")?).ok()?;
        for word in [0, WORD] {
            self.load(R1, R8, name + word, Width::Eight);
            self.code.store(Width::Eight, R9, at(Part::Name) + word, R1);
        }
        Some(())
    }

    /// Who it is, and what it had done when it began: as the slot says if it is this task's, else
    /// what it has at its end.
    fn began(&mut self, when: When) -> Option<()> {
        for (half, name) in [(0, "pid"), (HALF, "tgid")] {
            self.member(R1, R8, ("task_struct", name), Width::Four)?;
            self.put_half(Part::Task, half, R1);
        }
        self.code.load(Width::Eight, R1, Frame, NOW);
        self.put(Part::Began, R1);
        self.code.load(Width::Four, R1, R9, at(Part::Slept) + HALF);
        self.put_half(Part::Slept, 0, R1);
        self.counts()?;
        self.slot(R8)?;
        let (other, known) = (self.code.label(), self.code.label());
        if when == When::Both {
            self.as_begun(other);
            self.code.jump(known);
        }
        self.code.stand(other);
        self.claim();
        self.ran();
        self.put(Part::RanAtBegin, R1);
        self.waited();
        self.put_half(Part::Waited, 0, R1);
        self.code.stand(known);
        self.ran();
        self.put(Part::RanAtEnd, R1);
        self.waited();
        self.put_half(Part::Waited, HALF, R1);
        Some(())
    }

    /// As the slot in `R0` says, unless it is not that of the thread in `R2`.
    fn as_begun(&mut self, other: Label) {
        self.code.load(Width::Four, R1, R0, 0);
        self.code.jump_if_different(R1, R2, other);
        for (place, part) in [(1, Part::Began), (2, Part::RanAtBegin)] {
            self.code.load(Width::Eight, R1, R0, place * WORD);
            self.put(part, R1);
        }
        for (half, part) in [(0, Part::Slept), (HALF, Part::Waited)] {
            self.code.load(Width::Four, R1, R0, 3 * WORD + half);
            self.put_half(part, 0, R1);
        }
    }

    /// `R9` has the event, `R7` the inode.
    fn range(&mut self, hook: &Hook) -> Option<()> {
        match hook.range {
            Range::Moved | Range::Next | Range::MovedBehind(_) => self.returned(hook)?,
            Range::Given(first, second) | Range::Pages(first, second) => {
                for (part, number) in [(Part::Offset, first), (Part::Length, second)] {
                    self.argument(R1, number);
                    self.put(part, R1);
                }
            }
            Range::From(first) => {
                self.argument(R1, first);
                self.put(Part::Offset, R1);
                self.member(R1, R7, ("inode", "i_nlink"), Width::Four)?;
                self.put(Part::Length, R1);
            }
            Range::Whole => {
                self.code.store_value(R9, at(Part::Offset), 0);
                self.code.store_value(R9, at(Part::Length), 0);
            }
            Range::Faulted => {
                self.argument(R1, 0);
                self.member(R1, R1, ("vm_fault", "pgoff"), Width::Eight)?;
                self.code.shift_left(R1, PAGE.ilog2().cast_signed());
                self.put(Part::Offset, R1);
                self.code
                    .store_value(R9, at(Part::Length), i32::try_from(PAGE).ok()?);
            }
        }
        Some(())
    }

    /// As many bytes as were returned.
    fn returned(&mut self, hook: &Hook) -> Option<()> {
        match hook.range {
            // Only a helper reads what an argument points to that is no structure.
            Range::MovedBehind(argument) => {
                self.argument(R2, argument);
                self.read(R2, R2, 0, Width::Eight);
            }
            _ => {
                self.argument(R2, 0);
                self.member(R2, R2, ("kiocb", "ki_pos"), Width::Eight)?;
            }
        }
        self.argument(R1, hook.arguments);
        self.put(Part::Length, R1);
        if hook.range != Range::Next {
            self.code.subtract(R2, R1);
        }
        self.put(Part::Offset, R2);
        Some(())
    }

    /// The event is whole: its number is one more than how many stand before it.
    fn send(&mut self, kind: i32) {
        let code = &mut self.code;
        code.store_value(R9, at(Part::Kind), kind);
        code.load(Width::Eight, R1, Frame, NUMBER);
        code.add(R1, 1);
        code.store(Width::Eight, R9, at(Part::Number), R1);
    }
}
