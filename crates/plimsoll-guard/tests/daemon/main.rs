//! The daemon itself on this machine, which is left as it was found.

mod harness;
mod hostile;
mod live;
mod spared;
mod told;
