//! A name for a file of our own, with which its settings stand at the end of the next boot.
//!
//! In `sysctl.d` a name that sorts last wins, in `tmpfiles.d` one that sorts first. Whether it does
//! win is not guessed: the boot is gone through with the file in its place.

use alloc::borrow::ToOwned;
use alloc::string::String;

use thiserror::Error;

use crate::boot::{Boot, boot};
use crate::live::Live;
use crate::origin::Origin;
use crate::sysctl_d::{self, Loader};
use crate::tmpfiles;
use crate::tree::{Entry, Tree};
use crate::value;

/// What kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One in `/etc/sysctl.d`, for tunables below `/proc/sys`.
    Sysctl,
    /// One in `/etc/tmpfiles.d`, for tunables below `/sys`.
    Tmpfiles,
}

/// No name wins.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{by} decides about /{path} whatever the name of a file in /{directory}")]
pub struct Beaten {
    /// The tunable that would not have its value.
    pub path: String,
    /// The directory of the file.
    pub directory: &'static str,
    /// The line that wins; of our own file where the kernel refuses the value.
    pub by: Origin,
}

impl Kind {
    /// The directory where an administrator's files of this kind lie, without the leading slash.
    #[must_use]
    pub fn directory(self) -> &'static str {
        match self {
            Self::Sysctl => "etc/sysctl.d",
            Self::Tmpfiles => "etc/tmpfiles.d",
        }
    }

    /// The names that are tried, the best-mannered first.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Sysctl => &[
                "99-plimsoll.conf",
                "99-zz-plimsoll.conf",
                "zz-plimsoll.conf",
                "zzzz-plimsoll.conf",
            ],
            Self::Tmpfiles => &["00-plimsoll.conf", "00-0-plimsoll.conf", "0-plimsoll.conf"],
        }
    }

    /// The line that sets a tunable, without its end. The path is as in a capture.
    #[must_use]
    pub fn line(self, path: &str, value: &str) -> String {
        match self {
            Self::Sysctl => [&sysctl_d::key_of(path), " = ", value].concat(),
            Self::Tmpfiles => tmpfiles::line(path, value),
        }
    }
}

/// The name of a file in the directory of this kind with which all these settings, pairs of a path
/// such as `proc/sys/vm/swappiness` and a value, stand at the end of the next boot. A file of ours
/// with that name is taken to be replaced.
///
/// # Errors
/// The tunable that has another value whatever the name, and the line that wins.
pub fn winning_name(tree: &Tree, kind: Kind, settings: &[(&str, &str)]) -> Result<String, Beaten> {
    let loader = sysctl_d::which(tree).loader;
    let mut beaten = None;
    for name in kind.names() {
        let path = [kind.directory(), "/", name].concat();
        match decided(tree, kind, loader, &path, settings) {
            None => return Ok((*name).to_owned()),
            Some(by) => beaten = Some(by),
        }
    }
    Err(beaten.expect("a name was tried"))
}

/// The setting that does not stand with this file in its place.
fn decided(
    tree: &Tree,
    kind: Kind,
    loader: Loader,
    file: &str,
    settings: &[(&str, &str)],
) -> Option<Beaten> {
    let mut tree = tree.clone();
    let lines = settings
        .iter()
        .map(|(path, value)| kind.line(path, value) + "\n");
    tree.put(file, Entry::File(lines.collect()));
    let mut live = Live::default();
    for (path, _) in settings {
        live.know(path);
    }
    let boot = boot(&tree, loader, &live);
    let mut lost = settings
        .iter()
        .filter(|(path, value)| !stands(&boot, path, value));
    lost.next().map(|(path, _)| Beaten {
        path: (*path).to_owned(),
        directory: kind.directory(),
        by: winner(&boot, path).unwrap_or_else(|| Origin::new(file, 0)),
    })
}

fn stands(boot: &Boot, path: &str, value: &str) -> bool {
    let standing = boot.standing(path);
    standing.is_some_and(|step| step.write.value.trim() == value.trim())
}

