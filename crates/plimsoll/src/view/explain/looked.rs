//! What an explanation is looked for in.

use conf::Tree;
use mm::capture::Frame;
use mm::catalogue::Named;
use mm::snapshot::Snapshot;

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looked<'a> {
    /// The machine's files.
    pub(crate) frame: &'a Frame,
    /// The same, parsed.
    pub(crate) snapshot: &'a Snapshot,
    /// The tunable.
    pub(crate) named: Named<'a>,
    /// The evidence as the command line names it; nothing for this machine.
    pub(crate) evidence: &'a str,
    /// The machine's files of configuration, where there are any.
    pub(crate) configuration: Option<&'a Tree>,
}
