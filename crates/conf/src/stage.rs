//! The programs that set tunables from boot on, in the order in which they come.

use core::fmt;

/// A program that sets tunables. What comes later stands, but for two that run side by side:
/// nothing orders [`Stage::Sysctl`] and [`Stage::Tmpfiles`], for both only come before
/// `sysinit.target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The kernel itself, from its command line.
    CommandLine,
    /// The loader of `sysctl.d`.
    Sysctl,
    /// systemd-tmpfiles.
    Tmpfiles,
}

impl Stage {
    /// Whether two stages run side by side, so that either may come last.
    #[must_use]
    pub fn races(self, other: Self) -> bool {
        let both = [self, other];
        both == [Self::Sysctl, Self::Tmpfiles] || both == [Self::Tmpfiles, Self::Sysctl]
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CommandLine => "the kernel's command line",
            Self::Sysctl => "sysctl.d",
            Self::Tmpfiles => "systemd-tmpfiles",
        })
    }
}
