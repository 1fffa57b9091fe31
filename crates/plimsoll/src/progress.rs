//! How far a long work is, on stderr: a bar on a terminal, and elsewhere nothing or a line a step.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::bench::Progress;
use lab::experiment::Event;

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
            Event::Recorded(_) | Event::Done(_) => self.bar.inc(1),
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
