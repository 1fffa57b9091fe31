//! Who runs, and what is waited for: the CPUs, the fair class, pressure, timers.

pub(crate) mod core;
pub(crate) mod cpu;
pub(crate) mod fair;
pub(crate) mod psi;
pub(crate) mod timer;
