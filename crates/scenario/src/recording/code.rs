//! How runs are written: what is as in the run before takes a bit, the rest a few bytes.
//!
//! The first byte has the kind in its lower three bits. The others say that the file is that of the
//! last run, that the range begins where the last one ended, that it is as long, and whether a
//! sleep and a duration follow. Numbers are in groups of seven bits, the lowest first, differences
//! with their sign in the lowest bit. A place or a length in whole pages is divided by the page,
//! which its lowest bit says.
//!
//! What has no file has the code of [`Kind::Open`] with a bit that only ranges have else: that
//! something goes on says that it wakes a task, that a length is the same that it waits.

use alloc::vec::Vec;

use super::{Kind, Run, Stream};
use mm::units::Nanos;

const SAME_FILE: u8 = 1 << 3;
const GOES_ON: u8 = 1 << 4;
const SAME_LENGTH: u8 = 1 << 5;
const SLEPT: u8 = 1 << 6;
const TOOK: u8 = 1 << 7;

/// With the code of [`Kind::Open`]: it wakes a task, or waits.
const WAKES: u8 = Kind::Open as u8 | GOES_ON;
const WAITS: u8 = Kind::Open as u8 | SAME_LENGTH;
const OF_NO_FILE: u8 = CODE | GOES_ON | SAME_LENGTH;
const CODE: u8 = 7;

const PAGE: u64 = 4096;
/// Nanoseconds in a step of CPU time, and of other times.
pub(super) const COMPUTE: u64 = 100;
pub(super) const SPAN: u64 = 1000;

/// Beyond it no range reaches, and no time: sums of two do not overflow.
pub(super) const MOST: u64 = 1 << 50;
/// The longest run.
pub(super) const LONGEST: u64 = 1 << 30;

/// What the next run is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Last {
    file: u32,
    end: u64,
    length: u64,
    /// How many wakes were waited for.
    wakes: u64,
}

/// A place in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    block: usize,
    at: usize,
    last: Last,
    passed: u64,
}

impl Cursor {
    /// Runs before it.
    #[must_use]
    pub fn passed(self) -> u64 {
        self.passed
    }
}

impl Stream {
    /// The run at the cursor, which goes past it; `None` at the end.
    pub fn next(&self, cursor: &mut Cursor) -> Option<Run> {
        loop {
            let block = self.blocks.get(cursor.block)?;
            if cursor.at < block.len() {
                let mut from = &block[cursor.at..];
                let run = take(&mut from, &mut cursor.last)?;
                cursor.at = block.len() - from.len();
                cursor.passed += 1;
                return Some(run);
            }
            *cursor = Cursor {
                block: cursor.block + 1,
                at: 0,
                last: Last::default(),
                passed: cursor.passed,
            };
        }
    }

    /// The place behind the first `runs` runs.
    #[must_use]
    pub fn behind(&self, runs: u64) -> Cursor {
        let mut cursor = Cursor::default();
        while cursor.passed < runs && self.next(&mut cursor).is_some() {}
        cursor
    }
}

/// Appends a run.
pub(super) fn put(run: &Run, to: &mut Vec<u8>, last: &mut Last) {
    let mut head = match run.kind {
        Kind::Wake => WAKES,
        Kind::Wait => WAITS,
        kind => kind as u8,
    };
    let mut bit = |is_so: bool, bit: u8| head |= if is_so { bit } else { 0 };
    let ranged = run.kind.has_range();
    bit(!run.kind.is_of_file() || run.file == last.file, SAME_FILE);
    bit(ranged && run.offset == last.end, GOES_ON);
    bit(ranged && run.length == last.length, SAME_LENGTH);
    bit(run.sleep.0 >= SPAN, SLEPT);
    bit(run.took.0 >= SPAN, TOOK);
    to.push(head);
    put_number(run.compute.0 / COMPUTE, to);
    if head & SAME_FILE == 0 {
        put_number(signed(i64::from(run.file) - i64::from(last.file)), to);
    }
    if ranged && head & GOES_ON == 0 {
        put_place(run.offset as i64 - last.end as i64, to);
    }
    if ranged && head & SAME_LENGTH == 0 {
        put_place(run.length as i64, to);
    }
    if run.kind == Kind::Wait {
        put_number(u64::from(run.file), to);
        put_number(signed(run.offset as i64 - last.wakes as i64), to);
    }
    for (span, bit) in [(run.sleep, SLEPT), (run.took, TOOK)] {
        if head & bit != 0 {
            put_number(span.0 / SPAN, to);
        }
    }
    last.note(run);
}

/// Takes a run from the front; `None` where there is none, or one that nobody can have done.
pub(super) fn take(from: &mut &[u8], last: &mut Last) -> Option<Run> {
    let (&head, rest) = from.split_first()?;
    *from = rest;
    let kind = match head & OF_NO_FILE {
        WAKES => Kind::Wake,
        WAITS => Kind::Wait,
        _ => Kind::ALL[usize::from(head & CODE)],
    };
    let ranged = kind.has_range();
    let compute = take_number(from)?;
    let file = match head & SAME_FILE {
        _ if kind == Kind::Wake => 0,
        _ if kind == Kind::Wait => i64::try_from(take_number(from)?).ok()?,
        0 => i64::from(last.file).checked_add(unsigned(take_number(from)?))?,
        _ => i64::from(last.file),
    };
    let offset = match (ranged, head & GOES_ON) {
        _ if kind == Kind::Wait => (last.wakes as i64).checked_add(unsigned(take_number(from)?))?,
        (false, _) => 0,
        (true, 0) => (last.end as i64).checked_add(take_place(from)?)?,
        (true, _) => last.end as i64,
    };
    let length = match (ranged, head & SAME_LENGTH) {
        (false, _) => 0,
        (true, 0) => take_place(from)?,
        (true, _) => last.length as i64,
    };
    let mut span = |bit: u8| match head & bit {
        0 => Some(0),
        _ => take_number(from),
    };
    let run = Run {
        compute: time(compute, COMPUTE)?,
        sleep: time(span(SLEPT)?, SPAN)?,
        took: time(span(TOOK)?, SPAN)?,
        kind,
        file: u32::try_from(file).ok()?,
        offset: u64::try_from(offset).ok().filter(|&it| it <= MOST)?,
        length: u64::try_from(length).ok().filter(|&it| it <= LONGEST)?,
    };
    last.note(&run);
    Some(run)
}

impl Last {
    fn note(&mut self, run: &Run) {
        match run.kind {
            Kind::Wake => return,
            Kind::Wait => return self.wakes = run.offset,
            _ => self.file = run.file,
        }
        if run.kind.has_range() {
            self.end = run.offset + run.length;
            self.length = run.length;
        }
    }
}

fn time(steps: u64, step: u64) -> Option<Nanos> {
    steps
        .checked_mul(step)
        .filter(|&time| time <= MOST)
        .map(Nanos)
}

/// Appends a number.
pub(super) fn put_number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Takes a number from the front.
pub(super) fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn put_place(place: i64, to: &mut Vec<u8>) {
    let page = PAGE as i64;
    put_number(
        match place % page {
            0 => signed(place / page) << 1,
            _ => signed(place) << 1 | 1,
        },
        to,
    );
}

fn take_place(from: &mut &[u8]) -> Option<i64> {
    let number = take_number(from)?;
    let place = unsigned(number >> 1);
    match number & 1 {
        0 => place.checked_mul(PAGE as i64),
        _ => Some(place),
    }
}

fn signed(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn unsigned(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
