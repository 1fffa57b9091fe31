//! The events of a log, a line each.

use mm::capture::{Capture, Frame};
use mm::kernel_log::{Cause, Group, PATH, Report};
use mm::units::Nanos;
use serde::Serialize;

use super::words;
use crate::view::page::Page;

/// Events that are listed as text; the JSON has all.
const LISTED: usize = 20;

/// Characters of a message that are kept, and those that are shown in the list.
const MESSAGE: usize = 200;
const SHOWN: usize = 48;

/// From here on a time is counted from 1970 and not from boot: 31 years.
const OF_DATES: u64 = 1_000_000_000_000_000_000;

/// One event.
#[derive(Debug, Serialize)]
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

/// The event that is shown where none is named: the last of those that tell most.
pub(crate) fn shown(capture: &Capture) -> Option<&Frame> {
    let events = capture
        .frames
        .iter()
        .filter(|frame| frame.file(PATH).is_some());
    events.max_by_key(|frame| telling(frame))
}

/// How much the kind of an event tells, by its label; a kill of the kernel's most.
fn telling(frame: &Frame) -> usize {
    const KINDS: [&str; 7] = [
        "exit-137",
        "container",
        "cma-failure",
        "overcommit",
        "user-space-kill",
        "allocation",
        "oom",
    ];
    let label = frame.label.as_deref().unwrap_or_default();
    let kind = KINDS.iter().position(|kind| label.starts_with(kind));
    // Of a program's messages the one with the reason tells most.
    let reasoned = frame
        .file(PATH)
        .is_some_and(|text| text.contains(" due to "));
    kind.map_or(0, |at| 2 * (at + 1)) + usize::from(reasoned && label.starts_with("user"))
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
            label: frame.label.clone().unwrap_or_default(),
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
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        format!("{victim}, {}{group}{why}", self.whose.replace('_', " ")).replace('_', " ")
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
