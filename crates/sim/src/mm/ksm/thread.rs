//! ksmd as a thread (`ksm_scan_thread`).

use guard::daemons;
use mm::settings::Setting;
use mm::units::Nanos;
use scenario::Scenario;
use scenario::workload::Action;

use crate::mm::ksm::state::{Ksm, Scan};
use crate::mm::parts::Memory;
use crate::sched::core::{Flow, Scheduler, Sleep};
use crate::sched::cpu::{BUDGET, Cpu};
use crate::sched::events::{Event, Events};
use crate::sched::kthread::KSMD;
use crate::sched::timer::{Clock, TICK};
use crate::sched::wait::WaitsFor;

/// Tunables that are written under ksmd's mutex.
const WITH_MUTEX: [&str; 3] = ["ksm.run", "ksm.max_page_sharing", "ksm.merge_across_nodes"];

/// Lets ksmd scan, until its batch is over or something happens.
pub(crate) fn ksm_scan_thread(
    memory: &mut Memory,
    scheduler: &mut Scheduler,
    events: &mut Events,
    from: Nanos,
) -> (Nanos, Flow) {
    let mut now = from;
    memory.cpu.current.entity = KSMD;
    loop {
        memory.cpu.began = now;
        memory.cpu.unbroken = 0;
        memory.cpu.budget = BUDGET;
        let scan = memory.ksm_do_scan();
        let ran = Nanos(memory.cpu.take_spent() / 1000 + 1);
        now += ran;
        memory.ksm.cpu_time += ran;
        match scan {
            Scan::More if now >= scheduler.limit(events, from) => {
                return (now, Flow::Continue);
            }
            Scan::More => {}
            Scan::Sleeps => {
                scheduler.wake_waiters(WaitsFor::Ksmd, now);
                memory.ksm.falls_asleep(memory.cpu.clock, events, now);
                return (now, Flow::Blocked(Sleep::Idle));
            }
            Scan::Waits => return (now, Flow::Blocked(Sleep::Idle)),
        }
    }
}

impl Ksm {
    /// Whether an action has to wait until ksmd's batch is over: a write to one of these tunables
    /// waits for the mutex that ksmd holds in a batch (`ksm_thread_mutex`).
    pub(crate) fn holds_mutex(&self, action: &Action, scenario: &Scenario) -> bool {
        let waits = |settings: &[Setting]| {
            let mut settings = settings.iter();
            settings.any(|setting| WITH_MUTEX.contains(&setting.tunable.as_str()))
        };
        self.is_in_batch
            && match action {
                Action::ApplyArm => waits(&scenario.arm_settings.0),
                Action::Set(settings) => waits(settings),
                Action::Daemon(daemon) => {
                    let mut tunables = daemons::tunables(*daemon).iter();
                    tunables.any(|tunable| WITH_MUTEX.contains(tunable))
                }
                _ => false,
            }
    }

    /// ksmd sleeps between two batches.
    fn falls_asleep(&mut self, clock: Clock, events: &mut Events, now: Nanos) {
        let sleep = self.settings.sleep_millisecs.saturating_mul(Nanos::MILLI.0);
        let at = clock.expiry(now, sleep.div_ceil(TICK.0));
        self.sleeps_until = Some(at);
        events.add(at, Event::KsmScan { at });
    }

    /// ksmd's timer went off.
    pub(crate) fn timer(&mut self, cpu: &Cpu, scheduler: &mut Scheduler, at: Nanos) {
        if self.sleeps_until == Some(at) {
            self.sleeps_until = None;
            self.wake(cpu, scheduler, at);
        }
    }

    /// Whether there is work for ksmd since somebody called it, and it does not sleep between two
    /// batches.
    pub(crate) fn was_woken(&self, scheduler: &Scheduler) -> bool {
        let sleeps = || self.sleeps_until.is_some() || scheduler.is_runnable(KSMD);
        self.wants_cpu && self.has_work() && !sleeps()
    }

    pub(crate) fn wake_if_due(&mut self, cpu: &Cpu, scheduler: &mut Scheduler, now: Nanos) {
        if self.was_woken(scheduler) {
            self.wake(cpu, scheduler, now);
        }
        self.wants_cpu = false;
    }

    fn wake(&mut self, cpu: &Cpu, scheduler: &mut Scheduler, now: Nanos) {
        self.begin_batch(cpu);
        scheduler.wake(KSMD, now);
    }
}
