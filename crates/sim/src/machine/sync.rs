//! Tasks that make files durable: one of them (`vfs_fsync`), or all before the page cache is
//! dropped.

use alloc::boxed::Box;

use crate::error::Error;
use crate::fs::drop_caches::drop_caches;
use crate::machine::state::{Durable, Stop};
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::state::Progress;
use crate::sched::core::Flow;

impl<'a> System<'a> {
    /// Goes on making files durable.
    pub(super) fn sync(
        &mut self,
        task: &mut Task<'a>,
        mut durable: Box<Durable<'a>>,
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
                .step(durable.outcome(&task.name, self.memory.cpu.now()));
            task.go_past_step();
            return Ok(Flow::Continue);
        }
        task.durable = Some(durable);
        Ok(Stop::flow(self.stop(task, progress)?))
    }
}
