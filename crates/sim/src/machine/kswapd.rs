//! kswapd as a thread of the machine.

use mm::units::Nanos;

use crate::machine::roles::{KSWAPD, WaitsFor};
use crate::machine::state::Flow;
use crate::machine::system::System;
use crate::mm::vmscan::state::Progress;
use crate::mm::vmscan::state::{NAP, Nap};
use crate::sched::core::{Event, Sleep};

impl System<'_> {
    pub(crate) fn wake_kswapd_if_due(&mut self, now: Nanos) {
        self.memory.zones.kswapd.is_told();
        if self.kswapd_was_woken() {
            self.scheduler.wake(KSWAPD, now);
        }
    }

    pub(crate) fn kswapd_was_woken(&self) -> bool {
        self.memory.zones.kswapd.is_awake()
            && !self.scheduler.is_runnable(KSWAPD)
            && !self.waiters.iter().any(|(_, entity)| *entity == KSWAPD)
    }

    /// kswapd stalls for memory from when it has the CPU, not from when it was woken.
    pub(crate) fn run_kswapd(&mut self, from: Nanos) -> (Nanos, Flow) {
        self.scheduler
            .note_stalls(KSWAPD, [(from, true)].into_iter());
        let mut now = from;
        while self.memory.zones.kswapd.is_awake() {
            self.memory.cpu.began = now;
            self.memory.cpu.unbroken = 0;
            let progress = self.memory.kswapd_step();
            let ran = Nanos(self.memory.cpu.take_spent() / 1000 + 1);
            now += ran;
            self.memory.zones.kswapd.cpu_time += ran;
            if core::mem::take(&mut self.memory.zones.kswapd.wants_kill) {
                self.kill_worst(now);
            }
            self.expect_disks();
            if let Progress::Congested { disk } = progress {
                self.waiters.push((WaitsFor::Disk(disk), KSWAPD));
                return (now, Flow::Blocked(Sleep::Io));
            }
            if now >= self.limit(from) {
                return (now, Flow::Continue);
            }
        }
        self.scheduler
            .note_stalls(KSWAPD, [(now, false)].into_iter());
        // To fall asleep with a timer and to wake costs it what it costs any task.
        let pause = Nanos(self.memory.cpu.costs.sleep_ps / 1000);
        self.memory.zones.kswapd.cpu_time += pause;
        (now + pause, Flow::Blocked(Sleep::Idle))
    }

    /// After a run, kswapd's nap begins.
    pub(crate) fn kswapd_sleeps(&mut self, now: Nanos) {
        if self.memory.zones.kswapd.nap == Some(Nap::Begins) {
            let at = self.memory.cpu.clock.expiry(now, NAP);
            self.memory.zones.kswapd.nap = Some(Nap::Until(at));
            self.events.add(at, Event::NapEnds { at });
        }
    }

    /// kswapd's timer went off.
    pub(crate) fn kswapd_nap_ends(&mut self, at: Nanos) {
        if self.memory.zones.kswapd.nap == Some(Nap::Until(at)) {
            self.memory.zones.kswapd_nap_ends(&mut self.memory.cpu);
            self.wake_kswapd_if_due(at);
        }
    }
}
