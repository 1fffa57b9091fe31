//! What an administrator allows a device: the files of its folder `bdi`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use mm::formula::throttle::share::{Bounds, WHOLE};

use crate::mm::page_writeback::state::Writeback;

/// The bounds of a device: its share, and whether that alone rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounded {
    pub(crate) share: Bounds,
    /// Its own share rules, however little is dirty elsewhere (`strict_limit`).
    pub(crate) is_strict: bool,
}

/// One percent of the threshold.
const PERCENT: u64 = WHOLE / 100;

impl Writeback {
    /// The bounds of all devices.
    pub(crate) fn bounds(&self) -> Vec<Bounded> {
        let devices = self.devices.iter();
        devices.map(|device| device.throttle.bounded).collect()
    }

    /// The number in a file of a device.
    pub(crate) fn bdi(&self, disk: usize, file: &str) -> u64 {
        let Bounded { share, is_strict } = self.devices[disk].throttle.bounded;
        match file {
            "min_ratio" => share.min / PERCENT,
            "max_ratio" => share.max / PERCENT,
            "max_ratio_fine" => share.max,
            _ => u64::from(is_strict),
        }
    }

    /// Writes a number into a file of a device (`bdi_set_min_ratio`, `bdi_set_max_ratio`).
    ///
    /// # Errors
    /// Why the kernel refuses it.
    pub(crate) fn set_bdi(&mut self, disk: usize, file: &str, value: u64) -> Result<(), String> {
        let least: u64 = self.reserved();
        let bounded = &mut self.devices[disk].throttle.bounded;
        let share = &mut bounded.share;
        match file {
            "min_ratio" => {
                let others = least - share.min.min(least);
                let min = value.saturating_mul(PERCENT);
                if min > share.max {
                    return Err("it is above the device's max_ratio".to_string());
                }
                if others + min >= WHOLE {
                    return Err("all devices together would be granted everything".to_string());
                }
                share.min = min;
            }
            "max_ratio" | "max_ratio_fine" => {
                let grain = if file == "max_ratio" { PERCENT } else { 1 };
                let max = value.saturating_mul(grain);
                if share.min > max {
                    return Err("it is below the device's min_ratio".to_string());
                }
                share.max = max;
            }
            _ => bounded.is_strict = value != 0,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use crate::mm::page_writeback::state::Device;
    use crate::mm::parts::Memory;

    #[test]
    fn a_device_keeps_within_its_own_bounds_and_all_of_them_within_the_whole() {
        let mut memory = Memory::with_zone(1000, 10);
        memory.writeback.devices.resize_with(2, Device::default);
        assert_eq!(memory.writeback.set_bdi(0, "max_ratio", 20), Ok(()));
        assert!(memory.writeback.set_bdi(0, "min_ratio", 21).is_err());
        assert_eq!(memory.writeback.set_bdi(0, "min_ratio", 20), Ok(()));
        assert!(
            memory.writeback.set_bdi(1, "min_ratio", 80).is_err(),
            "nothing is left"
        );
        assert_eq!(memory.writeback.set_bdi(1, "min_ratio", 79), Ok(()));
        assert!(memory.writeback.set_bdi(0, "max_ratio", 19).is_err());
        assert_eq!(memory.writeback.set_bdi(0, "strict_limit", 1), Ok(()));
        assert!(memory.writeback.devices[0].throttle.bounded.is_strict);
    }
}