/// The line that decides about a path: the one that sets it last, or its partner.
fn winner(boot: &Boot, path: &str) -> Option<Origin> {
    let own = boot.standing(path);
    let partner = || boot.standing(value::partner(path)?);
    own.or_else(partner).map(|step| step.write.origin.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;
    use alloc::string::ToString;

    const SWAPPINESS: &str = "proc/sys/vm/swappiness";
    const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";

    fn sysctl(files: &[(&str, &str)], settings: &[(&str, &str)]) -> Result<String, String> {
        let name = winning_name(&tree_of(files), Kind::Sysctl, settings);
        name.map_err(|beaten| beaten.to_string())
    }

    #[test]
    fn the_name_sorts_after_the_file_that_would_win() {
        let ours = [(SWAPPINESS, "10")];
        assert_eq!(sysctl(&[], &ours).as_deref(), Ok("99-plimsoll.conf"));
        let later = [("usr/lib/sysctl.d/99-z.conf", "vm.swappiness = 60\n")];
        assert_eq!(sysctl(&later, &ours).as_deref(), Ok("99-zz-plimsoll.conf"));
        let last = [("etc/sysctl.d/z.conf", "vm.swap* = 5\nvm.swappiness = 60\n")];
        assert_eq!(sysctl(&last, &ours).as_deref(), Ok("zz-plimsoll.conf"));
    }

    #[test]
    fn sysctl_conf_beats_every_name_under_procps() {
        let files = [
            ("etc/init.d/procps", ""),
            ("etc/sysctl.conf", "\nvm.swappiness = 60\n"),
        ];
        let beaten = "/etc/sysctl.conf:2 decides about /proc/sys/vm/swappiness whatever the name \
                      of a file in /etc/sysctl.d";
        assert_eq!(
            sysctl(&files, &[(SWAPPINESS, "10")]),
            Err(beaten.to_owned())
        );
        assert!(sysctl(&files[1..], &[(SWAPPINESS, "10")]).is_ok());
    }

    #[test]
    fn both_sides_of_a_pair_cannot_stand() {
        let pair = [
            ("proc/sys/vm/dirty_bytes", "8192"),
            ("proc/sys/vm/dirty_ratio", "5"),
        ];
        let beaten = sysctl(&[], &pair).expect_err("no name wins");
        assert!(beaten.contains("plimsoll.conf:2 decides"), "{beaten}");
        let partner = [("etc/sysctl.d/99-z.conf", "vm.dirty_ratio = 5\n")];
        let name = sysctl(&partner, &pair[..1]);
        assert_eq!(name.as_deref(), Ok("99-zz-plimsoll.conf"));
    }

    #[test]
    fn in_tmpfiles_the_first_name_wins() {
        let name = |files: &[(&str, &str)]| {
            winning_name(&tree_of(files), Kind::Tmpfiles, &[(THP, "madvise")])
        };
        assert_eq!(name(&[]).as_deref(), Ok("00-plimsoll.conf"));
        let text = ["w /", THP, " - - - - always\n"].concat();
        let vendor = [("usr/lib/tmpfiles.d/thp.conf", text.as_str())];
        assert_eq!(name(&vendor).as_deref(), Ok("00-plimsoll.conf"));
        let first = [("etc/tmpfiles.d/00-a.conf", text.as_str())];
        assert_eq!(name(&first).as_deref(), Ok("00-0-plimsoll.conf"));
        let pattern = "w /sys/kernel/mm/*/enabled - - - - never\n";
        let beaten = name(&[("etc/tmpfiles.d/a.conf", pattern)]).expect_err("beaten");
        assert_eq!(beaten.by, Origin::new("etc/tmpfiles.d/a.conf", 1));
    }

    #[test]
    fn a_line_of_tmpfiles_says_what_it_is_given() {
        let text = Kind::Tmpfiles.line("sys/a b%", "x%\\");
        let tree = tree_of(&[("etc/tmpfiles.d/a.conf", &text)]);
        let load = tmpfiles::load(&tree, &Live::default());
        assert_eq!(load.writes[0].path, "sys/a b%");
        assert_eq!(load.writes[0].value, "x%\\");
    }

    #[test]
    fn keys_with_dots_in_a_name_keep_their_slashes() {
        let path = "proc/sys/net/ipv4/conf/eth0.1/rp_filter";
        let line = Kind::Sysctl.line(path, "1");
        assert_eq!(line, "net/ipv4/conf/eth0.1/rp_filter = 1");
    }
}
