//! Tests of who wakes when a disk lets a task go on.

use mm::units::Bytes;
use scenario::machine;

use super::*;
use crate::block::disk::{Disk, Writer};
use crate::sched::core::Sleep;
use crate::sched::fair::Rule;
use crate::sched::kthread::Kthreads;
use crate::sched::psi::Pressure;
use crate::sched::timer::Clock;

/// A disk to which tasks may have two writes under way, and seven tasks after the threads.
fn machine() -> (PageIo, Scheduler) {
    let spec = machine::Disk {
        name: "disk".into(),
        size: Bytes::GIB,
        read_bandwidth: Bytes(1 << 20),
        write_bandwidth: Bytes(1 << 20),
        latency: Nanos(1000),
        seek: Nanos::ZERO,
        channels: 1,
        queue_depth: 2,
        rotational: true,
    };
    let io = PageIo {
        disks: [Disk::new(&spec, Clock::default(), 1)].into(),
        ..PageIo::default()
    };
    let rule = Rule::of("6.12.0");
    let kthreads = Kthreads::default();
    let pressure = Pressure::new(1, Nanos::ZERO);
    let mut scheduler = Scheduler::after(rule, Clock::default(), pressure, 1, kthreads);
    for _ in 0..7 {
        scheduler.add();
    }
    (io, scheduler)
}

/// Tasks 3 and 4 have room for a write; 5 sleeps for it.
fn with_a_sleeper() -> (PageIo, Scheduler) {
    let (mut io, mut scheduler) = machine();
    let may_write = |entity| io.disks[0].may_write(Nanos(0), entity, Writer::Task);
    assert_eq!([3, 4, 5].map(may_write), [true, true, false]);
    scheduler.begin(5, Nanos(0), Nanos::ZERO);
    scheduler.queue.add(WaitsFor::Disk(0), 5);
    scheduler.block(5, Nanos(0), Sleep::Io);
    (io, scheduler)
}

#[test]
fn the_room_of_a_task_that_was_killed_wakes_another_while_nothing_is_under_way() {
    let (mut io, mut scheduler) = with_a_sleeper();
    io.check(&scheduler.queue);
    io.disks[0].forget(Nanos(1), 3);
    io.wake_up(&mut scheduler, Nanos(1));
    assert!(scheduler.is_runnable(5) && !scheduler.queue.holds(5));
    io.check(&scheduler.queue);
}

#[test]
fn a_task_that_was_given_room_and_sleeps_is_noticed() {
    let (mut io, scheduler) = with_a_sleeper();
    io.disks[0].forget(Nanos(1), 3);
    assert_eq!(io.disks[0].take_woken(), [5]);
    let wrong = io.lost_wakeup(&scheduler.queue, 0);
    assert_eq!(wrong, Some("a task that may go on was not woken"));
}
