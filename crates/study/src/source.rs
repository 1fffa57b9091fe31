//! A study's text, and errors that name the place in it.

use std::ops::Range;

use scenario::recording::Recorded;

use super::node::Node;

/// Why a text is no study: one line with the place, what is wrong and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}; {way_out}")]
pub struct StudyError {
    /// The file, or the built-in study's name.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
}

/// A study's text and the name of its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    /// What steps replay; `None` where that is not looked at.
    pub(super) recorded: Option<&'a Recorded>,
}

impl Source<'_> {
    /// An error at the beginning of `span`.
    pub(super) fn error(
        &self,
        span: &Range<usize>,
        what: impl Into<String>,
        way_out: impl Into<String>,
    ) -> StudyError {
        let (line, column) = self.position(span.start);
        StudyError {
            file: self.file.to_owned(),
            line,
            column,
            what: one_line(what.into()),
            way_out: one_line(way_out.into()),
        }
    }

    /// Refuses a stream that the study's recording lacks.
    pub(super) fn check_stream(&self, node: &Node<'_>, stream: u32) -> Result<(), StudyError> {
        let Some(recorded) = self.recorded else {
            return Ok(());
        };
        let what = format!("{} is {stream}", node.place());
        match (recorded.stream(stream), recorded.streams.len()) {
            (Some(_), _) => Ok(()),
            (None, 0) if !recorded.files.is_empty() => {
                Err(node.error(what, "no stream of the recording is whole: record again"))
            }
            (None, 0) => {
                Err(node.error(what, "name the file with the stream: recording = \"FILE\""))
            }
            (None, 1) => Err(node.error(what, "write 0")),
            (None, streams) => Err(node.error(what, format!("write 0 to {}", streams - 1))),
        }
    }

    fn position(&self, at: usize) -> (usize, usize) {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let before = String::from_utf8_lossy(before);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        (line, column)
    }
}

fn one_line(text: String) -> String {
    text.replace(|c: char| c.is_control(), " ")
}
