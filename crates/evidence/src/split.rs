//! A text, line by line, into the files that are in it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::command::{self, Hint};
use super::free::Unit;
use super::heading::{self, Heading};
use super::kind::{self, Blank, Kind};
use super::lines::{self, Value};
use super::reading::{Passed, Piece, Reading};
use super::{clean, groups, log, path};
use mm::notes::{FACTS, UNREADABLE};
use mm::text::shown;
use mm::{mail, programs};

/// Notes of lines that were not taken beyond this number are counted with the last.
const MOST_PASSED: usize = 1000;

/// Splits a text. `name` is that of its file, with its folders; it decides where the lines alone do
/// not say what they are.
#[must_use]
pub fn split(text: &str, name: &str) -> Reading {
    let mut splitter = Splitter {
        reading: Reading::of(name),
        hint: heading::of_name(name),
        open: None,
        folder: None,
        headed: false,
    };
    if let Some((tree, path)) = path::known(name) {
        splitter.reading.tree = tree.to_owned();
        if is_verbatim(path) {
            splitter.whole(path, text);
            return splitter.reading;
        }
    }
    let text = text.trim_end_matches('\0');
    for (number, raw) in mail::lines(text) {
        match clean::line(&raw) {
            Ok(line) => splitter.line(&line, number),
            Err(why) => splitter.pass(&raw, number, why),
        }
    }
    splitter.close();
    splitter.reading
}

/// Whether a line only draws one: `______`.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() > 3 && line.bytes().all(|byte| b"_-=*~".contains(&byte))
}

/// Whether a file is taken as it stands: no line tells what it is.
fn is_verbatim(path: &str) -> bool {
    kind::at(path).is_none() || path == "proc/cmdline"
}

struct Splitter {
    reading: Reading,
    hint: Hint,
    open: Option<Open>,
    /// The folder of the control group in which the shell stands.
    folder: Option<String>,
    /// Whether the line before is a command without a prompt.
    headed: bool,
}

/// The file that lines are added to.
struct Open {
    piece: Piece,
    kind: Option<&'static Kind>,
    unit: Unit,
    /// Whether each of its lines has the file's name before it.
    by_names: bool,
}

impl Splitter {
    /// A file that is one text.
    fn whole(&mut self, path: &str, text: &str) {
        let mut kept = String::new();
        for (raw, number) in text.trim_end_matches('\0').split_inclusive('\n').zip(1..) {
            let end = if raw.ends_with('\n') { "\n" } else { "" };
            match clean::line(raw.trim_end_matches('\n')) {
                Ok(line) => kept.extend([&line, end]),
                Err(why) => self.pass(raw, number, why),
            }
        }
        self.take(path.to_owned(), path.to_owned(), kept, 1);
    }

    fn line(&mut self, line: &str, number: usize) {
        if line.trim().is_empty() {
            return self.blank();
        }
        if programs::of(line).is_some() && !self.is_configuration_open() {
            return self.said(line, number);
        }
        if !self.is_configuration_open()
            && let Some(value) = lines::value(line)
        {
            return self.value(value, number);
        }
        if !self.belongs(line)
            && let Some(heading) = heading::of(line)
        {
            self.close();
            return self.heading(heading, line);
        }
        if self.open.is_none() && is_rule(line) {
            return self.pass(line, number, "not recognised");
        }
        self.headed = false;
        if self.is_configuration_open() {
            return self.push(line);
        }
        if self.open.as_ref().is_some_and(|open| open.by_names) {
            self.close();
        }
        if self.open.as_ref().is_some_and(|open| open.kind.is_none()) {
            return self.push(line);
        }
        if self.goes_on(line) || self.hinted(line, number) || self.begin(line, number) {
            return;
        }
        self.close();
        self.pass(line, number, "not recognised");
    }

    /// What comes below a heading; of commands that stand together without a prompt the files of
    /// all.
    fn heading(&mut self, heading: Heading, line: &str) {
        self.folder = groups::folder(line.trim()).or_else(|| self.folder.take());
        let is_bare = command::hint(line.trim()).is_some();
        let before = match &mut self.hint {
            Hint::Files(files) if self.headed && is_bare => core::mem::take(files),
            _ => Vec::new(),
        };
        self.headed = is_bare;
        self.hint = match heading {
            Heading::Begins(Hint::Files(files)) => {
                let files = files.into_iter().map(|path| self.placed(path));
                Hint::Files(before.into_iter().chain(files).collect())
            }
            Heading::Begins(hint) => hint,
            Heading::Ends => Hint::None,
        };
    }

