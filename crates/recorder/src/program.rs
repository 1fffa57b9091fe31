//! The programs: at the begin of a function the time is noted, at its end an event is handed out.

use scenario::recording::Kind;

use super::assembly::{Assembly, Helper, Label, Register, Width};
use super::btf::Btf;
use super::event::{Added, NAME, Part, WORDS};
use super::hooks::{Hook, Of, Range, When};
use Register::{Frame, R0, R1, R2, R3, R4, R6, R7, R8, R9};

/// How many tasks can be within a function at once: slots, by the lowest bits of the thread.
pub(crate) const SLOTS: u32 = 1 << 14;

/// A slot: the thread, when it began, what it had run and how often it had slept.
pub(crate) const SLOT: u32 = 4 * WORD as u32;

const WORD: i16 = 8;

/// The event lies at the end of the stack; below it what is read, and a key.
const EVENT: i16 = -(WORDS as i16) * WORD;
const READ: i16 = EVENT - WORD;
const KEY: i16 = READ - WORD;

/// `IOCB_DIRECT`, past the page cache.
const DIRECT: i32 = 1 << 17;

/// The maps that programs share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maps {
    pub(crate) slots: i32,
    pub(crate) ring: i32,
    /// One word: how many events found the ring full.
    pub(crate) lost: i32,
}

/// How memory of the kernel is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// By a load, which the verifier holds against BTF: from programs at functions.
    Loads,
    /// By a helper.
    Helper,
}

/// What a program is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maker<'a> {
    pub(crate) btf: &'a Btf,
    pub(crate) maps: Maps,
    pub(crate) reading: Reading,
    /// The process that is not looked at: our own.
    pub(crate) except: u32,
}

/// A program that is being made; nothing comes of it where BTF lacks what it needs.
struct Program<'a> {
    of: Maker<'a>,
    code: Assembly,
    end: Label,
}

impl Maker<'_> {
    /// What runs at the begin of a function whose end is waited for.
    pub(crate) fn begin(&self) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.slot();
        let code = &mut program.code;
        code.load(Width::Eight, R1, Frame, EVENT + at(Part::Task));
        code.store(Width::Eight, R9, 0, R1);
        program.now(R9, WORD)?;
        Some(program.finish())
    }

    /// What hands out an event.
    pub(crate) fn event(&self, hook: &Hook) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.only(hook);
        match hook.when {
            When::Both => program.slot(),
            When::End | When::Begin => program.task(),
        }
        program.now(Frame, EVENT + at(Part::Ended))?;
        program.read_from_disks()?;
        program.began(hook.when);
        program.range(hook)?;
        program.file(hook)?;
        program.name();
        let kind = Kind::ALL.iter().position(|&kind| kind == hook.kind)?;
        program
            .code
            .store_value(Frame, EVENT + at(Part::Kind), kind as i32);
        program.send(WORDS);
        Some(program.finish())
    }

    /// What hands out the pages of a folio that came into the page cache.
    pub(crate) fn added(&self) -> Option<Vec<u64>> {
        let mut program = Program::new(*self);
        program.argument(R7, 0);
        program.member(R1, R7, ("folio", "index"), Width::Eight)?;
        program
            .code
            .store(Width::Eight, Frame, EVENT + 2 * WORD, R1);
        program.pages_of_folio()?;
        program.member(R7, R7, ("folio", "mapping"), Width::Eight)?;
        program.host()?;
        program.member(R1, R7, ("inode", "i_ino"), Width::Eight)?;
        program.code.store(Width::Eight, Frame, EVENT, R1);
        program.device(EVENT + WORD)?;
        program.send(Added::WORDS);
        Some(program.finish())
    }
}

/// Where a part lies in the event.
fn at(part: Part) -> i16 {
    part as i16 * WORD
}

impl<'a> Program<'a> {
    /// `R6` has the arguments from here on.
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
        match self.of.reading {
            Reading::Loads => self.code.load(width, to, from, offset),
            Reading::Helper => self.read(to, from, offset, width),
        }
        Some(())
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

    fn put(&mut self, part: Part, from: Register) {
        self.code.store(Width::Eight, Frame, EVENT + at(part), from);
    }

