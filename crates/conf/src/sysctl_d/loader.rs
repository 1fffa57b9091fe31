//! Programs that write `sysctl.d` into the kernel.

use core::fmt;

/// A program that writes `sysctl.d` into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loader {
    /// `systemd-sysctl`, at boot on nearly every distribution with systemd.
    Systemd,
    /// procps's `sysctl --system`: start scripts of sysvinit, and what administrators type.
    Procps,
    /// busybox's `sysctl -p`, file by file, as the start script of Alpine's OpenRC runs it.
    Alpine,
}

/// Every loader.
pub const LOADERS: [Loader; 3] = [Loader::Systemd, Loader::Procps, Loader::Alpine];

impl Loader {
    /// The loaders that may run on the same machine as well: `sysctl --system` is what people type
    /// beside systemd, and systemd may replace a start script.
    #[must_use]
    pub fn others(self) -> &'static [Self] {
        match self {
            Self::Systemd | Self::Alpine => &[Self::Procps],
            Self::Procps => &[Self::Systemd],
        }
    }
}

impl fmt::Display for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Systemd => "systemd-sysctl",
            Self::Procps => "procps sysctl --system",
            Self::Alpine => "Alpine's sysctl service",
        })
    }
}
