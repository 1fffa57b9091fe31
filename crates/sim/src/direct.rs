//! Direct reclaim: a task that finds no page reclaims 32 itself (`try_to_free_pages`).

use crate::lruvec::ROOT;
use crate::memory::Memory;
use crate::page_alloc::NoPage;
use crate::vmscan::{BATCH, Control, DEF_PRIORITY, Pass, Progress, Reclaimer};

/// A direct reclaim under way.
#[derive(Clone, Debug)]
pub(crate) struct DirectReclaim {
    control: Control,
    pass: Option<Pass>,
    reclaimed: u64,
    over: bool,
}

impl Memory {
    /// Reclaims 32 pages, or goes on doing so; returns how many it got.
    ///
    /// # Errors
    /// It is not done: it waits for a disk, or has used its time.
    pub(crate) fn reclaim_directly(&mut self) -> Result<u64, NoPage> {
        let under_way = self.allocation.reclaim.take();
        if under_way.is_none() {
            self.stalls.push((self.now(), true));
        }
        let begin = || DirectReclaim::new(self.rules.swappiness);
        let mut reclaim = under_way.unwrap_or_else(begin);
        while !reclaim.over {
            let not_yet = match self.direct_step(&mut reclaim) {
                Progress::Congested { disk } => Some(NoPage::Congested { disk }),
                _ if self.spent >= self.budget && !reclaim.over => Some(NoPage::Again),
                _ => None,
            };
            if let Some(why) = not_yet {
                self.allocation.reclaim = Some(reclaim);
                return Err(why);
            }
        }
        self.stalls.push((self.now(), false));
        self.snapshot_refaults(ROOT);
        if reclaim.reclaimed > 0 {
            self.forgive_kswapd();
        }
        Ok(reclaim.reclaimed)
    }

    fn direct_step(&mut self, reclaim: &mut DirectReclaim) -> Progress {
        let Some(mut pass) = reclaim.pass.take() else {
            reclaim.pass = Some(self.begin_pass(reclaim.control));
            return Progress::More;
        };
        let progress = self.pass_step(&mut pass);
        if progress != Progress::Done {
            reclaim.pass = Some(pass);
            return progress;
        }
        reclaim.finish_pass(&pass);
        let got_nothing = reclaim.reclaimed == 0 && reclaim.control.priority == 1;
        match self.waits_for_writes().filter(|_| got_nothing) {
            Some(disk) => Progress::Congested { disk },
            None => progress,
        }
    }
}

impl DirectReclaim {
    fn new(swappiness: u64) -> Self {
        Self {
            control: Control::new(Reclaimer::Direct, BATCH, swappiness),
            pass: None,
            reclaimed: 0,
            over: false,
        }
    }

    /// Larger shares until there is a batch; where even the whole lists gave nothing, once more
    /// with active pages deactivated whatever the lists look like.
    fn finish_pass(&mut self, pass: &Pass) {
        self.reclaimed += pass.reclaimed;
        self.control.skipped_deactivate |= pass.control.skipped_deactivate;
        if self.reclaimed >= BATCH {
            self.over = true;
        } else if self.control.priority > 0 {
            self.control.priority -= 1;
        } else if self.reclaimed == 0 && self.control.skipped_deactivate {
            self.control.skipped_deactivate = false;
            self.control.force_deactivate = true;
            self.control.priority = DEF_PRIORITY;
        } else {
            self.over = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_scans_larger_shares_until_it_has_a_batch() {
        let mut memory = Memory::with_cache(20_000, 10, 8192, 0);
        // A 4096th of the list, a 2048th of what is left, …: four passes come to 27.
        assert_eq!(memory.reclaim_directly(), Ok(2 + 3 + 7 + 15 + 31));
        assert_eq!(memory.events.pgsteal_direct, 58);
        assert_eq!(Memory::with_zone(100, 1).reclaim_directly(), Ok(0));
    }

    #[test]
    fn active_pages_are_taken_when_nothing_else_is_left() {
        let mut memory = Memory::with_cache(20_000, 10, 0, 64);
        memory.lruvecs[ROOT].refaults_seen = memory.lruvecs[ROOT].activated_refaults;
        assert!(memory.reclaim_directly().expect("no disk") > 0);
    }
}
