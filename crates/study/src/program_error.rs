//! How far a prediction from a recording is likely to lie from what the load itself does: what
//! programs did that were recorded, and run again without the recorder under other settings.
//!
//! `records/programs.tsv` has what was measured over what is predicted, for each arm of each
//! program; a test of the example `programs` of `lab` computes it again. A program is off in all of
//! its arms alike, so the interval is that of one more program, drawn as those were: the mean of
//! their logarithms, plus or minus Student's t times the root of the variance between programs
//! times 1 + 1/n and the variance within one (the prediction interval of a random effect).

use std::collections::BTreeMap;

/// The table that is kept with the records.
pub const TABLE: &str = include_str!("../../../records/programs.tsv");

/// Its first line.
pub const HEAD: &str = "program\tkernel\tarm\tread\twritten\ttime";

/// The part of the cases that an interval is for, in percent.
pub const HOLDS: u32 = 80;

/// The 90 % quantiles of Student's t for 1 to 10 degrees of freedom; beyond, the last is a little
/// wide.
const T_90: [f64; 10] = [
    3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372,
];

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// What is read from disks.
    Read,
    /// What is written to disks.
    Written,
    /// How long a task takes.
    Time,
}

/// An arm of a program: what was measured over what is predicted. `None` where that says nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The program, the kernel's line, and the arm.
    pub key: [String; 3],
    /// Of what is read, written, and of the time.
    pub ratios: [Option<f64>; 3],
}

/// Between which multiples of the prediction the figure is, in [`HOLDS`] of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// Programs on which it rests.
    pub programs: usize,
    /// Their arms.
    pub arms: usize,
}

/// The kept table.
#[must_use]
pub fn kept() -> Vec<Row> {
    TABLE.lines().skip(1).filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let words: Vec<&str> = line.split('\t').collect();
    let [program, kernel, arm, read, written, time] = words[..] else {
        return None;
    };
    Some(Row {
        key: [program, kernel, arm].map(str::to_owned),
        ratios: [read, written, time].map(|word| word.parse().ok()),
    })
}

/// The table as text.
#[must_use]
pub fn text(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let ratios = row.ratios.map(|ratio| match ratio {
            Some(ratio) => format!("{ratio:.3}"),
            None => "-".to_owned(),
        });
        format!("{}\t{}\n", row.key.join("\t"), ratios.join("\t"))
    };
    format!("{HEAD}\n{}", rows.iter().map(line).collect::<String>())
}

/// The interval that these rows give; `None` where they are of fewer than three programs.
#[must_use]
pub fn interval(rows: &[Row], of: Of) -> Option<Interval> {
    let mut programs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows {
        let ratio = row.ratios[of as usize].filter(|ratio| *ratio > 0.0);
        if let Some(ratio) = ratio {
            programs.entry(&row.key[0]).or_default().push(ratio.ln());
        }
    }
    if programs.len() < 3 {
        return None;
    }
    let arms: usize = programs.values().map(Vec::len).sum();
    let means: Vec<f64> = programs.values().map(|it| mean(it)).collect();
    let within = programs.values().map(|it| squares(it)).sum::<f64>();
    let within = within / (arms - programs.len()).max(1) as f64;
    let (count, freedom) = (means.len() as f64, means.len() - 1);
    let between = squares(&means) / freedom as f64;
    let t = T_90[freedom.min(T_90.len()) - 1];
    let half = t * (between * (1.0 + 1.0 / count) + within).sqrt();
    let middle = mean(&means);
    Some(Interval {
        least: (middle - half).exp(),
        most: (middle + half).exp(),
        programs: programs.len(),
        arms,
    })
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// The sum of the squares of the distances from the mean.
fn squares(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    numbers.iter().map(|number| (number - mean).powi(2)).sum()
}

/// What the largest sample error times the pages of the sample was, of what is read and of the
/// time: 10, 5 and 2 % with 1,450, 2,900 and 5,800 pages of memory in the sample; 3, 2 and 1 %.
const OF_SAMPLE: [f64; 2] = [145.0, 58.0];

/// The sizes that were measured, over that of the recording.
const SIZES: [f64; 2] = [0.25, 2.0];

impl Interval {
    /// The prediction itself.
    pub const EXACT: Self = Self {
        least: 1.0,
        most: 1.0,
        programs: 0,
        arms: 0,
    };

    /// Wider by what a sample of that many pages of the memory adds.
    #[must_use]
    pub fn of_sample(self, of: Of, pages: u64) -> Self {
        let error = OF_SAMPLE[usize::from(of == Of::Time)] / pages.max(1) as f64;
        let (middle, half) = self.logarithms();
        self.around(middle, half.hypot(error.ln_1p()))
    }

    /// Wider beyond the sizes that were measured: once more for each doubling and halving. That is
    /// a rule of caution and was not measured.
    #[must_use]
    pub fn of_size(self, size: f64) -> Self {
        let beyond = (SIZES[0] / size).max(size / SIZES[1]).max(1.0);
        let (middle, half) = self.logarithms();
        self.around(middle, half * (1.0 + beyond.log2()))
    }

    fn logarithms(&self) -> (f64, f64) {
        let (least, most) = (self.least.ln(), self.most.ln());
        (least.midpoint(most), (most - least) / 2.0)
    }

    fn around(self, middle: f64, half: f64) -> Self {
        Self {
            least: (middle - half).exp(),
            most: (middle + half).exp(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
