//! A timeline: what moved in the text of `vmstat` or `sar`, or over the frames of a capture.

mod says;

use crate::fact::or_unsaid;
use evidence::series::{self, Item, Kind, Series, Source, Summary, Unit};
use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use self::says::Said;
use super::findings::{self, Sure};
use super::page::Page;

/// Cells of a row's picture.
const CELLS: usize = 12;

/// Rows of the table at most.
const ROWS: usize = 20;

/// What tells more than a series.
const SEND: &str = "cat /proc/zoneinfo /proc/meminfo /proc/vmstat; sleep 10; cat /proc/vmstat";

/// Frames from which on a capture has a timeline; two have an interval.
const FRAMES: usize = 3;

/// A series in a few lines.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Timeline {
    source: &'static str,
    rows: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    says: Vec<Said>,
    items: Vec<Course>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<&'static str>,
}

/// One item over time. Amounts are in KiB, as `unit` says.
#[derive(Debug, JsonSchema, Serialize)]
struct Course {
    item: &'static str,
    unit: &'static str,
    first: f64,
    last: f64,
    min: f64,
    max: f64,
    mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_at: Option<String>,
    /// The worst of each of at most 12 spans of the same number of rows.
    spans: Vec<Option<f64>>,
    #[serde(skip)]
    of: Item,
}

impl Timeline {
    /// The timeline of a frame that holds the text of a tool, else of the capture's frames; `None`
    /// where there is neither.
    pub(crate) fn of(capture: &Capture, frame: &Frame) -> Option<Self> {
        let tool = |path| Series::parse(path, frame.file(path)?);
        let frames = || {
            let page = Snapshot::parse(frame).page;
            let enough = |series: &Series| series.rows.len() >= FRAMES;
            series::of_frames(&capture.frames, page).filter(enough)
        };
        let tools = [series::VMSTAT, series::SAR, series::SADF];
        let series = tools.into_iter().find_map(tool);
        series.or_else(frames).map(|series| Self::from(&series))
    }

    /// What the series says is wrong, as findings.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&'static str, findings::Said)> + '_ {
        self.says.iter().filter_map(|said| {
            let (name, severity) = said.finding?;
            let rule = said.rule.clone();
            let rule = rule.unwrap_or_else(|| format!("the worst row of the {}", self.source));
            let finding = findings::Said::new(
                severity,
                said.what.clone(),
                rule,
                "plimsoll inspect --section timeline",
            );
            Some((
                name,
                match self.lacks {
                    Some(_) => finding.unsure(Sure::Likely, SEND),
                    None => finding,
                },
            ))
        })
    }

    fn from(series: &Series) -> Self {
        let time = |row: Option<&series::Row>| row?.time.clone();
        let shown = Item::ALL.into_iter().filter(|item| shows(*item));
        let lines = shown.filter_map(|item| Course::of(series, item));
        Self {
            source: word(series.source),
            rows: series.rows.len(),
            from: time(series.rows.first()),
            to: time(series.rows.last()),
            kernel: series.release.clone(),
            says: says::all(series),
            items: lines.take(ROWS).collect(),
            notes: series.notes.clone(),
            lacks: lacks(series.source),
        }
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        let span = match (&self.from, &self.to) {
            (Some(from), Some(to)) => format!(", {from} to {to}"),
            _ => String::new(),
        };
        let kernel = self
            .kernel
            .as_ref()
            .map(|kernel| format!(", Linux {kernel}"));
        let (source, rows) = (self.source, self.rows);
        let kernel = or_unsaid(kernel);
        page.heading(&format!("Timeline: {source}, {rows} rows{span}{kernel}"));
        self.says
            .iter()
            .for_each(|said| page.paragraph(2, &said.line()));
        let ends = ["first", "last", "worst"].map(|word| format!("{word:>11}"));
        page.line(format!("  {:<20}{}  at", "", ends.concat()));
        self.items.iter().for_each(|line| line.write(page));
        self.notes.iter().for_each(|note| page.paragraph(2, note));
        if let Some(lacks) = self.lacks {
            page.paragraph(2, lacks);
        }
    }
}

/// Whether an item has a row of the table; the others are in the sentences or nowhere.
fn shows(item: Item) -> bool {
    !matches!(
        item,
        Item::Faults
            | Item::Freed
            | Item::Efficiency
            | Item::User
            | Item::System
            | Item::Idle
            | Item::Running
    )
}

fn word(source: Source) -> &'static str {
    match source {
        Source::Vmstat => "vmstat",
        Source::Sar => "sar",
        Source::Sadf => "sadf",
        Source::Frames => "frames of the capture",
    }
}

