//! The load line: a level on a scale between marks, drawn with characters.
//!
//! ```text
//!                                   min    low    high
//! 0 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┿━━━━━━┿━●────┼────────────────────────
//!                             66.0 MiB 82.5 MiB 99.0 MiB
//! ```
//!
//! The heavy part is filled up to the level, so the picture needs no colour. The scale is linear
//! and ends at one and a half times the last mark; a level beyond it is an arrow at the right end.

use mm::units::{Bytes, PageSize, Pages};

use crate::page::Charset;

/// A level between marks, for one row of a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// What it is of.
    pub name: String,
    /// Where it stands, in the unit of the marks; `None` where that is not known.
    at: Option<u64>,
    marks: Vec<Mark>,
    /// How far that is from the next mark, in words.
    pub says: String,
    /// Whether a mark is passed behind which tasks wait or reclaim works.
    pub is_pressing: bool,
}

/// A mark on the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Written above.
    pub(crate) name: &'static str,
    /// Where it is, in the unit of the level.
    pub(crate) at: u64,
    /// Written below.
    pub(crate) amount: String,
}

impl Level {
    /// One that stands somewhere between marks that ascend.
    pub(crate) fn new(name: impl Into<String>, at: Option<u64>, marks: Vec<Mark>) -> Self {
        Self {
            name: name.into(),
            at,
            marks,
            says: String::new(),
            is_pressing: false,
        }
    }

    /// The same with its words, and whether it presses.
    pub(crate) fn says(self, says: impl Into<String>, is_pressing: bool) -> Self {
        Self {
            says: says.into(),
            is_pressing,
            ..self
        }
    }

    /// The line, at most `width` columns; `None` where there is nothing to draw, or no room.
    #[must_use]
    pub fn picture(&self, width: usize, charset: Charset) -> Option<String> {
        let scale = Scale::of(&self.marks, width)?;
        let marks: Vec<usize> = self
            .marks
            .iter()
            .map(|mark| scale.column(mark.at))
            .collect();
        Some(line(&scale, &marks, self.at?, charset))
    }

    /// Its marks: "min 66 MiB, low 82.5 MiB".
    #[must_use]
    pub fn marks(&self) -> String {
        let marks = self.marks.iter();
        let words = marks.map(|mark| format!("{} {}", mark.name, mark.amount));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// How far one amount of pages is from another.
pub(crate) fn apart(one: u64, other: u64, page: PageSize) -> Bytes {
    Pages(one.abs_diff(other)).bytes(page)
}

/// Draws three rows, each at most `width` columns: names, line, amounts.
///
/// `marks` ascend; without any, or with all at zero, there is nothing to draw.
pub(crate) fn draw(marks: &[Mark], level: u64, width: usize, charset: Charset) -> Vec<String> {
    let Some(scale) = Scale::of(marks, width.saturating_sub(2)).filter(|_| width >= 20) else {
        return Vec::new();
    };
    let columns: Vec<usize> = marks.iter().map(|mark| scale.column(mark.at)).collect();
    let names = marks.iter().map(|mark| mark.name);
    let amounts = marks.iter().map(|mark| mark.amount.as_str());
    vec![
        labels(names.zip(columns.iter().copied()), width),
        format!("0 {}", line(&scale, &columns, level, charset)),
        labels(amounts.zip(columns.iter().copied()), width),
    ]
}

struct Scale {
    end: u64,
    columns: usize,
}

impl Scale {
    /// To one and a half times the last mark; `None` where that is nothing, or there is no room.
    fn of(marks: &[Mark], columns: usize) -> Option<Self> {
        let last = marks.last().filter(|last| last.at > 0 && columns >= 8)?;
        let end = last.at.saturating_add(last.at / 2).max(1);
        Some(Self { end, columns })
    }

    fn column(&self, at: u64) -> usize {
        let last = self.columns - 1;
        let column = u128::from(at.min(self.end)) * last as u128 / u128::from(self.end);
        usize::try_from(column).unwrap_or(last)
    }
}

/// The characters of a line: filled, empty, a mark in each, the level, and beyond the end.
struct Pens {
    full: char,
    empty: char,
    full_mark: char,
    empty_mark: char,
    level: char,
    beyond: char,
}

const UNICODE: Pens = Pens {
    full: '━',
    empty: '─',
    full_mark: '┿',
    empty_mark: '┼',
    level: '●',
    beyond: '▶',
};

const ASCII: Pens = Pens {
    full: '=',
    empty: '-',
    full_mark: '#',
    empty_mark: '|',
    level: 'O',
    beyond: '>',
};

fn line(scale: &Scale, marks: &[usize], level: u64, charset: Charset) -> String {
    let pens = match charset {
        Charset::Unicode => UNICODE,
        Charset::Ascii => ASCII,
    };
    let at = scale.column(level);
    let pen = |column: usize| match (column == at, column < at, marks.contains(&column)) {
        (true, _, _) if level > scale.end => pens.beyond,
        (true, _, _) => pens.level,
        (_, true, true) => pens.full_mark,
        (_, true, false) => pens.full,
        (_, false, true) => pens.empty_mark,
        (_, false, false) => pens.empty,
    };
    (0..scale.columns).map(pen).collect()
}

/// Puts each label at its column: the first ends there, the last begins there, others are centred.
/// Labels that would overlap or pass the right edge move aside.
fn labels<'a>(labels: impl Iterator<Item = (&'a str, usize)>, width: usize) -> String {
    let labels: Vec<(&str, usize)> = labels.collect();
    let length = |index: usize| {
        let label = labels.get(index).into_iter();
        label.flat_map(|(label, _)| label.chars()).count()
    };
    let mut starts: Vec<usize> = (0..labels.len())
        .map(|index| wanted(&labels, index))
        .collect();
    for index in 1..starts.len() {
        starts[index] = starts[index].max(starts[index - 1] + length(index - 1) + 1);
    }
    let mut edge = width + 1;
    for index in (0..starts.len()).rev() {
        starts[index] = starts[index].min(edge.saturating_sub(length(index) + 1));
        edge = starts[index];
    }
    let mut row = String::new();
    for ((label, _), start) in labels.iter().zip(starts) {
        let gap = start.saturating_sub(row.chars().count());
        row.extend(std::iter::repeat_n(' ', gap));
        row.push_str(label);
    }
    row
}

