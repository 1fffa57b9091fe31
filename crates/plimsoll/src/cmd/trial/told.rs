//! What is told of a trial: text, and JSON.

use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;
use study::measure::Better;
use study::stats::least_pairs;
use study::verdict::{InTurn, Pair, TO_FIND, Verdict, pairs_to_show, percent};

use super::measure::Measure;
use super::turns::{Ended, Times, Turns};
use mm::text::lasting;

use crate::changing::plan::Plan;
use crate::changing::{nanos, told};
use crate::results::wrapped;
use crate::table::Table;
use crate::term::{bold, talk};

/// What is known before the first block.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) plan: &'a Plan,
    pub(super) measures: &'a [Measure],
    pub(super) times: Times,
    /// In percent.
    pub(super) matters: f64,
    pub(super) pairs: usize,
    pub(super) seed: u64,
}

impl Head<'_> {
    pub(super) fn text(&self, width: usize) -> String {
        let Self {
            times, pairs, seed, ..
        } = self;
        let block = |count: usize| lasting(nanos(times.block * count as u32));
        let least = least_pairs();
        let mut text = format!(
            "Trial: {pairs} pairs of blocks of {}, seed {seed}. It takes {} after {} of sampling; \
             nothing can be shown before {least} pairs ({}), and after a few pairs it is said how \
             long an answer takes.",
            block(1),
            block(2 * pairs),
            lasting(nanos(times.baseline)),
            block(2 * least)
        );
        text += &format!(
            "\n\nThe first {} of each block are left out: caches and lists still hold what the \
             block before made of them, and dirty pages are written when they are 30 s old.",
            lasting(nanos(times.left_out))
        );
        if let Some(counts) = self.measures.first() {
            text += &format!(
                "\n\nWhat counts: {} ({} is better). Less than {} % does not matter. The setting \
                 is taken back at the end, and before it where it does harm.",
                counts.name,
                word(counts.better),
                self.matters
            );
        }
        format!(
            "{}\n{}",
            told::plan(self.plan, width),
            wrapped(&text, width)
        )
    }

    /// One document.
    pub(super) fn json(&self, done: Option<(&Turns<'_>, &Ended)>) -> String {
        let (verdict, harm) = done.map_or((None, None), |(turns, ended)| {
            let harm = match ended {
                Ended::Harm(why) => Some(why.as_str()),
                _ => None,
            };
            (Some(verdict(turns.answer().as_ref())), harm)
        });
        let measures = self.measures.iter().enumerate();
        shapes::text(&Document {
            settings: self
                .plan
                .settings()
                .iter()
                .map(ToString::to_string)
                .collect(),
            seed: self.seed,
            pairs_planned: self.pairs,
            block_seconds: self.times.block.as_secs_f64(),
            left_out_seconds: self.times.left_out.as_secs_f64(),
            matters_percent: self.matters,
            ended: done.map(|(_, ended)| ended.name()),
            harm,
            verdict,
            measures: measures
                .map(|(at, it)| Figure::of(it, at, done.map(|it| it.0)))
                .collect(),
        })
    }
}

fn word(better: Better) -> &'static str {
    match better {
        Better::Lower => "lower",
        Better::Higher => "higher",
    }
}

impl Ended {
    fn name(&self) -> EndedName {
        match self {
            Self::Settled => EndedName::Settled,
            Self::Over => EndedName::Over,
            Self::Harm(_) => EndedName::Harm,
            Self::Asked => EndedName::Asked,
        }
    }

    fn said(&self) -> String {
        match self {
            Self::Settled => "It ended because the answer is settled".to_owned(),
            Self::Over => "It ended because its time is over".to_owned(),
            Self::Harm(why) => format!("It ended because the setting was taken back: {why}"),
            Self::Asked => "It ended because it was asked to".to_owned(),
        }
    }
}

fn verdict(found: Option<&InTurn>) -> &'static str {
    match found.map(|it| it.verdict) {
        Some(Verdict::Better) => "better",
        Some(Verdict::Worse) => "worse",
        Some(Verdict::NoDifferenceShown) => "no difference shown",
        _ => "not decided",
    }
}

/// What the latest pair was, and how long an answer will take: on stderr.
pub(super) fn pair(turns: &Turns<'_>) {
    let (Some(measure), Some(pairs)) = (turns.measures.first(), turns.pairs.first()) else {
        return;
    };
    let Some(Pair { as_is, setting }) = pairs.last() else {
        return;
    };
    let unit = measure.unit;
    talk(format_args!(
        "pair {}: as it is {}{unit}, with the setting {}{unit}{}",
        pairs.len(),
        figure(*as_is),
        figure(*setting),
        takes(turns, measure, pairs)
    ));
}

/// From this many pairs on the noise says how long it takes.
const NOISE_FROM: usize = 4;
/// More pairs than this are no answer.
const MANY: usize = 300;

