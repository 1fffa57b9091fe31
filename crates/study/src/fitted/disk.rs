//! Kinds of disks, and what is usual for each.

use mm::quantity;
use mm::units::{Bytes, Nanos};

/// Of larger requests the transfer, of which only what is usual is known, is most of the time.
const SMALL: Bytes = Bytes(64 << 10);

/// A kind of disk, with what is usual for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskKind {
    /// 7200 rotations a minute: 150 MB/s, and 12 ms for a request out of order (half a rotation
    /// and an average seek of 8 ms).
    Hdd,
    /// By SATA: 500 MB/s and 100 us, 8 requests at a time.
    Ssd,
    /// By PCI Express: 2 GB/s and 80 us, 32 requests at a time.
    Nvme,
}

impl DiskKind {
    /// Every kind by the word for it.
    pub const WORDS: [(&'static str, Self); 3] =
        [("hdd", Self::Hdd), ("ssd", Self::Ssd), ("nvme", Self::Nvme)];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        let named = Self::WORDS.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(word, _)| word)
    }

    /// What requests that took this long, of that many bytes, leave beside their transfer. Of a
    /// disk
    /// that rotates the seeks are not told from it.
    pub(crate) fn latency(self, (time, bytes): (Nanos, Bytes)) -> Option<Nanos> {
        let bandwidth = self.keys()[0].1.strip_suffix("/s")?;
        let bandwidth = quantity::size(bandwidth).ok()?;
        let transfer = bytes.0.saturating_mul(Nanos::SECOND.0) / bandwidth.0.max(1);
        let rest = time.0.saturating_sub(transfer).max(1000);
        (self != Self::Hdd && bytes <= SMALL).then_some(Nanos(rest))
    }

    /// The keys of a study's disk.
    pub(crate) fn keys(self) -> [(&'static str, &'static str); 5] {
        let [bandwidth, latency, seek, channels, rotational] = match self {
            Self::Hdd => ["150 MB/s", "100 us", "12 ms", "1", "true"],
            Self::Ssd => ["500 MB/s", "100 us", "0 us", "8", "false"],
            Self::Nvme => ["2 GB/s", "80 us", "0 us", "32", "false"],
        };
        [
            ("bandwidth", bandwidth),
            ("latency", latency),
            ("seek", seek),
            ("channels", channels),
            ("rotational", rotational),
        ]
    }
}
