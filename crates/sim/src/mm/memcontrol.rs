//! Control groups: who is charged for a page, and what a group may use (`mm/memcontrol.c`,
//! version 2).
//!
//! Groups are numbered; a parent comes before its children, in the order in which they were made,
//! which is the order in which reclaim walks them.

mod charge;
mod errand;
mod events;
mod files;
pub(crate) mod group_id;
mod high;
mod memory_stat;
mod reclaim;
mod stat;
pub(crate) mod state;
mod stock;

#[cfg(test)]
mod tests;

pub(crate) use crate::mm::memcontrol::errand::{Came, Errand, Limit};
pub(crate) use crate::mm::memcontrol::files::Written;
pub(crate) use crate::mm::memcontrol::reclaim::Standing;
pub(crate) use crate::mm::memcontrol::state::Event;
pub(crate) use crate::mm::memcontrol::state::NODE_BYTES;
pub(crate) use crate::mm::memcontrol::state::RETRIES;
