//! What was right, a line for each cause, each form and all of a kernel: it must not get worse.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use crate::judge::Verdict;
use crate::tally::Tally;

/// The first line.
const HEAD: &str = "kernel\twhat\tshown\tfirst\tamong\tsaid\twrong";

/// The row of a kernel's sum.
const ALL: &str = "= all";

/// Rows by kernel and cause, form or all: forms that show the cause, those in which it is first and
/// among the findings, assertions, and those of them that are false.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    rows: BTreeMap<(String, String), [u64; 5]>,
}

impl Score {
    /// Of these verdicts.
    #[must_use]
    pub fn of(verdicts: &[Verdict]) -> Self {
        let mut runs: BTreeMap<_, Vec<&Verdict>> = BTreeMap::new();
        for verdict in verdicts {
            let form = format!("form: {}", verdict.shape());
            for what in [verdict.cause.clone(), form, ALL.to_owned()] {
                let key = (verdict.kernel.clone(), what);
                runs.entry(key).or_default().push(verdict);
            }
        }
        let row = |(key, verdicts): (_, Vec<&Verdict>)| (key, Tally::of(verdicts).counts());
        Self {
            rows: runs.into_iter().map(row).collect(),
        }
    }

    /// Reads what [`Score::to_text`] wrote.
    ///
    /// # Errors
    /// A line that is no row.
    pub fn parse(text: &str) -> Result<Self> {
        let row = |line: &str| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [kernel, what, numbers @ ..] = &cells[..] else {
                return None;
            };
            let numbers: Vec<u64> = numbers.iter().map_while(|cell| cell.parse().ok()).collect();
            let numbers: [u64; 5] = numbers.try_into().ok()?;
            Some((((*kernel).to_owned(), (*what).to_owned()), numbers))
        };
        let lines = text.lines().skip(1);
        let rows = lines.map(|line| row(line).with_context(|| format!("no row: \"{line}\"")));
        Ok(Self {
            rows: rows.collect::<Result<_>>()?,
        })
    }

    /// A line for each row.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for ((kernel, what), counts) in &self.rows {
            let counts = counts.map(|count| count.to_string()).join("\t");
            let _ = writeln!(text, "{kernel}\t{what}\t{counts}");
        }
        text
    }

    /// The rows of the kernels that another has too.
    #[must_use]
    pub fn on_kernels_of(&self, other: &Self) -> Self {
        let has = |kernel: &String| other.rows.keys().any(|(known, _)| known == kernel);
        let rows = self.rows.iter().filter(|((kernel, _), _)| has(kernel));
        Self {
            rows: rows.map(|(key, counts)| (key.clone(), *counts)).collect(),
        }
    }

    /// These rows, and those of another for the kernels that are not here.
    #[must_use]
    pub fn over(&self, before: &Self) -> Self {
        let mut rows = before.rows.clone();
        let there = before.on_kernels_of(self);
        rows.retain(|key, _| !there.has(key));
        rows.extend(self.rows.clone());
        Self { rows }
    }

    /// What is worse here than it was, a line each. A run that was judged by other forms than
    /// before cannot be compared.
    #[must_use]
    pub fn worse_than(&self, before: &Self) -> Vec<String> {
        let all = before
            .rows
            .keys()
            .chain(self.rows.keys().filter(|key| !before.has(key)));
        all.filter_map(|key| self.compare(before, key)).collect()
    }

    fn has(&self, key: &(String, String)) -> bool {
        self.rows.contains_key(key)
    }

    fn compare(&self, before: &Self, key: &(String, String)) -> Option<String> {
        let name = format!("{} on {}", key.1, key.0);
        let (Some(was), Some(is)) = (before.rows.get(key), self.rows.get(key)) else {
            return Some(format!("{name}: is not in both"));
        };
        let worse = [
            ("forms show it", 0, is[0] != was[0]),
            ("times first", 1, is[1] < was[1]),
            ("times among", 2, is[2] < was[2]),
            ("false", 4, is[4] > was[4]),
        ];
        let told = worse.into_iter().filter(|(.., worse)| *worse);
        let told: Vec<String> = told
            .map(|(word, at, _)| format!("{} {word}, was {}", is[at], was[at]))
            .collect();
        (!told.is_empty()).then(|| format!("{name}: {}", told.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(row: &str) -> Score {
        Score::parse(&format!("{HEAD}\n6.1\tswap-full\t{row}\n")).unwrap()
    }

    #[test]
    fn a_score_reads_back_and_tells_what_is_worse() {
        let before = score("9\t8\t7\t9\t1");
        assert_eq!(Score::parse(&before.to_text()).unwrap(), before);
        assert_eq!(score("9\t9\t9\t8\t0").worse_than(&before), [""; 0]);
        assert_eq!(
            score("9\t7\t7\t9\t2").worse_than(&before),
            ["swap-full on 6.1: 7 times first, was 8; 2 false, was 1"]
        );
        let nothing = Score::default();
        assert_eq!(
            nothing.worse_than(&before),
            ["swap-full on 6.1: is not in both"]
        );
    }

    #[test]
    fn a_kernel_that_was_judged_replaces_its_rows_alone() {
        let before = Score::parse(&format!("{HEAD}\n6.1\tx\t1\t1\t1\t1\t0\n"));
        let before = before.unwrap();
        let now = Score::parse(&format!("{HEAD}\n6.12\tx\t2\t1\t1\t1\t0\n")).unwrap();
        assert_eq!(now.over(&before).rows.len(), 2);
        assert_eq!(before.over(&now.over(&before)).rows.len(), 2);
        assert_eq!(before.on_kernels_of(&now), Score::default());
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        let error = Score::parse(&format!("{HEAD}\n6.1\tx\t1\t2\n")).unwrap_err();
        assert_eq!(error.to_string(), "no row: \"6.1\tx\t1\t2\"");
    }
}
