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
    pub(crate) only: Option<Only>,
}

/// Only where these bits of an argument, or of what was returned behind them, have this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Only {
    pub(crate) argument: i16,
    pub(crate) bits: i32,
    pub(crate) are: i32,
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
    /// What a system call was given (`struct pt_regs`), of which the first is a descriptor.
    Descriptor,
    /// A fault (`struct vm_fault`).
    Fault,
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
    /// The page of a fault.
    Faulted,
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
pub(crate) const FUNCTIONS: [Hook; 10] = [
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
    // Where the compiler has put the function above into its callers, as `fdatasync` on 6.1 has it,
    // that is not seen there. What both see is taken once.
    Hook {
        name: "__x64_sys_fsync",
        ..SYNC
    },
    Hook {
        name: "__x64_sys_fdatasync",
        ..SYNC
    },
    Hook {
        name: "truncate_inode_pages_range",
        kind: Kind::Truncate,
        file: Of::Mapping,
        range: Range::From(1),
        when: When::Begin,
        only: Some(Only {
            argument: 2,
            bits: -1,
            are: -1,
        }),
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
        only: Some(Only {
            argument: 3,
            bits: -1,
            are: 4,
        }),
    },
    // A fault that finds its page in the cache ends in the first of these, each other in the
    // second: after a wait it is tried again, and then it is one of the two.
    Hook {
        name: "filemap_map_pages",
        only: Some(Only {
            argument: 3,
            bits: NOPAGE,
            are: NOPAGE,
        }),
        ..FAULT
    },
    Hook {
        name: "filemap_fault",
        arguments: 1,
        only: Some(Only {
            argument: 1,
            bits: LOCKED,
            are: LOCKED,
        }),
        ..FAULT
    },
];

const SYNC: Hook = Hook {
    kind: Kind::Sync,
    arguments: 1,
    file: Of::Descriptor,
    range: Range::Whole,
    only: Some(Only {
        argument: 1,
        bits: -1,
        are: 0,
    }),
    ..HOOK
};

/// `VM_FAULT_NOPAGE`: the page is mapped. `VM_FAULT_LOCKED`: it is there, and locked.
const NOPAGE: i32 = 0x100;
const LOCKED: i32 = 0x200;

const FAULT: Hook = Hook {
    kind: Kind::Load,
    file: Of::Fault,
    range: Range::Faulted,
    when: When::End,
    ..HOOK
};

/// What is left where functions are refused: reads, by pages, without their end.
pub(crate) const TRACEPOINT: Hook = Hook {
    name: "mm_filemap_get_pages",
    file: Of::Mapping,
    range: Range::Pages(1, 2),
    when: When::Begin,
    ..HOOK
};

/// Faults on mapped files that do not find their page mapped along with its neighbours: where
/// functions are refused these are left, those of pages that are not cached among them.
pub(crate) const FAULTS: Hook = Hook {
    name: "mm_filemap_fault",
    kind: Kind::Load,
    range: Range::Pages(1, 1),
    ..TRACEPOINT
};

/// Where tunables of `/proc/sys` are read and written. What the model has of a write to a file, its
/// range, is of no use there.
pub(crate) const SYSCTL: Hook = Hook {
    name: "proc_sys_call_handler",
    kind: Kind::Write,
    range: Range::Next,
    when: When::End,
    only: Some(Only {
        argument: 2,
        bits: -1,
        are: 1,
    }),
    ..HOOK
};

/// Where a task wakes another, and where one leaves its CPU.
pub(crate) const WAKES: &CStr = c"sched_waking";
pub(crate) const SWITCH: &CStr = c"sched_switch";

/// Where a task sends something to this machine itself.
pub(crate) const LOOPBACK: &str = "loopback_xmit";

/// Where pages come into the page cache.
pub(crate) const ADDED: &CStr = c"mm_filemap_add_to_page_cache";
