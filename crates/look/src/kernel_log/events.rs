//! The events of a log, a line each.

use mm::capture::{Capture, Frame};
use mm::kernel_log::{Cause, Group, PATH, Report};
use mm::units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

use super::finding::Context;
use super::{KernelLog, words};
use crate::findings::Said;
use crate::page::Page;

/// Events that are listed as text; the JSON has all.
const LISTED: usize = 20;

/// Characters of a message that are kept, and those that are shown in the list.
const MESSAGE: usize = 200;
const SHOWN: usize = 48;

/// From here on a time is counted from 1970 and not from boot: 31 years.
const OF_DATES: u64 = 1_000_000_000_000_000_000;

/// One event.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Event {
    label: String,
    at_nanoseconds: u64,
    event: &'static str,
    whose: &'static str,
    refusals: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    victim: Option<String>,
    message: String,
    #[serde(skip)]
    group: String,
}

/// All events of a capture; none where it holds fewer than two.
pub(crate) fn events(capture: &Capture) -> Vec<Event> {
    let is_event = |frame: &&Frame| frame.file(PATH).is_some();
    if capture.frames.iter().filter(is_event).count() < 2 {
        return Vec::new();
    }
    capture.frames.iter().filter_map(Event::of).collect()
}

/// The event that is shown where none is named: of the most severe kind the one that tells most, of
/// several the last.
pub(crate) fn shown(capture: &Capture) -> Option<&Frame> {
    let events = capture
        .frames
        .iter()
        .filter(|frame| frame.file(PATH).is_some());
    events.max_by_key(|frame| telling(frame))
}

/// How severe the kind of an event is, by its label, and how whole its report: one that is cut off
/// hides none that is not.
fn telling(frame: &Frame) -> (Option<usize>, usize) {
    const KINDS: [&str; 12] = [
        "hung-task",
        "lockup",
        "exit-137",
        "memory-dump",
        "container",
        "cma-failure",
        "slab-failure",
        "vmalloc-failure",
        "fork-refusal",
        "overcommit",
        "allocation",
        "user-space-kill",
    ];
    const PARTS: [&str; 7] = [
        "invoked ",
        "Mem-Info",
        " min:",
        "memory: usage ",
        "oom-kill:",
        "Killed process",
        "Kernel panic",
    ];
    let label = frame.label.as_deref().unwrap_or("");
    let text = frame.file(PATH).unwrap_or("");
    let kind = match label.starts_with("oom") {
        true => Some(KINDS.len()),
        false => KINDS.iter().position(|kind| label.starts_with(kind)),
    };
    // Of a program's messages the one with the reason tells most.
    let reasoned = usize::from(text.contains(" due to "));
    let parts = PARTS.iter().filter(|part| text.contains(**part)).count();
    (kind, parts + reasoned)
}

/// Events of which the causes are looked at beside the one that is shown.
const LOOKED_AT: usize = 200;

/// What the events of a log tell about each other.
pub(super) fn context(capture: &Capture) -> Context {
    let failures = capture.frames.iter().filter(|frame| {
        let label = frame.label.as_deref().unwrap_or("");
        label.starts_with("slab-failure") || frame.file(PATH).is_some_and(has_caches)
    });
    let reports = failures
        .take(LOOKED_AT)
        .filter_map(|frame| Report::parse(frame.file(PATH)?));
    let mut labels = capture
        .frames
        .iter()
        .filter_map(|frame| frame.label.as_deref());
    let pages = labels.find(|label| label.starts_with("allocation-failure"));
    Context {
        failed: reports.flat_map(|report| report.slabs.failed).collect(),
        pages: pages.map(str::to_owned),
    }
}

fn has_caches(text: &str) -> bool {
    text.contains("Unable to allocate memory on")
}

/// The findings of the other events of a log, one of each name.
pub(crate) fn findings(capture: &Capture) -> Vec<(&'static str, Said)> {
    let context = context(capture);
    let mut found: Vec<(&'static str, Said)> = Vec::new();
    let frames = capture.frames.iter().rev().take(LOOKED_AT);
    for report in frames.filter_map(|frame| Report::parse(frame.file(PATH)?)) {
        let mut reports = vec![report];
        reports.extend(caches_of(&reports[0]));
        for report in reports {
            let log = KernelLog::read(&report, &context);
            let new = log
                .finding()
                .filter(|(name, _)| found.iter().all(|(it, _)| it != name));
            found.extend(new);
        }
    }
    found
}

/// The slab caches that could not grow within another report, as an event of their own.
fn caches_of(report: &Report) -> Option<Report> {
    let apart = !report.slabs.failed.is_empty() && report.event != mm::kernel_log::Event::Slab;
    apart.then(|| {
        let mut own = Report::default();
        own.event = mm::kernel_log::Event::Slab;
        own.slabs = report.slabs.clone();
        own
    })
}

/// Writes the list.
pub(crate) fn write(events: &[Event], page: &mut Page) {
    if events.is_empty() {
        return;
    }
    page.heading("All events of this log (--at LABEL shows one)");
    for event in events.iter().take(LISTED) {
        let mark = format!("  {:<22} {:>20}  ", event.label, event.time());
        page.item(0, &mark, &event.words());
    }
    if events.len() > LISTED {
        let text = format!("and {} more; --json has all", events.len() - LISTED);
        page.paragraph(2, &text);
    }
}

impl Event {
    fn of(frame: &Frame) -> Option<Self> {
        let report = Report::parse(frame.file(PATH)?)?;
        let cause = Cause::of(&report);
        let group = |group: &Group| match group.is_told() {
            true => group.name.clone(),
            false => String::new(),
        };
        Some(Self {
            label: frame.label.as_deref().unwrap_or("").to_owned(),
            at_nanoseconds: frame.at.0,
            event: words::event(report.event),
            whose: words::whose(cause.whose),
            refusals: cause.refusals.iter().copied().map(words::refusal).collect(),
            victim: words::victim(&report),
            message: report.head.chars().take(MESSAGE).collect(),
            group: group(&report.group),
        })
    }

    fn words(&self) -> String {
        let Some(victim) = &self.victim else {
            return self.message.chars().take(SHOWN).collect();
        };
        let group = match self.whose {
            "control_group" => format!(" {}", self.group),
            _ => String::new(),
        };
        let why = self
            .refusals
            .first()
            .map(|why| format!(": {}", why.replace('_', " ")));
        let whose = self.whose.replace('_', " ");
        format!("{victim}, {whose}{group}{}", why.as_deref().unwrap_or(""))
    }

    /// Seconds since boot, or the date.
    fn time(&self) -> String {
        match self.at_nanoseconds {
            0 => String::new(),
            at if at >= OF_DATES => date(Nanos(at)),
            at => format!("{:.3} s", Nanos(at).seconds()),
        }
    }
}

/// "2024-01-01 00:00:00", as the log has it.
fn date(at: Nanos) -> String {
    let seconds = at.0 / 1_000_000_000;
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day = days % 146_097;
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month < 10 {
        true => (year + era * 400, month + 3),
        false => (year + era * 400 + 1, month - 9),
    };
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!(
        "{year}-{month:02}-{of_month:02} {hours:02}:{minutes:02}:{:02}",
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_they_were_read() {
        assert_eq!(
            date(Nanos(1_704_067_200_000_000_000)),
            "2024-01-01 00:00:00"
        );
        assert_eq!(
            date(Nanos(1_709_164_799_000_000_000)),
            "2024-02-28 23:59:59"
        );
    }
}
