//! `/proc/sys/fs/inode-nr`: how many inodes there are. A flusher that is to write everything takes
//! those in use for dirty (`get_nr_dirty_inodes`).

use crate::text::{ParseError, lines};

/// Path of the file without the leading slash.
pub const PATH: &str = "proc/sys/fs/inode-nr";

/// The number of inodes that something uses: all less those that are only cached.
///
/// # Errors
/// Where the text does not begin with two numbers.
pub fn parse_in_use(text: &str) -> Result<u64, ParseError> {
    let line = lines(PATH, text).next();
    let line = line.ok_or_else(|| ParseError::new(PATH, 1, "", "two numbers of inodes"))?;
    let mut words = line.words();
    let all: u64 = line.next_number("inodes", &mut words)?;
    let unused: u64 = line.next_number("unused inodes", &mut words)?;
    Ok(all.saturating_sub(unused))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn inodes_that_are_only_cached_are_not_in_use() {
        assert_eq!(parse_in_use("10892\t183\n"), Ok(10_709));
        assert_eq!(parse_in_use("5 9\n"), Ok(0));
        let error = parse_in_use("5\n").unwrap_err().to_string();
        assert!(error.starts_with("proc/sys/fs/inode-nr, line 1"), "{error}");
        assert!(parse_in_use("").is_err());
    }
}
