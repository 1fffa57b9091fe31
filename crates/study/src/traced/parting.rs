//! Where two counts of the same run part: the first window in which a task has met something more
//! often on the one side than on the other.

use std::collections::BTreeMap;

use mm::units::Nanos;
use scenario::traced::{Figure, Traced, Unit};

/// Two counts part where they differ by more than this share of the larger one.
const SHARE: u64 = 4;

/// Windows that are looked at, at most; the last one has what comes after.
const MOST_WINDOWS: usize = 1 << 20;

/// How the time of both sides is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The length of a window.
    pub length: Nanos,
    /// When the first begins: on the kernel, on the model.
    pub from: [Nanos; 2],
    /// How long both are compared from there on.
    pub span: Nanos,
}

/// One figure of one task, on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The task.
    pub task: String,
    /// What is counted.
    pub figure: Figure,
    /// How much in each window: on the kernel, on the model.
    pub counts: Vec<[u64; 2]>,
    /// The first window in which they part.
    pub parts: Option<usize>,
}

impl Windows {
    fn number(self) -> usize {
        let windows = self.span.0.div_ceil(self.length.0.max(1));
        usize::try_from(windows)
            .unwrap_or(MOST_WINDOWS)
            .clamp(1, MOST_WINDOWS)
    }

    /// The window of a moment on one side; none before the first and behind the last.
    fn of(self, side: usize, at: Nanos) -> Option<usize> {
        let since = at.0.checked_sub(self.from[side].0)?;
        let window = usize::try_from(since / self.length.0.max(1)).ok()?;
        (since < self.span.0 && window < self.number()).then_some(window)
    }
}

/// Both counts by task and figure, those that part first before the others.
#[must_use]
pub fn rows(kernel: &Traced, model: &Traced, windows: Windows) -> Vec<Row> {
    let mut counts: BTreeMap<(&str, Figure), Vec<[u64; 2]>> = BTreeMap::new();
    for (side, traced) in [kernel, model].into_iter().enumerate() {
        for count in &traced.counts {
            let Some(window) = windows.of(side, count.at) else {
                continue;
            };
            let task = traced.tasks[count.task as usize].as_str();
            let all = counts.entry((task, count.figure));
            let all = all.or_insert_with(|| vec![[0; 2]; windows.number()]);
            all[window][side] += count.amount;
        }
    }
    let row = |((task, figure), counts): ((&str, Figure), Vec<[u64; 2]>)| Row {
        task: task.to_owned(),
        figure,
        parts: parts(figure, &counts),
        counts,
    };
    let mut rows: Vec<Row> = counts.into_iter().map(row).collect();
    rows.sort_by_key(|row| (row.parts.is_none(), row.parts));
    rows
}

impl Row {
    /// What each side has counted before a window.
    #[must_use]
    pub fn before(&self, window: usize) -> [u64; 2] {
        let sum = |side: usize| self.counts[..window].iter().map(|it| it[side]).sum();
        [sum(0), sum(1)]
    }
}

/// What two counts may differ by, whatever they are: of the kernel's own starts they do.
#[must_use]
pub fn least(figure: Figure) -> u64 {
    match figure.unit() {
        Unit::Times if figure == Figure::OomKills => 0,
        Unit::Times => 5,
        Unit::Pages => 256,
        Unit::Nanos => 20 * Nanos::MILLI.0,
    }
}

/// The first window at whose end the model has counted less or more than the kernel at any moment
/// from a window before to a window after: by more than [`least`], and by more than a quarter.
fn parts(figure: Figure, counts: &[[u64; 2]]) -> Option<usize> {
    let mut so_far = [0; 2];
    let mut sums = vec![[0; 2]];
    sums.extend(counts.iter().map(|window| {
        so_far = [so_far[0] + window[0], so_far[1] + window[1]];
        so_far
    }));
    (0..counts.len()).find(|&window| {
        let model = sums[window + 1][1];
        let fewest = sums[window][0];
        let most = sums[(window + 2).min(counts.len())][0];
        let nearest = model.clamp(fewest, most);
        let off = model.abs_diff(nearest);
        off > least(figure) && off > model.max(nearest) / SHARE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(task: &str, counts: &[(u64, u64)]) -> Traced {
        let mut traced = Traced::default();
        let task = traced.task(task);
        for &(millis, amount) in counts {
            let at = Nanos(millis * Nanos::MILLI.0);
            traced.add(at, task, Figure::DirectReclaims, amount);
        }
        traced
    }

    fn windows(from: u64) -> Windows {
        Windows {
            length: Nanos(100 * Nanos::MILLI.0),
            from: [Nanos(from * Nanos::MILLI.0), Nanos::ZERO],
            span: Nanos::SECOND,
        }
    }

    #[test]
    fn they_part_in_the_first_window_that_no_shift_by_one_explains() {
        let kernel = traced("a", &[(50, 4), (350, 100), (550, 100)]);
        // A window late is not parted; half of what comes then is.
        let model = traced("a", &[(50, 1), (450, 100), (550, 10)]);
        let [row] = &rows(&kernel, &model, windows(0))[..] else {
            panic!("one task, one figure");
        };
        assert_eq!(row.parts, Some(6));
        assert_eq!(row.before(6), [204, 111]);
        assert_eq!(rows(&kernel, &kernel, windows(0))[0].parts, None);
    }

    #[test]
    fn what_one_side_alone_has_parts_and_what_is_outside_the_windows_does_not_count() {
        let kernel = traced("a", &[(10, 50), (260, 6), (1250, 90)]);
        let rows = rows(&kernel, &traced("b", &[(1500, 9)]), windows(200));
        let [row] = &rows[..] else {
            panic!("{rows:?}");
        };
        assert_eq!((row.task.as_str(), row.parts), ("a", Some(1)));
        assert_eq!(row.counts.iter().map(|it| it[0]).sum::<u64>(), 6);
    }

    #[test]
    fn few_are_no_difference_but_a_kill_is() {
        assert_eq!(parts(Figure::DirectReclaims, &[[5, 0], [0, 0]]), None);
        assert_eq!(parts(Figure::DirectReclaims, &[[80, 64], [0, 0]]), None);
        assert_eq!(parts(Figure::OomKills, &[[0, 1], [0, 0]]), Some(0));
    }
}
