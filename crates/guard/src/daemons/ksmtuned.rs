//! The rule of the ksmtuned service, which virtualisation hosts run beside KSM.

use alloc::vec;
use alloc::vec::Vec;

use mm::meminfo::Meminfo;
use mm::settings::Setting;
use mm::units::Kib;

use super::host::{Host, setting};

/// The tunables that it sets.
pub(super) const TUNABLES: [&str; 3] = ["ksm.pages_to_scan", "ksm.sleep_millisecs", "ksm.run"];

/// Share of the memory, in percent, that should be free.
const THRESHOLD_PERCENT: u64 = 20;
/// Pages a scan more where too little is free, fewer where enough is, and their bounds.
const BOOST: u64 = 300;
const DECAY: u64 = 50;
const LEAST: u64 = 64;
const MOST: u64 = 1250;
/// Sleep between two scans on a machine of 16 GiB, and the shortest, in milliseconds.
const SLEEP: u64 = 10;
const SLEEP_MEMORY: Kib = Kib(16 << 20);

/// ksmtuned with the settings that it comes with. It decides once a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ksmtuned {
    /// Pages a scan as it last set them; 0 before.
    pages: u64,
}

impl Ksmtuned {
    /// The settings to write now, in their order: merging stops where the guests' memory and the
    /// threshold fit the machine and more than the threshold is free, and goes on faster or slower
    /// otherwise.
    pub(super) fn decide(&mut self, host: &Host) -> Vec<Setting> {
        let total = host.meminfo.mem_total.unwrap_or_default();
        let free = free(&host.meminfo);
        let threshold = Kib(total.0 / 100 * THRESHOLD_PERCENT);
        let fits = host.guests.0.saturating_add(threshold.0) < total.0;
        if fits && free > threshold {
            return vec![setting("ksm.run", 0)];
        }
        let pages = match free < threshold {
            true => self.pages.saturating_add(BOOST),
            false => self.pages.saturating_sub(DECAY),
        };
        self.pages = pages.clamp(LEAST, MOST);
        vec![
            setting("ksm.pages_to_scan", self.pages),
            setting("ksm.sleep_millisecs", sleep(total)),
            setting("ksm.run", 1),
        ]
    }
}

/// What it counts as free: what is, and the page cache.
fn free(meminfo: &Meminfo) -> Kib {
    let parts = [meminfo.mem_free, meminfo.buffers, meminfo.cached];
    parts.into_iter().flatten().sum()
}

/// The more memory, the shorter.
fn sleep(total: Kib) -> u64 {
    let scaled = (SLEEP * SLEEP_MEMORY.0).checked_div(total.0);
    scaled.unwrap_or(SLEEP).max(SLEEP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    const TOTAL: Kib = Kib(16 << 20);
    const THRESHOLD: u64 = (16 << 20) / 100 * 20;

    fn decided(rule: &mut Ksmtuned, free: u64, committed: u64) -> Vec<alloc::string::String> {
        let host = Host {
            meminfo: Meminfo {
                mem_total: Some(TOTAL),
                mem_free: Some(Kib(free / 2)),
                buffers: Some(Kib(free / 4)),
                cached: Some(Kib(free - free / 2 - free / 4)),
                ..Meminfo::default()
            },
            guests: Kib(committed),
            ..Host::default()
        };
        rule.decide(&host).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn it_stops_only_where_the_guests_fit_and_enough_is_free() {
        let mut rule = Ksmtuned::default();
        let stop = ["ksm.run = 0"];
        assert_eq!(decided(&mut rule, THRESHOLD + 1, 0), stop);
        let full = TOTAL.0 - THRESHOLD;
        assert_eq!(decided(&mut rule, THRESHOLD + 1, full - 1), stop);
        assert_ne!(decided(&mut rule, THRESHOLD + 1, full), stop);
        assert_ne!(decided(&mut rule, THRESHOLD, 0), stop);
    }

    #[test]
    fn it_goes_faster_by_300_and_slower_by_50_within_bounds() {
        let mut rule = Ksmtuned::default();
        let mut pages = |free| decided(&mut rule, free, TOTAL.0)[0].clone();
        let boosted: Vec<_> = (0..5).map(|_| pages(0)).collect();
        let expected = [300, 600, 900, 1200, 1250];
        assert_eq!(
            boosted,
            expected.map(|pages| format!("ksm.pages_to_scan = {pages}"))
        );
        assert_eq!(pages(THRESHOLD), "ksm.pages_to_scan = 1200");
        let last = (0..40).map(|_| pages(THRESHOLD)).last();
        assert_eq!(last.as_deref(), Some("ksm.pages_to_scan = 64"));
    }

    #[test]
    fn the_sleep_is_longer_on_a_smaller_machine() {
        assert_eq!(sleep(TOTAL), 10);
        assert_eq!(sleep(Kib(1 << 30)), 10, "never shorter");
        assert_eq!(sleep(Kib(512 << 10)), 320);
        assert_eq!(sleep(Kib(0)), 10);
    }
}
