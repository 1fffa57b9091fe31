//! The blocks of a trial, one after the other, on this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use change::trial::{Arm, Trial};
use change::watch::{Band, Sample};
use host::Root;
use host::changes::Changes;
use host::facts::since_boot;
use mm::capture::Frame;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use study::verdict::{InTurn, Matters, Pair};

use super::measure::{Border, Measure, Reading, number};
use crate::changing::settle;
use crate::changing::timer::Watcher;

/// Between two looks at the signals.
const LOOK: Duration = Duration::from_millis(50);
/// Between two samples.
const SECOND: Duration = Duration::from_secs(1);

/// How long the parts of a block are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) block: Duration,
    /// The first part, which is left out.
    pub(super) left_out: Duration,
    /// The longest that a figure may take to be asked for; the setting stands meanwhile.
    pub(super) asking: Duration,
    /// How long the machine is sampled before the first block.
    pub(super) baseline: Duration,
}

/// What a trial has done so far.
#[derive(Debug)]
pub(super) struct Turns<'a> {
    pub(super) root: &'a Root,
    pub(super) measures: &'a [Measure],
    pub(super) times: Times,
    /// The share of what is there from which a difference matters.
    pub(super) matters: f64,
    pub(super) trial: Trial,
    /// The pairs of each measure.
    pub(super) pairs: Vec<Vec<Pair>>,
    asked: Arc<AtomicBool>,
    band: Band,
}

/// Why a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// More pairs would not change the answer.
    Settled,
    /// All blocks are over.
    Over,
    /// The setting was taken back by what watches it, and why.
    Harm(String),
    /// A signal.
    Asked,
}

/// What came of a block, or why it ended before its time.
type Numbers = Result<Vec<f64>, Ended>;

