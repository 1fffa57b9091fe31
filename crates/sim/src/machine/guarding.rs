//! A task that is the guard: it samples, lets the policies decide and does what they say, as the
//! daemon does on a live machine.

pub(crate) mod state;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use guard::sample::{LOOKED_AT, Use};
use guard::{Action, File, Group, Held, Looked, Memory, Sample, Scope, Touch};
use mm::meminfo::Meminfo;
use mm::settings::Setting;
use mm::units::{Bytes, Nanos, PageSize, Pages};

use crate::error::Error;
use crate::machine::guarding::state::{Guarding, Underway};
use crate::machine::state::Stop;
use crate::machine::steps::reclaim_text;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::Progress;
use crate::mm::lru::Lru;
use crate::mm::mlock::{Locking, Which};
use crate::sched::core::{Flow, Sleep};

/// System calls by which the daemon takes a sample.
const CALLS: u64 = 8;

impl<'a> System<'a> {
    /// Takes the guard one action further. It ends only by being killed.
    pub(crate) fn guard(
        &mut self,
        task: &mut Task<'a>,
        config: &[(String, String)],
        now: Nanos,
    ) -> Result<Flow, Error> {
        let guarding = task.guarding.take();
        let mut guarding = guarding.unwrap_or_else(|| Box::new(Guarding::new(config)));
        let flow = self.go_on_guarding(task, &mut guarding, now);
        task.guarding = Some(guarding);
        flow
    }

    fn go_on_guarding(
        &mut self,
        task: &mut Task<'a>,
        guarding: &mut Guarding,
        now: Nanos,
    ) -> Result<Flow, Error> {
        if guarding.locking.is_some() {
            return self.go_on_locking(task, guarding, now);
        }
        if let Some(decision) = guarding.todo.pop() {
            self.carry_out(task, guarding, &decision.action)?;
            return Ok(Flow::Continue);
        }
        if let Some(next) = guarding.next.take() {
            self.sleep_until(task, next);
            return Ok(Flow::Blocked(Sleep::Idle));
        }
        self.take_sample(guarding, now);
        Ok(Flow::Continue)
    }

    fn take_sample(&mut self, guarding: &mut Guarding, now: Nanos) {
        self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps * CALLS;
        let meminfo = Meminfo::parse(&self.recorder.meminfo(&self.memory)).unwrap_or_default();
        let groups: Vec<_> = guarding
            .groups
            .iter()
            .map(|path| self.group_memory(path))
            .collect();
        let held: Vec<_> = guarding
            .locks
            .iter()
            .map(|(file, length)| self.held(*file, *length))
            .collect();
        let touches = core::mem::take(&mut self.touches);
        let looked = core::mem::take(&mut guarding.looked);
        let swappiness = self.tunables.value("vm.swappiness");
        let sample = Sample {
            at: now,
            memory: Memory::of(&meminfo),
            swappiness: swappiness.and_then(|text| text.parse().ok()).unwrap_or(60),
            groups: &groups,
            touches: &touches,
            looked: &looked,
            held: &held,
        };
        let next = guarding.guard.decide(&sample, &mut guarding.todo);
        guarding.todo.reverse();
        guarding.next = (next > Nanos::ZERO).then(|| now.saturating_add(next));
    }

    fn group_memory(&self, path: &str) -> Option<Group> {
        let group = self.memory.groups.find(path, "").ok()?;
        let memory = &self.memory;
        let list = |lru| {
            memory
                .lruvecs
                .list_below(&memory.cpu, &memory.zones, group, lru)
        };
        let bytes = |pages| memory.cpu.real(pages).bytes(PageSize::FOUR_KIB);
        let dirty = memory
            .lruvecs
            .known_dirty(&memory.cpu, &memory.writeback, group);
        Some(Group {
            file: bytes(list(Lru::InactiveFile) + list(Lru::ActiveFile)),
            dirty: bytes(dirty[0] + dirty[1]),
        })
    }

    fn held(&self, file: usize, length: Bytes) -> Held {
        let pages = self.pages_of(file, length);
        let locked = self.memory.locked_pages(&self.files[file], pages);
        Held {
            file: number(file),
            locked: self
                .memory
                .cpu
                .real(locked)
                .bytes(PageSize::FOUR_KIB)
                .min(length),
            is_stale: false,
        }
    }

    fn resident(&self, file: usize) -> Bytes {
        let pages = self.pages_of(file, LOOKED_AT);
        let resident = self.memory.resident_pages(&self.files[file], pages);
        self.memory.cpu.real(resident).bytes(PageSize::FOUR_KIB)
    }

