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
use mm::units::Nanos;

use crate::error::Error;
use crate::machine::guarding::sampling::resident;
use crate::machine::guarding::state::{Fanotify, Guarding, Underway};
use crate::machine::running::Area;
use crate::machine::steps::reclaim_text;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::machine::tunables::Tunables;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::{self as filemap, Progress};
use crate::mm::mlock::{Locking, Which};
use crate::mm::parts::Memory;
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
            return self.go_on_locking(task, guarding);
        }
        if let Some(decision) = guarding.todo.pop() {
            self.carry_out(task, guarding, &decision.action)?;
            return Ok(Flow::Continue);
        }
        if let Some(next) = guarding.next.take() {
            self.scheduler
                .sleep_until(&mut self.events, &mut self.memory.cpu, next);
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
        let Self {
            memory,
            files,
            tunables,
            ..
        } = self;
        memory.cpu.spent += memory.cpu.costs.syscall_ps;
        let index = |file: File| file.0 as usize;
        match action {
            Action::Look(file) => {
                let known = self.scenario.machine.files.get(index(*file));
                guarding.looked.push(Looked {
                    file: *file,
                    size: known.map(|file| file.size),
                    resident: resident(memory, &files[index(*file)]),
                });
            }
            Action::Lock { file, length } => {
                guarding.locks.insert(index(*file), *length);
                guarding.locking = Some(Underway {
                    file: index(*file),
                    at: Locking::default(),
                    end: files[index(*file)].pages_below(&memory.cpu, *length),
                    which: Which::Resident,
                });
            }
            Action::Fill { file, length, most } => {
                let filled = &files[index(*file)];
                let pages = filled.pages_below(&memory.cpu, *length);
                let first = filled.first_unlocked(&memory.folios, pages);
                guarding.locking = Some(Underway {
                    file: index(*file),
                    at: Locking::at(first),
                    end: pages.min(first + filled.pages_below(&memory.cpu, *most)),
                    which: Which::All,
                });
            }
            Action::Unlock(file) => {
                guarding.locks.remove(&index(*file));
                task.unlock(memory, &files[index(*file)]);
            }
            Action::Reclaim { scope, amount } => {
                if let Some(path) = guarding.path(*scope) {
                    let text = reclaim_text(amount.0, Some(0));
                    task.write_cgroup(memory, path, "memory.reclaim", &text)?;
                }
            }
            Action::Drop { files: found, most } => {
                let sizes = &self.scenario.machine.files;
                guarding.drop_files(memory, files, sizes, found, *most);
            }
            Action::Set(setting) => guarding.set(tunables, memory, setting),
            Action::GiveBack(tunable) => guarding.give_back(tunables, memory, tunable),
        }
        Ok(())
    }

    fn go_on_locking(
        &mut self,
        task: &mut Task<'a>,
        guarding: &mut Guarding,
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
        // Where it was killed, it ends with its next step, which finds what it had locked.
        let stop = self.stop(task, progress)?;
        Ok(task.stopped(stop))
    }
}

impl Guarding {
    /// What the kernel refuses stays as it is: the policy sees that in the next sample.
    fn set(&mut self, tunables: &mut Tunables, memory: &mut Memory, setting: &Setting) {
        memory.cpu.spent += memory.cpu.costs.set_ps;
        let before = tunables.before(&setting.tunable, memory);
        let written = tunables.write(setting, memory);
        if let Some(before) = before.filter(|_| written.is_ok()) {
            let tunable = setting.tunable.clone();
            self.before.entry(tunable).or_insert(before);
        }
    }

    fn give_back(&mut self, tunables: &mut Tunables, memory: &mut Memory, tunable: &str) {
        memory.cpu.spent += memory.cpu.costs.set_ps;
        if let Some(before) = self.before.remove(tunable) {
            tunables.write(&before, memory).ok();
        }
    }

    /// The group whose `memory.reclaim` is written to.
    fn path(&self, scope: Scope) -> Option<&str> {
        match scope {
            Scope::Group(index) => self.groups.get(index).map(String::as_str),
            Scope::Machine => Some(""),
        }
    }
}

impl Task<'_> {
    fn unlock(&self, memory: &mut Memory, file: &filemap::File) {
        file.unmap(self.entity, memory);
        memory.unlock_file(file);
    }

    /// A guard that ends lets go of all it locked.
    pub(super) fn stop_guarding(&mut self, memory: &mut Memory, files: &[filemap::File]) {
        let Some(guarding) = self.guarding.take() else {
            return;
        };
        for index in guarding.locks.keys() {
            self.unlock(memory, &files[*index]);
        }
    }
}

impl Fanotify {
    /// A file is opened by its first access.
    pub(super) fn opened(&mut self, task: &Task<'_>, area: Area) {
        if let Area::File { index, .. } = area
            && !task.has_open(index)
        {
            self.note(index, Use::Opened);
        }
    }

    pub(super) fn closed(&mut self, index: usize) {
        self.note(index, Use::Closed);
    }

    fn note(&mut self, index: usize, how: Use) {
        if self.is_watched {
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
