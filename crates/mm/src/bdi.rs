//! A block device's part of the dirty limits: `/sys/block/NAME/bdi`.
//!
//! The kernel gives each device a part of the dirty threshold by how fast it writes; these files
//! bound that part.

use crate::text::{ParseError, number};

/// One device. A field is `None` where its file is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bdi {
    /// The device is given at least so many percent of the threshold; 0 by default.
    pub min_ratio: Option<u64>,
    /// And at most so many; 100 by default.
    pub max_ratio: Option<u64>,
    /// Whether its writers wait at its own part even while the machine is far below the threshold;
    /// since Linux 6.2.
    pub is_strict: Option<bool>,
}

/// The device and the file that a path names; `None` for other files.
#[must_use]
pub fn device_of(path: &str) -> Option<(&str, &str)> {
    let (device, file) = path.strip_prefix("sys/block/")?.split_once("/bdi/")?;
    let known = ["min_ratio", "max_ratio", "strict_limit"].contains(&file);
    (known && !device.contains('/')).then_some((device, file))
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

#[cfg(test)]
mod tests {
    use super::*;

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