    /// Ends where an argument is not what is wanted, or nothing was read or written.
    fn only(&mut self, hook: &Hook) {
        if let Some((argument, value)) = hook.only {
            self.argument(R1, argument);
            let end = self.end;
            self.code.jump_unless(R1, value, end);
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

    /// Notes the task; ends if it is ours.
    fn task(&mut self) {
        self.code.call(Helper::GetCurrentPidTgid);
        self.put(Part::Task, R0);
        self.code.shift_right(R0, 32);
        let (end, except) = (self.end, self.of.except.cast_signed());
        self.code.jump_if(R0, except, end);
    }

    /// `R9` = the slot of the task.
    fn slot(&mut self) {
        self.task();
        let (maps, end) = (self.of.maps, self.end);
        let code = &mut self.code;
        code.load(Width::Eight, R1, Frame, EVENT + at(Part::Task));
        code.and(R1, SLOTS as i32 - 1);
        code.store(Width::Four, Frame, KEY, R1);
        code.map(R1, maps.slots);
        code.copy(R2, Frame);
        code.add(R2, i32::from(KEY));
        code.call(Helper::MapLookup);
        code.jump_if(R0, 0, end);
        code.copy(R9, R0);
    }

    /// Three words from `to` on: the time, what the task has run, how often it has slept. On the
    /// stack they lie two apart, as the event has begin and end beside each other. `R8` = the task.
    fn now(&mut self, to: Register, from: i16) -> Option<()> {
        let step = if to == Frame { 2 * WORD } else { WORD };
        self.code.call(Helper::KtimeGetNs);
        self.code.store(Width::Eight, to, from, R0);
        self.code.call(match self.of.reading {
            Reading::Loads => Helper::GetCurrentTaskBtf,
            Reading::Helper => Helper::GetCurrentTask,
        });
        self.code.copy(R8, R0);
        self.member(R1, R8, ("task_struct", "se.sum_exec_runtime"), Width::Eight)?;
        self.code.store(Width::Eight, to, from + step, R1);
        self.member(R1, R8, ("task_struct", "nvcsw"), Width::Eight)?;
        self.code.store(Width::Eight, to, from + 2 * step, R1);
        Some(())
    }

    /// Where the kernel counts no input and output of tasks, nothing was read.
    fn read_from_disks(&mut self) -> Option<()> {
        self.code.set(R1, 0);
        if self
            .of
            .btf
            .offset("task_struct", "ioac.read_bytes")
            .is_some()
        {
            self.member(R1, R8, ("task_struct", "ioac.read_bytes"), Width::Eight)?;
        }
        self.put(Part::ReadFromDisks, R1);
        Some(())
    }

    /// The begin is the slot's if it is this task's, else the end.
    fn began(&mut self, when: When) {
        let parts = [
            (Part::Began, Part::Ended),
            (Part::RanAtBegin, Part::RanAtEnd),
            (Part::SleptAtBegin, Part::SleptAtEnd),
        ];
        let done = self.code.label();
        for (begin, end) in parts {
            self.code.load(Width::Eight, R1, Frame, EVENT + at(end));
            self.put(begin, R1);
        }
        if when == When::Both {
            self.code.load(Width::Eight, R1, R9, 0);
            self.code
                .load(Width::Eight, R2, Frame, EVENT + at(Part::Task));
            self.code.jump_if_different(R1, R2, done);
            for (place, (begin, _)) in (1..).zip(parts) {
                self.code.load(Width::Eight, R1, R9, place * WORD);
                self.put(begin, R1);
            }
        }
        self.code.stand(done);
    }

    /// `R9` is lost.
    fn range(&mut self, hook: &Hook) -> Option<()> {
        self.code.set(R9, 0);
        self.put(Part::Length, R9);
        self.argument(R7, 0);
        match hook.range {
            Range::Moved | Range::Next | Range::MovedBehind(_) => self.returned(hook)?,
            Range::Given(first, length) => {
                self.argument(R9, first);
                self.argument(R1, length);
                self.put(Part::Length, R1);
            }
            Range::From(first) => self.argument(R9, first),
            Range::Pages(first, last) => self.pages(first, last),
            Range::Whole => {}
        }
        self.put(Part::Offset, R9);
        Some(())
    }

    /// As many bytes as were returned. `R9` = the first; `R7` is the first argument.
    fn returned(&mut self, hook: &Hook) -> Option<()> {
        if hook.file == Of::Iocb {
            let end = self.end;
            self.member(R9, R7, ("kiocb", "ki_flags"), Width::Four)?;
            self.code.and(R9, DIRECT);
            self.code.jump_unless(R9, 0, end);
            self.member(R9, R7, ("kiocb", "ki_pos"), Width::Eight)?;
        }
        if let Range::MovedBehind(argument) = hook.range {
            self.argument(R9, argument);
            self.read(R9, R9, 0, Width::Eight);
        }
        self.argument(R1, hook.arguments);
        self.put(Part::Length, R1);
        if hook.range != Range::Next {
            self.code.subtract(R9, R1);
        }
        Some(())
    }

    /// Pages are handed out as they are: a word each, first and last.
    fn pages(&mut self, first: i16, last: i16) {
        self.argument(R9, first);
        self.argument(R1, last);
        self.put(Part::Length, R1);
    }

    /// The inode of the first argument, which is in `R7`.
    fn file(&mut self, hook: &Hook) -> Option<()> {
        match hook.file {
            Of::Iocb => {
                self.member(R8, R7, ("kiocb", "ki_filp"), Width::Eight)?;
                self.member(R7, R8, ("file", "f_inode"), Width::Eight)?;
            }
            Of::Opened => self.member(R7, R7, ("file", "f_inode"), Width::Eight)?,
            Of::Mapping => {
                self.only_with_pages(hook)?;
                self.host()?;
            }
        }
        let parts = [
            (Part::Inode, "i_ino", Width::Eight),
            (Part::Size, "i_size", Width::Eight),
            (Part::Mode, "i_mode", Width::Two),
        ];
        for (part, name, width) in parts {
            self.member(R1, R7, ("inode", name), width)?;
            self.put(part, R1);
        }
        if hook.kind == Kind::Truncate {
            self.member(R1, R7, ("inode", "i_nlink"), Width::Four)?;
            self.put(Part::Length, R1);
        }
        self.device(EVENT + at(Part::Device))
    }

    /// `R7` = the inode of the mapping in `R7`; ends where there is none.
    fn host(&mut self) -> Option<()> {
        let end = self.end;
        self.code.jump_if(R7, 0, end);
        self.member(R7, R7, ("address_space", "host"), Width::Eight)?;
        self.code.jump_if(R7, 0, end);
        Some(())
    }

    /// Puts the device of the inode in `R7` onto the stack.
    fn device(&mut self, to: i16) -> Option<()> {
        self.member(R8, R7, ("inode", "i_sb"), Width::Eight)?;
        self.member(R1, R8, ("super_block", "s_dev"), Width::Four)?;
        self.code.store(Width::Eight, Frame, to, R1);
        Some(())
    }

    /// Puts how many pages the folio in `R7` has onto the stack: one, unless it is large.
    fn pages_of_folio(&mut self) -> Option<()> {
        let btf = self.of.btf;
        let head = 1
            << btf
                .enumerator("pageflags", "PG_head")
                .filter(|&bit| bit < 31)?;
        let names = ["_folio_nr_pages", "_nr_pages"];
        let number = names
            .into_iter()
            .find(|name| btf.offset("folio", name).is_some())?;
        let small = self.code.label();
        self.code.set(R8, 1);
        self.member(R1, R7, ("folio", "flags"), Width::Eight)?;
        self.code.and(R1, head);
        self.code.jump_if(R1, 0, small);
        self.member(R8, R7, ("folio", number), Width::Four)?;
        self.code.stand(small);
        self.code.store(Width::Eight, Frame, EVENT + 3 * WORD, R8);
        Some(())
    }

    /// What has no pages cached is not cut.
    fn only_with_pages(&mut self, hook: &Hook) -> Option<()> {
        if hook.kind == Kind::Truncate {
            self.member(R1, R7, ("address_space", "nrpages"), Width::Eight)?;
            let end = self.end;
            self.code.jump_if(R1, 0, end);
        }
        Some(())
    }

    fn name(&mut self) {
        let code = &mut self.code;
        code.copy(R1, Frame);
        code.add(R1, i32::from(EVENT + at(Part::Name)));
        code.set(R2, NAME as i32);
        code.call(Helper::GetCurrentComm);
    }

    /// Hands the event out, or counts it as lost. Nobody is woken.
    fn send(&mut self, words: usize) {
        const NO_WAKEUP: i32 = 1;
        let (maps, end) = (self.of.maps, self.end);
        let code = &mut self.code;
        code.map(R1, maps.ring);
        code.copy(R2, Frame);
        code.add(R2, i32::from(EVENT));
        code.set(R3, words as i32 * i32::from(WORD));
        code.set(R4, NO_WAKEUP);
        code.call(Helper::RingbufOutput);
        code.jump_if(R0, 0, end);
        code.store_value(Frame, KEY, 0);
        code.map(R1, maps.lost);
        code.copy(R2, Frame);
        code.add(R2, i32::from(KEY));
        code.call(Helper::MapLookup);
        code.jump_if(R0, 0, end);
        code.set(R1, 1);
        code.add_atomically(R0, 0, R1);
    }
}
