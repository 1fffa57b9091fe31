//! One form of evidence, and what it holds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use mm::capture::Frame;
use mm::catalogue::folder;

use crate::recipe::Label;

/// One form of a run's evidence.
#[derive(Clone, Debug)]
pub struct Form {
    /// Its kind: `dmesg`, `mail`.
    pub kind: &'static str,
    /// Tenths of it that are left; 10 is all.
    pub tenths: usize,
    /// Files by name; one is handed over as a file, several as a folder.
    pub files: Vec<(String, Vec<u8>)>,
    /// What it holds.
    pub holds: Holds,
}

/// What a form holds of what labels ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Words for kernel files: `meminfo`, `groups`.
    pub words: Vec<&'static str>,
    /// The text in which a kernel log's marks are looked for.
    pub log: String,
}

/// The word for a kernel file, by the beginning or the end of its path.
const WORDS: &[(&str, &str)] = &[
    ("proc/meminfo", "meminfo"),
    ("proc/zoneinfo", "zoneinfo"),
    ("proc/vmstat", "vmstat"),
    ("proc/buddyinfo", "buddyinfo"),
    ("proc/pagetypeinfo", "pagetypeinfo"),
    ("proc/slabinfo", "slabinfo"),
    ("proc/vmallocinfo", "vmallocinfo"),
    ("proc/sysvipc/shm", "segments"),
    ("proc/net/sockstat", "sockets"),
    ("proc/swaps", "swaps"),
    ("proc/pressure/memory", "pressure"),
    ("proc/pressure/io", "io-pressure"),
    (folder::VM, "settings"),
    (folder::KSM, "ksm"),
    (folder::THP, "thp"),
    (folder::LRU_GEN, "lru_gen"),
    ("sys/kernel/debug/bdi/", "bdi"),
    ("sys/fs/cgroup/", "groups"),
    ("/pids.events", "pids"),
    ("sys/block/zram", "zram"),
];

impl Form {
    /// A form of one text.
    pub(super) fn text(kind: &'static str, name: &str, text: String, holds: Holds) -> Self {
        Self {
            kind,
            tenths: 10,
            files: vec![(name.into(), text.into_bytes())],
            holds,
        }
    }

    /// Whether the form shows what a label asks for.
    #[must_use]
    pub fn shows(&self, label: &Label) -> bool {
        let mut ways = label.seen_in.iter();
        ways.any(|way| way.split('+').all(|word| self.has(word, label)))
    }

    /// Whether it has what a word stands for; a log counts with its marks.
    #[must_use]
    pub fn has(&self, word: &str, label: &Label) -> bool {
        let marked = |mark: &String| self.holds.log.contains(mark.as_str());
        match word {
            "log" => !self.holds.log.is_empty() && label.marks.iter().all(marked),
            word => self.holds.words.contains(&word),
        }
    }

    /// Writes it below a folder and says what is to be handed to `inspect`.
    ///
    /// # Errors
    /// Those of the files.
    pub fn write(&self, folder: &Path) -> Result<PathBuf> {
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, bytes)?;
        }
        Ok(match &self.files[..] {
            [(name, _)] => folder.join(name),
            _ => folder.to_owned(),
        })
    }
}

impl Holds {
    /// What a frame's files are, and no log.
    pub(super) fn of(frame: &Frame) -> Self {
        Self::paths(frame.files.keys().map(String::as_str))
    }

    pub(super) fn paths<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let is = |path: &str, part: &str| path.starts_with(part) || path.ends_with(part);
        let of = |path| WORDS.iter().filter(move |(part, _)| is(path, part));
        let mut words: Vec<&str> = paths.flat_map(of).map(|(_, word)| *word).collect();
        words.sort_unstable();
        words.dedup();
        Self {
            words,
            log: String::new(),
        }
    }

    pub(super) fn words(words: &[&'static str]) -> Self {
        Self {
            words: words.to_vec(),
            log: String::new(),
        }
    }

    pub(super) fn with(mut self, word: &'static str) -> Self {
        self.words.push(word);
        self
    }

    pub(super) fn log(mut self, log: &str) -> Self {
        log.clone_into(&mut self.log);
        self
    }
}
