//! Where the programs are: functions and tracepoints of the kernel, and what is known there.

use std::ffi::CStr;

use scenario::recording::Kind;

/// A function of the kernel, or a tracepoint, and what is known where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hook {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// How many arguments the function has; behind them lies what it returned.
    pub(crate) arguments: i16,
    pub(crate) file: Of,
    pub(crate) range: Range,
    /// Whether the event has a begin and an end, or is handed out at once.
    pub(crate) when: When,
    /// Only where this argument has this value.
    pub(crate) only: Option<(i16, i32)>,
}

/// When an event is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// At the function's end, with the time of its begin.
    Both,
    /// At its end.
    End,
    /// At its begin.
    Begin,
}

/// What its first argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Iocb,
    Opened,
    Mapping,
}

/// Where the range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// It ends at `ki_pos` and has as many bytes as were returned.
    Moved,
    /// It begins there.
    Next,
    /// It ends at the `loff_t` that this argument points to.
    MovedBehind(i16),
    /// Two arguments: the first byte, and how many.
    Given(i16, i16),
    /// An argument: the first byte.
    From(i16),
    /// Two arguments: the first page, and the last or the one behind it.
    Pages(i16, i16),
    Whole,
}

const HOOK: Hook = Hook {
    name: "filemap_read",
    kind: Kind::Read,
    arguments: 3,
    file: Of::Iocb,
    range: Range::Moved,
    when: When::Both,
    only: None,
};

/// The functions, the first of which is needed.
pub(crate) const FUNCTIONS: [Hook; 6] = [
    HOOK,
    Hook {
        name: "filemap_splice_read",
        arguments: 5,
        file: Of::Opened,
        range: Range::MovedBehind(1),
        ..HOOK
    },
    Hook {
        name: "generic_write_checks",
        kind: Kind::Write,
        arguments: 2,
        range: Range::Next,
        when: When::End,
        ..HOOK
    },
    Hook {
        name: "vfs_fsync_range",
        kind: Kind::Sync,
        arguments: 4,
        file: Of::Opened,
        range: Range::Whole,
        ..HOOK
    },
    Hook {
        name: "truncate_inode_pages_range",
        kind: Kind::Truncate,
        file: Of::Mapping,
        range: Range::From(1),
        when: When::Begin,
        only: Some((2, -1)),
        ..HOOK
    },
    Hook {
        name: "generic_fadvise",
        kind: Kind::DontNeed,
        arguments: 4,
        file: Of::Opened,
        range: Range::Given(1, 2),
        when: When::Begin,
        // POSIX_FADV_DONTNEED
        only: Some((3, 4)),
    },
];

/// What is left where functions are refused: reads, by pages, without their end.
pub(crate) const TRACEPOINT: Hook = Hook {
    name: "mm_filemap_get_pages",
    file: Of::Mapping,
    range: Range::Pages(1, 2),
    when: When::Begin,
    ..HOOK
};

/// Where pages come into the page cache.
pub(crate) const ADDED: &CStr = c"mm_filemap_add_to_page_cache";