fn takes(turns: &Turns<'_>, measure: &Measure, pairs: &[Pair]) -> String {
    if pairs.len() < NOISE_FROM {
        return String::new();
    }
    let matters = turns.matters_of(measure);
    let by = percent(TO_FIND * matters.share);
    let by = by.trim_start_matches('+');
    let time = |pairs: usize| lasting(nanos(turns.times.block * 2 * pairs as u32));
    match pairs_to_show(pairs, matters, MANY) {
        Some(Some(needed)) => format!(
            "; a difference of {by} is shown by pair {needed} ({})",
            time(needed)
        ),
        Some(None) => format!(
            "; the noise hides a difference of {by} for {} and more",
            time(MANY)
        ),
        None => String::new(),
    }
}

/// The verdict, and every measure.
pub(super) fn result(turns: &Turns<'_>, ended: &Ended, width: usize) -> String {
    let answer = turns.answer();
    let head = verdict(answer.as_ref());
    let by = answer
        .as_ref()
        .map_or_else(String::new, |it| format!(": {}", by(it)));
    let pairs = answer.as_ref().map_or(0, |it| it.pairs);
    let mut text = format!("{}{by}\n", bold(head));
    text += &wrapped(
        &format!(
            "{}, after {pairs} pairs (seed {}). Nothing of the trial is set any more.",
            ended.said(),
            turns.trial.seed()
        ),
        width,
    );
    let heads = ["", "as it is", "shift", "at least", "at most"].map(Into::into);
    let mut table = Table::new(heads.to_vec());
    let found = turns.measures.iter().enumerate();
    for (measure, found) in found.filter_map(|(at, it)| Some((it, turns.found(at)?))) {
        table.row(row(measure, &found));
    }
    if answer.is_some() {
        text += &format!("\n{}", table.to_text(width));
        let note = "The first line counts. The bounds hold the shift with a probability of 95 %, \
                    however often they are looked at; those of the other lines hold each for \
                    itself.";
        text += &format!("\n{}", wrapped(note, width));
    }
    text
}

fn row(measure: &Measure, found: &InTurn) -> Vec<crate::table::Cell> {
    let unit = measure.unit;
    let with = |number: f64| match number.is_finite() {
        true => format!("{}{}{unit}", sign(number), figure(number)),
        false => "\u{2013}".to_owned(),
    };
    let (low, high) = found.bounds;
    vec![
        name(&measure.name).into(),
        format!("{}{unit}", figure(found.as_is)).into(),
        with(found.shift).into(),
        with(low).into(),
        with(high).into(),
    ]
}

/// The longest name of a measure in a table: a command may be long.
const NAME: usize = 28;

fn name(name: &str) -> String {
    let short: String = name.chars().take(NAME).collect();
    match short.len() == name.len() {
        true => short,
        false => short + "\u{2026}",
    }
}

/// The shift as people say it, with its bounds where there are any.
fn by(found: &InTurn) -> String {
    let [shift, low, high] = found.relative();
    let bounds = match found.bounds.0.is_finite() && found.bounds.1.is_finite() {
        true if low.is_finite() && high.is_finite() => {
            format!(" (from {} to {})", percent(low), percent(high))
        }
        _ => String::new(),
    };
    format!("{}{bounds}", percent(shift))
}

fn sign(number: f64) -> &'static str {
    if number > 0.0 { "+" } else { "" }
}

/// Three digits that count.
fn figure(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        size if size >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document<'a> {
    settings: Vec<String>,
    seed: u64,
    pairs_planned: usize,
    block_seconds: f64,
    left_out_seconds: f64,
    matters_percent: f64,
    /// Nothing where it was not begun.
    ended: Option<EndedName>,
    /// Why the setting was taken back before its time.
    harm: Option<&'a str>,
    /// By the first measure; nothing where it was not begun.
    #[schemars(extend("enum" = ["better", "worse", "no difference shown", "not decided", null]))]
    verdict: Option<&'static str>,
    /// The first counts.
    measures: Vec<Figure<'a>>,
}

impl Shape for Document<'_> {
    const NAME: &'static str = "trial";
    const VERSION: u32 = 1;
}

#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum EndedName {
    Settled,
    Over,
    Harm,
    Asked,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Figure<'a> {
    name: &'a str,
    unit: &'static str,
    #[schemars(extend("enum" = ["lower", "higher"]))]
    better: &'static str,
    /// The median without the setting.
    as_is: Option<f64>,
    /// What the setting adds.
    shift: Option<f64>,
    /// The bounds of the shift; nothing where it has none.
    low: Option<f64>,
    high: Option<f64>,
    /// Each pair: as it is, with the setting.
    pairs: Vec<[f64; 2]>,
}

impl<'a> Figure<'a> {
    fn of(measure: &'a Measure, at: usize, turns: Option<&Turns<'_>>) -> Self {
        let found = turns.and_then(|turns| turns.found(at));
        let number = |number: Option<f64>| number.filter(|number| number.is_finite());
        let pairs = turns.map(|turns| turns.pairs[at].iter());
        Self {
            name: &measure.name,
            unit: measure.unit.trim(),
            better: word(measure.better),
            as_is: number(found.map(|it| it.as_is)),
            shift: number(found.map(|it| it.shift)),
            low: number(found.map(|it| it.bounds.0)),
            high: number(found.map(|it| it.bounds.1)),
            pairs: pairs
                .into_iter()
                .flatten()
                .map(|it| [it.as_is, it.setting])
                .collect(),
        }
    }
}
