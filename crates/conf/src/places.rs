//! What of a machine is its configuration: the places that a host hands over as a [`Tree`].
//!
//! [`Tree`]: crate::Tree

/// A place where something may be set, or which says which program sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From `/`, without the leading slash.
    pub path: &'static str,
    /// How much of it counts.
    pub take: Take,
}

/// How much of a place is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// The file itself.
    File,
    /// Whether it is there: an empty file in its place.
    Presence,
    /// Every file of a directory, those in directories below left out.
    Files,
    /// Every file of a directory and of directories below it, four levels deep.
    All,
}

const fn files(path: &'static str) -> Place {
    let take = Take::Files;
    Place { path, take }
}

const fn file(path: &'static str) -> Place {
    let take = Take::File;
    Place { path, take }
}

const fn presence(path: &'static str) -> Place {
    let take = Take::Presence;
    Place { path, take }
}

/// The places. Nothing else of a machine is needed, and nothing else is to be read.
pub const WHERE: &[Place] = &[
    files("etc/sysctl.d"),
    files("run/sysctl.d"),
    files("usr/local/lib/sysctl.d"),
    files("usr/lib/sysctl.d"),
    files("lib/sysctl.d"),
    file("etc/sysctl.conf"),
    presence("usr/lib/systemd/systemd-sysctl"),
    presence("lib/systemd/systemd-sysctl"),
    presence("etc/alpine-release"),
    presence("etc/init.d/sysctl"),
    presence("etc/init.d/procps"),
    presence("etc/runit/core-services/08-sysctl.sh"),
];
