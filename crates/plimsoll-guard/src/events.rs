//! The file of events: what was done and said, a line each, for `plimsoll guard events`. It has a
//! bound: when it is full it becomes the older of two, and what the older one had is gone.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};

use guard::Event;

use crate::place::{Place, failed};

/// The longest that each of the two files becomes.
const LONGEST: u64 = 256 << 10;

/// The file. It tells of files that others may not read, and so only root reads it.
#[derive(Debug)]
pub(crate) struct Events {
    place: Place,
    name: OsString,
    file: File,
    length: u64,
}

impl Events {
    /// Goes on with what an earlier guard wrote.
    ///
    /// # Errors
    /// One line: it cannot be written.
    pub(crate) fn open(place: &Place) -> Result<Self, String> {
        let name = place.beside("events");
        let opened = place.folder.private_log(&name);
        let opened = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|error| failed(&place.path(&name), &error))?;
        Ok(Self {
            place: place.clone(),
            name,
            file,
            length,
        })
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
        let (folder, older) = (&self.place.folder, self.place.beside("events.1"));
        folder.rename(&self.name, &older)?;
        self.file = folder.private_log(&self.name)?;
        self.length = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    #[test]
    fn two_files_have_the_latest_events_and_no_more() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let place = Place::make(&at("guard.state")).expect("a folder");
        let event = |number: u64| Event {
            at: number,
            what: "x".repeat(1000),
            ..Event::default()
        };
        for opened in 0..2 {
            let mut events = Events::open(&place).expect("a file");
            (1..=400).for_each(|number| events.add(&event(opened * 400 + number)));
        }
        let read = |path: &Path| fs::read_to_string(path).expect("a file");
        let names = ["guard.events.1", "guard.events"].map(at);
        for name in &names {
            let mode = fs::metadata(name).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let [older, path] = &names;
        let text = read(older) + &read(path);
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
