//! A zram device: block storage in compressed memory, `/sys/block/zramN`.

use alloc::string::String;

use crate::choice::Choice;
use crate::text::{ParseError, lines, number};
use crate::units::Bytes;

/// One device. A field is `None` where its file is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zram {
    /// How much can be stored (`disksize`).
    pub size: Option<Bytes>,
    /// The algorithm in use (`comp_algorithm`).
    pub algorithm: Option<String>,
    /// `mm_stat`.
    pub memory: Option<MmStat>,
}

/// What is stored and what it takes (`mm_stat`), all in bytes but the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MmStat {
    /// Stored, before compression.
    pub original: Bytes,
    /// The same, compressed.
    pub compressed: Bytes,
    /// Memory taken, with the allocator's metadata and gaps.
    pub used: Bytes,
    /// The most that may be taken; zero for no limit.
    pub limit: Bytes,
    /// The most that was ever taken.
    pub peak: Bytes,
    /// Pages filled with one value, which take no memory.
    pub same_pages: u64,
    /// Pages that did not compress and are stored as they are; kernels since 4.19.
    pub huge_pages: Option<u64>,
}

/// The device and the file that a path names: `zram0` and `mm_stat`; `None` for other files.
#[must_use]
pub fn device_of(path: &str) -> Option<(&str, &str)> {
    let (device, file) = path.strip_prefix("sys/block/")?.split_once('/')?;
    let is_zram = device.starts_with("zram");
    let known = ["disksize", "comp_algorithm", "mm_stat"].contains(&file);
    (is_zram && known).then_some((device, file))
}

impl Zram {
    /// Takes in one of the device's files.
    ///
    /// # Errors
    /// Where the file does not hold what it should.
    pub fn read(&mut self, path: &str, text: &str) -> Result<(), ParseError> {
        match path.rsplit('/').next() {
            Some("disksize") => self.size = Some(Bytes(number(path, text)?)),
            Some("comp_algorithm") => self.algorithm = Some(algorithm(path, text)?),
            Some("mm_stat") => self.memory = Some(MmStat::parse(path, text)?),
            _ => {}
        }
        Ok(())
    }
}

impl MmStat {
    /// Reads the text of `mm_stat`; `file` names it in errors.
    ///
    /// # Errors
    /// Where it is not a line of at least six numbers.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let Some(line) = lines(file, text).next() else {
            return Err(ParseError::new(file, 1, text, "a line of numbers"));
        };
        let mut words = line.words();
        let mut next = |item| line.next_number(item, &mut words);
        let mut stat = Self {
            original: Bytes(next("orig_data_size")?),
            compressed: Bytes(next("compr_data_size")?),
            used: Bytes(next("mem_used_total")?),
            limit: Bytes(next("mem_limit")?),
            peak: Bytes(next("mem_used_max")?),
            same_pages: next("same_pages")?,
            huge_pages: None,
        };
        let _compacted: Option<u64> = next("pages_compacted").ok();
        stat.huge_pages = next("huge_pages").ok();
        Ok(stat)
    }
}

/// The algorithm in brackets, or the only word.
fn algorithm(path: &str, text: &str) -> Result<String, ParseError> {
    let text = text.trim_ascii();
    match Choice::parse(path, text) {
        Ok(choice) => Ok(choice.chosen().into()),
        Err(_) if !text.is_empty() && !text.contains(' ') => Ok(text.into()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_read_with_what_compresses_it() {
        let mut zram = Zram::default();
        for (file, text) in [
            ("sys/block/zram0/disksize", "268435456\n"),
            ("sys/block/zram0/comp_algorithm", "lzo-rle [lz4] zstd\n"),
            (
                "sys/block/zram0/mm_stat",
                "  4096  1024  8192  0  12288  7  0  3  5\n",
            ),
        ] {
            let (device, _) = device_of(file).expect("a file of a zram device");
            assert_eq!(device, "zram0");
            zram.read(file, text).expect("it is understood");
        }
        let memory = zram.memory.expect("mm_stat");
        assert_eq!(zram.algorithm.as_deref(), Some("lz4"));
        assert_eq!((memory.used, memory.peak), (Bytes(8192), Bytes(12288)));
        assert_eq!((memory.same_pages, memory.huge_pages), (7, Some(3)));
    }

    #[test]
    fn other_devices_and_files_are_none_of_it() {
        assert_eq!(device_of("sys/block/vda/mm_stat"), None);
        assert_eq!(device_of("sys/block/zram0/size"), None);
        assert_eq!(device_of("sys/block/zram0/queue/rotational"), None);
    }

    #[test]
    fn a_cut_line_and_other_words_are_named() {
        let error = MmStat::parse("mm_stat", "1 2 3\n").expect_err("cut off");
        assert_eq!(error.item, "mem_limit");
        let mut zram = Zram::default();
        assert!(zram.read("comp_algorithm", "lzo lz4\n").is_err());
        assert!(zram.read("comp_algorithm", "zstd\n").is_ok());
        assert!(zram.read("disksize", "big\n").is_err());
        assert!(MmStat::parse("mm_stat", "\n").is_err());
    }
}
