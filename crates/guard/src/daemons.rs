//! Daemons that administrators run for what the guard does: their rules, as arms of a study beside
//! it.
//!
//! Each is written from what its manual and its source say that it does, with the settings that it
//! comes with, and decides by the kernel's files.

mod adaptivemmd;
mod katalyst;
mod ksmtuned;

use alloc::format;
use alloc::vec::Vec;

use mm::meminfo::Meminfo;
use mm::settings::Setting;
use mm::units::{Kib, Nanos};
use mm::vmstat::Vmstat;
use mm::workload::Daemon;
use mm::zoneinfo::Zoneinfo;

use self::adaptivemmd::Adaptivemmd;
use self::ksmtuned::Ksmtuned;

const SCALE_FACTOR: &str = "vm.watermark_scale_factor";

/// The daemons of a machine, with what they remember.
#[derive(Clone, Debug, Default)]
pub struct Daemons {
    ksmtuned: Ksmtuned,
    adaptivemmd: Adaptivemmd,
}

/// What a daemon looks at.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// When, since any moment before the first decision.
    pub at: Nanos,
    /// `/proc/meminfo`.
    pub meminfo: Meminfo,
    /// `/proc/vmstat`.
    pub vmstat: Vmstat,
    /// `/proc/zoneinfo`.
    pub zoneinfo: Zoneinfo,
    /// `vm.watermark_scale_factor`.
    pub scale_factor: u64,
    /// Resident memory of all guests, merged pages counted for each.
    pub guests: Kib,
}

impl Daemons {
    /// The settings that a daemon writes now, in their order.
    pub fn decide(&mut self, daemon: Daemon, host: &Host) -> Vec<Setting> {
        match daemon {
            Daemon::Ksmtuned => self.ksmtuned.decide(host),
            Daemon::Adaptivemmd => self.adaptivemmd.decide(host),
            Daemon::Katalyst => katalyst::decide(host),
        }
    }
}

/// The tunables that a daemon sets.
#[must_use]
pub fn tunables(daemon: Daemon) -> &'static [&'static str] {
    match daemon {
        Daemon::Ksmtuned => &ksmtuned::TUNABLES,
        Daemon::Adaptivemmd | Daemon::Katalyst => &[SCALE_FACTOR],
    }
}

fn setting(tunable: &str, value: u64) -> Setting {
    Setting {
        tunable: tunable.into(),
        value: format!("{value}"),
    }
}
