//! Which kernels have a tunable.

use core::fmt;

use crate::release::Span;

/// Which kernels have a tunable: upstream's versions. A distribution may have built it out, or have
/// taken it into an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// Those of kernel.org.
    Mainline {
        /// The first with it.
        since: (u32, u32),
        /// The first on which it is there and does nothing.
        ignored: Option<(u32, u32)>,
        /// The first without it.
        until: Option<(u32, u32)>,
    },
    /// Only those with this patch.
    Patched(&'static str),
}

/// How a kernel stands to a tunable, by its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has it.
    Has,
    /// It has the file and ignores what is written.
    Ignores,
    /// It is older than the tunable.
    NotYet,
    /// It is newer.
    NoLonger,
    /// Only a patched one has it.
    ByPatch,
    /// The release does not tell.
    Unknown,
}

impl Kernels {
    /// How kernels of these releases stand to it; [`Standing::Unknown`] where they differ.
    #[must_use]
    pub fn standing(self, releases: Span) -> Standing {
        let Self::Mainline {
            since,
            ignored,
            until,
        } = self
        else {
            return Standing::ByPatch;
        };
        let is_since = |first: Option<(u32, u32)>| match first {
            None => Some(false),
            Some((major, minor)) if releases.is_since(major, minor) => Some(true),
            Some((major, minor)) if releases.is_before(major, minor) => Some(false),
            Some(_) => None,
        };
        match (is_since(until), is_since(ignored), is_since(Some(since))) {
            (Some(true), ..) => Standing::NoLonger,
            (Some(false), Some(true), _) => Standing::Ignores,
            (_, _, Some(false)) => Standing::NotYet,
            (Some(false), Some(false), Some(true)) => Standing::Has,
            _ => Standing::Unknown,
        }
    }

    pub(super) const fn since(self, major: u32, minor: u32) -> Self {
        match self {
            Self::Mainline { ignored, until, .. } => Self::Mainline {
                since: (major, minor),
                ignored,
                until,
            },
            Self::Patched(_) => self,
        }
    }

    pub(super) const fn ignored(self, major: u32, minor: u32) -> Self {
        match self {
            Self::Mainline { since, until, .. } => Self::Mainline {
                since,
                ignored: Some((major, minor)),
                until,
            },
            Self::Patched(_) => self,
        }
    }

    pub(super) const fn until(self, major: u32, minor: u32) -> Self {
        match self {
            Self::Mainline { since, ignored, .. } => Self::Mainline {
                since,
                ignored,
                until: Some((major, minor)),
            },
            Self::Patched(_) => self,
        }
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (since, ignored, until) = match *self {
            Self::Patched(patch) => return write!(f, "with the {patch} patch only"),
            Self::Mainline {
                since,
                ignored,
                until,
            } => (since, ignored, until),
        };
        write!(f, "since {}.{}", since.0, since.1)?;
        if let Some((major, minor)) = ignored {
            write!(f, ", ignored since {major}.{minor}")?;
        }
        until.map_or(Ok(()), |(major, minor)| {
            write!(f, ", gone in {major}.{minor}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::find;
    use crate::release::Release;

    fn standing(name: &str, release: &str) -> Standing {
        let release = Release::parse(release).expect("a release");
        find(name)
            .expect("a tunable")
            .kernels
            .standing(release.span())
    }

    #[test]
    fn a_release_has_a_tunable_ignores_it_or_lacks_it() {
        for (name, release, expected) in [
            ("vm.swappiness", "2.6.32", Standing::Has),
            ("zswap.zpool", "6.12.3", Standing::Has),
            ("zswap.zpool", "6.18.44", Standing::NoLonger),
            ("zswap.zpool", "3.10.0", Standing::NotYet),
            ("vm.laptop_mode", "6.18.44", Standing::Has),
            ("vm.laptop_mode", "7.2.13", Standing::Ignores),
            ("vm.percpu_pagelist_fraction", "5.14.0", Standing::NoLonger),
            (
                "vm.percpu_pagelist_high_fraction",
                "5.13.9",
                Standing::NotYet,
            ),
            ("vm.anon_min_ratio", "6.12.3", Standing::ByPatch),
        ] {
            assert_eq!(standing(name, release), expected, "{name} on {release}");
        }
        let kernels = find("vm.swappiness").expect("a tunable").kernels;
        assert_eq!(kernels.standing(Span::ALL), Standing::Unknown);
    }
}
