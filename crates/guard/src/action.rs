//! What a policy asks for, and why.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use mm::settings::Setting;
use mm::units::{Bytes, Nanos};

use crate::sample::File;
use crate::search::Search;

/// The most that one action reclaims, so that no write to `memory.reclaim` takes long.
pub const MOST_RECLAIMED: Bytes = Bytes(32 << 20);
/// The most that one action reads in.
pub const MOST_FILLED: Bytes = Bytes(16 << 20);
/// The files that one action drops, at most.
pub const MOST_DROPPED: usize = 32;

/// A policy by its name in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// What stays resident.
    Floor,
    /// How large the page cache may become.
    Ceiling,
    /// How early reclaim begins.
    Watermarks,
    /// How much may be dirty.
    Writeback,
    /// Samepage merging.
    Ksm,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Find out how large a file is, and whether it may be locked. Whoever acts samples again at
    /// once.
    Look(File),
    /// Lock what is resident of the file's first `length` bytes. No page is read in for it.
    Lock {
        /// The file.
        file: File,
        /// From its beginning.
        length: Bytes,
    },
    /// Read in and lock at most `most` of what is missing of the file's first `length` bytes.
    Fill {
        /// The file.
        file: File,
        /// From its beginning.
        length: Bytes,
        /// The most to read, at most [`MOST_FILLED`].
        most: Bytes,
    },
    /// Let go of a file.
    Unlock(File),
    /// Reclaim file pages, and no others.
    Reclaim {
        /// Whose.
        scope: Scope,
        /// How much, at most [`MOST_RECLAIMED`].
        amount: Bytes,
    },
    /// Drop clean pages of files that nobody writes, from the first file on.
    Drop {
        /// Which files, at most [`MOST_DROPPED`] of them.
        files: Vec<Search>,
        /// How much of all of them, at most [`MOST_RECLAIMED`], and a piece.
        most: Bytes,
    },
    /// Write a tunable.
    Set(Setting),
    /// Write back what a tunable was before the first [`Action::Set`], unless somebody else has
    /// written it since.
    GiveBack(String),
}

/// Whose memory is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The machine's.
    Machine,
    /// That of a group of the configuration, by its place there.
    Group(usize),
}

/// An action, whose it is and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Which policy.
    pub policy: Policy,
    /// What is to be done.
    pub action: Action,
    /// Why.
    pub why: Why,
}

/// The reason for an action, with its figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// A file was used as often: uses, each halved after a minute.
    Used(f64),
    /// The configuration names the file.
    Named,
    /// The file was used less than one that needs the room.
    UsedLess(f64),
    /// The file is gone, or its file system is going.
    Stale,
    /// So much of a locked file is missing.
    Missing(Bytes),
    /// The page cache is so large, above or soon above so much.
    Cache {
        /// Its size.
        size: Bytes,
        /// The ceiling.
        ceiling: Bytes,
    },
    /// Anonymous memory is below or above its floor.
    Anon {
        /// How much there is.
        size: Bytes,
        /// The floor.
        floor: Bytes,
    },
    /// Somebody else wrote the tunable, or the kernel's own advisor does: the policy stands down.
    Theirs,
    /// That many allocations waited for reclaim since the last change; 0 where they were about to.
    Stalls(u64),
    /// That many still do after every change.
    InVain(u64),
    /// None did for that time.
    Calm(Nanos),
    /// Nobody knows yet how fast the device writes.
    Unmeasured,
    /// It writes that much a second.
    Bandwidth(Bytes),
    /// No slow device has written for a while.
    Idle,
    /// The share of a CPU that ksmd may take, in thousandths.
    Share(u64),
    /// Another scan is expected to gain that much.
    Expected(Bytes),
    /// A scan is due.
    Due,
    /// That much CPU time gained that much.
    Gained(Bytes, Nanos),
}

impl Policy {
    /// Every policy, with its word in the configuration.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("floor", Self::Floor),
        ("ceiling", Self::Ceiling),
        ("watermarks", Self::Watermarks),
        ("writeback", Self::Writeback),
        ("ksm", Self::Ksm),
    ];

    /// Its word in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, policy)| *policy == self);
        found.map_or("", |(word, _)| word)
    }
}

impl Action {
    /// What it is in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Look(_) => "look",
            Self::Lock { .. } => "lock",
            Self::Fill { .. } => "fill",
            Self::Unlock(_) => "unlock",
            Self::Reclaim { .. } => "reclaim",
            Self::Drop { .. } => "drop",
            Self::Set(_) => "set",
            Self::GiveBack(_) => "give_back",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Used(score) => write!(to, "used {score:.1} times in the last minutes"),
            Self::Named => write!(to, "named in the configuration"),
            Self::UsedLess(score) => write!(to, "used only {score:.1} times in the last minutes"),
            Self::Stale => write!(to, "the file or its file system goes"),
            Self::Missing(bytes) => write!(to, "{bytes} of it are not in memory"),
            Self::Cache { size, ceiling } => write!(to, "page cache {size}, ceiling {ceiling}"),
            Self::Anon { size, floor } => write!(to, "anonymous memory {size}, floor {floor}"),
            Self::Theirs => write!(to, "somebody else sets it: it is theirs"),
            Self::Stalls(0) => write!(to, "a zone falls below its low watermark"),
            Self::Stalls(count) => write!(to, "{count} allocations waited for reclaim"),
            Self::InVain(count) => write!(to, "in vain: {count} allocations still waited"),
            Self::Calm(span) => write!(to, "no allocation has waited for {span}"),
            Self::Unmeasured => write!(to, "not measured yet"),
            Self::Bandwidth(rate) => write!(to, "it writes {rate} a second"),
            Self::Idle => write!(to, "no slow device writes"),
            Self::Share(share) => {
                let (whole, tenth) = (share / 10, share % 10);
                write!(to, "ksmd may take {whole}.{tenth} % of a CPU")
            }
            Self::Expected(gain) => write!(to, "a scan is expected to gain {gain}"),
            Self::Due => write!(to, "a scan is due"),
            Self::Gained(gain, cpu) => write!(to, "{cpu} of ksmd gained {gain}"),
        }
    }
}