/// Where a label would begin if it were alone.
fn wanted(labels: &[(&str, usize)], index: usize) -> usize {
    let (label, column) = labels[index];
    let (tick, length) = (column + 2, label.chars().count());
    match index {
        _ if index + 1 == labels.len() => tick,
        0 => (tick + 1).saturating_sub(length),
        _ => tick.saturating_sub(length / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(marks: [u64; 3], level: u64, charset: Charset, expected: &Expect) {
        let names = ["min", "low", "high"];
        let mark = |(name, at): (&'static str, u64)| Mark {
            name,
            at,
            amount: format!("{at}.0 MiB"),
        };
        let marks: Vec<Mark> = names.into_iter().zip(marks).map(mark).collect();
        let rows = draw(&marks, level, 60, charset);
        assert!(rows.iter().all(|row| row.chars().count() <= 60));
        expected.assert_eq(&rows.join("\n"));
    }

    #[test]
    fn the_level_stands_between_the_marks() {
        check(
            [66, 82, 99],
            90,
            Charset::Unicode,
            &expect![[r#"
                                     min    low     high
            0 ━━━━━━━━━━━━━━━━━━━━━━━━━┿━━━━━┿━━●───┼───────────────────
                                66.0 MiB 82.0 MiB   99.0 MiB"#]],
        );
        check(
            [66, 82, 99],
            40,
            Charset::Ascii,
            &expect![[r#"
                                     min    low     high
            0 ===============O---------|-----|------|-------------------
                                66.0 MiB 82.0 MiB   99.0 MiB"#]],
        );
    }

    #[test]
    fn a_level_beyond_the_scale_is_an_arrow() {
        check(
            [66, 82, 99],
            20_000,
            Charset::Unicode,
            &expect![[r#"
                                     min    low     high
            0 ━━━━━━━━━━━━━━━━━━━━━━━━━┿━━━━━┿━━━━━━┿━━━━━━━━━━━━━━━━━━▶
                                66.0 MiB 82.0 MiB   99.0 MiB"#]],
        );
    }

    #[test]
    fn labels_never_overlap() {
        check(
            [1, 1, 1],
            0,
            Charset::Ascii,
            &expect![[r#"
                                                            min low high
            0 O--------------------------------------------------------|
                                                 1.0 MiB 1.0 MiB 1.0 MiB"#]],
        );
        check(
            [1, 99, 100],
            120,
            Charset::Ascii,
            &expect![[r#"
            min                                   low high
            0 #====================================##======O------------
            1.0 MiB                            99.0 MiB 100.0 MiB"#]],
        );
    }

    #[test]
    fn nothing_is_drawn_without_marks() {
        assert!(draw(&[], 3, 80, Charset::Ascii).is_empty());
    }
}
