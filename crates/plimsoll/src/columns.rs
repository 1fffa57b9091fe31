//! Numbers in columns under common heads, with words below each line.

use crate::results::wrapped;
use crate::term::{bold, dim};

/// Lines and columns under construction.
#[derive(Debug)]
pub(crate) struct Columns {
    /// What a line is.
    pub(crate) corner: String,
    /// From top to bottom.
    pub(crate) lines: Vec<Line>,
    /// From left to right.
    pub(crate) columns: Vec<Column>,
}

/// What stands to the left of a line's numbers, and below them.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) words: String,
}

/// Numbers under a common head: one a line, or several where the column has parts.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    /// What the parts are; empty where there is only one.
    pub(crate) parts: &'static [&'static str],
    /// The parts' numbers, line by line.
    pub(crate) numbers: Vec<Vec<String>>,
}

/// Blanks before a number.
const GAP: usize = 2;

impl Columns {
    /// As text of at most `width` columns, where one column beside the names fits at all. Columns
    /// that do not fit follow below the others.
    pub(crate) fn to_text(&self, width: usize) -> String {
        let names = self.lines.iter().map(|line| length(&line.name));
        let left = names.chain([length(&self.corner)]).max().unwrap_or(0);
        let (mut text, mut rest) = (String::new(), self.columns.as_slice());
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(fitting(rest, width.saturating_sub(left)));
            text += &heads(&self.corner, piece, left);
            for (index, line) in self.lines.iter().enumerate() {
                text += &numbers(line, index, piece, left);
                if behind.is_empty() {
                    text += &below(&line.words, width);
                }
            }
            rest = behind;
        }
        text
    }
}

impl Column {
    /// How wide each part is, with the gap before it; the first makes room for the head.
    fn widths(&self) -> Vec<usize> {
        let count = self.parts.len().max(1);
        let mut widths = vec![0; count];
        let parts = self.parts.iter().map(|part| length(part)).enumerate();
        let numbers = self
            .numbers
            .iter()
            .flat_map(|line| line.iter().map(|n| length(n)).enumerate());
        for (part, width) in parts.chain(numbers) {
            widths[part] = widths[part].max(GAP + width);
        }
        let missing = (GAP + length(&self.head)).saturating_sub(widths.iter().sum());
        widths[0] += missing;
        widths
    }

    fn width(&self) -> usize {
        self.widths().iter().sum()
    }
}

/// How many of the columns have room; at least one, so that there is an end.
fn fitting(columns: &[Column], room: usize) -> usize {
    let ends = columns.iter().scan(0, |end, column| {
        *end += column.width();
        Some(*end)
    });
    ends.take_while(|end| *end <= room).count().max(1)
}

fn heads(corner: &str, columns: &[Column], left: usize) -> String {
    let head = |column: &Column| format!("{:>1$}", column.head, column.width());
    let line =
        |corner: &str, text: String| format!("{corner:left$}{text}").trim_end().to_owned() + "\n";
    let first = line(corner, columns.iter().map(head).collect());
    if columns.iter().all(|column| column.parts.is_empty()) {
        return first;
    }
    let parts = |column: &Column| right(column.parts, &column.widths());
    first + &line("", columns.iter().map(parts).collect())
}

fn numbers(line: &Line, index: usize, columns: &[Column], left: usize) -> String {
    let numbers = |column: &Column| right(&column.numbers[index], &column.widths());
    let numbers = columns.iter().map(numbers).collect::<String>();
    let blanks = left - length(&line.name);
    let name = bold(&line.name);
    format!("{name}{:blanks$}{}\n", "", numbers.trim_end())
}

fn right<T: AsRef<str>>(texts: &[T], widths: &[usize]) -> String {
    let texts = texts.iter().zip(widths);
    texts
        .map(|(text, width)| format!("{:>width$}", text.as_ref()))
        .collect()
}

fn below(words: &str, width: usize) -> String {
    let lines = wrapped(words, width.saturating_sub(2));
    let lines = lines.lines().filter(|line| !line.is_empty());
    lines.map(|line| format!("  {}\n", dim(line))).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn plain(columns: &Columns, width: usize) -> String {
        look::style::plain(&columns.to_text(width))
    }

    fn sample() -> Columns {
        let numbers =
            |texts: [[&str; 2]; 2]| texts.map(|line| line.map(str::to_owned).to_vec()).to_vec();
        let line = |name: &str, words: &str| Line {
            name: name.to_owned(),
            words: words.to_owned(),
        };
        let column = |head: &str, texts| Column {
            head: head.to_owned(),
            parts: &["model", "kernel"],
            numbers: numbers(texts),
        };
        Columns {
            corner: "remedy".to_owned(),
            lines: vec![
                line("none", ""),
                line("memory.low", "Asks for a control group."),
            ],
            columns: vec![
                column("kept, %", [["98.0", "99.1"], ["7", ""]]),
                column("something long, s", [["1", "2"], ["30", "4"]]),
            ],
        }
    }

    #[test]
    fn words_stand_below_their_line() {
        expect![[r#"
            remedy            kept, %  something long, s
                        model  kernel      model  kernel
            none         98.0    99.1          1       2
            memory.low      7                 30       4
              Asks for a control group.
        "#]]
        .assert_eq(&plain(&sample(), 50));
    }

    #[test]
    fn what_does_not_fit_follows_below() {
        expect![[r#"
            remedy            kept, %
                        model  kernel
            none         98.0    99.1
            memory.low      7
            remedy      something long, s
                            model  kernel
            none                1       2
            memory.low         30       4
              Asks for a control group.
        "#]]
        .assert_eq(&plain(&sample(), 30));
    }
}
