//! What of a piece of evidence is taken, and how much of it.

use std::io::{self, Read};
use std::path::Path;

use evidence::{Piece, Reading, clean, gather};
use mm::capture::{self, Capture, Frame};
use mm::text::weight;
use mm::units::Bytes;

use crate::{archive, packed};

/// What one argument held.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Its name, for messages.
    pub name: String,
    /// Its frames, the note of what was taken in the first.
    pub frames: Vec<Frame>,
}

/// Text that is kept of one piece of evidence, by its [`weight`].
pub const KEPT: u64 = 256 << 20;

/// How a file came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// As an argument: it is evidence, whatever it is called.
    Alone,
    /// Among others: it may have nothing to do with memory.
    Among,
}

/// What comes nearest to a reason, where nothing is known.
pub(crate) fn nearest(readings: &[Reading]) -> String {
    let passed = readings.iter().flat_map(|reading| &reading.passed).next();
    match passed {
        Some(passed) if passed.line > 0 => format!("line {}: {}", passed.line, passed.why),
        Some(passed) => passed.why.clone(),
        None => "no file of memory and no log".to_owned(),
    }
}

/// A file's name with the last of its folders.
pub(crate) fn short(name: &str) -> String {
    match Path::new(name).file_name() {
        Some(file) => file.to_string_lossy().into_owned(),
        None => name.to_owned(),
    }
}

/// The longest kernel file or text of configuration within a folder or an archive.
pub(crate) const LONGEST_FILE: u64 = 16 << 20;

/// The longest text without a known path there: a log.
pub(crate) const LONGEST_LOG: u64 = 64 << 20;

/// Why a piece of evidence could not be used at all.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The system refused it, or an archive is damaged from its beginning.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It has no end, or one too far away.
    #[error("longer than any evidence: over {}", Bytes(*.0))]
    TooLong(u64),
    /// Nothing of it is known.
    #[error(
        "nothing here is known: {0}; known are captures and records, folders and archives with \
         files of /proc and /sys, texts of such files, and kernel logs"
    )]
    Nothing(String),
    /// A record of another version, or a damaged one.
    #[error(transparent)]
    Capture(#[from] capture::CaptureError),
}

/// What was read so far.
#[derive(Debug, Default)]
pub struct Intake {
    pub(crate) readings: Vec<Reading>,
    captures: Vec<Frame>,
    /// Bytes kept.
    kept: u64,
    left: packed::Left,
    /// Files in which nothing is known.
    pub(crate) unknown: usize,
}

impl Intake {
    /// Takes a stream that was named by itself: it is evidence, whatever it is called.
    ///
    /// # Errors
    /// It cannot be read, or nothing in it is known.
    pub fn stream(&mut self, reader: impl Read, name: &str) -> Result<(), UnpackError> {
        self.unpack(Box::new(reader), name, Place::Alone, 0)
    }

    /// Takes what is in a stream, compressed and packed as it may be.
    pub(crate) fn unpack<'a>(
        &mut self,
        reader: Box<dyn Read + 'a>,
        name: &str,
        place: Place,
        depth: usize,
    ) -> Result<(), UnpackError> {
        let (reader, form) = packed::open(reader, &self.left)?;
        match form {
            packed::Form::Tar => archive::read(self, reader, depth),
            packed::Form::Foreign(what) if place == Place::Alone => Err(UnpackError::Nothing(
                format!("{what}, which is not unpacked here"),
            )),
            packed::Form::Foreign(_) => Ok(()),
            packed::Form::Plain => self.plain(reader, name, place),
        }
    }

    pub(crate) fn plain(
        &mut self,
        reader: impl Read,
        name: &str,
        place: Place,
    ) -> Result<(), UnpackError> {
        let left = KEPT.saturating_sub(self.kept);
        let mut bytes = Vec::new();
        let end = reader.take(left + 1).read_to_end(&mut bytes);
        let weight = weight(&bytes);
        if weight > left {
            return Err(UnpackError::TooLong(KEPT));
        }
        let cut = match end {
            Ok(_) => None,
            // What a damaged archive gave before it broke is evidence all the same.
            Err(error) if !bytes.is_empty() => Some(format!("it breaks off: {error}")),
            Err(error) => return Err(error.into()),
        };
        self.kept += weight;
        self.text(&bytes, name, place, cut)
    }

    /// Takes the text of one file.
    fn text(
        &mut self,
        bytes: &[u8],
        name: &str,
        place: Place,
        cut: Option<String>,
    ) -> Result<(), UnpackError> {
        if place == Place::Alone && scenario::recording::is_recording(bytes) {
            let asked = "it is a recording, which is inspected by itself, by its path";
            return Err(UnpackError::Nothing(asked.to_owned()));
        }
        if place == Place::Alone && !bytes.is_empty() && !clean::is_text(bytes) {
            return Err(UnpackError::Nothing("it is no text".to_owned()));
        }
        let (text, strange) = clean::decode(bytes);
        let mut reading = match capture_in(&text) {
            Some(capture) => self.capture(&capture, name)?,
            None => evidence::split(&text, name),
        };
        reading.source = short(name);
        if place == Place::Alone && reading.pieces.is_empty() && capture_in(&text).is_none() {
            take_commands(&mut reading, &text);
        }
        cut.into_iter()
            .chain(strange)
            .for_each(|why| reading.pass(why));
        if place == Place::Alone {
            reading.tree.clear();
        }
        match reading.pieces.is_empty() && place == Place::Among && capture_in(&text).is_none() {
            true => self.unknown += 1,
            false => self.readings.push(reading),
        }
        Ok(())
    }

    fn capture(&mut self, text: &str, name: &str) -> Result<Reading, UnpackError> {
        let recovered = Capture::recover(text)?;
        self.captures.extend(recovered.capture.frames);
        let mut reading = Reading::of(name);
        recovered
            .faults
            .into_iter()
            .for_each(|fault| reading.pass(fault.to_string()));
        Ok(reading)
    }

    /// What was read, under this name.
    ///
    /// # Errors
    /// Nothing in it is known.
    pub fn found(mut self, name: String) -> Result<Found, UnpackError> {
        self.captures.sort_by_key(|frame| frame.at);
        let mut frames = gather::frames(&self.readings);
        if self.unknown > 0 && !(frames.is_empty() && self.captures.is_empty()) {
            let mut rest = Reading::of(&short(&name));
            rest.pass(format!("{} other files", self.unknown));
            self.readings.push(rest);
        }
        let note = gather::note(&short(&name), &self.readings);
        frames.append(&mut self.captures);
        if frames.is_empty() {
            return Err(UnpackError::Nothing(nearest(&self.readings)));
        }
        gather::add_note(&mut frames, &note);
        Ok(Found { name, frames })
    }
}

/// Takes a text as it stands where its commands set something.
fn take_commands(reading: &mut Reading, text: &str) {
    if !evidence::sets_by_commands(text) {
        return;
    }
    reading.passed.clear();
    reading.pieces.push(Piece {
        path: format!("{}{}", evidence::COMMANDS, reading.source),
        what: "commands".to_owned(),
        text: text.to_owned(),
        line: 1,
    });
}

/// The capture that a text is, or that a record has behind its first line.
pub(crate) fn capture_in(text: &str) -> Option<String> {
    let text = text.trim_start_matches(['\0', '\n', '\r', ' ']);
    let behind = || {
        let (first, rest) = text.split_once('\n')?;
        first.starts_with('{').then_some(rest)
    };
    let is = |text: &&str| text.starts_with(capture::MAGIC);
    Some(text)
        .filter(is)
        .or_else(|| behind().filter(is))
        .map(str::to_owned)
}
