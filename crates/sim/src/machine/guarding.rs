//! A task that is the guard: it samples, lets the policies decide and does what they say, as the
//! daemon does on a live machine.

mod dropping;
mod sampling;
pub(crate) mod state;

use alloc::boxed::Box;
use alloc::string::String;

use guard::sample::Use;
use guard::{Action, File, Looked, Scope, Touch, User};
use mm::settings::Setting;
use mm::units::{Bytes, Nanos};

use crate::error::Error;
use crate::machine::guarding::state::{Guarding, Underway};
use crate::machine::running::Area;
use crate::machine::state::Stop;
use crate::machine::steps::reclaim_text;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::Progress;
use crate::mm::mlock::{Locking, Which};
use crate::sched::core::{Flow, Sleep};

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
            Action::Drop { files, most } => self.drop_for(guarding, files, *most),
            Action::Set(setting) => self.set_for(guarding, setting),
            Action::GiveBack(tunable) => self.give_back(guarding, tunable),
        }
        Ok(())
    }

    /// What the kernel refuses stays as it is: the policy sees that in the next sample.
    fn set_for(&mut self, guarding: &mut Guarding, setting: &Setting) {
        self.memory.cpu.spent += self.memory.cpu.costs.set_ps;
        let before = self.tunables.before(&setting.tunable, &self.memory);
        let written = self.tunables.write(setting, &mut self.memory);
        if let Some(before) = before.filter(|_| written.is_ok()) {
            let tunable = setting.tunable.clone();
            guarding.before.entry(tunable).or_insert(before);
        }
    }

    fn give_back(&mut self, guarding: &mut Guarding, tunable: &str) {
        self.memory.cpu.spent += self.memory.cpu.costs.set_ps;
        if let Some(before) = guarding.before.remove(tunable) {
            self.tunables.write(&before, &mut self.memory).ok();
        }
    }

    /// Writes to a `memory.reclaim`.
    fn reclaim_for(
        &mut self,
        task: &mut Task<'a>,
        guarding: &Guarding,
        scope: Scope,
        amount: Bytes,
    ) -> Result<(), Error> {
        let path = match scope {
            Scope::Group(index) => guarding.groups.get(index).map(String::as_str),
            Scope::Machine => Some(""),
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

    /// A file is opened by its first access: a guard will hear of it.
    pub(crate) fn opened(&mut self, task: &Task<'a>, area: Area) {
        if let Area::File { index, .. } = area
            && !task.has_open(index)
        {
            self.used(index, Use::Opened);
        }
    }

    /// A file was closed: a guard will hear of it.
    pub(crate) fn closed(&mut self, index: usize) {
        self.used(index, Use::Closed);
    }

    fn used(&mut self, index: usize, how: Use) {
        if self.is_guarded {
            let file = number(index);
            // A workload's tasks are one user's, as the guest runs them.
            let user = User::System;
            self.touches.push(Touch { file, how, user });
        }
    }
}

/// A file as the policies know it, by its index.
fn number(index: usize) -> File {
    File(u32::try_from(index).unwrap_or(u32::MAX))
}
