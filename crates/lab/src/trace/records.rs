//! Binary traces: records of one length, one after the other.

use std::io::{self, ErrorKind, Read};

use super::problem::Problem;

/// Objects or page indices that are handed over at once.
pub(super) const BATCH: usize = 1 << 16;

/// Gives the objects of records of `N` bytes to `each`, and back how many records were passed over:
/// those of which `object` makes nothing. `of` names the format where the file ends in a record.
pub(super) fn read<const N: usize>(
    mut input: impl Read,
    of: &'static str,
    object: impl Fn(&[u8; N]) -> Option<u64>,
    mut each: impl FnMut(&[u64]) -> Result<(), Problem>,
) -> Result<u64, Problem> {
    let (mut records, mut skipped) = (0, 0);
    let mut bytes = vec![0; N * BATCH];
    let mut objects = Vec::with_capacity(BATCH);
    loop {
        let filled = fill(&mut input, &mut bytes)?;
        let (whole, rest) = bytes[..filled].as_chunks::<N>();
        objects.clear();
        objects.extend(whole.iter().filter_map(&object));
        records += whole.len() as u64;
        skipped += (whole.len() - objects.len()) as u64;
        each(&objects)?;
        match rest.len() {
            0 if filled < bytes.len() => return Ok(skipped),
            0 => {}
            left => return Err(truncated::<N>(of, records, left)),
        }
    }
}

/// Reads until the buffer is full or the input ends; gives back the bytes that are there.
pub(super) fn fill(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn truncated<const N: usize>(of: &'static str, records: u64, left: usize) -> Problem {
    Problem::Truncated {
        of,
        record: records + 1,
        offset: records * N as u64,
        left,
        size: N,
    }
}
