//! A page of text: headings, rows and paragraphs that fit the terminal.

use std::fmt;

use mm::text::one_line;
use mm::units::Bytes;

use super::load_line::{self, Mark};
use crate::style::bold;

/// Columns by which text is set in that does not fit beside its mark.
const BELOW: usize = 6;

/// Columns of the name in a row.
const NAME: usize = 25;

/// Which characters a picture is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// Box-drawing characters and arrows.
    Unicode,
    /// Seven bits.
    Ascii,
}

/// What the output has to fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Columns.
    pub width: usize,
    /// Characters.
    pub charset: Charset,
}

/// Text under construction.
#[derive(Debug)]
pub struct Page {
    canvas: Canvas,
    text: String,
}

impl Page {
    /// An empty page for this canvas.
    pub fn new(canvas: Canvas) -> Self {
        Self {
            canvas,
            text: String::new(),
        }
    }

    /// A further page for the same canvas.
    pub fn blank(&self) -> Self {
        Self::new(self.canvas)
    }

    /// How many columns it has.
    pub(crate) fn width(&self) -> usize {
        self.canvas.width
    }

    /// How many lines it has.
    pub fn lines(&self) -> usize {
        self.text.matches('\n').count()
    }

    /// Adds another page's lines.
    pub fn append(&mut self, other: Self) {
        self.text.push_str(&other.text);
    }

    /// The finished text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// One of two spellings, by what the terminal shows.
    pub fn either(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self.canvas.charset {
            Charset::Unicode => unicode,
            Charset::Ascii => ascii,
        }
    }

    /// A line: a name with a line end in it does not make two of it.
    pub fn line(&mut self, line: impl fmt::Display) {
        let line = line.to_string();
        self.text.push_str(&one_line(line.trim_end()));
        self.text.push('\n');
    }

    /// The page's first lines.
    pub fn title(&mut self, title: &str) {
        for line in wrap(title, self.canvas.width) {
            self.line(bold(line));
        }
    }

    /// A heading, after a blank line.
    pub fn heading(&mut self, title: &str) {
        self.line("");
        self.title(title);
    }

    /// A name, a value aligned right, and what is to say about it; what is too long goes below.
    pub fn row(&mut self, name: &str, value: impl fmt::Display, about: &str) {
        let name = match name.chars().count() {
            0..=NAME => name,
            _ => {
                self.line(format!("  {name}"));
                ""
            }
        };
        let head = format!("  {name:<NAME$} {:>10}", value.to_string());
        let room = self.canvas.width.saturating_sub(head.chars().count() + 2);
        if about.chars().count() <= room {
            self.line(format!("{head}  {about}"));
        } else {
            self.line(head);
            self.paragraph(6, about);
        }
    }

    /// A row whose value is in bytes.
    pub fn amount(&mut self, name: &str, bytes: u64, about: &str) {
        self.row(name, Bytes(bytes), about);
    }

    /// A level on a line between marks.
    pub(crate) fn load_line(&mut self, marks: &[Mark], level: u64) {
        let Canvas { width, charset } = self.canvas;
        for row in load_line::draw(marks, level, width - 2, charset) {
            self.line(format!("  {row}"));
        }
    }

    /// Prose between `indent` and the right edge.
    pub fn paragraph(&mut self, indent: usize, text: &str) {
        self.styled_item(indent, "", text, std::convert::identity);
    }

    /// Prose that begins with a mark, under which no further line begins.
    pub fn item(&mut self, indent: usize, mark: &str, text: &str) {
        self.styled_item(indent, mark, text, std::convert::identity);
    }

    /// A command behind a mark: where it takes several lines, each but the last ends so that a
    /// shell reads on, and the comment behind `#` has lines of its own.
    pub fn command(&mut self, indent: usize, mark: &str, text: &str) {
        let hanging = indent + mark.chars().count();
        let room = self.canvas.width.saturating_sub(hanging).max(20);
        let (command, comment) = match text.split_once(" # ") {
            Some((command, comment)) if text.chars().count() > room => (command, Some(comment)),
            _ => (text, None),
        };
        let mut lines = continued(command, room);
        let comment = comment.map(|comment| wrap(comment, room - 2));
        lines.extend(
            comment
                .into_iter()
                .flatten()
                .map(|line| format!("# {line}")),
        );
        for (line, number) in lines.iter().zip(0..) {
            let mark = if number == 0 { mark } else { "" };
            let before = format!("{:indent$}{mark}", "");
            self.line(format!("{before:hanging$}{line}"));
        }
    }