    /// The pages of a file's first `length` bytes.
    fn pages_of(&self, file: usize, length: Bytes) -> u64 {
        let Pages(pages) = self
            .memory
            .cpu
            .sampled_size(length)
            .pages_ceil(PageSize::FOUR_KIB);
        pages.min(self.files[file].pages)
    }

    fn carry_out(
        &mut self,
        task: &mut Task<'a>,
        guarding: &mut Guarding,
        action: &Action,
    ) -> Result<(), Error> {
        self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps;
        let index = |file: File| file.0 as usize;
        match action {
            Action::Look(file) => {
                let known = self.scenario.machine.files.get(index(*file));
                guarding.looked.push(Looked {
                    file: *file,
                    size: known.map(|file| file.size),
                    resident: self.resident(index(*file)),
                });
            }
            Action::Lock { file, length } => {
                let pages = self.pages_of(index(*file), *length);
                guarding.locks.insert(index(*file), *length);
                guarding.locking = Some(Underway {
                    file: index(*file),
                    at: Locking::default(),
                    end: pages,
                    which: Which::Resident,
                });
            }
            Action::Fill { file, length, most } => {
                let pages = self.pages_of(index(*file), *length);
                let first = self.memory.first_unlocked(&self.files[index(*file)], pages);
                let end = pages.min(first + self.pages_of(index(*file), *most));
                guarding.locking = Some(Underway {
                    file: index(*file),
                    at: Locking::at(first),
                    end,
                    which: Which::All,
                });
            }
            Action::Unlock(file) => {
                guarding.locks.remove(&index(*file));
                self.unlock_file(task, index(*file));
            }
            Action::Reclaim { scope, amount } => {
                self.reclaim_for(task, guarding, *scope, *amount)?
            }
            Action::Set(setting) => self.set_for(setting)?,
        }
        Ok(())
    }

    fn set_for(&mut self, setting: &Setting) -> Result<(), Error> {
        self.memory.cpu.spent += self.memory.cpu.costs.set_ps;
        self.tunables.write(setting, &mut self.memory)
    }

    /// Writes to a `memory.reclaim`. Where the kernel cannot be told to spare anonymous memory, the
    /// machine as a whole is left alone.
    fn reclaim_for(
        &mut self,
        task: &mut Task<'a>,
        guarding: &Guarding,
        scope: Scope,
        amount: Bytes,
    ) -> Result<(), Error> {
        let rules = &self.memory.cpu.rules;
        let path = match scope {
            Scope::Group(index) => guarding.groups.get(index).map(String::as_str),
            Scope::Machine => rules.reclaim_knows_swappiness.then_some(""),
        };
        let Some(path) = path else {
            return Ok(());
        };
        self.write_cgroup(
            task,
            path,
            "memory.reclaim",
            &reclaim_text(amount.0, Some(0)),
        )
    }

    fn go_on_locking(
        &mut self,
        task: &mut Task<'a>,
        guarding: &mut Guarding,
        now: Nanos,
    ) -> Result<Flow, Error> {
        let Some(underway) = &mut guarding.locking else {
            return Ok(Flow::Continue);
        };
        let Underway {
            file, end, which, ..
        } = *underway;
        task.mapped.insert(file);
        let mut reader = Reader {
            memory: &mut self.memory,
            file: &self.files[file],
            readahead: task.readahead(file),
        };
        let progress = reader.lock(&mut underway.at, end, which);
        if progress == Progress::Complete {
            guarding.locking = None;
        }
        match self.stop(task, progress, now)? {
            Some(Stop::Wait(sleep)) => Ok(Flow::Blocked(sleep)),
            Some(Stop::Killed) => {
                // It ends with its next step, which finds what it had locked.
                task.exiting = Some(0);
                Ok(Flow::Continue)
            }
            _ => Ok(Flow::Continue),
        }
    }

    fn unlock_file(&mut self, task: &Task<'a>, index: usize) {
        self.files[index].unmap(task.entity, &mut self.memory);
        self.memory.unlock_file(&self.files[index]);
    }

    /// A guard that ends lets go of all it locked.
    pub(crate) fn stop_guarding(&mut self, task: &mut Task<'a>) {
        let Some(guarding) = task.guarding.take() else {
            return;
        };
        for index in guarding.locks.keys() {
            self.unlock_file(task, *index);
        }
    }

    /// A file was closed: a guard will hear of it.
    pub(crate) fn closed(&mut self, index: usize) {
        if self.is_guarded {
            self.touches.push(Touch {
                file: number(index),
                how: Use::Closed,
            });
        }
    }
}

/// A file as the policies know it, by its index.
fn number(index: usize) -> File {
    File(u32::try_from(index).unwrap_or(u32::MAX))
}
