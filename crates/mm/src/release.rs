//! Releases of the kernel, as `uname -r` prints them, and spans of releases where one is not told.

use core::fmt;

/// A version of the kernel: major, minor and stable patch. They compare by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

/// Who built a kernel, where its release says so. Distributions take changes of newer kernels into
/// an old release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// Red Hat and those that rebuild it (`.el7`, `.el8`, `.el9`, `.fc40`).
    RedHat,
    /// Oracle's own kernel (`.el8uek`).
    Oracle,
    /// Android's common kernel or a phone's (`-android12-9`, `-perf-g…`).
    Android,
    /// Windows' subsystem (`-microsoft-standard-WSL2`).
    Wsl,
    /// Amazon's (`.amzn2`).
    Amazon,
    /// SUSE (`-default`).
    Suse,
    /// A distribution whose release holds a number of its own where the patch would be
    /// (`5.10.0-30-amd64`, `5.4.0-97-generic`).
    Numbered,
}

/// A release: `4.18.0-80.11.2.el8_0.x86_64` is 4.18, built by Red Hat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The version; the patch is 0 where the text has none.
    pub version: Version,
    /// Who built it.
    pub vendor: Option<Vendor>,
}

/// The versions that a kernel may have, both ends among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The oldest.
    pub from: Version,
    /// The newest.
    pub to: Version,
}

impl Version {
    /// Older than any kernel.
    pub const FIRST: Self = Self(0, 0, 0);
    /// Newer than any kernel.
    pub const LAST: Self = Self(u32::MAX, u32::MAX, u32::MAX);

    /// The first of a line of releases.
    #[must_use]
    pub const fn first(major: u32, minor: u32) -> Self {
        Self(major, minor, 0)
    }

    /// That of a release as `uname -r` prints it; `None` where it does not begin with two numbers.
    #[must_use]
    pub fn of(release: &str) -> Option<Self> {
        Release::parse(release).map(|release| release.version)
    }

    /// The last of a line of releases, whatever its patch.
    #[must_use]
    pub const fn last(major: u32, minor: u32) -> Self {
        Self(major, minor, u32::MAX)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(major, minor, 0 | u32::MAX) => write!(f, "{major}.{minor}"),
            Self(major, minor, patch) => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

impl Release {
    /// Reads what `uname -r` prints; `None` where it does not begin with two numbers.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_ascii();
        let mut words = text.split(['.', '-', '+', '_']);
        let (major, minor) = (number(words.next()?)?, number(words.next()?)?);
        let after = text.splitn(3, '.').nth(2).unwrap_or_default();
        let patch = after.split(|c: char| !c.is_ascii_digit()).next();
        let patch = patch.and_then(number).unwrap_or(0);
        Some(Self {
            version: Version(major, minor, patch),
            vendor: Vendor::of(text),
        })
    }

    /// The versions that it may have. A distribution that numbers its builds itself tells no patch.
    #[must_use]
    pub fn span(self) -> Span {
        let Version(major, minor, patch) = self.version;
        match (self.vendor, patch) {
            (Some(_), 0) => Span {
                from: Version::first(major, minor),
                to: Version::last(major, minor),
            },
            _ => Span {
                from: self.version,
                to: self.version,
            },
        }
    }
}

impl Vendor {
    fn of(text: &str) -> Option<Self> {
        let has = |word: &str| text.contains(word);
        let marks = [
            (has("uek"), Self::Oracle),
            (
                [".el6", ".el7", ".el8", ".el9", ".el10", ".fc"]
                    .map(has)
                    .contains(&true),
                Self::RedHat,
            ),
            (has("android") || has("-perf"), Self::Android),
            (has("microsoft") || has("Microsoft"), Self::Wsl),
            (has("amzn"), Self::Amazon),
            (has("-default"), Self::Suse),
            (is_numbered(text), Self::Numbered),
        ];
        let found = marks.into_iter().find(|(holds, _)| *holds);
        found.map(|(_, vendor)| vendor)
    }
}

/// Whether the patch is 0 and a number follows it: `5.10.0-30-amd64`.
fn is_numbered(text: &str) -> bool {
    let Some((version, build)) = text.split_once('-') else {
        return false;
    };
    version.ends_with(".0") && build.starts_with(|c: char| c.is_ascii_digit())
}

impl Span {
    /// Every version.
    pub const ALL: Self = Self {
        from: Version::FIRST,
        to: Version::LAST,
    };

    /// Whether both have a version in common.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }

    /// Whether each of its versions is this one or a later one.
    #[must_use]
    pub fn is_since(self, major: u32, minor: u32) -> bool {
        self.from >= Version::first(major, minor)
    }

