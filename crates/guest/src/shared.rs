//! What the supervisor and the processes of the workload share: an anonymous mapping that survives
//! fork, made of atomics only. A process that dies at any moment leaves it readable.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64};

use rustix::io::Errno;
use rustix::mm::MapFlags;
use scenario::latency::BUCKETS;

use crate::mapping::Mapping;

/// Ended steps of one instance that can wait for the supervisor to look.
pub(crate) const RECORDS: usize = 32;

/// The longest message of a process that fails, in bytes.
const MESSAGE: usize = 200;

/// The request to take the records, whose ring is full.
pub(crate) const TAKE: u32 = u32::MAX;

/// The whole of it.
#[derive(Debug)]
pub(crate) struct Shared {
    /// One for each process instance.
    pub(crate) desks: SharedSlice<Desk>,
    /// `levels` for each process instance: its labelled steps that are running, outermost first.
    pub(crate) running: SharedSlice<Running>,
    /// Ended steps, for each process instance a ring of [`RECORDS`].
    pub(crate) records: SharedSlice<Record>,
    /// One for each stream of the recording.
    pub(crate) streams: SharedSlice<Awaited>,
}

/// How far a stream of the recording is that others wait for.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Awaited {
    /// How often it woke others since it began (a futex).
    pub(crate) wakes: AtomicU32,
    /// How many wait for it.
    pub(crate) waiters: AtomicU32,
    /// The process that does it; 0 before it begins, [`ENDED`] afterwards.
    pub(crate) process: AtomicU32,
}

/// A stream has ended.
pub(crate) const ENDED: u32 = u32::MAX;

/// A process instance's mailbox and counters.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Desk {
    /// What it asks of the supervisor: the number of a step plus one, [`TAKE`], or 0 for nothing.
    pub(crate) request: AtomicU32,
    /// The answer it waits for (a futex).
    pub(crate) answer: AtomicU32,
    /// How many labelled steps are running, one inside the other.
    pub(crate) depth: AtomicU32,
    /// The number of the step that failed, plus one; 0 for none.
    pub(crate) failed_step: AtomicU32,
    /// The error number with which it failed.
    pub(crate) failed_errno: AtomicI32,
    /// Why it failed, in words that end with a zero byte.
    pub(crate) message: [AtomicU8; MESSAGE],
    /// Records it has written, ever.
    pub(crate) written: AtomicU32,
    /// Records that the supervisor has taken, ever.
    pub(crate) taken: AtomicU32,
    /// Operations so far.
    pub(crate) operations: AtomicU64,
    /// Bytes so far.
    pub(crate) bytes: AtomicU64,
}

/// A labelled step that is running.
#[derive(Debug)]
pub(crate) struct Running {
    /// The step's number.
    pub(crate) step: AtomicU32,
    /// When it began, in nanoseconds since the run's beginning.
    pub(crate) start: AtomicU64,
    /// The desk's operations when it began.
    pub(crate) operations: AtomicU64,
    /// The desk's bytes when it began.
    pub(crate) bytes: AtomicU64,
    /// The longest latency so far.
    pub(crate) longest: AtomicU64,
    /// Operations by latency.
    pub(crate) counts: [AtomicU32; BUCKETS],
}

/// A labelled step that ended.
#[derive(Debug)]
pub(crate) struct Record {
    /// The step's number.
    pub(crate) step: AtomicU32,
    /// 0, or the error number with which it failed.
    pub(crate) errno: AtomicI32,
    /// Start, end, operations, bytes, and the latencies' p50, p90, p99 and maximum.
    pub(crate) figures: [AtomicU64; 8],
}

impl Shared {
    /// Room for this many instances whose labelled steps nest at most `levels` deep, and for
    /// `streams` of a recording.
    pub(crate) fn new(instances: usize, levels: usize, streams: usize) -> Result<Self, Errno> {
        Ok(Self {
            desks: SharedSlice::new(instances)?,
            running: SharedSlice::new(instances * levels)?,
            records: SharedSlice::new(instances * RECORDS)?,
            streams: SharedSlice::new(streams)?,
        })
    }
}

/// A type that may lie in memory shared with other processes.
///
/// # Safety
/// It is made of atomic integers only: all bytes zero is a value of it, and it may change under a
/// shared reference.
#[expect(unsafe_code, reason = "marks types that may lie in shared memory")]
pub(crate) unsafe trait AllAtomic: Sync {}

#[expect(unsafe_code, reason = "marks a type that may lie in shared memory")]
// SAFETY: atomic integers only.
unsafe impl AllAtomic for Desk {}
#[expect(unsafe_code, reason = "marks a type that may lie in shared memory")]
// SAFETY: atomic integers only.
unsafe impl AllAtomic for Running {}
#[expect(unsafe_code, reason = "marks a type that may lie in shared memory")]
// SAFETY: atomic integers only.
unsafe impl AllAtomic for Record {}
#[expect(unsafe_code, reason = "marks a type that may lie in shared memory")]
// SAFETY: atomic integers only.
unsafe impl AllAtomic for Awaited {}

/// A slice in memory that survives fork.
#[derive(Debug)]
pub(crate) struct SharedSlice<T> {
    mapping: Mapping,
    length: usize,
    of: PhantomData<T>,
}

impl<T: AllAtomic> SharedSlice<T> {
    fn new(length: usize) -> Result<Self, Errno> {
        let bytes = (length * size_of::<T>()).max(1);
        Ok(Self {
            mapping: Mapping::anonymous(bytes, MapFlags::SHARED)?,
            length,
            of: PhantomData,
        })
    }
}

impl<T: AllAtomic> Deref for SharedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        #[expect(unsafe_code, reason = "a mapping as a slice of atomics")]
        // SAFETY: the mapping holds `length` values (zeroed at first, which `AllAtomic` allows),
        // page-aligned, and lives as long as `self`; no exclusive reference to it is ever made.
        unsafe {
            std::slice::from_raw_parts(self.mapping.address().as_ptr().cast(), self.length)
        }
    }
}
