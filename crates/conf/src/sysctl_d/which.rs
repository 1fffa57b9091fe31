//! Which loader a machine uses.

use alloc::borrow::ToOwned;
use alloc::string::String;

use super::loader::Loader;
use crate::tree::{Found, Tree};

/// The loader of a machine, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which {
    /// The loader.
    pub loader: Loader,
    /// The file that says so; `None` where nothing does and systemd is taken, as nearly every
    /// distribution has it.
    pub because: Option<String>,
}

/// systemd-sysctl itself, with and without a `/usr` of its own.
const SYSTEMD: &[&str] = &[
    "usr/lib/systemd/systemd-sysctl",
    "lib/systemd/systemd-sysctl",
];

/// Alpine's service, whose script is Alpine's own, where it is started.
const ALPINE: [&str; 2] = ["etc/alpine-release", "etc/init.d/sysctl"];

/// Scripts that run `sysctl --system`: Debian's of sysvinit, OpenRC's own, void's.
const PROCPS: &[&str] = &[
    "etc/init.d/procps",
    "etc/init.d/sysctl",
    "etc/runit/core-services/08-sysctl.sh",
];

/// The loader of a machine with these files.
///
/// Debian, RHEL, SUSE, Arch and nearly all others have systemd-sysctl. Whether `/etc/sysctl.conf`
/// counts there depends on a link: Debian 12, Ubuntu and RHEL ship `99-sysctl.conf`, Debian 13 and
/// Arch do not.
#[must_use]
pub fn which(tree: &Tree) -> Which {
    let has = |path: &&&str| !matches!(tree.find(path), Found::Nothing);
    let systemd = SYSTEMD.iter().find(has);
    let alpine = ALPINE.iter().all(|path| has(&path));
    let procps = PROCPS.iter().find(has);
    let (loader, because) = match (systemd, alpine, procps) {
        (Some(path), _, _) => (Loader::Systemd, Some(path)),
        (None, true, _) => (Loader::Alpine, Some(&ALPINE[1])),
        (None, false, Some(path)) => (Loader::Procps, Some(path)),
        (None, false, None) => (Loader::Systemd, None),
    };
    let because = because.map(|path| (*path).to_owned());
    Which { loader, because }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;

    #[test]
    fn the_start_scripts_say_which_loader_runs() {
        let loader = |files: &[&str]| {
            let files: alloc::vec::Vec<_> = files.iter().map(|path| (*path, "")).collect();
            let which = which(&tree_of(&files));
            (which.loader, which.because.is_some())
        };
        assert_eq!(loader(&[]), (Loader::Systemd, false));
        assert_eq!(
            loader(&["usr/lib/systemd/systemd-sysctl", "etc/init.d/procps"]),
            (Loader::Systemd, true)
        );
        assert_eq!(loader(&["etc/init.d/procps"]), (Loader::Procps, true));
        let alpine = ["etc/alpine-release", "etc/init.d/sysctl"];
        assert_eq!(loader(&alpine), (Loader::Alpine, true));
        assert_eq!(loader(&["etc/init.d/sysctl"]), (Loader::Procps, true));
    }
}
