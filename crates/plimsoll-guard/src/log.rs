//! What the daemon says and did: a line each on standard error, or an entry with fields where that
//! is the journal, and a line of the file of events. Here it is counted, too.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use guard::{Decision, Event};
use host::facts::since_1970;
use mm::text::harmless;
use mm::units::Bytes;

use crate::events::Events;
use crate::journal::Journal;
use crate::place::Place;
use crate::stderr;

/// Where it goes; one for the process, as standard error is.
static SAID: Mutex<Said> = Mutex::new(Said {
    events: None,
    journal: None,
    tally: Tally::new(),
});

#[derive(Debug)]
struct Said {
    events: Option<Events>,
    journal: Option<Journal>,
    tally: Tally,
}

/// How often each policy did what, and how much memory it was about.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) done: BTreeMap<(String, String), Sum>,
    pub(crate) failed: BTreeMap<(String, String), Sum>,
}

/// Times and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) times: u64,
    pub(crate) bytes: Bytes,
}

/// A file by its file system and inode number: no path is anybody else's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) u64, pub(crate) u64);

impl fmt::Display for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:016x}/{}", self.0, self.1)
    }
}

impl Tally {
    const fn new() -> Self {
        Self {
            done: BTreeMap::new(),
            failed: BTreeMap::new(),
        }
    }

    fn count(&mut self, event: &Event, times: u64) {
        let key = (event.policy.clone(), event.action.clone());
        let sums = match event.is_failed {
            true => &mut self.failed,
            false => &mut self.done,
        };
        let sum = sums.entry(key).or_default();
        sum.times += times;
        sum.bytes = sum.bytes.saturating_add(event.bytes);
    }
}

/// From now on events go to a file there, too, and to the journal where standard error is that.
///
/// # Errors
/// One line: the file cannot be had.
pub(crate) fn open(place: Option<&Place>) -> Result<(), String> {
    let mut said = said();
    said.journal = Journal::of_stderr();
    said.events = place.map(Events::open).transpose()?;
    Ok(())
}

/// Says one line. That nobody reads it is no reason to stop.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let event = Event {
        what: text.to_string(),
        ..Event::default()
    };
    say(event, 0);
}

/// Says what was done. `file` and `bytes` are what it was about.
pub(crate) fn did(
    decision: &Decision,
    what: fmt::Arguments<'_>,
    file: Option<Name>,
    bytes: Bytes,
    times: u64,
) {
    let event = Event {
        policy: decision.policy.word().to_owned(),
        action: decision.action.word().to_owned(),
        file: file.map_or_else(String::new, |name| name.to_string()),
        bytes,
        what: what.to_string(),
        why: decision.why.to_string(),
        ..Event::default()
    };
    say(event, times);
}

/// Says that something failed.
pub(crate) fn failed(decision: &Decision, what: &str, why: &str) {
    let event = Event {
        policy: decision.policy.word().to_owned(),
        action: decision.action.word().to_owned(),
        is_failed: true,
        what: format!("{what}: it failed"),
        why: why.to_owned(),
        ..Event::default()
    };
    say(event, 0);
}

/// Counts a failure, whether it is said or not.
pub(crate) fn count_failure(decision: &Decision) {
    let event = Event {
        policy: decision.policy.word().to_owned(),
        action: decision.action.word().to_owned(),
        is_failed: true,
        ..Event::default()
    };
    said().tally.count(&event, 1);
}

/// What was counted so far.
pub(crate) fn tally() -> Tally {
    said().tally.clone()
}

/// Says an event; `times` is how often it was done, 0 for what is no action.
pub(crate) fn say(mut event: Event, times: u64) {
    let mut said = said();
    let millis = since_1970().as_millis();
    event.at = u64::try_from(millis).unwrap_or(u64::MAX);
    // A group or a file may have a name that a terminal would follow.
    for text in [&mut event.what, &mut event.why] {
        *text = text.replace(char::is_control, " ");
    }
    if times > 0 {
        said.tally.count(&event, times);
    }
    let journal = said.journal.as_ref();
    if !journal.is_some_and(|journal| journal.send(&event)) {
        stderr::write(&format!("{}\n", event.said()));
    }
    if let Some(events) = &mut said.events {
        events.add(&event);
    }
}

/// Answers on standard output.
pub(crate) fn answer(text: &str) {
    writeln!(io::stdout().lock(), "{}", harmless(text.trim_end())).ok();
}

fn said() -> MutexGuard<'static, Said> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}
