//! What the guard keeps between two of its actions.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use guard::{Config, Decision, Dropped, Guard, Looked, Touch};
use mm::settings::Setting;
use mm::units::{Bytes, Nanos};
use scenario::workload::{Action, Workload};

use crate::mm::mlock::{Locking, Which};

/// The guard at work.
#[derive(Clone, Debug)]
pub(crate) struct Guarding {
    pub(crate) guard: Guard,
    /// The groups whose memory a sample holds, by path.
    pub(crate) groups: Vec<String>,
    /// What is still to be done of what was decided, last first.
    pub(crate) todo: Vec<Decision>,
    /// When the next sample is due, while something is to be done or waited for.
    pub(crate) next: Option<Nanos>,
    /// Answers for the next sample.
    pub(crate) looked: Vec<Looked>,
    pub(crate) dropped: Vec<Dropped>,
    /// What is locked of each file, by index, in bytes from its beginning.
    pub(crate) locks: BTreeMap<usize, Bytes>,
    pub(crate) locking: Option<Underway>,
    /// What a tunable goes back to; of two that exclude each other the one that counted.
    pub(crate) before: BTreeMap<String, Setting>,
}

/// What a guard hears of the files that tasks open and close.
#[derive(Clone, Debug)]
pub(crate) struct Fanotify {
    /// A task of the workload is the guard.
    pub(crate) is_watched: bool,
    pub(crate) touches: Vec<Touch>,
}

impl Fanotify {
    pub(crate) fn new(workload: &Workload) -> Self {
        Self {
            is_watched: workload.any_action(|action| matches!(action, Action::Guard(_))),
            touches: Vec::new(),
        }
    }
}

/// A lock that the guard is in the middle of.
#[derive(Clone, Debug)]
pub(crate) struct Underway {
    /// The file's index.
    pub(crate) file: usize,
    /// How far it has come.
    pub(crate) at: Locking,
    /// The page behind its last one.
    pub(crate) end: u64,
    pub(crate) which: Which,
}

impl Guarding {
    pub(crate) fn new(pairs: &[(String, String)]) -> Self {
        let pairs = pairs
            .iter()
            .map(|(key, text)| (key.as_str(), text.as_str()));
        // A study's configuration was read before.
        let config = Config::read(pairs).unwrap_or_default();
        Self {
            guard: Guard::new(&config),
            groups: config.groups().map(Into::into).collect(),
            todo: Vec::new(),
            next: None,
            looked: Vec::new(),
            dropped: Vec::new(),
            locks: BTreeMap::new(),
            locking: None,
            before: BTreeMap::new(),
        }
    }
}
