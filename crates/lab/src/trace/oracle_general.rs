//! libCacheSim's `oracleGeneral`: records of 24 bytes, little endian, without padding.
//!
//! ```text
//! u32 time in seconds | u64 object id | u32 object size | i64 number of the object's next access
//! ```

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use super::problem::Problem;
use super::records;

const RECORD: usize = 24;

/// Gives the objects of the records to `each`, and back how many were passed over: records of
/// size 0, which libCacheSim passes over too (a size of 0 marks a deletion or a failed request).
pub(super) fn read(
    input: impl Read,
    each: impl FnMut(&[u64]) -> Result<(), Problem>,
) -> Result<u64, Problem> {
    let sized = |record: &[u8; RECORD]| (size(record) > 0).then(|| object(record));
    records::read(input, "oracleGeneral", sized, each)
}

/// What in the records with which a file begins is not of such a trace: a time that goes back.
/// Any bytes whose number is a multiple of 24 could be read as one.
pub(super) fn contradiction(head: &[u8]) -> Option<String> {
    let (records, _) = head.as_chunks::<RECORD>();
    let mut pairs = records.windows(2).enumerate();
    let (at, _) = pairs.find(|(_, pair)| time(&pair[1]) < time(&pair[0]))?;
    Some(format!(
        "record {} is earlier than the one before it",
        at + 2
    ))
}

/// Writes a trace of objects of one page of 4 KiB, one access a second; the next access is
/// filled in as libCacheSim's own converter does (-1 where there is none).
///
/// # Errors
/// What the output says.
pub fn write(output: &mut impl Write, objects: impl Iterator<Item = u64>) -> io::Result<()> {
    let objects: Vec<u64> = objects.collect();
    for (time, (object, next)) in objects.iter().zip(next_accesses(&objects)).enumerate() {
        output.write_all(&u32::try_from(time).unwrap_or(u32::MAX).to_le_bytes())?;
        output.write_all(&object.to_le_bytes())?;
        output.write_all(&4096_u32.to_le_bytes())?;
        output.write_all(&next.to_le_bytes())?;
    }
    Ok(())
}

/// For each access the number of the next one to the same object, from 1 as libCacheSim counts.
fn next_accesses(objects: &[u64]) -> Vec<i64> {
    let mut latest = BTreeMap::new();
    let mut next = vec![-1; objects.len()];
    for (at, object) in objects.iter().enumerate().rev() {
        if let Some(later) = latest.insert(object, at) {
            next[at] = i64::try_from(later).unwrap_or(i64::MAX - 1) + 1;
        }
    }
    next
}

fn time(record: &[u8; RECORD]) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|at| record[at]))
}

fn object(record: &[u8; RECORD]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|at| record[4 + at]))
}

fn size(record: &[u8; RECORD]) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|at| record[12 + at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> Result<(Vec<u64>, u64), String> {
        let mut objects = Vec::new();
        let skipped = read(bytes, |batch| {
            objects.extend_from_slice(batch);
            Ok(())
        });
        skipped
            .map(|skipped| (objects, skipped))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_record_is_24_bytes_without_padding() {
        let mut bytes = Vec::new();
        write(&mut bytes, [5, 9, 5].into_iter()).unwrap();
        assert_eq!(bytes.len(), 3 * RECORD);
        let first = [
            0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(bytes[..RECORD], first);
        assert_eq!(bytes[RECORD + 16..2 * RECORD], (-1_i64).to_le_bytes());
        assert_eq!(read_all(&bytes), Ok((vec![5, 9, 5], 0)));
    }

    #[test]
    fn a_record_without_size_is_passed_over() {
        let mut bytes = Vec::new();
        write(&mut bytes, [5, 9].into_iter()).unwrap();
        bytes[12..16].fill(0);
        assert_eq!(read_all(&bytes), Ok((vec![9], 1)));
    }

    #[test]
    fn a_file_that_ends_inside_a_record_says_where() {
        let mut bytes = Vec::new();
        write(&mut bytes, 0..3).unwrap();
        assert_eq!(
            read_all(&bytes[..55]).unwrap_err(),
            "record 3 at byte 48 has 7 of 24 bytes: \
             the file was cut off, or it is no oracleGeneral trace; copy it again, name its \
             --format, or keep what is whole with `truncate -s 48 FILE`"
        );
    }

    #[test]
    fn a_time_that_goes_back_is_no_trace() {
        let mut bytes = Vec::new();
        write(&mut bytes, [5, 9, 5].into_iter()).unwrap();
        assert_eq!(contradiction(&bytes), None);
        bytes[24..28].fill(0xff);
        let said = contradiction(&bytes).unwrap();
        assert_eq!(said, "record 3 is earlier than the one before it");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic_the_reader(bytes: Vec<u8>) {
            let whole = bytes.len().is_multiple_of(RECORD);
            proptest::prop_assert_eq!(read_all(&bytes).is_ok(), whole);
        }
    }
}
