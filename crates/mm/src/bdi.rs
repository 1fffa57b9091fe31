//! A backing device: what bounds its part of the dirty limits (`/sys/block/NAME/bdi`, or
//! `/sys/class/bdi/NAME` where no block device is behind it), and what it holds (debugfs).
//!
//! The kernel gives each device a part of the dirty threshold by how much it wrote of late, and
//! estimates how fast it writes.

use crate::text::{Line, ParseError, lines, number};
use crate::units::{Bytes, Kib, Nanos};

/// Where debugfs has a folder for each backing device, without the leading slash.
pub const DEBUGFS: &str = "sys/kernel/debug/bdi";

/// What the kernel takes for the bandwidth until it has measured one: 100 MiB in a second.
pub const FIRST_GUESS: Kib = Kib(100 << 10);

/// One device. A field is `None` where its file is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bdi {
    /// The device is given at least this percentage of the threshold; 0 by default.
    pub min_ratio: Option<u64>,
    /// And at most this percentage; 100 by default.
    pub max_ratio: Option<u64>,
    /// The most in bytes; since Linux 6.2, where it may be set in place of the percent.
    pub max_bytes: Option<Bytes>,
    /// Whether its writers wait at its own part even while the machine is far below the threshold;
    /// since Linux 6.2.
    pub is_strict: Option<bool>,
}

/// What a backing device holds and how fast it writes: `/sys/kernel/debug/bdi/NAME/stats`.
///
/// Before Linux 6.10 the amounts are those of the root control group alone. A field is `None` where
/// its line is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Under writeback (`BdiWriteback`).
    pub writeback: Option<Kib>,
    /// Dirty, not under writeback yet (`BdiReclaimable`).
    pub reclaimable: Option<Kib>,
    /// Its part of the dirty threshold (`BdiDirtyThresh`).
    pub part: Option<Kib>,
    /// The threshold of the whole machine (`DirtyThresh`).
    pub threshold: Option<Kib>,
    /// Dirtied since it is there (`BdiDirtied`).
    pub dirtied: Option<Kib>,
    /// Written since (`BdiWritten`).
    pub written: Option<Kib>,
    /// What the kernel thinks it writes in a second (`BdiWriteBandwidth`).
    pub bandwidth: Option<Kib>,
}

/// The device and the file that a path names; `None` for other files.
#[must_use]
pub fn device_of(path: &str) -> Option<(&str, &str)> {
    let (device, file) = match path.strip_prefix("sys/block/") {
        Some(block) => block.split_once("/bdi/")?,
        None => path.strip_prefix("sys/class/bdi/")?.split_once('/')?,
    };
    let known = ["min_ratio", "max_ratio", "max_bytes", "strict_limit"].contains(&file);
    (known && !device.contains('/')).then_some((device, file))
}

/// The backing device whose statistics a path names: `254:0`, `0:52`, `btrfs-1`.
#[must_use]
pub fn stats_of(path: &str) -> Option<&str> {
    let folder = path.strip_prefix(DEBUGFS)?.strip_prefix('/')?;
    folder
        .strip_suffix("/stats")
        .filter(|name| !name.contains('/'))
}

impl Bdi {
    /// Takes in one of the device's files.
    ///
    /// # Errors
    /// Where it is not a number.
    pub fn read(&mut self, path: &str, text: &str) -> Result<(), ParseError> {
        match path.rsplit('/').next() {
            Some("min_ratio") => self.min_ratio = Some(number(path, text)?),
            Some("max_ratio") => self.max_ratio = Some(number(path, text)?),
            Some("max_bytes") => self.max_bytes = Some(Bytes(number(path, text)?)),
            Some("strict_limit") => {
                let strict: u64 = number(path, text)?;
                self.is_strict = Some(strict != 0);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether anything is not as the kernel sets it up.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.min_ratio.is_some_and(|ratio| ratio > 0)
            || self.max_ratio.is_some_and(|ratio| ratio < 100)
            || self.is_strict == Some(true)
    }
}

impl Stats {
    /// Reads the text of `stats`; `file` names it in errors.
    ///
    /// # Errors
    /// The first line of ours that is no amount, or a text without any.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let mut stats = Self::default();
        for line in lines(file, text) {
            stats.take(&line)?;
        }
        if stats == Self::default() {
            return Err(ParseError::new(file, 1, text, "lines of \"NAME: NUMBER\""));
        }
        Ok(stats)
    }

    fn take(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let mut words = line.words();
        let name = words.next().unwrap_or_default();
        let field = match name {
            "BdiWriteback:" => &mut self.writeback,
            "BdiReclaimable:" => &mut self.reclaimable,
            "BdiDirtyThresh:" => &mut self.part,
            "DirtyThresh:" => &mut self.threshold,
            "BdiDirtied:" => &mut self.dirtied,
            "BdiWritten:" => &mut self.written,
            "BdiWriteBandwidth:" => &mut self.bandwidth,
            // Lists of inodes and flags, of which no amount follows.
            _ => return Ok(()),
        };
        let value = line.next_number(name, &mut words)?;
        *field = Some(Kib(line.amount(name, value)?));
        Ok(())
    }

    /// What waits to be written and what is being written.
    #[must_use]
    pub fn held(&self) -> Option<Kib> {
        Some(self.reclaimable? + self.writeback?)
    }

    /// Whether the kernel has measured the bandwidth: before, it goes by [`FIRST_GUESS`].
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.bandwidth
            .is_some_and(|bandwidth| bandwidth != FIRST_GUESS)
    }