    /// A file of a group without a name, in the folder where the shell stands.
    fn placed(&self, path: String) -> String {
        let folder = self.folder.as_deref();
        let placed = folder.and_then(|folder| groups::within(&path, folder));
        placed.unwrap_or(path)
    }

    /// A sentence of a program that was refused memory; a log goes on behind it.
    fn said(&mut self, line: &str, number: usize) {
        let kind = self.open.as_ref().and_then(|open| open.kind);
        if kind.is_none_or(|kind| kind.path != Some(log::PATH)) {
            self.close();
        }
        let what = "sentence of a program".to_owned();
        self.take(programs::PATH.to_owned(), what, format!("{line}\n"), number);
    }

    /// Whether the open file is a text of configuration, which only a heading ends.
    fn is_configuration_open(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| !open.by_names && path::is_configuration(&open.piece.path))
    }

    /// Whether a line that may look like a heading belongs to the open file.
    fn belongs(&self, line: &str) -> bool {
        let Some(open) = &self.open else {
            return lines::is_metric(line);
        };
        match open.kind {
            Some(kind) if kind.path == Some(log::PATH) => clean::unstamped(line).is_some(),
            Some(kind) => (kind.begins)(line.trim()) || kind.is_strict() && kind.goes_on(line),
            None => line.starts_with('#') && !line.starts_with("#==["),
        }
    }

    fn blank(&mut self) {
        match &mut self.open {
            Some(open) if open.kind.is_none_or(|kind| kind.blank == Blank::Belongs) => {
                open.piece.text.push('\n');
            }
            Some(_) => self.close(),
            None => {}
        }
    }

    fn push(&mut self, line: &str) {
        if let Some(open) = &mut self.open {
            open.piece.text.push_str(line);
            open.piece.text.push('\n');
        }
    }

    /// Adds the line to the open file, where it fits.
    fn goes_on(&mut self, line: &str) -> bool {
        let Some(kind) = self.open.as_ref().and_then(|open| open.kind) else {
            return false;
        };
        if kind.is_strict() {
            let behind = || clean::unstamped(line).filter(|line| kind.goes_on(line));
            let fits = kind.goes_on(line).then_some(line).or_else(behind);
            fits.into_iter().for_each(|line| self.push(line));
            return fits.is_some();
        }
        let is_log = kind.path == Some(log::PATH);
        let kept = is_log
            && self
                .open
                .as_ref()
                .is_some_and(|open| log::keeps(&open.piece.text, line));
        let other = !kept
            && kind::of(lines::told(line))
                .is_some_and(|other| other.what != kind.what && other.is_strict());
        if !other {
            self.push(line);
        }
        !other
    }

    /// Takes the line as what the heading said comes.
    fn hinted(&mut self, line: &str, number: usize) -> bool {
        let text = line.trim();
        match &mut self.hint {
            Hint::Release => {
                let release = lines::release(text).map(str::to_owned);
                self.hint = Hint::None;
                release.is_some_and(|release| self.release(&release, number))
            }
            Hint::Fact(fact) => {
                let fact = *fact;
                self.hint = Hint::None;
                text.parse::<u64>()
                    .is_ok_and(|value| self.fact(fact, value, number))
            }
            Hint::Files(files) if !files.is_empty() => {
                let fits = |path: &String| match kind::at(path) {
                    Some(kind) => (kind.begins)(text) || kind.is_strict() && kind.goes_on(text),
                    None => true,
                };
                let Some(at) = files.iter().position(fits) else {
                    return false;
                };
                if kind::at(&files[at]).is_none() && kind::is_kernel_file(text) {
                    return false;
                }
                let path = files.remove(at);
                self.begin_file(path, line, number);
                true
            }
            _ => false,
        }
    }

    /// Begins the file that a heading named.
    fn begin_file(&mut self, path: String, line: &str, number: usize) {
        self.close();
        let is_value = path::is_setting(&path) || groups::is_value(&path);
        let one_value = is_value && kind::at(&path).is_none();
        self.open(kind::at(&path), path, number);
        self.push(line);
        if one_value {
            self.close();
        }
    }

    /// Begins the file that the line tells by itself.
    fn begin(&mut self, line: &str, number: usize) -> bool {
        let line = lines::told(line);
        let Some(kind) = kind::of(line) else {
            return false;
        };
        self.close();
        let Some(path) = kind.path else {
            let why = format!("{}: of which resource is not said", kind.what);
            self.pass(line, number, &why);
            return true;
        };
        self.open(Some(kind), path.to_owned(), number);
        self.push(line);
        true
    }

    fn open(&mut self, kind: Option<&'static Kind>, path: String, line: usize) {
        let unit = match self.hint {
            Hint::Free(unit) => unit,
            _ => Unit::Unknown,
        };
        let what = kind.map_or_else(|| path.clone(), |kind| kind.what.to_owned());
        let piece = Piece {
            path,
            what,
            text: String::new(),
            line,
        };
        self.open = Some(Open {
            piece,
            kind,
            unit,
            by_names: false,
        });
    }

    /// Ends the open file.
    fn close(&mut self) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        let whole = open.piece.text.trim_end_matches('\n').len();
        open.piece.text.truncate(whole);
        open.piece.text.push('\n');
        let (pieces, passed) = super::close::close(open.piece, open.unit);
        self.reading.pieces.extend(pieces);
        for (line, why) in passed {
            self.pass("", line, &why);
        }
    }

    /// A value that a line names by itself.
    fn value(&mut self, value: Value<'_>, number: usize) {
        if !matches!(value, Value::Within(..) | Value::OfGroup(..)) {
            self.close();
        }
        match value {
            Value::Setting(key, value) => {
                if let Some(path) = path::of_key(key) {
                    self.take(path, "setting".to_owned(), format!("{value}\n"), number);
                }
            }
            Value::Within(path, line) => self.within(path, line, number),
            Value::OfGroup(path, text) => self.within(self.placed(path), &text, number),
            Value::Release(release) => {
                self.release(release, number);
            }
            Value::Refused(path, why) => {
                let note = format!("{path}\t{why}\n");
                self.take(UNREADABLE.to_owned(), "unreadable".to_owned(), note, number);
            }
        }
    }

    /// A line with its file's name before it, as `grep` prints it.
    fn within(&mut self, path: String, line: &str, number: usize) {
        if self
            .open
            .as_ref()
            .is_none_or(|open| open.piece.path != path)
        {
            self.close();
            self.open(kind::at(&path), path, number);
        }
        self.push(line);
        if let Some(open) = &mut self.open {
            open.by_names = true;
        }
    }

    fn release(&mut self, release: &str, number: usize) -> bool {
        let path = "proc/sys/kernel/osrelease".to_owned();
        self.take(path, "release".to_owned(), format!("{release}\n"), number);
        true
    }

    fn fact(&mut self, fact: &str, value: u64, number: usize) -> bool {
        self.take(
            FACTS.to_owned(),
            fact.to_owned(),
            format!("{fact}\t{value}\n"),
            number,
        );
        true
    }

    fn take(&mut self, path: String, what: String, text: String, line: usize) {
        self.reading.pieces.push(Piece {
            path,
            what,
            text,
            line,
        });
    }

    /// Notes a line that was not taken; lines that follow each other make one note.
    fn pass(&mut self, line: &str, number: usize, why: &str) {
        let full = self.reading.passed.len() >= MOST_PASSED;
        if let Some(last) = self.reading.passed.last_mut()
            && (full || (last.line + last.lines == number && last.why.ends_with(why)))
        {
            last.lines += 1;
            return;
        }
        let why = match line.is_empty() {
            true => why.to_string(),
            false => format!("\"{}\" {why}", shown(line)),
        };
        let lines = 1;
        self.reading.passed.push(Passed {
            line: number,
            lines,
            why,
        });
    }
}

/// Lines that were not taken, all together.
#[must_use]
pub(super) fn count(passed: &[Passed]) -> usize {
    let lines: Vec<usize> = passed.iter().map(|passed| passed.lines).collect();
    lines
        .iter()
        .fold(0, |sum, lines| sum.saturating_add(*lines))
}
