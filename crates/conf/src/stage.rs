//! The programs that set tunables from boot on, in the order in which they come.

use alloc::format;
use alloc::string::String;
use core::fmt;

use mm::catalogue::path_of;

use crate::live::Live;
use crate::load::Load;
use crate::sysctl_d::{self, Loader};
use crate::tree::{Found, Tree};
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
        let load = match self {
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
        };
        match self.service(loader).and_then(|it| it.is_off(tree)) {
            Some(why) => load.not_run(&why),
            None => load,
        }
    }

    /// The unit without which this stage does not happen.
    fn service(self, loader: Loader) -> Option<Service> {
        let (name, needs_enabling) = match (self, loader) {
            (Self::Sysctl, Loader::Systemd) => ("systemd-sysctl.service", false),
            (Self::Tmpfiles, _) => ("systemd-tmpfiles-setup.service", false),
            (Self::Tuned, _) => ("tuned.service", true),
            (Self::Saptune, _) => ("saptune.service", true),
            (Self::Ksmtuned, _) => ("ksmtuned.service", true),
            _ => return None,
        };
        Some(Service {
            name,
            needs_enabling,
        })
    }

    /// Whether two stages run side by side, so that either may come last.
    #[must_use]
    pub fn races(self, other: Self) -> bool {
        let both = [self, other];
        both == [Self::Sysctl, Self::Tmpfiles] || both == [Self::Tmpfiles, Self::Sysctl]
    }
}

/// Where an administrator switches units on and off.
const UNITS: &str = "etc/systemd/system";

/// A unit of systemd.
struct Service {
    name: &'static str,
    /// Whether it starts only where a link says so.
    needs_enabling: bool,
}

impl Service {
    /// Why it does not start at boot; `None` where it does, or nothing is known of units.
    fn is_off(&self, tree: &Tree) -> Option<String> {
        let name = self.name;
        for directory in [UNITS, "run/systemd/system"] {
            let path = format!("{directory}/{name}");
            if tree.find(&path) == Found::Null {
                return Some(format!("/{path} masks {name}"));
            }
        }
        let names = tree.list(UNITS);
        let wants = names
            .iter()
            .filter(|it| it.ends_with(".wants") || it.ends_with(".requires"));
        let mut links = wants.map(|wants| format!("{UNITS}/{wants}/{name}"));
        let is_known = !self.needs_enabling || names.is_empty();
        let is_enabled = is_known || links.any(|path| tree.entry(&path).is_some());
        (!is_enabled).then(|| format!("{name} is not enabled"))
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
    (path == const { path_of("vm.min_free_kbytes") }).then_some(raised)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;
    use crate::tree::Entry;

    #[test]
    fn a_masked_or_disabled_service_writes_nothing() {
        let mut tree = tree_of(&[
            ("etc/sysctl.d/a.conf", "vm.swappiness = 1\n"),
            (tuned::ACTIVE, "p"),
            ("etc/tuned/p/tuned.conf", "[sysctl]\nvm.swappiness=2\n"),
        ]);
        let load = |stage: Stage, tree: &Tree| {
            let load = stage.load(tree, Loader::Systemd, &Live::default());
            (load.writes.len(), format!("{}", load.sources[0].fate))
        };
        assert_eq!(load(Stage::Sysctl, &tree), (1, "read".into()));
        assert_eq!(load(Stage::Tuned, &tree).0, 2);
        let null = Entry::Link("/dev/null".into());
        tree.put("etc/systemd/system/systemd-sysctl.service", null);
        let why = "not read at boot: /etc/systemd/system/systemd-sysctl.service masks \
                   systemd-sysctl.service";
        assert_eq!(load(Stage::Sysctl, &tree), (0, why.into()));
        let why = "not read at boot: tuned.service is not enabled";
        assert_eq!(load(Stage::Tuned, &tree), (0, why.into()));
        let wants = "etc/systemd/system/multi-user.target.wants/tuned.service";
        tree.put(
            wants,
            Entry::Link("/usr/lib/systemd/system/tuned.service".into()),
        );
        assert_eq!(load(Stage::Tuned, &tree).0, 2);
    }
}
