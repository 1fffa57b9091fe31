//! Releases of Debian.

/// What both releases call the same.
pub(super) const PACKAGES: &[&str] = &[
    "systemd",
    "libsystemd-shared",
    "libsystemd0",
    "procps",
    "busybox",
    "libproc2-0",
    "libc6",
    "libacl1",
    "libaudit1",
    "libblkid1",
    "libcap-ng0",
    "libcap2",
    "libcrypt1",
    "libgcc-s1",
    "libgcrypt20",
    "libgpg-error0",
    "libip4tc2",
    "libkmod2",
    "liblz4-1",
    "liblzma5",
    "libmount1",
    "libpcre2-8-0",
    "libseccomp2",
    "libselinux1",
    "libzstd1",
    "zlib1g",
];

/// A release of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Debian 12: systemd 252, procps 4.0.2.
    Debian12,
    /// Debian 13: systemd 257, procps 4.0.4.
    Debian13,
}

impl Release {
    /// The release of this name in the archive.
    pub(super) fn of_suite(suite: &str) -> Option<Self> {
        let all = [Self::Debian12, Self::Debian13];
        all.into_iter().find(|release| release.suite() == suite)
    }

    /// Its name in the archive.
    pub(super) fn suite(self) -> &'static str {
        match self {
            Self::Debian12 => "bookworm",
            Self::Debian13 => "trixie",
        }
    }

    /// Its suites in the archive.
    pub(super) fn suites(self) -> [String; 2] {
        let suite = self.suite();
        [suite.to_owned(), format!("{suite}-security")]
    }

    pub(super) fn packages(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::Debian12 => &["libpam0g", "libssl3"],
            Self::Debian13 => &["libpam0g", "libssl3t64"],
        };
        PACKAGES.iter().chain(own).copied().collect()
    }
}
