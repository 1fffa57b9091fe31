//! A run of accesses: real system calls on a file, or real loads and stores in a mapping.

use std::hint::black_box;
use std::os::fd::BorrowedFd;

use mm::units::{Bytes, Nanos};
use rustix::io::Errno;
use scenario::access::{Operations, extent};
use scenario::workload::Access;

use crate::clock;
use crate::compute::Compute;
use crate::mapping::Mapping;
use crate::meter::Meter;
use crate::region::Region;

/// What an access reaches its target through.
#[derive(Debug)]
pub(crate) enum Reach<'a> {
    /// An anonymous region.
    Region(&'a Region),
    /// A file through a shared mapping.
    Mapped(&'a Mapping),
    /// A file by `pread` and `pwrite`; the buffer holds one block.
    Calls(BorrowedFd<'a>, &'a mut [u8]),
    /// The same past the page cache.
    Direct(BorrowedFd<'a>, &'a mut [u8]),
}

/// `O_DIRECT` transfers whole sectors; this is the size of the largest in use.
const SECTOR: u64 = 4096;

/// Performs the access to its end: `amount` bytes of the target's `size`, in whole blocks, or its
/// time limit.
///
/// Each operation costs two reads of the stopwatch where a latency is wanted, and one of the clock
/// where there is a time limit or a rate.
pub(crate) fn perform(
    access: &Access,
    amount: Bytes,
    size: Bytes,
    reach: &mut Reach<'_>,
    (operations, compute): (&mut Operations, Option<Compute>),
    meter: Meter<'_>,
) -> Result<(), Errno> {
    let (timed, stopwatch) = (meter.is_timed(), meter.stopwatch());
    let pace = Pace::new(access, meter);
    let (mut done, mut begun) = (0, 0);
    while done < amount.0 && size.0 > 0 && pace.permits(begun, meter) {
        let operation = operations.next_operation();
        let (offset, length) = extent(operation.block, size, access.block);
        let start = if timed { stopwatch.read() } else { 0 };
        reach.operate(operation.write, offset, length)?;
        let mut bytes = length;
        for _ in 1..access.blocks {
            bytes += reach.operate_next(access, size, operations)?;
        }
        if timed {
            meter.latency(stopwatch.span(start, stopwatch.read()));
        }
        meter.count(bytes);
        done += bytes;
        begun += 1;
        if let Some(compute) = compute {
            compute.spend(access.compute);
        }
        clock::sleep(operations.next_pause());
    }
    Ok(())
}

/// When operations may begin.
struct Pace {
    began: Nanos,
    /// Per second; 0 for as fast as it goes.
    rate: u32,
    /// From then on none begins.
    end: Option<Nanos>,
}

impl Pace {
    fn new(access: &Access, meter: Meter<'_>) -> Self {
        let began = match (access.rate, access.time_limit) {
            (0, None) => Nanos::ZERO,
            _ => meter.now(),
        };
        Self {
            began,
            rate: access.rate,
            end: access.time_limit.map(|limit| began + limit),
        }
    }

    /// Waits until the next operation is due by the rate, counted from the first one; false where
    /// the time is over.
    fn permits(&self, begun: u64, meter: Meter<'_>) -> bool {
        let is_over = || self.end.is_some_and(|end| meter.now() >= end);
        if self.rate > 0 && !is_over() {
            let due = self.began + Nanos(begun * Nanos::SECOND.0 / u64::from(self.rate));
            if due > meter.now() {
                meter.sleep_until(due);
            }
        }
        !is_over()
    }
}

impl Reach<'_> {
    /// One more block of an operation, and its bytes.
    fn operate_next(
        &mut self,
        access: &Access,
        size: Bytes,
        operations: &mut Operations,
    ) -> Result<u64, Errno> {
        let operation = operations.next_operation();
        let (offset, length) = extent(operation.block, size, access.block);
        self.operate(operation.write, offset, length)?;
        Ok(length)
    }

    fn operate(&mut self, write: bool, offset: u64, length: u64) -> Result<(), Errno> {
        match self {
            Self::Region(region) => region.touch(write, offset, length),
            Self::Mapped(mapping) => touch_file(mapping, write, offset, length),
            Self::Calls(file, buffer) => transfer(*file, buffer, write, offset, length)?,
            Self::Direct(file, buffer) => {
                transfer(*file, buffer, write, offset, whole_sectors(write, length))?;
            }
        }
        Ok(())
    }
}

/// A read may ask for more than the file's end holds; a write must not make the file longer.
fn whole_sectors(write: bool, length: u64) -> u64 {
    if write {
        length & !(SECTOR - 1)
    } else {
        length.next_multiple_of(SECTOR)
    }
}

fn touch_file(mapping: &Mapping, write: bool, offset: u64, length: u64) {
    let page = rustix::param::page_size();
    let (first, end) = (
        offset as usize / page,
        ((offset + length) as usize).div_ceil(page),
    );
    for start in (first..end).map(|index| index * page) {
        // A file that ends within the first word of a page is left alone there.
        if start + size_of::<u64>() > mapping.length() {
            continue;
        }
        if write {
            mapping.store(start, start as u64 | 1);
        } else {
            black_box(mapping.load(start));
        }
    }
}

/// One `pread` or `pwrite`, and more where the kernel does less than was asked for.
fn transfer(
    file: BorrowedFd<'_>,
    buffer: &mut [u8],
    write: bool,
    offset: u64,
    length: u64,
) -> Result<(), Errno> {
    let mut done = 0;
    while done < length {
        let rest = &mut buffer[done as usize..length as usize];
        let count = if write {
            rustix::io::pwrite(file, rest, offset + done)?
        } else {
            rustix::io::pread(file, rest, offset + done)?
        };
        if count == 0 {
            return end_of_file(done);
        }
        done += count as u64;
    }
    Ok(())
}

/// A file that is shorter than the study says is a failure, but not where a read past the page
/// cache was rounded up to whole sectors.
fn end_of_file(done: u64) -> Result<(), Errno> {
    if done > 0 { Ok(()) } else { Err(Errno::NODATA) }
}
