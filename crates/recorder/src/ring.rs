//! The ring buffer in which programs hand out events (`Documentation/bpf/ringbuf.rst`).

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::bpf::{self, Map};

/// Flags in the length of a record: it is being written, or was given up.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;

/// The head of a record: its length, and where it lies.
const HEAD: usize = 8;

/// A mapping that is given back.
#[derive(Debug)]
struct Mapping {
    address: NonNull<u8>,
    length: usize,
}

/// The ring buffer, mapped.
#[derive(Debug)]
pub(crate) struct Ring {
    /// The map that programs name.
    pub(crate) map: OwnedFd,
    /// How far it was read.
    consumer: Mapping,
    /// How far it is written; behind that page the records, twice, so that none is broken in two.
    producer: Mapping,
    page: usize,
    bytes: usize,
}

impl Mapping {
    fn new(map: &OwnedFd, length: usize, protection: ProtFlags, offset: u64) -> io::Result<Self> {
        #[expect(unsafe_code, reason = "mmap")]
        // SAFETY: the kernel chooses the address, so no other object is overlaid.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                map.as_fd(),
                offset,
            )
        }?;
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { address, length })
    }

    /// The counter at the begin of the mapping.
    fn counter(&self) -> &AtomicU64 {
        #[expect(unsafe_code, reason = "the kernel shares it")]
        // SAFETY: a mapping is aligned to a page, is longer than eight bytes, and lives as long as
        // `self`; the kernel changes it with atomic operations only.
        unsafe {
            self.address.cast::<AtomicU64>().as_ref()
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "munmap")]
        // SAFETY: it was mapped with this length, and what borrowed from it borrowed `self`.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.length) };
    }
}

impl Ring {
    /// A ring of this many bytes: a power of two, and whole pages.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let map = bpf::map(Map::Ring {
            bytes: bytes as u32,
        })?;
        let page = rustix::param::page_size();
        let both = ProtFlags::READ.union(ProtFlags::WRITE);
        let consumer = Mapping::new(&map, page, both, 0)?;
        let producer = Mapping::new(&map, page + 2 * bytes, ProtFlags::READ, page as u64)?;
        Ok(Self {
            map,
            consumer,
            producer,
            page,
            bytes,
        })
    }

    /// Hands over all records that are there.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        let end = self.producer.counter().load(Ordering::Acquire);
        let mut at = self.consumer.counter().load(Ordering::Relaxed);
        while at < end {
            let start = self.page + (at as usize & (self.bytes - 1));
            let length = self.length(start).load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let bytes = (length & !DISCARDED) as usize;
            if length & DISCARDED == 0 {
                take(self.record(start + HEAD, bytes.min(self.bytes)));
            }
            at += (HEAD + bytes).next_multiple_of(8) as u64;
            self.consumer.counter().store(at, Ordering::Release);
        }
    }

    /// The length of a record whose head is at this place of the producer's mapping.
    fn length(&self, at: usize) -> &AtomicU32 {
        assert!(
            at + HEAD <= self.producer.length,
            "the head lies in the mapping"
        );
        #[expect(unsafe_code, reason = "the kernel shares it")]
        // SAFETY: it lies in the mapping, as asserted; heads are aligned to eight bytes; the kernel
        // changes it with atomic operations only.
        unsafe {
            self.producer
                .address
                .byte_add(at)
                .cast::<AtomicU32>()
                .as_ref()
        }
    }

    /// A record that is finished.
    fn record(&self, at: usize, bytes: usize) -> &[u8] {
        assert!(
            at + bytes <= self.producer.length,
            "the record lies in the mapping"
        );
        #[expect(unsafe_code, reason = "the kernel shares it")]
        // SAFETY: it lies in the mapping, as asserted, and is not written again before the counter
        // of the consumer is behind it, which `drain` moves after the slice is given back.
        unsafe {
            std::slice::from_raw_parts(self.producer.address.byte_add(at).as_ptr(), bytes)
        }
    }
}