    /// As [`Page::item`], its lines in a style.
    pub fn styled_item<T: fmt::Display>(
        &mut self,
        indent: usize,
        mark: &str,
        text: &str,
        style: fn(String) -> T,
    ) {
        let mut hanging = indent + mark.chars().count();
        let mut room = self.canvas.width.saturating_sub(hanging).max(20);
        let mut words = text.split_whitespace();
        let mut mark = mark;
        if !mark.is_empty() && words.any(|word| word.chars().count() > room) {
            // A long path beside a long mark: it goes below it.
            self.line(format!("{:indent$}{mark}", ""));
            (hanging, mark) = (indent + BELOW, "");
            room = self.canvas.width.saturating_sub(hanging).max(20);
        }
        for (line, number) in wrap(text, room).into_iter().zip(0..) {
            let mark = if number == 0 { mark } else { "" };
            let before = format!("{:indent$}{mark}", "");
            self.line(format!("{before:hanging$}{}", style(line)));
        }
    }
}

fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut blank = " ";
        for part in parts(word, room) {
            let line = lines.last_mut().expect("there is always a line");
            let used = line.chars().count();
            if used > 0 && used + blank.len() + part.chars().count() > room {
                lines.push(part.to_owned());
            } else {
                line.push_str(if used > 0 { blank } else { "" });
                line.push_str(part);
            }
            blank = "";
        }
    }
    lines
}

/// A word, in parts where it has no room: flags are joined by bars, paths by slashes.
fn parts(word: &str, room: usize) -> impl Iterator<Item = &str> {
    let is_long = word.chars().count() > room;
    word.split_inclusive(move |c| is_long && "|/".contains(c))
}

/// A command in lines that a shell reads as one.
fn continued(command: &str, room: usize) -> Vec<String> {
    if command.chars().count() <= room {
        return vec![command.trim_end().to_owned()];
    }
    let mut lines = wrap(command, room - 2);
    let last = lines.len() - 1;
    lines[..last]
        .iter_mut()
        .for_each(|line| line.push_str(" \\"));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_have_no_room_are_broken_at_their_bars() {
        let lines = wrap(
            "order 9, GFP_HIGHUSER|__GFP_NORETRY|__GFP_COMP; nothing",
            30,
        );
        let expected = [
            "order 9, GFP_HIGHUSER|",
            "__GFP_NORETRY|__GFP_COMP;",
            "nothing",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_command_in_several_lines_is_one_to_a_shell() {
        let mut page = Page::new(Canvas {
            width: 30,
            charset: Charset::Ascii,
        });
        page.command(
            2,
            "Do: ",
            "echo a b  c d e f g h i j k l m n # letters, and no more than these",
        );
        let expected = "  Do: echo a b c d e f g h i \\\n      j k l m n\n      # letters, and no more\n      # than these\n";
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn lines_break_between_words_and_never_inside() {
        assert_eq!(wrap("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrap("toolongaword x", 4), ["toolongaword", "x"]);
    }

    #[test]
    fn a_heading_fits_the_page() {
        let canvas = Canvas {
            width: 60,
            charset: Charset::Ascii,
        };
        let mut page = Page::new(canvas);
        page.heading(&"a long word ".repeat(10));
        assert_eq!(page.into_text().lines().count(), 3);
    }

    #[test]
    fn a_word_that_does_not_fit_beside_its_mark_goes_below_it() {
        let mut page = Page::new(Canvas {
            width: 60,
            charset: Charset::Ascii,
        });
        let (mark, path) = ("m".repeat(40), "p".repeat(30));
        page.item(0, &mark, &path);
        assert_eq!(page.into_text(), format!("{mark}\n      {path}\n"));
    }

    #[test]
    fn what_does_not_fit_a_row_goes_below_it() {
        let canvas = Canvas {
            width: 60,
            charset: Charset::Ascii,
        };
        let mut page = Page::new(canvas);
        page.row("name", 1, "short");
        page.row("name", 2, "words that do not fit beside the value any more");
        assert_eq!(page.into_text().lines().count(), 3);
    }
}
