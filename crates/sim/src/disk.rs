//! A disk: requests wait for one of its channels, and take latency, seek and transfer time.

use alloc::vec;
use alloc::vec::Vec;

use mm::machine;
use mm::units::{Bytes, Nanos};

/// A disk's queue.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    spec: machine::Disk,
    /// When each channel has served what it has.
    free_at: Vec<Nanos>,
    /// Where the last request ended: one that begins there needs no seek.
    head: u64,
}

impl Disk {
    pub(crate) fn new(spec: &machine::Disk) -> Self {
        let channels = spec.channels.max(1) as usize;
        Self {
            spec: spec.clone(),
            free_at: vec![Nanos::ZERO; channels],
            head: u64::MAX,
        }
    }

    /// Queues a read of `length` bytes at `offset` and tells when it will be done.
    pub(crate) fn read(&mut self, now: Nanos, offset: u64, length: Bytes) -> Nanos {
        let service = self.service(offset, length, self.spec.read_bandwidth);
        self.head = offset + length.0;
        let channel = self
            .free_at
            .iter_mut()
            .min()
            .expect("a disk has at least one channel");
        *channel = (*channel).max(now).saturating_add(service);
        *channel
    }

    fn service(&self, offset: u64, length: Bytes, bandwidth: Bytes) -> Nanos {
        let seek = if offset == self.head {
            Nanos::ZERO
        } else {
            self.spec.seek
        };
        let transfer = u128::from(length.0) * 1_000_000_000 / u128::from(bandwidth.0.max(1));
        let moving = Nanos(u64::try_from(transfer).unwrap_or(u64::MAX));
        self.spec
            .latency
            .saturating_add(seek)
            .saturating_add(moving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Disk {
        Disk::new(&machine::Disk {
            name: "disk".into(),
            size: Bytes::GIB,
            read_bandwidth: Bytes(1 << 20),
            write_bandwidth: Bytes(1 << 20),
            latency: Nanos(1000),
            seek: Nanos(8_000_000),
            channels: 1,
            queue_depth: 2,
            rotational: true,
        })
    }

    #[test]
    fn a_request_that_follows_the_last_one_needs_no_seek() {
        let mut disk = disk();
        let first = disk.read(Nanos(0), 0, Bytes(1 << 20));
        assert_eq!(first, Nanos(1_000_000_000 + 8_001_000));
        let second = disk.read(Nanos(0), 1 << 20, Bytes(1 << 20));
        assert_eq!(
            second,
            first + Nanos(1_000_001_000),
            "it waits for the channel, then streams"
        );
        let third = disk.read(Nanos(5_000_000_000), 0, Bytes(0));
        assert_eq!(
            third,
            Nanos(5_008_001_000),
            "an idle disk starts at once, with a seek back"
        );
    }
}
