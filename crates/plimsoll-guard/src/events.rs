//! The file of events: what was done and said, a line each, for `plimsoll guard events`. It has a
//! bound: when it is full it becomes the older of two, and what the older one had is gone.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use guard::Event;
use host::reason;

/// The longest that each of the two files becomes.
const LONGEST: u64 = 256 << 10;

/// The file.
#[derive(Debug)]
pub(crate) struct Events {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Events {
    /// Goes on with what an earlier guard wrote.
    ///
    /// # Errors
    /// One line: it cannot be written.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let opened = append(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) =
            opened.map_err(|error| format!("{}: {}", path.display(), reason(&error)))?;
        let path = path.to_owned();
        Ok(Self { path, file, length })
    }

    /// Adds a line. A full disk or the like is no reason to stop guarding.
    pub(crate) fn add(&mut self, event: &Event) {
        let line = format!("{event}\n");
        if self.length + line.len() as u64 > LONGEST && self.turn().is_err() {
            return;
        }
        // One write, so that a reader never sees a part of a line.
        if self.file.write_all(line.as_bytes()).is_ok() {
            self.length += line.len() as u64;
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        fs::rename(&self.path, older(&self.path))?;
        self.file = append(&self.path)?;
        self.length = 0;
        Ok(())
    }
}

/// The name of the older file.
fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

fn append(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::options().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_have_the_latest_events_and_no_more() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("guard.events");
        let event = |number: u64| Event {
            at: number,
            what: "x".repeat(1000),
            ..Event::default()
        };
        for opened in 0..2 {
            let mut events = Events::open(&path).expect("a file");
            (1..=400).for_each(|number| events.add(&event(opened * 400 + number)));
        }
        let read = |path: &Path| fs::read_to_string(path).expect("a file");
        let text = read(&older(&path)) + &read(&path);
        assert!(text.len() as u64 <= 2 * LONGEST, "{}", text.len());
        let events: Vec<Event> = text.lines().filter_map(Event::parse).collect();
        let last = events.last().expect("an event");
        let first = events.first().expect("an event");
        assert_eq!(last.at, 800);
        assert_eq!(
            last.at - first.at + 1,
            events.len() as u64,
            "none is missing"
        );
        assert!(events.len() > 256, "{}", events.len());
    }
}
