//! ksmd as a thread of the machine (`ksm_scan_thread`).

use mm::settings::Setting;
use mm::units::Nanos;
use mm::workload::Action;

use crate::machine::roles::{KSMD, WaitsFor};
use crate::machine::state::Flow;
use crate::machine::system::{BUDGET, System};
use crate::mm::ksm::Scan;
use crate::sched::core::{Event, Sleep};
use crate::sched::timer::TICK;

/// Tunables that are written under ksmd's mutex.
const WITH_MUTEX: [&str; 3] = ["ksm.run", "ksm.max_page_sharing", "ksm.merge_across_nodes"];

impl System<'_> {
    /// Lets ksmd scan, until its batch is over or something happens.
    pub(crate) fn run_ksmd(&mut self, from: Nanos) -> (Nanos, Flow) {
        let mut now = from;
        loop {
            self.memory.cpu.began = now;
            self.memory.cpu.unbroken = 0;
            self.memory.cpu.budget = BUDGET;
            let scan = self.memory.ksm_step();
            let ran = Nanos(self.memory.cpu.take_spent() / 1000 + 1);
            now += ran;
            self.memory.ksm.cpu_time += ran;
            match scan {
                Scan::More if now >= self.limit(from) => return (now, Flow::Continue),
                Scan::More => {}
                Scan::Sleeps => {
                    self.wake_waiters(WaitsFor::Ksmd, now);
                    self.ksmd_sleeps(now);
                    return (now, Flow::Blocked(Sleep::Idle));
                }
                Scan::Waits => return (now, Flow::Blocked(Sleep::Idle)),
            }
        }
    }

    /// Whether an action has to wait until ksmd's batch is over: who writes one of these tunables
    /// waits for the mutex that ksmd holds in a batch (`ksm_thread_mutex`).
    pub(crate) fn waits_for_ksmd(&self, action: &Action) -> bool {
        let waits = |settings: &[Setting]| {
            let mut settings = settings.iter();
            settings.any(|setting| WITH_MUTEX.contains(&setting.tunable.as_str()))
        };
        self.memory.ksm.is_in_batch
            && match action {
                Action::ApplyArm => waits(&self.scenario.arm_settings.0),
                Action::Set(settings) => waits(settings),
                Action::Policy(policy) => {
                    let mut tunables = policy.tunables().iter();
                    tunables.any(|tunable| WITH_MUTEX.contains(tunable))
                }
                _ => false,
            }
    }

    /// ksmd sleeps between two batches.
    fn ksmd_sleeps(&mut self, now: Nanos) {
        let ksm = &mut self.memory.ksm;
        let sleep = ksm.settings.sleep_millisecs.saturating_mul(Nanos::MILLI.0);
        let at = self.memory.cpu.clock.expiry(now, sleep.div_ceil(TICK.0));
        ksm.sleeps_until = Some(at);
        self.events.add(at, Event::KsmScan { at });
    }

    /// ksmd's timer went off.
    pub(crate) fn ksm_scan_is_due(&mut self, at: Nanos) {
        let ksm = &mut self.memory.ksm;
        if ksm.sleeps_until == Some(at) {
            ksm.sleeps_until = None;
            self.wake_ksmd(at);
        }
    }

    /// Whether there is work for ksmd since somebody called it, and it does not sleep between two
    /// batches.
    pub(crate) fn ksmd_was_woken(&self) -> bool {
        let ksm = &self.memory.ksm;
        let sleeps = || ksm.sleeps_until.is_some() || self.scheduler.is_runnable(KSMD);
        ksm.wants_cpu && ksm.has_work() && !sleeps()
    }

    pub(crate) fn wake_ksmd_if_due(&mut self, now: Nanos) {
        if self.ksmd_was_woken() {
            self.wake_ksmd(now);
        }
        self.memory.ksm.wants_cpu = false;
    }

    fn wake_ksmd(&mut self, now: Nanos) {
        self.memory.ksm.begin_batch(&self.memory.cpu);
        self.scheduler.wake(KSMD, now);
    }
}
