//! How far a long work is, on stderr: a bar on a terminal, and elsewhere lines.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use answer::bench::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::experiment::Event;
use mm::text::harmless;
use scenario::outcome::Outcome;
use study::Study;
use study::measure::Measure;

use crate::term::{self, talk, warn};

/// Above the arms, left of the measures.
const FIRST_RUNS: &str = "first run of";
/// Columns that a figure takes, and those before it.
const FIGURE: usize = 9;
const GAP: usize = 2;

/// A bar over some runs.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    elsewhere: Elsewhere,
    done: AtomicU64,
}

/// What is said where stderr is no terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// A line for each run and each stage of it: hours of work leave a log.
    Lines,
    /// A line for each tenth of these: "runs".
    Tenths(&'static str),
    /// Nothing.
    Nothing,
}

impl Bar {
    /// A bar over that many runs.
    pub(crate) fn new(runs: usize, elsewhere: Elsewhere) -> Self {
        let template = "{bar:24} {pos} of {len}  {elapsed}, {eta} left  {wide_msg}";
        let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
        let bar = ProgressBar::new(runs as u64).with_style(style);
        match term::is_quiet() {
            true => bar.set_draw_target(ProgressDrawTarget::hidden()),
            false => bar.enable_steady_tick(Duration::from_millis(250)),
        }
        Self {
            bar,
            elsewhere,
            done: AtomicU64::new(0),
        }
    }

    /// News of a run, which its name comes before.
    pub(crate) fn say(&self, run: &str, news: &Progress) {
        let text = match news {
            Progress::Stage(text) | Progress::Console(text) => format!("{run}{text}"),
        };
        let lines = self.elsewhere == Elsewhere::Lines && !term::is_watched();
        if matches!(news, Progress::Stage(_)) && lines {
            talk(&text);
        }
        self.bar.set_message(harmless(&text).into_owned());
    }

    /// What an experiment tells.
    pub(crate) fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Begins(id) => {
                let text = format!("arm {}, seed {}", id.arm, id.seed);
                self.say("", &Progress::Stage(text));
            }
            Event::Progress(id, news) => {
                self.say(&format!("{}, seed {}: ", id.arm, id.seed), news);
            }
            Event::More(runs) => self.bar.inc_length(*runs as u64),
            Event::Recorded(_) | Event::Done(..) => self.step(),
            Event::Failed(id, why) => {
                self.step();
                let text = format!("arm {}, seed {}: {why}", id.arm, id.seed);
                if self.elsewhere == Elsewhere::Lines {
                    self.bar.suspend(|| warn(&text));
                }
            }
        }
    }

    /// One step further; where nobody sees a bar, a line says so for each tenth of them.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
        let before = self.done.fetch_add(1, Ordering::Relaxed);
        let all = self.bar.length().unwrap_or_default().max(1);
        let is_tenth = (before + 1) * 10 / all > before * 10 / all;
        if let (Elsewhere::Tenths(what), true) = (self.elsewhere, is_tenth)
            && !term::is_watched()
        {
            talk(format_args!("{} of {all} {what}", before + 1));
        }
    }

    /// A line that stays above the bar.
    pub(crate) fn aside(&self, text: &str) {
        self.bar.suspend(|| talk(text));
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The first figures of an experiment's runs, as a table above the bar where somebody watches: they
/// are there long before all of them are.
#[derive(Debug)]
pub(crate) struct Firsts<'a> {
    table: Option<Table<'a>>,
    /// The arms whose first run has ended.
    shown: Mutex<BTreeSet<String>>,
}

impl<'a> Firsts<'a> {
    /// Those of this many runs of a study; none where there is one run an arm, or nobody watches.
    pub(crate) fn of(study: &'a Study, runs: usize) -> Self {
        let several = runs > study.arms.len().max(1);
        let watched = several && term::is_watched();
        Self {
            table: watched.then(|| Table::new(study, term::columns())),
            shown: Mutex::default(),
        }
    }

    /// The lines of an arm whose first run this is; the first arm's have the heading before them.
    pub(crate) fn lines(&self, event: &Event<'_>) -> Option<String> {
        let (Event::Done(id, record), Some(table)) = (event, &self.table) else {
            return None;
        };
        let mut shown = self.shown.lock().ok()?;
        let is_first = shown.is_empty();
        let is_new = shown.insert(id.arm.clone());
        let row = table.row(&id.arm, &record.outcome);
        match (is_new, is_first) {
            (false, _) => None,
            (true, true) => Some(format!("{}\n{row}", table.heading())),
            (true, false) => Some(row),
        }
    }
}

/// The measures of a study that fit into a line, and where their figures stand in it.
#[derive(Debug)]
struct Table<'a> {
    /// Columns of the longest arm.
    arm: usize,
    measures: Vec<&'a Measure>,
}

impl<'a> Table<'a> {
    fn new(study: &'a Study, width: usize) -> Self {
        let arms = study.arms.iter().map(|arm| arm.name.chars().count());
        let arm = arms.chain([FIRST_RUNS.len()]).max().unwrap_or_default();
        let mut end = arm;
        let fits = |measure: &&Measure| {
            end += GAP + figure_width(measure);
            end <= width
        };
        let measures = study.headline().into_iter().take_while(fits).collect();
        Self { arm, measures }
    }

    fn heading(&self) -> String {
        let names = self.measures.iter().map(|measure| measure.name.clone());
        self.line(FIRST_RUNS, names)
    }

    fn row(&self, arm: &str, outcome: &Outcome) -> String {
        let figure = |measure: &&Measure| {
            let amount = measure.read(outcome);
            amount.map_or_else(|_| "-".to_owned(), |it| measure.unit.show(it))
        };
        self.line(arm, self.measures.iter().map(figure))
    }

    fn line(&self, arm: &str, cells: impl Iterator<Item = String>) -> String {
        let mut line = format!("{arm:width$}", width = self.arm);
        for (measure, cell) in self.measures.iter().zip(cells) {
            line += &format!("{cell:>width$}", width = GAP + figure_width(measure));
        }
        line
    }
}

/// Columns of a measure's figures below its name.
fn figure_width(measure: &Measure) -> usize {
    measure.name.chars().count().max(FIGURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_first_runs_stand_below_their_measures_as_far_as_they_fit() {
        let study = lab::find::find("memory-hogs").expect("a built-in study");
        for width in [40, 80, 160] {
            let table = Table::new(&study, width);
            let cells = || table.measures.iter().map(|_| "9546 /s".to_owned());
            let lines = [table.heading(), table.line("mglru", cells())];
            let ends = lines.map(|line| line.chars().count());
            assert_eq!(ends[0], ends[1], "{table:?}");
            assert!(ends[0] <= width, "{table:?}");
        }
        assert!(!Table::new(&study, 80).measures.is_empty());
    }
}