impl<'a> Turns<'a> {
    pub(super) fn new(
        root: &'a Root,
        measures: &'a [Measure],
        (times, matters): (Times, f64),
        trial: Trial,
    ) -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, asked.clone())?;
        }
        Ok(Self {
            root,
            measures,
            times,
            matters,
            trial,
            pairs: vec![vec![]; measures.len()],
            asked,
            band: Band::default(),
        })
    }

    /// Runs the trial. Whatever happens, nothing of it is set when this returns; `told` hears of
    /// each pair, `may_set` is asked before each block with the setting.
    ///
    /// # Errors
    /// Why it did not go on, in one line.
    pub(super) fn run(
        &mut self,
        may_set: &dyn Fn() -> anyhow::Result<()>,
        told: &dyn Fn(&Self),
    ) -> anyhow::Result<Ended> {
        if let Err(ended) = self.sample(self.times.baseline) {
            return Ok(ended);
        }
        let mut first: Option<(Arm, Vec<f64>)> = None;
        while let Some(arm) = self.trial.next() {
            if arm == Arm::Setting {
                may_set()?;
            }
            let numbers = match self.block(arm)? {
                Ok(numbers) => numbers,
                Err(ended) => return Ok(ended),
            };
            let Some((_, other)) = first.take() else {
                first = Some((arm, numbers));
                continue;
            };
            self.note(arm, &numbers, &other);
            told(self);
            if self.answer().is_some_and(|it| it.is_settled()) {
                return Ok(Ended::Settled);
            }
        }
        Ok(Ended::Over)
    }

    /// What counts, by the pairs so far.
    pub(super) fn answer(&self) -> Option<InTurn> {
        self.found(0)
    }

    /// What a measure says, by the pairs so far.
    pub(super) fn found(&self, at: usize) -> Option<InTurn> {
        let (measure, pairs) = (self.measures.get(at)?, self.pairs.get(at)?);
        InTurn::of(pairs, measure.better, self.matters_of(measure))
    }

    pub(super) fn matters_of(&self, measure: &Measure) -> Matters {
        measure.matters(self.matters)
    }

    fn note(&mut self, arm: Arm, numbers: &[f64], other: &[f64]) {
        for (at, pairs) in self.pairs.iter_mut().enumerate() {
            let (as_is, setting) = match arm {
                Arm::Setting => (other[at], numbers[at]),
                Arm::AsIs => (numbers[at], other[at]),
            };
            pairs.push(Pair { as_is, setting });
        }
    }

    /// One block. What it wrote is taken back before anything else is told of it.
    fn block(&mut self, arm: Arm) -> anyhow::Result<Numbers> {
        let at = self.trial.over() + 1;
        let watcher = Watcher {
            root: self.root.clone(),
        };
        let (mut machine, _) = settle::machine(self.root, Box::new(watcher))?;
        let begun = self.trial.begin(&mut machine, self.band);
        drop(machine);
        begun.with_context(|| format!("block {at}"))?;
        let numbers = self.numbers(arm);
        let ended = self.end(&numbers);
        let stopped = ended.with_context(|| format!("block {at}"))?;
        let numbers = numbers.with_context(|| format!("block {at}"))?;
        Ok(match stopped {
            Some(why) => Err(Ended::Harm(why)),
            None => numbers,
        })
    }

    fn end(&mut self, numbers: &anyhow::Result<Numbers>) -> anyhow::Result<Option<String>> {
        let why = match numbers {
            Ok(Ok(_)) => "the block is over",
            Ok(Err(_)) => "the trial was ended",
            Err(_) => "the trial failed",
        };
        let mut machine = match self.trial.standing() {
            Some(_) => Changes::lock_patiently(self.root)?,
            None => Changes::look(self.root),
        };
        Ok(self.trial.end(&mut machine, why)?)
    }

    /// Waits for the part that is left out, and measures the rest.
    fn numbers(&mut self, arm: Arm) -> anyhow::Result<Numbers> {
        if let Err(ended) = self.wait(self.times.left_out, &mut |_| {})? {
            return Ok(Err(ended));
        }
        let start = Instant::now();
        let first = self.readings(Border::First)?;
        let mut samples = vec![];
        let rest = (self.times.block - self.times.left_out).saturating_sub(start.elapsed());
        let waited = self.wait(rest, &mut |frame| samples.push(Sample::of(frame)))?;
        if let Err(ended) = waited {
            return Ok(Err(ended));
        }
        if arm == Arm::AsIs {
            self.band = self.band.or_wider(Band::of(&samples));
        }
        let last = self.readings(Border::Last)?;
        let pairs = first.into_iter().zip(last);
        let numbers = pairs.map(|((from, first), (to, last))| number(first, last, to - from));
        Ok(Ok(numbers.collect()))
    }

    /// What every measure shows now, and when. What has to be asked for takes its time.
    fn readings(&self, border: Border) -> anyhow::Result<Vec<(Instant, Reading)>> {
        let (frame, now) = (self.frame(), Instant::now());
        let is_over = || self.asked.load(Ordering::Relaxed);
        let read = |measure: &Measure| {
            let at = if measure.is_asked() {
                Instant::now()
            } else {
                now
            };
            let reading = measure.read(&frame, border, self.times.asking, &is_over)?;
            Ok((at, reading))
        };
        self.measures.iter().map(read).collect()
    }

    /// The figures of the seconds before the first block.
    fn sample(&mut self, time: Duration) -> Result<(), Ended> {
        let mut samples = vec![];
        let waited = self.wait(time, &mut |frame| samples.push(Sample::of(frame)));
        self.band = Band::of(&samples);
        // There is no change yet that could be read wrongly.
        waited.unwrap_or(Ok(()))
    }

    /// Waits, and hands over a sample every second; the setting that is taken back, and a signal,
    /// end it.
    fn wait(
        &self,
        time: Duration,
        seen: &mut dyn FnMut(&Frame),
    ) -> anyhow::Result<Result<(), Ended>> {
        let (start, mut next) = (Instant::now(), Duration::ZERO);
        while start.elapsed() < time {
            if self.asked.load(Ordering::Relaxed) {
                return Ok(Err(Ended::Asked));
            }
            if start.elapsed() >= next {
                next += SECOND;
                seen(&self.frame());
                if let Some(why) = self.trial.stopped(&mut Changes::look(self.root))? {
                    return Ok(Err(Ended::Harm(why)));
                }
            }
            std::thread::sleep(LOOK.min(time.saturating_sub(start.elapsed())));
        }
        Ok(Ok(()))
    }

    fn frame(&self) -> Frame {
        host::read::sample(self.root, since_boot())
    }
}
