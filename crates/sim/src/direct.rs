//! Direct reclaim: a task that finds no page reclaims 32 itself (`try_to_free_pages`).

use crate::memory::Memory;
use crate::page_alloc::NoPage;
use crate::vmscan::{BATCH, Control, DEF_PRIORITY, Pass, Progress, Reclaimer};

/// A direct reclaim under way.
#[derive(Clone, Debug)]
pub(crate) struct DirectReclaim {
    control: Control,
    pass: Option<Pass>,
    reclaimed: u64,
    /// The stall for memory that it is has been noted.
    begun: bool,
    over: bool,
}

impl Memory {
    /// Reclaims 32 pages, or goes on doing so; returns how many it got.
    ///
    /// # Errors
    /// It is not done: it waits for a disk, or has used its time.
    pub(crate) fn reclaim_directly(&mut self) -> Result<u64, NoPage> {
        let control = Control::new(Reclaimer::Direct, BATCH, self.rules.swappiness);
        let begin = || DirectReclaim::new(control);
        let mut reclaim = self.allocation.reclaim.take().unwrap_or_else(begin);
        let got = self.run_reclaim(&mut reclaim);
        self.allocation.reclaim = got.is_err().then_some(reclaim);
        got
    }

    /// Lets kswapd, where it has just been woken, have the CPU before a task reclaims itself
    /// (`__perform_reclaim`); the task does so whatever kswapd has found.
    ///
    /// # Errors
    /// kswapd waits for the CPU.
    pub(crate) fn begin_direct_reclaim(&mut self) -> Result<(), NoPage> {
        let control = Control::new(Reclaimer::Direct, BATCH, self.rules.swappiness);
        self.allocation.reclaim = Some(DirectReclaim::new(control));
        match self.may_yield && self.kswapd.wants_cpu() {
            true => Err(NoPage::Again),
            false => Ok(()),
        }
    }

    /// Goes on with a reclaim to its end; returns how many pages it got.
    ///
    /// # Errors
    /// It is not done: it waits for a disk, or has used its time.
    pub(crate) fn run_reclaim(&mut self, reclaim: &mut DirectReclaim) -> Result<u64, NoPage> {
        if !core::mem::replace(&mut reclaim.begun, true) {
            self.stalls.push((self.now(), true));
        }
        while !reclaim.over {
            let not_yet = match self.direct_step(reclaim) {
                Progress::Congested { disk } => Some(NoPage::Congested { disk }),
                _ if self.spent >= self.budget && !reclaim.over => Some(NoPage::Again),
                _ => None,
            };
            if let Some(why) = not_yet {
                return Err(why);
            }
        }
        self.stalls.push((self.now(), false));
        self.snapshot_refaults(reclaim.control.target);
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
    pub(crate) fn new(control: Control) -> Self {
        Self {
            control,
            pass: None,
            reclaimed: 0,
            begun: false,
            over: false,
        }
    }

    /// Larger shares until there is a batch; where even the whole lists gave nothing, once more
    /// with active pages deactivated whatever the lists look like, and then with the groups that
    /// are below their low limit.
    fn finish_pass(&mut self, pass: &Pass) {
        self.reclaimed += pass.reclaimed;
        self.control.skipped_deactivate |= pass.control.skipped_deactivate;
        self.control.low_skipped |= pass.control.low_skipped;
        if self.reclaimed >= self.control.goal {
            self.over = true;
        } else if self.control.priority > 0 {
            self.control.priority -= 1;
        } else if self.reclaimed == 0 && self.control.skipped_deactivate {
            self.control.skipped_deactivate = false;
            self.control.force_deactivate = true;
            self.control.priority = DEF_PRIORITY;
        } else if self.reclaimed == 0 && self.control.low_skipped {
            self.control.low_skipped = false;
            self.control.low_too = true;
            self.control.force_deactivate = false;
            self.control.priority = DEF_PRIORITY;
        } else {
            self.over = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lruvec::ROOT;

    #[test]
    fn it_scans_larger_shares_until_it_has_a_batch() {
        let mut memory = Memory::with_cache(20_000, 10, 8192, 0);
        // A 4096th of the list, a 2048th of what is left, …: four passes come to 27.
        assert_eq!(memory.reclaim_directly(), Ok(2 + 3 + 7 + 15 + 31));
        assert_eq!(memory.events.pgsteal_direct, 58);
        assert_eq!(Memory::with_zone(100, 1).reclaim_directly(), Ok(0));
    }

    #[test]
    fn a_pass_over_the_node_costs_even_where_it_finds_nothing() {
        let mut memory = Memory::with_zone(100, 1);
        memory.costs.pass_ps = 9_000_000;
        assert_eq!(memory.reclaim_directly(), Ok(0));
        assert_eq!(memory.take_spent(), 13 * 9_000_000, "priorities 12 to 0");
    }

    #[test]
    fn active_pages_are_taken_when_nothing_else_is_left() {
        let mut memory = Memory::with_cache(20_000, 10, 0, 64);
        memory.lruvecs[ROOT].refaults_seen = memory.lruvecs[ROOT].activated_refaults;
        assert!(memory.reclaim_directly().expect("no disk") > 0);
    }

    #[test]
    fn kswapd_has_the_cpu_first_and_the_task_reclaims_whatever_it_found() {
        let mut memory = Memory::with_cache(10_000, 1000, 8000, 0);
        memory.may_yield = true;
        memory.zones[0].free = 900;
        let page = memory.take_range(1).expect("there is room");
        let again = memory.allocate(page, crate::folio::State::Inactive);
        assert_eq!(
            (again, memory.kswapd.is_awake()),
            (Err(NoPage::Again), true)
        );
        memory.kswapd.is_told();
        while memory.kswapd.is_awake() {
            memory.kswapd_step();
        }
        assert!(memory.is_balanced(0), "there would be a page without it");
        assert_eq!(memory.allocate(page, crate::folio::State::Inactive), Ok(()));
        assert!(memory.events.pgsteal_direct > 0);
    }
}
