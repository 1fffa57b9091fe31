//! The ring in which programs hand out events: an array of them that this process has mapped, and
//! counters beside it. A program takes a place by an atomic addition and stores the number of the
//! event last. Unlike the kernel's own (`Documentation/bpf/ringbuf.rst`) this one has no lock.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::bpf::{self, Array, Reach};
use super::event::WORDS;

/// How many events there are places for: 8 MiB, a fifth of a second at 300,000 a second.
pub(crate) const EVENTS: u32 = 1 << 16;

/// How many may wait. Between the look and the addition other tasks may take places too: as many
/// as can be within a program at once, far fewer than this leaves.
pub(crate) const ROOM: u32 = EVENTS - (1 << 12);

/// Counters, by their places in bytes: events that were begun, those that found no place, and on a
/// line of its own how many were read.
pub(crate) const HEAD: i16 = 0;
pub(crate) const LOST: i16 = 8;
pub(crate) const TAIL: i16 = 64;
const COUNTERS: u32 = 128;

const WORD: usize = size_of::<u64>();

/// A mapping of words, which is given back.
#[derive(Debug)]
struct Mapping {
    address: NonNull<AtomicU64>,
    words: usize,
}

/// The ring, mapped.
#[derive(Debug)]
pub(crate) struct Ring {
    /// The maps that programs name.
    pub(crate) events: OwnedFd,
    pub(crate) counters: OwnedFd,
    slots: Mapping,
    counts: Mapping,
}

impl Mapping {
    fn new(map: &OwnedFd, bytes: usize) -> io::Result<Self> {
        #[expect(unsafe_code, reason = "mmap")]
        // SAFETY: the kernel chooses the address, so no other object is overlaid.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ.union(ProtFlags::WRITE),
                MapFlags::SHARED,
                map.as_fd(),
                0,
            )
        }?;
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let words = bytes / WORD;
        Ok(Self { address, words })
    }

    fn words(&self) -> &[AtomicU64] {
        #[expect(unsafe_code, reason = "the kernel shares them")]
        // SAFETY: a mapping is aligned to a page, has this many words, and lives as long as `self`;
        // whoever changes them changes whole words.
        unsafe {
            std::slice::from_raw_parts(self.address.as_ptr(), self.words)
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "munmap")]
        // SAFETY: it was mapped with this length, and what borrowed from it borrowed `self`.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.words * WORD) };
    }
}

impl Ring {
    pub(crate) fn new() -> io::Result<Self> {
        let array = |value: u32, entries| {
            let reach = Reach::Mapped;
            let map = bpf::map(Array {
                value,
                entries,
                reach,
            })?;
            let mapping = Mapping::new(&map, value as usize * entries as usize)?;
            io::Result::Ok((map, mapping))
        };
        let (events, slots) = array((WORDS * WORD) as u32, EVENTS)?;
        let (counters, counts) = array(COUNTERS, 1)?;
        Ok(Self {
            events,
            counters,
            slots,
            counts,
        })
    }

    fn counter(&self, at: i16) -> &AtomicU64 {
        &self.counts.words()[at as usize / WORD]
    }

    /// How many events found no place.
    pub(crate) fn lost(&self) -> u64 {
        self.counter(LOST).load(Ordering::Relaxed)
    }

    /// Hands over all events that are there, up to the first that is not whole.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(&[u64; WORDS])) {
        let tail = self.counter(TAIL);
        let mut at = tail.load(Ordering::Relaxed);
        while let Some(event) = self.event(at) {
            take(&event);
            at += 1;
            tail.store(at, Ordering::Release);
        }
    }

    /// The event behind as many others.
    fn event(&self, before: u64) -> Option<[u64; WORDS]> {
        let place = (before % u64::from(EVENTS)) as usize * WORDS;
        let words = &self.slots.words()[place..place + WORDS];
        let is_whole = words[0].load(Ordering::Acquire) == before + 1;
        is_whole.then(|| std::array::from_fn(|at| words[at].load(Ordering::Relaxed)))
    }
}
