//! How far a long work is, on stderr: a bar on a terminal, and elsewhere nothing or a line a step.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::bench::Progress;
use lab::experiment::{Event, RunId};
use lab::record::Record;
use lab::study::Study;

/// The figures of a run that fit into a line.
const MOST_FIGURES: usize = 4;

/// A bar over some runs.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    elsewhere: Elsewhere,
}

/// What is said where stderr is no terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// A line for each run and each stage of it: hours of work leave a log.
    Lines,
    /// Nothing.
    Nothing,
}

impl Bar {
    /// A bar over that many runs.
    pub(crate) fn new(runs: usize, elsewhere: Elsewhere) -> Self {
        let template = "{bar:24} {pos} of {len}  {elapsed}, {eta} left  {wide_msg}";
        let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
        let bar = ProgressBar::new(runs as u64).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, elsewhere }
    }

    /// News of a run, which its name comes before.
    pub(crate) fn say(&self, run: &str, news: &Progress) {
        let text = match news {
            Progress::Stage(text) | Progress::Console(text) => format!("{run}{text}"),
        };
        let lines = self.elsewhere == Elsewhere::Lines && !std::io::stderr().is_terminal();
        if matches!(news, Progress::Stage(_)) && lines {
            talk(&text);
        }
        self.bar.set_message(text);
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
            Event::Recorded(_) | Event::Done(..) => self.bar.inc(1),
            Event::Failed(id, why) => {
                self.bar.inc(1);
                let text = format!("arm {}, seed {}: {why}", id.arm, id.seed);
                if self.elsewhere == Elsewhere::Lines {
                    self.bar.suspend(|| talk(&text));
                }
            }
        }
    }

    /// One step further.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
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

/// The first figures of an experiment's runs, as lines above the bar where somebody watches: they
/// are there long before all of them are.
#[derive(Debug)]
pub(crate) struct Firsts<'a> {
    study: &'a Study,
    /// Several runs are to come.
    are_worth_it: bool,
    /// The arms whose first run has ended.
    shown: Mutex<BTreeSet<String>>,
}

impl<'a> Firsts<'a> {
    /// Those of this many runs of a study.
    pub(crate) fn of(study: &'a Study, runs: usize) -> Self {
        Self {
            study,
            are_worth_it: runs > study.arms.len().max(1) && std::io::stderr().is_terminal(),
            shown: Mutex::default(),
        }
    }

    /// The line of an arm whose first run this is.
    pub(crate) fn line(&self, event: &Event<'_>) -> Option<String> {
        let Event::Done(id, record) = event else {
            return None;
        };
        let is_first = || {
            self.shown
                .lock()
                .is_ok_and(|mut it| it.insert(id.arm.clone()))
        };
        (self.are_worth_it && is_first()).then(|| line(self.study, id, record))
    }
}

/// An arm's figures in one run.
fn line(study: &Study, id: &RunId, record: &Record) -> String {
    let figures = study.headline().into_iter().take(MOST_FIGURES);
    let figures = figures.filter_map(|measure| {
        let amount = measure.read(&record.outcome).ok()?;
        Some(format!("{} {}", measure.name, measure.unit.show(amount)))
    });
    let figures: Vec<String> = figures.collect();
    format!("arm {}, seed {}: {}", id.arm, id.seed, figures.join(", "))
}

/// A line of talk where somebody watches.
pub(crate) fn up_front(text: &str) {
    if std::io::stderr().is_terminal() {
        talk(text);
    }
}

/// A line of talk; that nobody can hear it is no reason to stop.
pub(crate) fn talk(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}
