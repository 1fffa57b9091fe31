//! Pressure stall information: the share of time in which tasks waited for memory.

use mm::psi::{Psi, Stall};
use mm::snapshot::Snapshot;
use mm::units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// Both lines of one pressure file. Shares are from 0 to 1.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Pressure {
    resource: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    some: Option<Stalls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full: Option<Stalls>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Stalls {
    /// The kernel's averages; `None` where the evidence has totals only.
    #[serde(flatten)]
    averages: Option<Averages>,
    total_seconds: f64,
    /// The share over the interval, from the totals: the averages lag.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<f64>,
}

#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
struct Averages {
    avg10: f64,
    avg60: f64,
    avg300: f64,
}

/// The pressures without averages, for evidence that has none: node_exporter has totals only.
pub(crate) fn without_averages(mut pressures: Vec<Pressure>) -> Vec<Pressure> {
    for pressure in &mut pressures {
        let lines = [&mut pressure.some, &mut pressure.full];
        lines
            .into_iter()
            .flatten()
            .for_each(|line| line.averages = None);
    }
    pressures
}

/// The pressure files of a moment, and what became of them since an earlier one.
pub(crate) fn pressures(first: &Snapshot, now: &Snapshot) -> Vec<Pressure> {
    let span = now.at.saturating_sub(first.at);
    let (before, after) = (&first.pressure, &now.pressure);
    let resources = [
        ("memory", before.memory, after.memory),
        ("io", before.io, after.io),
        ("cpu", before.cpu, after.cpu),
    ];
    let known = resources
        .into_iter()
        .filter_map(|(resource, before, after)| {
            Some(Pressure::of(
                resource,
                after?,
                before.map(|psi| (psi, span)),
            ))
        });
    known.collect()
}

impl Pressure {
    /// One pressure file.
    fn of(resource: &'static str, now: Psi, earlier: Option<(Psi, Nanos)>) -> Self {
        let line = |pick: fn(Psi) -> Option<Stall>| {
            let before = earlier.and_then(|(psi, span)| Some((pick(psi)?, span)));
            Some(Stalls::of(pick(now)?, before))
        };
        Self {
            resource,
            some: line(|psi| psi.some),
            full: line(|psi| psi.full),
        }
    }
}

impl Stalls {
    fn of(now: Stall, earlier: Option<(Stall, Nanos)>) -> Self {
        let share = |hundredths| f64::from(hundredths) / 10_000.0;
        let over = |(before, span): (Stall, Nanos)| {
            // Files are read a moment after the span's ends: the share may pass one by a hair.
            (now.total.saturating_sub(before.total).seconds() / span.seconds()).min(1.0)
        };
        Self {
            averages: Some(Averages {
                avg10: share(now.avg10),
                avg60: share(now.avg60),
                avg300: share(now.avg300),
            }),
            total_seconds: now.total.seconds(),
            interval: earlier.filter(|(_, span)| *span > Nanos::ZERO).map(over),
        }
    }

    fn write(&self, name: &str, page: &mut Page) {
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        let now = self.interval.map_or_else(String::new, percent);
        let [ten, minute, five] = match self.averages {
            Some(a) => [a.avg10, a.avg60, a.avg300].map(percent),
            None => Default::default(),
        };
        let total = format!("{:.1} s", self.total_seconds);
        page.line(format!(
            "  {name:<14}{now:>10}{ten:>11}{minute:>11}{five:>11}{total:>14}"
        ));
    }
}

/// A line of pressure as a row of a screen. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Waited {
    /// "memory", "io" or "cpu".
    pub resource: &'static str,
    /// "some" or "full".
    pub tasks: &'static str,
    /// Over the interval, then over 10, 60 and 300 seconds; `None` where it is not told.
    pub shares: [Option<f64>; 4],
}

/// The pressures as rows of a screen.
pub(crate) fn rows(pressures: &[Pressure]) -> Vec<Waited> {
    let of = |pressure: &Pressure| {
        let lines = [("some", &pressure.some), ("full", &pressure.full)];
        let row = |(tasks, stalls): (&'static str, &Option<Stalls>)| {
            let stalls = stalls.as_ref()?;
            let average = |of: fn(Averages) -> f64| stalls.averages.map(of);
            Some(Waited {
                resource: pressure.resource,
                tasks,
                shares: [
                    stalls.interval,
                    average(|averages| averages.avg10),
                    average(|averages| averages.avg60),
                    average(|averages| averages.avg300),
                ],
            })
        };
        lines.map(row)
    };
    pressures.iter().flat_map(of).flatten().collect()
}

/// Writes the section.
pub(crate) fn write(pressures: &[Pressure], page: &mut Page) {
    if pressures.is_empty() {
        return;
    }
    page.heading("Pressure: the share of time in which some or all tasks waited");
    let lines = pressures
        .iter()
        .flat_map(|pressure| [&pressure.some, &pressure.full]);
    let rates = lines.flatten().any(|line| line.interval.is_some());
    let now = if rates { "interval" } else { "" };
    let head = [now, "10 s", "60 s", "300 s", "since boot"];
    let [now, ten, minute, five, total] = head;
    page.line(format!(
        "  {:<14}{now:>10}{ten:>11}{minute:>11}{five:>11}{total:>14}",
        ""
    ));
    for pressure in pressures {
        for (name, line) in [("some", &pressure.some), ("full", &pressure.full)] {
            if let Some(line) = line {
                line.write(&format!("{} {name}", pressure.resource), page);
            }
        }
    }
}
