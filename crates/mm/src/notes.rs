//! The notes in a capture: what its reader tells besides the kernel's files.

use alloc::format;
use alloc::string::String;

use crate::units::PageSize;

/// Path of the note of facts: `KEY<tab>VALUE` per line, as [`Facts`] has them.
pub const FACTS: &str = "plimsoll/facts";

/// Path of the note of what could not be read: `PATH<tab>REASON` per line.
pub const UNREADABLE: &str = "plimsoll/unreadable";

/// Why a file below debugfs could not be read where nothing is mounted there.
pub const NOT_MOUNTED: &str = "debugfs is not mounted";

/// Path of the note of kernel files that a mount lies over: `PATH<tab>FILE SYSTEM` per line.
pub const COVERED: &str = "plimsoll/covered";

/// Path of the note about control groups that were left out: `KEY<tab>NUMBER` per line.
///
/// `unbound` groups have neither limit nor protection, `bound` ones have but are too many, and
/// `unvisited` ones were not looked at, at the least.
pub const GROUPS: &str = "plimsoll/groups";

/// Facts about a live machine, as they travel in a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Bytes in a base page.
    pub page: PageSize,
    /// Whether the reader may read what is the administrator's alone.
    pub reader: Reader,
    /// Whether there is a hypervisor below.
    pub platform: Platform,
    /// Whether the reader sees the whole machine.
    pub place: Place,
    /// Whether protection that the children of a control group do not claim is shared among them
    /// (the mount option `memory_recursiveprot`); `None` without cgroup v2.
    pub recursive_protection: Option<bool>,
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The administrator (effective user 0).
    Root,
    /// Anyone else.
    User,
}

/// What the kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// A machine, as far as can be seen.
    Hardware,
    /// A hypervisor.
    Vm,
}

/// Where the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the namespaces that the kernel booted with.
    Machine,
    /// In a container: own process or user namespace. `vm.*` is the whole machine's all the same.
    Container,
}

impl Facts {
    /// The note's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "page_size\t{}\nreader\t{}\nplatform\t{}\nplace\t{}\n",
            self.page.bytes(),
            self.reader.word(),
            self.platform.word(),
            self.place.word()
        );
        if let Some(recursive) = self.recursive_protection {
            let word = if recursive { "yes" } else { "no" };
            text.push_str(&format!("memory_recursiveprot\t{word}\n"));
        }
        text
    }

    /// The facts that a note tells; what it leaves out is as on a plain machine with 4 KiB pages.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once('\t'));
            lines.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let page = value("page_size").and_then(|bytes| bytes.parse().ok());
        let is = |key: &str, word| value(key) == Some(word);
        Self {
            page: page.and_then(PageSize::new).unwrap_or_default(),
            reader: if is("reader", "user") {
                Reader::User
            } else {
                Reader::Root
            },
            platform: if is("platform", "vm") {
                Platform::Vm
            } else {
                Platform::Hardware
            },
            place: if is("place", "container") {
                Place::Container
            } else {
                Place::Machine
            },
            recursive_protection: value("memory_recursiveprot").map(|value| value == "yes"),
        }
    }
}

impl Reader {
    /// Its word in notes and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::User => "user",
        }
    }
}

impl Platform {
    /// Its word in notes and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Vm => "vm",
        }
    }
}

impl Place {
    /// Its word in notes and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Container => "container",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_travel_as_text() {
        let facts = Facts {
            page: PageSize::new(65536).expect("a page size"),
            reader: Reader::User,
            platform: Platform::Vm,
            place: Place::Container,
            recursive_protection: Some(true),
        };
        assert_eq!(Facts::from_text(&facts.to_text()), facts);
        assert_eq!(
            Facts::from_text("nonsense\npage_size\t17").page,
            PageSize::FOUR_KIB
        );
    }
}
