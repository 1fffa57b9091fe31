//! The number of a group.

/// The highest number: a byte for each page holds it.
pub(crate) const LAST: GroupId = u8::MAX as usize;

/// A group's number: its place among the groups, and among their lists.
pub(crate) type GroupId = usize;

/// The root of the hierarchy: everything that belongs to no group of the workload. It has no
/// limits, and its counter is not kept.
pub(crate) const ROOT: GroupId = 0;