/// What a tool's text cannot tell, and what to send.
fn lacks(source: Source) -> Option<&'static str> {
    match source {
        Source::Vmstat => Some(
            "vmstat has no watermarks, zones, limits, MemAvailable or scans, so it does not tell \
             why memory was reclaimed. Send /proc/zoneinfo and /proc/meminfo, and /proc/vmstat \
             twice, 10 s apart.",
        ),
        Source::Sar | Source::Sadf => Some(
            "sar has no watermarks, zones or limits of control groups, so it does not tell why \
             memory was reclaimed. Send /proc/zoneinfo and /proc/meminfo, and /proc/vmstat twice, \
             10 s apart.",
        ),
        Source::Frames => None,
    }
}

/// Whether less of it is worse.
fn scarce(item: Item) -> bool {
    matches!(
        item,
        Item::Free | Item::Available | Item::Cached | Item::Buffers | Item::Idle
    )
}

/// The row's time, as short as tells.
fn at(series: &Series, row: usize) -> Option<String> {
    let time = series.rows.get(row)?.time.as_deref()?;
    let clock = time.rsplit_once(' ').filter(|(_, last)| last.contains(':'));
    Some(clock.map_or(time, |(_, clock)| clock).to_owned())
}

/// The row of an item's worst value, and the value.
fn worst(item: Item, summary: &Summary) -> (usize, f64) {
    match scarce(item) {
        true => (summary.min_row, summary.min),
        false => (summary.max_row, summary.max),
    }
}

/// A value in words, at most eleven characters.
fn amount(item: Item, value: f64) -> String {
    let bytes = || Bytes((value * 1024.0) as u64);
    match item.unit() {
        Unit::Kib => bytes().to_string(),
        Unit::KibPerSecond => format!("{}/s", bytes()),
        Unit::PagesPerSecond | Unit::PerSecond => {
            format!("{}/s", number(value, usize::from(value < 10.0)))
        }
        Unit::Percent => format!("{} %", number(value, 1)),
        Unit::Tasks => number(value, 0),
    }
}

/// A number with its decimals, or with its power of ten where it has more than eight characters.
fn number(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    match plain.len() <= 8 {
        true => plain,
        false => format!("{value:.1e}"),
    }
}

fn unit(item: Item) -> &'static str {
    match item.unit() {
        Unit::Kib => "kib",
        Unit::KibPerSecond => "kib_per_second",
        Unit::PagesPerSecond => "pages_per_second",
        Unit::PerSecond => "per_second",
        Unit::Percent => "percent",
        Unit::Tasks => "tasks",
    }
}

impl Course {
    /// `None` where the item has no value, or is a rate that never moved.
    fn of(series: &Series, item: Item) -> Option<Self> {
        let summary = series.summary(item)?;
        let moved = item.kind() == Kind::Level || summary.max > 0.0;
        moved.then(|| Self {
            item: item.words(),
            unit: unit(item),
            first: summary.first,
            last: summary.last,
            min: summary.min,
            max: summary.max,
            mean: summary.mean,
            worst_at: at(series, worst(item, &summary).0),
            spans: spans(series, item),
            of: item,
        })
    }

    fn write(&self, page: &mut Page) {
        let worst = if scarce(self.of) { self.min } else { self.max };
        let cells = [self.first, self.last, worst].map(|value| amount(self.of, value));
        let cells = cells.map(|cell| format!("{cell:>11}"));
        let at: String = self
            .worst_at
            .iter()
            .flat_map(|at| at.chars())
            .take(11)
            .collect();
        let name = self.item;
        let row = format!(
            "  {name:<20}{}  {at:<11}{}",
            cells.concat(),
            self.picture(page)
        );
        page.line(row);
    }

    /// The spans as bars from 0 to the largest.
    fn picture(&self, page: &Page) -> String {
        let bars = page.either("▁▂▃▄▅▆▇█", "_.:-=+*#");
        let steps = bars.chars().count();
        let bar = |value: Option<f64>| {
            let step = value.map(|value| value / self.max.max(f64::MIN_POSITIVE) * steps as f64);
            let at = step.map(|step| (step as usize).min(steps - 1));
            at.and_then(|at| bars.chars().nth(at)).unwrap_or(' ')
        };
        self.spans.iter().map(|value| bar(*value)).collect()
    }
}

/// The worst value of each of at most [`CELLS`] spans.
fn spans(series: &Series, item: Item) -> Vec<Option<f64>> {
    let rows = series.rows.len();
    let cells = rows.min(CELLS);
    let mut spans = vec![None; cells];
    for (row, value) in series.values(item) {
        let span: &mut Option<f64> = &mut spans[row * cells / rows];
        let so_far = span.unwrap_or(value);
        *span = Some(match scarce(item) {
            true => so_far.min(value),
            false => so_far.max(value),
        });
    }
    spans
}

#[cfg(test)]
mod tests;