    /// How long the device writes so much, by its bandwidth; `None` where that is not known.
    #[must_use]
    pub fn time_for(&self, amount: Kib) -> Option<Nanos> {
        let bandwidth = u128::from(self.bandwidth?.0);
        let time = (u128::from(amount.0) * u128::from(Nanos::SECOND.0)).checked_div(bandwidth)?;
        Some(Nanos(u64::try_from(time).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 6.1 prints it, of a disk that a file is being written to.
    const STATS: &str = "BdiWriteback:             8192 kB\nBdiReclaimable:         131072 kB\n\
         BdiDirtyThresh:         718812 kB\nDirtyThresh:            718848 kB\n\
         BackgroundThresh:       358984 kB\nBdiDirtied:            4259840 kB\n\
         BdiWritten:            4120576 kB\nBdiWriteBandwidth:       69632 kBps\n\
         b_dirty:                     1\nb_io:                        0\n\
         b_more_io:                   0\nb_dirty_time:                3\n\
         bdi_list:                    1\nstate:                       b\n";

    #[test]
    fn what_a_device_holds_takes_its_bandwidths_time() {
        let path = "sys/kernel/debug/bdi/254:0/stats";
        assert_eq!(stats_of(path), Some("254:0"));
        let stats = Stats::parse(path, STATS).expect("a kernel's text");
        assert_eq!(stats.held(), Some(Kib(136 << 10)));
        assert!(stats.is_measured());
        assert_eq!(stats.time_for(Kib(136 << 10)), Some(Nanos(2_000_000_000)));
        let idle = Stats {
            bandwidth: Some(Kib(0)),
            ..stats
        };
        assert_eq!(idle.time_for(Kib(1)), None);
    }

    #[test]
    fn statistics_without_any_of_ours_and_words_for_numbers_are_named() {
        assert!(Stats::parse("stats", "state: b\n").is_err());
        let error = Stats::parse("stats", "BdiWritten: all kB\n").expect_err("a word");
        assert_eq!(error.item, "BdiWritten:");
        assert!(Stats::parse("stats", "BdiWritten: 18446744073709551615 kB\n").is_err());
        assert_eq!(stats_of("sys/kernel/debug/bdi/a/b/stats"), None);
        assert_eq!(stats_of("sys/kernel/debug/bdi/stats"), None);
    }

    #[test]
    fn a_file_system_without_a_block_device_has_bounds_too() {
        let path = "sys/class/bdi/btrfs-1/max_bytes";
        assert_eq!(device_of(path), Some(("btrfs-1", "max_bytes")));
    }

    #[test]
    fn a_device_is_bounded_once_a_ratio_is_set() {
        let mut bdi = Bdi::default();
        let mut read = |file: &str, text| {
            let path = alloc::format!("sys/block/vda/bdi/{file}");
            assert_eq!(device_of(&path).map(|(device, _)| device), Some("vda"));
            bdi.read(&path, text).expect("a number");
            bdi.is_bounded()
        };
        assert!(!read("min_ratio", "0\n"));
        assert!(!read("max_ratio", "100\n"));
        assert!(!read("strict_limit", "0\n"));
        assert!(read("max_ratio", "10\n"));
        assert_eq!(bdi.max_ratio, Some(10));
    }

    #[test]
    fn other_files_are_none_of_it_and_words_are_named() {
        assert_eq!(device_of("sys/block/vda/bdi/read_ahead_kb"), None);
        assert_eq!(device_of("sys/block/vda/size"), None);
        let error = Bdi::default()
            .read("bdi/max_ratio", "all\n")
            .expect_err("no number");
        assert_eq!(error.item, "all");
    }
}
