//! Recordings done again: run after run, each on a file of its own.

use alloc::boxed::Box;
use alloc::string::String;
use core::ops::Range;

use mm::units::{Nanos, PageSize};
use scenario::outcome::Status;
use scenario::recording::{Kind, Run};
use scenario::workload::{Pace, Replay, Via};

use crate::error::Error;
use crate::fs::fs_writeback::state::Syncing;
use crate::machine::figures::Figures;
use crate::machine::replaying::{OpenFile, Replaying, Wait};
use crate::machine::running::Underway;
use crate::machine::state::Stop;
use crate::machine::system::{System, wakes_a_thread};
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::parts::Memory;
use crate::mm::readahead::Readahead;
use crate::sched::core::{Flow, Sleep};
use crate::sched::cpu::Cpu;
use crate::sched::wait::WaitsFor;

const PAGE: u64 = PageSize::FOUR_KIB.bytes();

impl<'a> System<'a> {
    /// Begins to do a stream again.
    pub(crate) fn begin_replay(
        &mut self,
        task: &mut Task<'a>,
        replay: &'a Replay,
        label: Option<&'a str>,
        now: Nanos,
    ) -> Result<Flow, Error> {
        let recorded = &self.scenario.recorded;
        let unknown = |what: String| Error::Unknown {
            what,
            place: task.place(),
        };
        if self.scenario.machine.recorded_on.is_none() {
            return Err(unknown("disk for the files of the recording".into()));
        }
        let stream = recorded.stream(replay.stream);
        let stream = stream.ok_or_else(|| unknown(alloc::format!("stream {}", replay.stream)))?;
        self.bench
            .make_buffer_of(&mut self.memory, task, stream.longest())?;
        let passed = stream
            .iter()
            .take(usize::try_from(replay.skip).unwrap_or(usize::MAX));
        let wakes = passed.filter(|run| run.kind == Kind::Wake).count() as u64;
        self.streams.begin(replay.stream, wakes);
        task.replaying = Some(Box::new(Replaying {
            replay,
            stream,
            first_file: self.scenario.machine.files.len(),
            cursor: stream.behind(replay.skip),
            end: replay.skip.saturating_add(replay.runs.unwrap_or(u64::MAX)),
            figures: Figures::new(label, now),
            run: None,
            compute_ps: 0,
            sleep: Nanos::ZERO,
            has_slept: false,
            due: now,
            operation: None,
            syncing: None,
            files: alloc::vec![OpenFile::NEW; recorded.files.len()],
        }));
        Ok(Flow::Continue)
    }

    /// Takes it further, until something stops it.
    pub(crate) fn go_on_replaying(
        &mut self,
        task: &mut Task<'a>,
        mut replaying: Box<Replaying<'a>>,
    ) -> Result<Flow, Error> {
        let stop = self.run_replay(task, &mut replaying)?;
        if stop == Stop::Done {
            let end = self.memory.cpu.now();
            let outcome = replaying.figures.outcome(&task.name, end, Status::Done);
            self.recorder.step(outcome);
            replaying.send_rests(&mut self.memory, &self.files);
            self.end_stream(replaying.replay.stream, end);
            task.go_past_step();
            return Ok(Flow::Continue);
        }
        task.replaying = Some(replaying);
        Ok(task.stopped(Some(stop)))
    }

    fn run_replay(
        &mut self,
        task: &mut Task<'a>,
        replaying: &mut Replaying<'a>,
    ) -> Result<Stop, Error> {
        while self.memory.cpu.spent < self.memory.cpu.budget
            && !wakes_a_thread(&self.memory, &self.scheduler)
        {
            if self.memory.cpu.current.over_high > 0 && !replaying.is_in_call() {
                return Ok(Stop::Budget);
            }
            let stop = if replaying.syncing.is_some() {
                self.go_on_syncing(task, replaying)?
            } else if let Some(operation) = replaying.operation.take() {
                self.go_on_with_run(task, replaying, operation)?
            } else {
                self.begin_run(task, replaying)
            };
            if let Some(stop) = stop {
                return Ok(stop);
            }
        }
        Ok(Stop::Budget)
    }

    /// A stream has ended: whoever waits for it looks again.
    pub(crate) fn end_stream(&mut self, stream: u32, now: Nanos) {
        self.streams.end(stream);
        self.scheduler
            .wake_waiters_for_stream(stream, u64::MAX, now);
    }

