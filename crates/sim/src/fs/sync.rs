//! Tasks that make files durable (`fs/sync.c`): one of them (`vfs_fsync`), or all before the page
//! cache is dropped.

use alloc::boxed::Box;

use mm::units::Nanos;

use crate::error::Error;
use crate::fs::fs_writeback::state::Syncing;
use crate::machine::state::{Durable, Stop};
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::parts::Memory;
use crate::sched::core::Flow;

/// Drops the page cache, once all files are durable (`drop_caches_sysctl_handler`).
fn drop_caches(memory: &mut Memory, files: &[File]) {
    memory.writeback.sync_disks(
        &mut memory.cpu,
        &memory.folios,
        &memory.objects,
        &mut memory.io,
    );
    memory.drop_journal_blocks();
    for file in files {
        file.drop_pages(memory);
    }
}

impl<'a> System<'a> {
    /// Begins to make files durable: one, or where the page cache is to be dropped afterwards all
    /// of them.
    pub(crate) fn begin_sync(
        &mut self,
        task: &mut Task<'a>,
        file: Option<usize>,
        label: Option<&'a str>,
        now: Nanos,
    ) {
        let files = match file {
            Some(file) => {
                self.memory.cpu.spent += self.memory.cpu.costs.fsync_call_ps;
                file..file + 1
            }
            None => 0..self.files.len(),
        };
        task.durable = Some(Box::new(Durable {
            syncing: Syncing::new(files),
            label,
            began: now,
            drops: file.is_none(),
        }));
    }

    /// Goes on making files durable.
    pub(crate) fn sync(
        &mut self,
        task: &mut Task<'a>,
        mut durable: Box<Durable<'a>>,
        now: Nanos,
    ) -> Result<Flow, Error> {
        let progress = self.memory.writeback.sync_step(
            &mut self.memory.cpu,
            &mut self.memory.folios,
            &mut self.memory.rmap,
            &mut self.memory.io,
            &mut durable.syncing,
        );
        if progress == Progress::Complete {
            if durable.drops {
                drop_caches(&mut self.memory, &self.files);
            }
            self.recorder
                .step(durable.outcome(&task.name, self.local_time(now)));
            task.go_past_step();
            return Ok(Flow::Continue);
        }
        task.durable = Some(durable);
        match self.stop(task, progress, now)? {
            Some(Stop::Wait(sleep)) => Ok(Flow::Blocked(sleep)),
            _ => Ok(Flow::Continue),
        }
    }
}
