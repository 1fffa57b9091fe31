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

use crate::page::Charset;

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

/// Draws three rows, each at most `width` columns: names, line, amounts.
///
/// `marks` ascend; without any, or with all at zero, there is nothing to draw.
pub(crate) fn draw(marks: &[Mark], level: u64, width: usize, charset: Charset) -> Vec<String> {
    let scale = match marks.last() {
        Some(last) if last.at > 0 && width >= 20 => Scale {
            end: last.at.saturating_add(last.at / 2).max(1),
            columns: width - 2,
        },
        _ => return Vec::new(),
    };
    let columns: Vec<usize> = marks.iter().map(|mark| scale.column(mark.at)).collect();
    let names = marks.iter().map(|mark| mark.name);
    let amounts = marks.iter().map(|mark| mark.amount.as_str());
    vec![
        labels(names.zip(columns.iter().copied()), width),
        line(&scale, &columns, level, charset),
        labels(amounts.zip(columns.iter().copied()), width),
    ]
}

struct Scale {
    end: u64,
    columns: usize,
}

impl Scale {
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
    "0 ".chars().chain((0..scale.columns).map(pen)).collect()
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
