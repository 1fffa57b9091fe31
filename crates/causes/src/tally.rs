//! Sensitivity and false causes, by cause, form and kernel.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::judge::Verdict;

/// What was right of some verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Forms that were judged.
    pub forms: u64,
    /// Forms that show the cause.
    pub shown: u64,
    /// Of those, where it was the first finding.
    pub first: u64,
    /// Of those, where all of it was among the findings.
    pub among: u64,
    /// Assertions.
    pub said: u64,
    /// Assertions that are false.
    pub wrong: u64,
    /// Forms that were refused.
    pub refused: u64,
}

impl Tally {
    /// Of these verdicts.
    #[must_use]
    pub fn of<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Self {
        let mut tally = Self::default();
        verdicts.into_iter().for_each(|verdict| tally.add(verdict));
        tally
    }

    fn add(&mut self, verdict: &Verdict) {
        self.forms += 1;
        self.shown += u64::from(verdict.shown);
        self.first += u64::from(verdict.first);
        self.among += u64::from(verdict.among);
        self.said += verdict.found.len() as u64;
        self.wrong += verdict.wrong.len() as u64;
        self.refused += u64::from(verdict.refused.is_some());
    }

    /// Shown, first, among, said, wrong.
    #[must_use]
    pub fn counts(&self) -> [u64; 5] {
        [self.shown, self.first, self.among, self.said, self.wrong]
    }

    /// Percent of the forms that show the cause in which it is first; 100 where none does.
    #[must_use]
    pub fn first_percent(&self) -> f64 {
        percent(self.first, self.shown)
    }

    /// Percent of the forms that show the cause in which it is among the findings.
    #[must_use]
    pub fn among_percent(&self) -> f64 {
        percent(self.among, self.shown)
    }

    /// Percent of the assertions that are false; 0 where there is none.
    #[must_use]
    pub fn wrong_percent(&self) -> f64 {
        100.0 - percent(self.said - self.wrong.min(self.said), self.said)
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 100.0,
        whole => 100.0 * part as f64 / whole as f64,
    }
}

/// Tables by cause, by form and by kernel, and a line of totals.
#[must_use]
pub fn tables(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    table(&mut text, "cause", verdicts, &|verdict| {
        verdict.cause.clone()
    });
    table(&mut text, "form", verdicts, &Verdict::shape);
    table(&mut text, "kernel", verdicts, &|verdict| {
        verdict.kernel.clone()
    });
    row(&mut text, "all", Tally::of(verdicts));
    text
}

fn table(text: &mut String, head: &str, verdicts: &[Verdict], by: &dyn Fn(&Verdict) -> String) {
    let mut groups: BTreeMap<String, Vec<&Verdict>> = BTreeMap::new();
    for verdict in verdicts {
        groups.entry(by(verdict)).or_default().push(verdict);
    }
    let _ = writeln!(
        text,
        "{head:36} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7}",
        "forms", "shown", "first", "among", "said", "wrong", "refused"
    );
    for (name, verdicts) in groups {
        row(text, &name, Tally::of(verdicts));
    }
    text.push('\n');
}

fn row(text: &mut String, name: &str, tally: Tally) {
    let share = |part: f64| match tally.shown {
        0 => "-".to_owned(),
        _ => format!("{part:.0}%"),
    };
    let _ = writeln!(
        text,
        "{name:36} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7}",
        tally.forms,
        tally.shown,
        share(tally.first_percent()),
        share(tally.among_percent()),
        tally.said,
        tally.wrong,
        tally.refused
    );
}