    /// Whether each of its versions is an earlier one than this.
    #[must_use]
    pub fn is_before(self, major: u32, minor: u32) -> bool {
        self.to < Version::first(major, minor)
    }

    /// What both have in common; the first where that is nothing.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        match self.meets(other) {
            true => Self {
                from: self.from.max(other.from),
                to: self.to.min(other.to),
            },
            false => self,
        }
    }
}

impl fmt::Display for Span {
    /// "before 3.3", "3.14 to 4.4", "5.11 and later", "6.1", "any release".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.to) {
            (Version::FIRST, Version::LAST) => f.write_str("any release"),
            (Version::FIRST, to) => write!(f, "up to {to}"),
            (from, Version::LAST) => write!(f, "{from} and later"),
            (Version(a, b, _), Version(c, d, u32::MAX)) if (a, b) == (c, d) => write!(f, "{a}.{b}"),
            (from, to) if from == to => write!(f, "{from}"),
            (from, to) => write!(f, "{from} to {to}"),
        }
    }
}

fn number(word: &str) -> Option<u32> {
    word.parse().ok().filter(|&number| number < 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_release_is_read_with_its_vendor() {
        let read = |text| Release::parse(text).map(|release| (release.version, release.vendor));
        let rows = [
            (
                "3.10.0-1160.el7.x86_64",
                Version(3, 10, 0),
                Some(Vendor::RedHat),
            ),
            (
                "4.18.0-80.11.2.el8_0.x86_64",
                Version(4, 18, 0),
                Some(Vendor::RedHat),
            ),
            ("5.14.0-427.el9", Version(5, 14, 0), Some(Vendor::RedHat)),
            (
                "5.4.17-2136.el8uek.x86_64",
                Version(5, 4, 17),
                Some(Vendor::Oracle),
            ),
            (
                "5.10.66-android12-9-00001",
                Version(5, 10, 66),
                Some(Vendor::Android),
            ),
            (
                "5.15.90.1-microsoft-standard-WSL2",
                Version(5, 15, 90),
                Some(Vendor::Wsl),
            ),
            (
                "4.14.336-257.562.amzn2",
                Version(4, 14, 336),
                Some(Vendor::Amazon),
            ),
            (
                "5.14.21-150500.55-default",
                Version(5, 14, 21),
                Some(Vendor::Suse),
            ),
            ("5.4.0-97-generic", Version(5, 4, 0), Some(Vendor::Numbered)),
            ("5.10.17-v7l+", Version(5, 10, 17), None),
            ("6.18-rc3\n", Version(6, 18, 0), None),
            ("2.6.32-71.el6", Version(2, 6, 32), Some(Vendor::RedHat)),
        ];
        for (text, version, vendor) in rows {
            assert_eq!(read(text), Some((version, vendor)), "{text}");
        }
        for text in ["", "custom", "5", "x.y", "5.x", "99999999999.1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_build_of_a_distribution_may_have_any_patch() {
        let span = |text| Release::parse(text).expect("a release").span();
        let boundary = Version(5, 10, 50);
        let ubuntu = span("5.10.0-30-amd64");
        assert!(ubuntu.from < boundary && ubuntu.to > boundary);
        let stock = span("5.10.17-v7l+");
        assert_eq!(
            (stock.from, stock.to),
            (Version(5, 10, 17), Version(5, 10, 17))
        );
    }

    #[test]
    fn spans_read_as_a_maintainer_writes_them() {
        let span = |from, to| Span { from, to }.to_string();
        let (first, last) = (Version::first, Version::last);
        assert_eq!(span(Version::FIRST, last(3, 2)), "up to 3.2");
        assert_eq!(span(first(3, 14), last(4, 4)), "3.14 to 4.4");
        assert_eq!(span(first(5, 8), Version(5, 10, 49)), "5.8 to 5.10.49");
        assert_eq!(span(Version(5, 10, 50), Version::LAST), "5.10.50 and later");
        assert_eq!(span(first(6, 1), last(6, 1)), "6.1");
        assert_eq!(Span::ALL.to_string(), "any release");
    }

    #[test]
    fn spans_narrow_to_what_they_share_and_a_contradiction_changes_nothing() {
        let old = Span {
            from: Version::FIRST,
            to: Version::last(4, 19),
        };
        let new = Span {
            from: Version::first(4, 17),
            to: Version::LAST,
        };
        let both = old.narrowed(new);
        assert_eq!(
            (both.from, both.to),
            (Version::first(4, 17), Version::last(4, 19))
        );
        let later = Span {
            from: Version::first(5, 0),
            to: Version::LAST,
        };
        assert_eq!(old.narrowed(later), old);
        assert!(old.is_before(5, 0) && later.is_since(5, 0) && !new.is_since(5, 0));
    }
}
