//! `/proc/diskstats`: what each block device did since boot.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::text::{Line, ParseError, lines};
use crate::units::{Bytes, Nanos};

/// Path without the leading slash.
pub const PATH: &str = "proc/diskstats";

/// `/proc/diskstats`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diskstats {
    /// The devices in the file's order.
    pub disks: Vec<DiskStats>,
}

/// The counters of one block device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Its major and minor number, as the kernel names its backing device: `254:0`.
    pub number: String,
    /// Its name in `/dev`.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read: Bytes,
    /// Time spent reading, summed over requests.
    pub read_time: Nanos,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written: Bytes,
    /// Time spent writing, summed over requests.
    pub write_time: Nanos,
    /// Requests under way: a gauge.
    pub in_flight: u64,
    /// Time in which at least one request was under way.
    pub busy: Nanos,
}

impl Diskstats {
    /// Reads the text of `/proc/diskstats`.
    ///
    /// # Errors
    /// The first line that has not the eleven classic fields.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let disks = lines(PATH, text).map(|line| DiskStats::parse(&line));
        Ok(Self {
            disks: disks.collect::<Result<_, _>>()?,
        })
    }

    /// The device of this name.
    #[must_use]
    pub fn disk(&self, name: &str) -> Option<&DiskStats> {
        self.disks.iter().find(|disk| disk.name == name)
    }
}

impl DiskStats {
    fn parse(line: &Line<'_>) -> Result<Self, ParseError> {
        let mut words = line.words();
        let (Some(major), Some(minor), Some(name)) = (words.next(), words.next(), words.next())
        else {
            return Err(line.error(line.text, "\"MAJOR MINOR NAME NUMBER…\""));
        };
        let mut next = |item| line.next_number::<u64>(item, &mut words);
        let sectors = |count: u64| Bytes(count.saturating_mul(512));
        let millis = |count: u64| Nanos(count.saturating_mul(Nanos::MILLI.0));
        let (reads, _merged) = (next("reads")?, next("reads merged")?);
        let (read, read_time) = (sectors(next("sectors read")?), millis(next("read time")?));
        let (writes, _merged) = (next("writes")?, next("writes merged")?);
        let written = sectors(next("sectors written")?);
        let write_time = millis(next("write time")?);
        Ok(Self {
            number: format!("{major}:{minor}"),
            name: name.into(),
            reads,
            read,
            read_time,
            writes,
            written,
            write_time,
            in_flight: next("requests in flight")?,
            busy: millis(next("time busy")?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_become_bytes_and_milliseconds_time() {
        let text = " 253       0 lda 7 1 58 17 1 0 8 6 0 20 23 0 0 0 0 0 0\n";
        let stats = Diskstats::parse(text).expect("diskstats");
        let disk = stats.disk("lda").expect("the disk");
        assert_eq!(disk.number, "253:0");
        assert_eq!((disk.reads, disk.read), (7, Bytes(58 * 512)));
        assert_eq!((disk.writes, disk.written), (1, Bytes(4096)));
        assert_eq!(disk.busy, Nanos(20_000_000));
        assert!(stats.disk("sda").is_none());
    }

    #[test]
    fn a_short_line_is_named() {
        let error = Diskstats::parse("8 0 sda 1 2 3").expect_err("too short");
        assert_eq!(error.item, "read time");
    }
}
