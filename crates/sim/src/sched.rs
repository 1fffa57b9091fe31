//! Which task runs, and what is waited for: the CPUs, the fair class, pressure, timers, wait
//! queues.

pub(crate) mod core;
pub(crate) mod cpu;
pub(crate) mod events;
pub(crate) mod fair;
pub(crate) mod kthread;
pub(crate) mod psi;
pub(crate) mod softirq;
pub(crate) mod timer;
pub(crate) mod wait;
