//! What an explanation is looked for in.

use conf::Tree;
use mm::capture::Frame;
use mm::catalogue::Named;
use mm::snapshot::Snapshot;

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Looked<'a> {
    /// The machine's files.
    pub frame: &'a Frame,
    /// The same, parsed.
    pub snapshot: &'a Snapshot,
    /// The tunable.
    pub named: Named<'a>,
    /// The evidence as the command line names it; nothing for this machine.
    pub evidence: &'a str,
    /// The machine's files of configuration, where there are any.
    pub configuration: Option<&'a Tree>,
}
