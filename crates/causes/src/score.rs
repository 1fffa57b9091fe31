//! What was right of the committed sample, a line for each run: it must not get worse.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use crate::judge::Verdict;
use crate::tally::Tally;

/// The first line.
const HEAD: &str = "kernel\tcause\tshown\tfirst\tamong\twrong";

/// Rows by kernel and cause: forms that show the cause, those in which it is first and among the
/// findings, and false assertions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    rows: BTreeMap<(String, String), [u64; 4]>,
}

impl Score {
    /// Of these verdicts.
    #[must_use]
    pub fn of(verdicts: &[Verdict]) -> Self {
        let mut runs: BTreeMap<_, Vec<&Verdict>> = BTreeMap::new();
        for verdict in verdicts {
            let key = (verdict.kernel.clone(), verdict.cause.clone());
            runs.entry(key).or_default().push(verdict);
        }
        let row = |(key, verdicts): (_, Vec<&Verdict>)| {
            let tally = Tally::of(verdicts);
            (key, [tally.shown, tally.first, tally.among, tally.wrong])
        };
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
            let [kernel, cause, numbers @ ..] = &cells[..] else {
                return None;
            };
            let numbers: Vec<u64> = numbers.iter().map_while(|cell| cell.parse().ok()).collect();
            let numbers: [u64; 4] = numbers.try_into().ok()?;
            Some((((*kernel).to_owned(), (*cause).to_owned()), numbers))
        };
        let lines = text.lines().skip(1);
        let rows = lines.map(|line| row(line).with_context(|| format!("no row: \"{line}\"")));
        Ok(Self {
            rows: rows.collect::<Result<_>>()?,
        })
    }

    /// A line for each run.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for ((kernel, cause), [shown, first, among, wrong]) in &self.rows {
            let _ = writeln!(
                text,
                "{kernel}\t{cause}\t{shown}\t{first}\t{among}\t{wrong}"
            );
        }
        text
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
        let words = ["forms show it", "times first", "times among", "false"];
        let worse = |at: usize| match at {
            0 => is[at] != was[at],
            3 => is[at] > was[at],
            at => is[at] < was[at],
        };
        let told = (0..4).filter(|&at| worse(at));
        let told: Vec<String> = told
            .map(|at| format!("{} {}, was {}", is[at], words[at], was[at]))
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
        let before = score("9\t8\t7\t1");
        assert_eq!(Score::parse(&before.to_text()).unwrap(), before);
        assert_eq!(score("9\t9\t9\t0").worse_than(&before), [""; 0]);
        assert_eq!(
            score("9\t7\t7\t2").worse_than(&before),
            ["swap-full on 6.1: 7 times first, was 8; 2 false, was 1"]
        );
        let nothing = Score::default();
        assert_eq!(
            nothing.worse_than(&before),
            ["swap-full on 6.1: is not in both"]
        );
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        let error = Score::parse(&format!("{HEAD}\n6.1\tx\t1\t2\n")).unwrap_err();
        assert_eq!(error.to_string(), "no row: \"6.1\tx\t1\t2\"");
    }
}
