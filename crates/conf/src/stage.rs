//! The programs that set tunables from boot on, in the order in which they come.

use core::fmt;

use crate::live::Live;
use crate::load::Load;
use crate::sysctl_d::{self, Loader};
use crate::tree::Tree;
use crate::{command_line, ksmtuned, saptune, scripts, tmpfiles, tuned, udev, units, zram};

/// A program that sets tunables. What comes later stands, but for two that run side by side:
/// nothing orders [`Stage::Sysctl`] and [`Stage::Tmpfiles`], for both only come before
/// `sysinit.target`.
///
/// An initramfs with systemd in it runs the first ones once more, before all others and with its
/// own copies of the files; what is in it is not known here. NixOS writes its settings to
/// `/etc/sysctl.d/60-nixos.conf`, cloud-init writes files of `sysctl.d` too: both count there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The kernel itself, from its command line.
    CommandLine,
    /// The loader of `sysctl.d`.
    Sysctl,
    /// systemd-tmpfiles.
    Tmpfiles,
    /// zram-generator and zram-tools.
    Zram,
    /// udev, when a device appears: at boot and later.
    Udev,
    /// systemd, when it starts a unit with limits.
    Units,
    /// TuneD's active profile.
    Tuned,
    /// saptune's notes.
    Saptune,
    /// ksmtuned, which tunes on as the machine runs.
    Ksmtuned,
    /// Commands in services, cloud-init's configuration, start scripts and cron.
    Scripts,
}

/// Every stage, in order.
pub const STAGES: [Stage; 10] = [
    Stage::CommandLine,
    Stage::Sysctl,
    Stage::Tmpfiles,
    Stage::Zram,
    Stage::Udev,
    Stage::Units,
    Stage::Tuned,
    Stage::Saptune,
    Stage::Ksmtuned,
    Stage::Scripts,
];

impl Stage {
    /// What this stage does with a tree, on a machine with this loader and these tunables.
    #[must_use]
    pub fn load(self, tree: &Tree, loader: Loader, live: &Live) -> Load {
        match self {
            Self::CommandLine => command_line::load(tree),
            Self::Sysctl => sysctl_d::load(tree, loader, live),
            Self::Tmpfiles => tmpfiles::load(tree, live),
            Self::Zram => zram::load(tree),
            Self::Udev => udev::load(tree, live),
            Self::Units => units::load(tree),
            Self::Tuned => tuned::load(tree),
            Self::Saptune => saptune::load(tree),
            Self::Ksmtuned => ksmtuned::load(tree),
            Self::Scripts => scripts::load(tree),
        }
    }

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
            Self::Zram => "zram-generator",
            Self::Udev => "udev",
            Self::Units => "systemd's units",
            Self::Tuned => "TuneD",
            Self::Saptune => "saptune",
            Self::Ksmtuned => "ksmtuned",
            Self::Scripts => "scripts",
        })
    }
}

/// What the kernel or a daemon does to a tunable by itself while the machine runs, whatever files
/// say.
#[must_use]
pub fn at_run_time(path: &str) -> Option<&'static str> {
    let raised = "khugepaged raises it where transparent huge pages are on, and a block of memory \
                  that is plugged has it computed again; a written value stays where it is higher";
    (path == "proc/sys/vm/min_free_kbytes").then_some(raised)
}
