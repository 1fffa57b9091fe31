//! What the VM is told: which arm of the study, with which seed, under which clock.

use crate::error::Error;

/// The directory into which the bench puts what it tells the VM.
pub(crate) const DIRECTORY: &str = "/plimsoll";

/// The text of `/plimsoll/run`, one word and its value a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// `arm NAME`.
    pub arm: String,
    /// `seed N`.
    pub seed: u64,
    /// `clock virtual` or `clock wall`.
    pub clock: Clock,
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
    /// Reads the orders' text.
    ///
    /// # Errors
    /// What is missing or no value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            let found = lines.find(|(word, _)| *word == key);
            found
                .map(|(_, value)| value)
                .ok_or_else(|| wrong(&format!("no line \"{key} …\"")))
        };
        let seed = value("seed")?;
        Ok(Self {
            arm: value("arm")?.to_owned(),
            seed: seed
                .parse()
                .map_err(|_| wrong(&format!("seed {seed}: not a number")))?,
            clock: match value("clock")? {
                "virtual" => Clock::Virtual,
                "wall" => Clock::Wall,
                other => return Err(wrong(&format!("clock {other}: neither virtual nor wall"))),
            },
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

fn wrong(why: &str) -> Error {
    Error::new(format!("{DIRECTORY}/run"), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_in_any_order() {
        let orders = Orders::parse("seed 7\nclock virtual\narm raised a lot\n");
        let wanted = Orders {
            arm: "raised a lot".into(),
            seed: 7,
            clock: Clock::Virtual,
        };
        assert_eq!(orders, Ok(wanted));
        assert_eq!(Clock::Wall.device(2), "/dev/vdc");
        for (text, why) in [
            ("seed 7\nclock wall\n", "no line \"arm …\""),
            ("arm a\nseed x\nclock wall\n", "seed x: not a number"),
            (
                "arm a\nseed 7\nclock sun\n",
                "clock sun: neither virtual nor wall",
            ),
        ] {
            let error = Orders::parse(text).expect_err(why).to_string();
            assert_eq!(error, format!("/plimsoll/run: {why}"));
        }
    }
}
