//! Recordings done again: run after run, each on a file of its own.

use alloc::boxed::Box;
use alloc::string::String;
use core::ops::Range;

use mm::units::{Nanos, PageSize};
use scenario::outcome::Status;
use scenario::recording::{Kind, Run};
use scenario::workload::{Pace, Replay};

use crate::error::Error;
use crate::fs::fs_writeback::state::Syncing;
use crate::machine::figures::Figures;
use crate::machine::replaying::{OpenFile, Replaying};
use crate::machine::running::Underway;
use crate::machine::state::Stop;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::readahead::Readahead;
use crate::sched::core::{Flow, Sleep};

const PAGE: u64 = PageSize::FOUR_KIB.bytes();

/// Pages that are handled between two looks at the clock.
const CHUNK: u64 = 32;

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
        task.replaying = Some(Box::new(Replaying {
            replay,
            stream,
            cursor: stream.behind(replay.skip),
            end: replay.skip.saturating_add(replay.runs.unwrap_or(u64::MAX)),
            figures: Figures::new(label, now),
            run: None,
            compute_ps: 0,
            sleep: Nanos::ZERO,
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
        now: Nanos,
    ) -> Result<Flow, Error> {
        let flow = match self.run_replay(task, &mut replaying, now)? {
            Stop::Budget => Flow::Continue,
            Stop::Wait(sleep) => Flow::Blocked(sleep),
            Stop::Done => {
                let end = self.local_time(now);
                let outcome = replaying.figures.outcome(&task.name, end, Status::Done);
                self.recorder.step(outcome);
                self.send_rests(&mut replaying);
                task.go_past_step();
                return Ok(Flow::Continue);
            }
            Stop::Killed => {
                task.exiting = Some(0);
                Flow::Continue
            }
        };
        task.replaying = Some(replaying);
        Ok(flow)
    }

    fn run_replay(
        &mut self,
        task: &mut Task<'a>,
        replaying: &mut Replaying<'a>,
        began: Nanos,
    ) -> Result<Stop, Error> {
        while self.memory.cpu.spent < self.memory.cpu.budget && !self.wakes_a_thread() {
            if self.memory.cpu.current.over_high > 0 && !replaying.is_in_call() {
                return Ok(Stop::Budget);
            }
            let stop = if replaying.syncing.is_some() {
                self.go_on_syncing(task, replaying, began)?
            } else if let Some(operation) = replaying.operation.take() {
                self.go_on_with_run(task, replaying, operation, began)?
            } else {
                self.begin_run(task, replaying, self.local_time(began))
            };
            if let Some(stop) = stop {
                return Ok(stop);
            }
        }
        Ok(Stop::Budget)
    }

    fn go_on_syncing(
        &mut self,
        task: &mut Task<'a>,
        replaying: &mut Replaying<'a>,
        began: Nanos,
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
            Progress::Complete => finish(task, replaying, since, 0, self.local_time(began)),
            _ => replaying.syncing = Some((since, syncing)),
        }
        self.stop(task, progress, began)
    }

    fn go_on_with_run(
        &mut self,
        task: &mut Task<'a>,
        replaying: &mut Replaying<'a>,
        mut operation: Underway,
        began: Nanos,
    ) -> Result<Option<Stop>, Error> {
        let progress = self.perform(replaying, &mut operation);
        let stop = self.stop(task, progress, began)?;
        if task.dying && progress == Progress::Complete {
            return Ok(Some(Stop::Killed));
        }
        match stop.is_none() && operation.cursor >= operation.end {
            true => {
                let end = self.local_time(began);
                finish(task, replaying, operation.began, operation.bytes, end);
            }
            false => replaying.operation = Some(operation),
        }
        Ok(stop)
    }

    /// Begins the next run, once what the task does before it is done.
    fn begin_run(
        &mut self,
        task: &mut Task<'a>,
        replaying: &mut Replaying<'a>,
        now: Nanos,
    ) -> Option<Stop> {
        let Some(run) = replaying.run else {
            let loop_ps = self.memory.cpu.costs.loop_ps;
            return (!replaying.go_to_next(now, loop_ps)).then_some(Stop::Done);
        };
        if replaying.compute_ps > 0 {
            self.memory.cpu.use_up(&mut replaying.compute_ps);
            return None;
        }
        if replaying.sleep > Nanos::ZERO {
            let sleep = core::mem::take(&mut replaying.sleep);
            self.sleep_for(task, sleep, now);
            return Some(Stop::Wait(Sleep::Idle));
        }
        if replaying.replay.pace == Pace::Clock && replaying.due > now {
            self.sleep_until(task, replaying.due);
            return Some(Stop::Wait(Sleep::Idle));
        }
        self.start_run(task, replaying, &run);
        None
    }

    fn start_run(&mut self, task: &mut Task<'a>, replaying: &mut Replaying<'a>, run: &Run) {
        let began = self.memory.cpu.now();
        let index = self.recorded_file(run.file);
        let costs = self.memory.cpu.costs;
        let file = &mut self.files[index];
        let beyond = file.end();
        self.memory.cpu.spent += match run.kind {
            Kind::Write => costs.write_call_ps,
            Kind::Sync => costs.fsync_call_ps,
            Kind::Load | Kind::Store => costs.operation_ps,
            Kind::Read | Kind::Open | Kind::Truncate | Kind::DontNeed => costs.syscall_ps,
        };
        match run.kind {
            Kind::Write => file.size = file.size.max(run.offset + run.length),
            Kind::Read => {}
            Kind::Load | Kind::Store => {
                let open = &mut replaying.files[run.file as usize];
                if !core::mem::replace(&mut open.is_mapped, true) {
                    task.mapped.insert(index);
                }
            }
            Kind::Sync => {
                replaying.syncing = Some((began, Syncing::new(index..index + 1)));
                return;
            }
            Kind::Open | Kind::Truncate | Kind::DontNeed => {
                self.change_file(replaying, run, index);
                finish(task, replaying, began, 0, self.memory.cpu.now());
                return;
            }
        }
        // A read beyond the end gives what there is.
        let end = (run.offset + run.length).min(file.size);
        let bytes = end.saturating_sub(run.offset);
        replaying.operation = Some(Underway {
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
    fn change_file(&mut self, replaying: &mut Replaying<'a>, run: &Run, index: usize) {
        let (file, memory) = (&mut self.files[index], &mut self.memory);
        match run.kind {
            Kind::Open => {
                let open = &mut replaying.files[run.file as usize].readahead;
                *open = Readahead::NEW;
            }
            Kind::Truncate => {
                file.size = file.size.min(run.offset);
                file.truncate_pages(memory);
            }
            _ => {
                let range = unneeded(run, file);
                if !range.is_empty() {
                    file.drop_range(range, memory);
                }
            }
        }
    }

    fn perform(&mut self, replaying: &mut Replaying<'a>, operation: &mut Underway) -> Progress {
        let Some(run) = replaying.run else {
            return Progress::Complete;
        };
        let index = self.recorded_file(run.file);
        if operation.changes_time {
            return self.change_time(operation, index);
        }
        let span = operation.span();
        let batch = match run.kind {
            Kind::Read => self.batch,
            _ => CHUNK,
        };
        let stop = (operation.cursor + batch).min(operation.end);
        let mut reader = Reader {
            memory: &mut self.memory,
            file: &self.files[index],
            readahead: &mut replaying.files[run.file as usize].readahead,
        };
        let cursor = &mut operation.cursor;
        match run.kind {
            Kind::Read => reader.read(cursor, stop, span),
            Kind::Write => reader.write(cursor, stop, span, operation.beyond),
            _ => reader.touch(cursor, stop, operation.write, &mut operation.faulting),
        }
    }

    /// The index of a file of the recording.
    fn recorded_file(&self, number: u32) -> usize {
        self.scenario.machine.files.len() + number as usize
    }

    /// Sends the requests for the pages of interrupted windows that are locked already.
    pub(crate) fn send_rests(&mut self, replaying: &mut Replaying<'a>) {
        for (number, open) in replaying.files.iter_mut().enumerate() {
            if let Some(rest) = open.readahead.take_rest() {
                let file = &self.files[self.scenario.machine.files.len() + number];
                let mut reader = Reader {
                    memory: &mut self.memory,
                    file,
                    readahead: &mut open.readahead,
                };
                reader.request(rest.gap, rest.window.start);
            }
        }
    }
}

/// A run is over.
fn finish(
    task: &mut Task<'_>,
    replaying: &mut Replaying<'_>,
    began: Nanos,
    bytes: u64,
    end: Nanos,
) {
    replaying.finish_run(began, bytes, end);
    task.operations += 1;
    task.bytes += bytes;
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
