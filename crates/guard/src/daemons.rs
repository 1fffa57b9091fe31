//! Daemons that administrators run for what the guard does: their rules, as arms of a study beside
//! it.
//!
//! Each is written from what its manual and its source say that it does, with the settings that it
//! comes with, and decides by the kernel's files.

mod adaptivemmd;
mod host;
mod katalyst;
mod ksmtuned;

use alloc::vec::Vec;

use mm::daemon::Daemon;
use mm::settings::Setting;

use self::adaptivemmd::Adaptivemmd;
use self::host::SCALE_FACTOR;
use self::ksmtuned::Ksmtuned;

pub use self::host::Host;

/// The daemons of a machine, with what they remember.
#[derive(Clone, Debug, Default)]
pub struct Daemons {
    ksmtuned: Ksmtuned,
    adaptivemmd: Adaptivemmd,
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
