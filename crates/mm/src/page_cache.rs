//! Whose pages the page cache holds: by file, by program, by control group.

use alloc::string::String;
use alloc::vec::Vec;

use crate::units::Bytes;

/// What was found on a machine, within the time there was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageCache {
    /// Files that a process has open or mapped and that have pages in memory, largest first.
    pub files: Vec<CachedFile>,
    /// What the files of a program hold together, largest first. A file of two counts for both.
    pub programs: Vec<Program>,
    /// What is charged to each control group, largest first; nothing where no group tells.
    pub groups: Vec<Group>,
    /// What is not in the files.
    pub left_out: LeftOut,
}

/// A file with pages in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedFile {
    /// Its path as the process that has it sees it; the kernel writes ` (deleted)` behind it.
    pub path: String,
    /// Whether its pages are shared memory: those of tmpfs are on no disk.
    pub is_shared_memory: bool,
    /// Its size.
    pub size: Bytes,
    /// Its pages in memory.
    pub cached: Bytes,
    /// Those that are to be written.
    pub dirty: Bytes,
    /// Those that were evicted a short time ago: read again they are refaults that count as used.
    pub evicted_recently: Bytes,
    /// The programs that have it.
    pub programs: Vec<String>,
    /// The control group of the process that was seen first with it.
    pub group: String,
}

/// What the files of a program hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The kernel's name of it.
    pub name: String,
    /// How many files it has with pages in memory.
    pub files: usize,
    /// Their pages in memory.
    pub cached: Bytes,
}

/// What is charged to a control group itself, without those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its path, `/` for the root.
    pub path: String,
    /// Pages of files.
    pub cached: Bytes,
    /// Shared memory.
    pub shared_memory: Bytes,
}

/// What is not in the files, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Why no file can be asked, where none can.
    pub none: Option<String>,
    /// Processes whose files are not shown to this user.
    pub processes: usize,
    /// Files whose pages are not shown to this user.
    pub refused: usize,
    /// Open files on a mount that another program or machine serves, or that is not in sight.
    pub served: usize,
    /// Files of an overlayfs: their pages are those of the files below it, and not counted.
    pub overlaid: usize,
    /// Files with a lease, which their holder would lose when they are opened.
    pub leased: usize,
    /// Whether the time was over before all was looked at, or there was too much of it.
    pub is_cut: bool,
}
