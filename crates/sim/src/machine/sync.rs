//! Tasks that write files out: one of them to make it durable (`vfs_fsync`), or what is to be
//! dropped: a file's pages, or the whole page cache.

use alloc::boxed::Box;

use crate::error::Error;
use crate::fs::drop_caches::drop_caches;
use crate::machine::state::{Drops, Stop, WritingOut};
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::state::Progress;
use crate::sched::core::Flow;

impl<'a> System<'a> {
    /// Goes on writing files out.
    pub(super) fn write_out(
        &mut self,
        task: &mut Task<'a>,
        mut writing_out: Box<WritingOut<'a>>,
    ) -> Result<Flow, Error> {
        let progress = self.memory.writeback.sync_step(
            &mut self.memory.cpu,
            &mut self.memory.folios,
            &mut self.memory.rmap,
            &mut self.memory.io,
            &mut writing_out.syncing,
        );
        if progress == Progress::Complete {
            match writing_out.then {
                Drops::None => {}
                Drops::OfFile(file) => self.files[file].drop_pages(&mut self.memory),
                Drops::All => drop_caches(&mut self.memory, &self.files),
            }
            self.recorder
                .step(writing_out.outcome(&task.name, self.memory.cpu.now()));
            task.go_past_step();
            return Ok(Flow::Continue);
        }
        task.writing_out = Some(writing_out);
        Ok(Stop::flow(self.stop(task, progress)?))
    }
}
