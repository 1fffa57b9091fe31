//! The score over studies, and its table.

use std::collections::BTreeMap;

use study::Study;
use study::compare::Reading;
use study::measure::Kind;
use study::stats;

use super::ask::Asked;
use super::decide::{Decision, Judgement, OFF, Sides};

/// Right and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Of {
    pub(super) right: u64,
    pub(super) all: u64,
}

impl Of {
    fn count(&mut self, right: bool) {
        self.right += u64::from(right);
        self.all += 1;
    }

    fn show(self) -> String {
        match self.all {
            0 => "-".to_owned(),
            all => format!(
                "{}/{all} {:.0} %",
                self.right,
                100.0 * self.right as f64 / all as f64
            ),
        }
    }
}

/// What is counted over studies.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) studies: u64,
    pub(super) answered: Of,
    pub(super) decided: Of,
    pub(super) signs: Of,
    pub(super) none: Of,
    pub(super) survivors: Of,
    pub(super) throughputs: Of,
    pub(super) figures: Of,
    pub(super) by_kind: BTreeMap<Kind, Of>,
    /// How far throughputs are off, and figures of each kind.
    rates: Vec<f64>,
    errors: BTreeMap<Kind, Vec<f64>>,
}

impl Tally {
    /// Counts one study and hands back its decisions.
    pub(super) fn count(&mut self, sides: &Sides<'_>) -> Vec<Decision> {
        self.studies += 1;
        self.answered.count(!sides.model.is_empty());
        let pairs = sides.pairs();
        for pair in &pairs {
            let right = pair.judgement == Judgement::Right;
            if pair.is_real {
                self.decided.count(right);
                self.signs.count(right || pair.judgement == Judgement::Size);
            } else {
                self.none.count(right);
            }
        }
        let survivors = sides.survivors();
        for one in &survivors {
            self.survivors.count(one.judgement == Judgement::Right);
        }
        for (_, _, ratio, outside) in sides.throughputs() {
            self.throughputs
                .count((ratio - 1.0).abs() <= OFF || !outside);
            self.rates.push((ratio - 1.0).abs());
        }
        for (kind, holds, error) in sides.figures() {
            self.errors.entry(kind).or_default().extend(error);
            self.figures.count(holds);
            self.by_kind.entry(kind).or_default().count(holds);
        }
        [pairs, survivors].concat()
    }

    fn lines(&self) -> Vec<(String, String)> {
        let line = |name: &str, of: Of| (name.to_owned(), of.show());
        let mut lines = vec![
            ("studies".to_owned(), self.studies.to_string()),
            line("answered", self.answered),
            line("decided right", self.decided),
            line("sign right", self.signs),
            line("no effect shown where none is", self.none),
            line("survivors", self.survivors),
            line("throughputs within 25 %", self.throughputs),
            line("figures that are not trivial", self.figures),
        ];
        for kind in Kind::ALL
            .iter()
            .filter(|kind| self.by_kind.contains_key(kind))
        {
            lines.push(line(&format!("  {}", kind.word()), self.by_kind[kind]));
        }
        let median = |name: &str, errors: &[f64]| {
            let mut errors = errors.to_vec();
            errors.sort_by(f64::total_cmp);
            let shown = stats::quantile(&errors, 0.5);
            let shown = shown.map_or_else(|| "-".to_owned(), |it| format!("{:.1} %", 100.0 * it));
            (format!("{name}, median error"), shown)
        };
        lines.push(median("throughputs", &self.rates));
        for (kind, errors) in &self.errors {
            lines.push(median(&format!("  {}", kind.word()), errors));
        }
        lines
    }
}

/// The model on all studies, and on those with several starts beside one start of the kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    pub(super) model: Tally,
    pub(super) model_where_repeated: Tally,
    pub(super) kernel_itself: Tally,
}

impl Tallies {
    /// Counts a study on all sides and hands back what the model decides.
    pub(super) fn count(&mut self, asked: &Asked) -> Vec<Decision> {
        let kernel: Vec<Reading> = asked.kernel.iter().map(|(_, run)| run.clone()).collect();
        let model: Vec<Reading> = match &asked.model {
            Ok(runs) => runs.iter().map(|(_, run)| run.clone()).collect(),
            Err(_) => Vec::new(),
        };
        let study = &asked.study;
        let sides = |kernel, model| Sides {
            study,
            kernel,
            model,
        };
        let (second, others) = second_start(study, &asked.kernel);
        if !second.is_empty() {
            self.model_where_repeated.count(&sides(&kernel, &model));
            self.kernel_itself.count(&sides(&others, &second));
        }
        self.model.count(&sides(&kernel, &model))
    }

    /// The table: a line for what is counted, a column for each side.
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "{:31}{:>15}{:>17}{:>17}\n{:31}{:>15}{:>17}{:>17}\n",
            "",
            "the model",
            "the model",
            "the kernel",
            "",
            "all studies",
            "several starts",
            "its second start"
        );
        let find = |tally: &Tally, name: &str| {
            let lines = tally.lines();
            let found = lines.into_iter().find(|(line, _)| line == name);
            found.map_or_else(|| "-".to_owned(), |(_, shown)| shown)
        };
        for (name, shown) in self.model.lines() {
            let [repeated, itself] =
                [&self.model_where_repeated, &self.kernel_itself].map(|it| find(it, &name));
            text += &format!("{name:31}{shown:>15}{repeated:>17}{itself:>17}\n");
        }
        text
    }
}

/// The kernel's second start of every arm, as if it were a prediction, and its other starts.
fn second_start(study: &Study, runs: &[(u64, Reading)]) -> (Vec<Reading>, Vec<Reading>) {
    let second = runs
        .iter()
        .filter(|(seed, _)| *seed == 2)
        .map(|(_, run)| run.clone());
    let others = runs
        .iter()
        .filter(|(seed, _)| *seed != 2)
        .map(|(_, run)| run.clone());
    let second: Vec<Reading> = second.collect();
    match second.len() == study.arms.len() {
        true => (second, others.collect()),
        false => (Vec::new(), Vec::new()),
    }
}
