//! What the rules of the table ask, one file a subject.

pub(super) mod actions;
pub(super) mod containers;
pub(super) mod daemons;
pub(super) mod dirty;
pub(super) mod huge_pages;
pub(super) mod keys;
pub(super) mod ksm;
pub(super) mod loaders;
pub(super) mod lru_gen;
pub(super) mod oom;
pub(super) mod overcommit;
pub(super) mod reclaim;
pub(super) mod reserve;
pub(super) mod swap;
pub(super) mod values;
pub(super) mod zswap;