    /// What has no file: it wakes tasks, or waits for one.
    fn wake_or_wait(
        &mut self,
        task: &mut Task<'a>,
        replaying: &mut Replaying<'a>,
        run: &Run,
    ) -> Option<Stop> {
        let now = self.memory.cpu.now();
        if run.kind == Kind::Wake {
            let number = self.streams.wake(replaying.replay.stream);
            let stream = replaying.replay.stream;
            self.scheduler.wake_waiters_for_stream(stream, number, now);
        } else if !self.scenario.recorded.is_circular {
            match self.streams.look(run.file, run.offset) {
                Wait::Goes => {
                    let (stream, number) = (run.file, run.offset);
                    let waits = WaitsFor::Wake { stream, number };
                    self.scheduler.queue.add(waits, task.entity);
                    return Some(Stop::Wait(Sleep::Idle));
                }
                Wait::NotBegun if !core::mem::replace(&mut replaying.has_slept, true) => {
                    let (cpu, events) = (&mut self.memory.cpu, &mut self.events);
                    self.scheduler.sleep_for(events, cpu, run.sleep);
                    return Some(Stop::Wait(Sleep::Idle));
                }
                Wait::NotBegun | Wait::Over => {}
            }
        }
        finish(task, replaying, now, 0, &self.memory.cpu);
        None
    }

    fn go_on_syncing(
        &mut self,
        task: &mut Task<'a>,
        replaying: &mut Replaying<'a>,
    ) -> Result<Option<Stop>, Error> {
        let Some((since, mut syncing)) = replaying.syncing.take() else {
            return Ok(None);
        };
        let progress = self.memory.writeback.sync_step(
            &mut self.memory.cpu,
            &mut self.memory.folios,
            &mut self.memory.rmap,
            &mut self.memory.io,
            &mut syncing,
        );
        match progress {
            Progress::Complete => {
                replaying.drop_unneeded(&mut self.memory, &self.files);
                finish(task, replaying, since, 0, &self.memory.cpu);
            }
            _ => replaying.syncing = Some((since, syncing)),
        }
        self.stop(task, progress)
    }

    fn go_on_with_run(
        &mut self,
        task: &mut Task<'a>,
        replaying: &mut Replaying<'a>,
        mut operation: Underway,
    ) -> Result<Option<Stop>, Error> {
        let progress = replaying.perform(&mut self.memory, &self.files, &mut operation);
        let stop = self.stop(task, progress)?;
        if task.dying && progress == Progress::Complete {
            return Ok(Some(Stop::Killed));
        }
        match stop.is_none() && operation.cursor >= operation.end {
            true => {
                let Underway { began, bytes, .. } = operation;
                finish(task, replaying, began, bytes, &self.memory.cpu);
            }
            false => replaying.operation = Some(operation),
        }
        Ok(stop)
    }

    /// Begins the next run, once what the task does before it is done.
    fn begin_run(&mut self, task: &mut Task<'a>, replaying: &mut Replaying<'a>) -> Option<Stop> {
        let Self {
            memory,
            scheduler,
            events,
            ..
        } = self;
        let now = memory.cpu.now();
        let cpu = &mut memory.cpu;
        let Some(run) = replaying.run else {
            return (!replaying.go_to_next(cpu)).then_some(Stop::Done);
        };
        if replaying.compute_ps > 0 {
            cpu.use_up(&mut replaying.compute_ps);
            return None;
        }
        if replaying.sleep > Nanos::ZERO {
            scheduler.sleep_for(events, cpu, core::mem::take(&mut replaying.sleep));
            return Some(Stop::Wait(Sleep::Idle));
        }
        if replaying.replay.pace == Pace::Clock && replaying.due > now {
            scheduler.sleep_until(events, cpu, replaying.due);
            return Some(Stop::Wait(Sleep::Idle));
        }
        if !run.kind.is_of_file() {
            return self.wake_or_wait(task, replaying, &run);
        }
        replaying.start_run(task, memory, &mut self.files, &run);
        None
    }
}

