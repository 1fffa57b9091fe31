//! Stock kernels of Debian's that are booted by name: a row a kernel.
//!
//! What apt fetches of a row, how it is unpacked and what its modules are built with is in the lab.

/// A stock kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Stock {
    /// What a user calls it: its line of releases, or what it is among all.
    pub name: &'static str,
    /// The line of releases that it is of, as the first two numbers of `uname -r`. A row that is
    /// called otherwise moves on to the next line when Debian does.
    pub line: &'static str,
    /// Where the archive has it; a suite whose name ends with `-security` is in that archive.
    pub suites: &'static [&'static str],
    /// The packages that depend on the newest build of its image and of its headers.
    pub packages: [&'static str; 2],
    /// The release of Debian whose libraries the headers' programs need where this machine's are
    /// too old.
    pub libraries: Option<&'static str>,
}

/// The packages whose names tell no release.
const PACKAGES: [&str; 2] = ["linux-image-cloud-amd64", "linux-headers-cloud-amd64"];

/// The stock kernels, the oldest first. The security archive has 6.12 built for Debian 12, with its
/// headers' programs.
pub const ALL: &[Stock] = &[
    Stock {
        name: "5.10",
        line: "5.10",
        suites: &["bullseye-security"],
        packages: PACKAGES,
        libraries: None,
    },
    Stock {
        name: "6.1",
        line: "6.1",
        suites: &["bookworm", "bookworm-security"],
        packages: PACKAGES,
        libraries: None,
    },
    Stock {
        name: "6.12",
        line: "6.12",
        suites: &["bookworm", "bookworm-security"],
        packages: [
            "linux-image-6.12-cloud-amd64",
            "linux-headers-6.12-cloud-amd64",
        ],
        libraries: None,
    },
    Stock {
        name: "newest",
        line: "7.3",
        suites: &["trixie-backports"],
        packages: PACKAGES,
        libraries: Some("trixie"),
    },
];

impl Stock {
    /// The kernel of this name, or of this line of releases.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|row| row.name == name || row.line == name)
    }

    /// The names of all, the oldest first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|row| row.name)
    }

    /// All that `--kernel` takes for one of them, the oldest first.
    pub fn spellings() -> impl Iterator<Item = &'static str> {
        let both =
            |row: &'static Self| [Some(row.line), Some(row.name).filter(|it| *it != row.line)];
        ALL.iter().flat_map(both).flatten()
    }

    /// Whether a release, as `uname -r` prints it, is of its line.
    #[must_use]
    pub fn has(&self, release: &str) -> bool {
        let rest = release.strip_prefix(self.line);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_by_its_name_and_by_its_line() {
        for row in ALL {
            assert_eq!(Stock::named(row.name), Some(row));
            assert_eq!(Stock::named(row.line), Some(row));
        }
        assert_eq!(Stock::named("6"), None);
        let mut all: alloc::vec::Vec<_> = Stock::spellings().collect();
        let listed = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), listed, "two rows have a name");
    }

    #[test]
    fn a_release_is_of_one_line() {
        let row = Stock::named("6.1").unwrap();
        assert!(row.has("6.1.0-57-cloud-amd64") && row.has("6.1-rc1") && row.has("6.1"));
        assert!(!row.has("6.12.117+deb12-cloud-amd64") && !row.has("5.10.0"));
    }
}
