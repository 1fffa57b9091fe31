//! The block layer: requests, their order, and disks.

pub(crate) mod bio;
pub(crate) mod blk_mq;
pub(crate) mod disk;
pub(crate) mod diskstats;
pub(crate) mod wbt;