impl Replaying<'_> {
    fn start_run(
        &mut self,
        task: &mut Task<'_>,
        memory: &mut Memory,
        files: &mut [File],
        run: &Run,
    ) {
        let began = memory.cpu.now();
        let index = self.index_of(run.file);
        let costs = memory.cpu.costs;
        let file = &mut files[index];
        let beyond = file.end();
        memory.cpu.spent += match run.kind {
            Kind::Write => costs.write_call_ps,
            Kind::Sync => costs.fsync_call_ps,
            Kind::Load | Kind::Store => costs.operation_ps,
            Kind::Wake | Kind::Wait => 0,
            Kind::Read | Kind::Open | Kind::Truncate | Kind::DontNeed => costs.syscall_ps,
        };
        match run.kind {
            Kind::Write => file.size = file.size.max(run.offset + run.length),
            Kind::Read | Kind::Wake | Kind::Wait => {}
            Kind::Load | Kind::Store => {
                let open = &mut self.files[run.file as usize];
                if !core::mem::replace(&mut open.is_mapped, true) {
                    task.mapped.insert(index);
                }
            }
            Kind::Sync => {
                self.syncing = Some((began, Syncing::new(index..index + 1)));
                return;
            }
            Kind::DontNeed => {
                let range = unneeded(run, file);
                self.syncing = Some((began, Syncing::beginning(index, range)));
                return;
            }
            Kind::Open | Kind::Truncate => {
                self.change_file(memory, file, run);
                finish(task, self, began, 0, &memory.cpu);
                return;
            }
        }
        // A read beyond the end gives what there is.
        let end = (run.offset + run.length).min(file.size);
        let bytes = end.saturating_sub(run.offset);
        self.operation = Some(Underway {
            began,
            offset: run.offset,
            cursor: run.offset / PAGE,
            end: match bytes {
                0 => 0,
                _ => end.div_ceil(PAGE),
            },
            bytes,
            write: run.kind.writes(),
            changes_time: run.kind == Kind::Write,
            meets_cache: false,
            beyond,
            faulting: false,
        });
    }

    /// What is over at once.
    fn change_file(&mut self, memory: &mut Memory, file: &mut File, run: &Run) {
        match run.kind {
            Kind::Open => self.files[run.file as usize].readahead = Readahead::NEW,
            Kind::Truncate => {
                file.size = file.size.min(run.offset);
                file.truncate_pages(memory);
            }
            _ => {}
        }
    }

    /// Drops what the run says is not needed, now that its writing has begun.
    fn drop_unneeded(&self, memory: &mut Memory, files: &[File]) {
        if let Some(run) = self.run.filter(|run| run.kind == Kind::DontNeed) {
            let file = &files[self.index_of(run.file)];
            file.drop_range(unneeded(&run, file), memory);
        }
    }

    fn perform(
        &mut self,
        memory: &mut Memory,
        files: &[File],
        operation: &mut Underway,
    ) -> Progress {
        let Some(run) = self.run else {
            return Progress::Complete;
        };
        let via = match run.kind {
            Kind::Load | Kind::Store => Via::Mmap,
            _ => Via::Syscall,
        };
        let reader = Reader {
            memory,
            file: &files[self.index_of(run.file)],
            readahead: &mut self.files[run.file as usize].readahead,
        };
        operation.go_on(reader, via)
    }

    /// The index of a file of the recording among the machine's.
    fn index_of(&self, number: u32) -> usize {
        self.first_file + number as usize
    }

    /// Sends the requests for the pages of interrupted windows that are locked already.
    pub(super) fn send_rests(&mut self, memory: &mut Memory, files: &[File]) {
        for (open, file) in self.files.iter_mut().zip(&files[self.first_file..]) {
            let readahead = &mut open.readahead;
            Reader {
                memory,
                file,
                readahead,
            }
            .send_rest();
        }
    }
}

/// A run is over.
fn finish(task: &mut Task<'_>, replaying: &mut Replaying<'_>, began: Nanos, bytes: u64, cpu: &Cpu) {
    replaying.finish_run(began, bytes, cpu);
    task.operations += cpu.scale;
    task.bytes += bytes * cpu.scale;
}

/// Whole pages of the range, and the last one where the file ends with it; a range without a length
/// goes to the end (`generic_fadvise`).
fn unneeded(run: &Run, file: &File) -> Range<u64> {
    let end = run.offset + run.length;
    let behind = match run.length {
        0 => file.pages,
        _ if end == file.size => file.end(),
        _ => end / PAGE,
    };
    run.offset.div_ceil(PAGE)..behind.min(file.pages)
}
