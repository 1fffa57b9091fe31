//! What the VM is told: what to perform, under which clock.

use std::fs::{self, File};
use std::io::{self, Read as _};

use scenario::Scenario;

use crate::error::Error;

/// The directory into which the bench puts what the VM needs.
pub(crate) const DIRECTORY: &str = "/plimsoll";
/// The file in which the bench tells it: a byte for the clock, the length of the scenario's bytes
/// as a little-endian 32-bit number, these bytes, and zeros to a size that is always the same.
pub(crate) const ORDERS: &str = "/plimsoll/orders";

/// What the VM is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) clock: Clock,
    pub(crate) scenario: Scenario,
}

/// What the VM's time follows, and with it which disks it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The count of instructions; disks modelled in the guest's time.
    Virtual,
    /// The host's; virtio disks.
    Wall,
}

impl Orders {
    /// Reads the file and removes it: its pages are the machine's again.
    pub(crate) fn take() -> Result<Self, Error> {
        let read = File::open(ORDERS).and_then(Self::read);
        let orders = read.map_err(|error| Error::new(ORDERS, error))?;
        fs::remove_file(ORDERS).map_err(|error| Error::new(ORDERS, error))?;
        Ok(orders)
    }

    fn read(mut file: impl io::Read) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "not what a bench writes");
        let mut head = [0; 5];
        file.read_exact(&mut head)?;
        let [clock, length @ ..] = head;
        let mut bytes = Vec::new();
        file.take(u64::from(u32::from_le_bytes(length)))
            .read_to_end(&mut bytes)?;
        Ok(Self {
            clock: match clock {
                b'v' => Clock::Virtual,
                b'w' => Clock::Wall,
                _ => return Err(wrong()),
            },
            scenario: Scenario::from_bytes(&bytes).ok_or_else(wrong)?,
        })
    }
}

impl Clock {
    /// The device of the disk with this index.
    pub(crate) fn device(self, index: usize) -> String {
        let letter = char::from(b'a' + u8::try_from(index.min(25)).unwrap_or(25));
        match self {
            Self::Virtual => format!("/dev/pd{letter}"),
            Self::Wall => format!("/dev/vd{letter}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_short_or_of_another_make_is_refused_in_a_line() {
        for bytes in [
            &b""[..],
            b"v\x02\0\0\0ab",
            b"x\0\0\0\0",
            b"v\xff\xff\xff\xff",
        ] {
            let why = Orders::read(bytes).expect_err("no orders").to_string();
            assert!(!why.contains('\n'), "{why}");
        }
        assert_eq!(Clock::Wall.device(2), "/dev/vdc");
    }
}
