//! The fields of each event, `name=value`, into its type.

use alloc::string::String;
use core::str::FromStr;

use super::{Balance, Event, Inode, Period, Rates, Share, State, Step, Update, View, Window, Work};
use crate::formula::dirty::Thresholds;
use crate::formula::throttle::bandwidth::Bandwidth;
use crate::formula::throttle::counter::Counter;
use crate::formula::throttle::ratelimit::Ratelimit;
use crate::formula::throttle::share::{Bounds, Completed, Completions};
use crate::formula::throttle::{Counts, Device, Domain, Limit, Pace};
use crate::text::{Line, ParseError};
use crate::units::Pages;

/// The value after `name=`.
///
/// # Errors
/// It is missing, or no number.
pub fn field<T: FromStr>(line: &Line<'_>, fields: &str, name: &str) -> Result<T, ParseError> {
    line.number_in(name, word(fields, name))
}

fn pages(line: &Line<'_>, fields: &str, name: &str) -> Result<Pages, ParseError> {
    field(line, fields, name).map(Pages)
}

/// The word after `name=`, or nothing.
#[must_use]
pub fn word<'a>(fields: &'a str, name: &str) -> &'a str {
    let words = &mut fields.split_ascii_whitespace();
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or("")
}

/// The device after the word "bdi".
fn device(line: &Line<'_>, fields: &str) -> Result<String, ParseError> {
    let name = fields
        .strip_prefix("bdi ")
        .and_then(|rest| rest.split_once(": "));
    match name {
        Some((name, _)) => Ok(name.into()),
        None => Err(line.error(fields, "\"bdi DEVICE: \"")),
    }
}

pub(super) fn state(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    let pages = |name| pages(line, fields, name);
    Ok(Event::State(State {
        dirty: pages("dirty")?,
        writeback: pages("writeback")?,
        background: pages("bg_thresh")?,
        threshold: pages("thresh")?,
        limit: pages("limit")?,
        dirtied: pages("dirtied")?,
        written: pages("written")?,
    }))
}

pub(super) fn balance(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    let pages = |name| pages(line, fields, name);
    let number = |name| field(line, fields, name);
    Ok(Event::Balance(Balance {
        device: device(line, fields)?,
        limit: pages("limit")?,
        setpoint: pages("setpoint")?,
        dirty: pages("dirty")?,
        device_setpoint: pages("bdi_setpoint")?,
        device_dirty: pages("bdi_dirty")?,
        ratelimit: number("dirty_ratelimit")?,
        task_ratelimit: number("task_ratelimit")?,
        dirtied: pages("dirtied")?,
        dirtied_pause: pages("dirtied_pause")?,
        paused: number("paused")?,
        pause: field(line, fields, "pause")?,
        period: number("period")?,
        think: field(line, fields, "think")?,
        group: number("cgroup_ino")?,
    }))
}

pub(super) fn rates(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    let number = |name| field(line, fields, name);
    Ok(Event::Rates(Rates {
        device: device(line, fields)?,
        bandwidth: number("write_bw")?,
        average: number("awrite_bw")?,
        dirty_rate: number("dirty_rate")?,
        ratelimit: number("dirty_ratelimit")?,
        task_ratelimit: number("task_ratelimit")?,
        balanced: number("balanced_dirty_ratelimit")?,
        group: number("cgroup_ino")?,
    }))
}

pub(super) fn begun(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    work(line, fields, true)
}

pub(super) fn written(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    work(line, fields, false)
}

fn work(line: &Line<'_>, fields: &str, begins: bool) -> Result<Event, ParseError> {
    Ok(Event::Work(Work {
        device: device(line, fields)?,
        begins,
        left: field(line, fields, "nr_pages")?,
        reason: word(fields, "reason").into(),
        group: field(line, fields, "cgroup_ino")?,
    }))
}

pub(super) fn inode(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    Ok(Event::Inode(Inode {
        device: device(line, fields)?,
        inode: field(line, fields, "ino")?,
        dirtied_when: field(line, fields, "dirtied_when")?,
        chunk: field(line, fields, "to_write")?,
        wrote: field(line, fields, "wrote")?,
    }))
}

pub(super) fn window(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    let fields = &fields.replace(',', " ");
    Ok(Event::Window(Window {
        device: writes_to(fields),
        status: field(line, fields, "status")?,
        step: field(line, fields, "step")?,
    }))
}

pub(super) fn step(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    let fields = &fields.replace(',', " ");
    let limit = |name| field(line, fields, name);
    Ok(Event::Step(Step {
        device: writes_to(fields),
        step: field(line, fields, "step")?,
        limits: [limit("background")?, limit("normal")?, limit("max")?],
    }))
}

/// The device with which the events of the throttling of writes begin, "259:0: ".
fn writes_to(fields: &str) -> String {
    fields.split(": ").next().unwrap_or("").into()
}

/// What both probes show of a domain, in fields that begin with `of`.
fn domain(line: &Line<'_>, fields: &str, of: &str) -> Result<Domain, ParseError> {
    let pages = |name: &str| pages(line, fields, &[of, name].concat());
    Ok(Domain {
        thresholds: Thresholds {
            background: pages("bg_thresh")?,
            dirty: pages("thresh")?,
        },
        dirty: pages("dirty")?,
        limit: pages("limit")?,
    })
}

pub(super) fn share(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    let number = |name| field(line, fields, name);
    Ok(Event::Share(Share {
        writeback: word(fields, "wb").into(),
        domain: domain(line, fields, "")?,
        bandwidth: number("awrite_bw")?,
        all: Completions {
            events: Counter::of(number("all")?),
            period: number("period")?,
            ..Completions::default()
        },
        own: Completed {
            events: Counter::of(number("own")?),
            period: number("since")?,
        },
        bounds: bounds(line, fields)?,
        is_strict: is_strict(line, fields)?,
    }))
}

/// Percents before 6.2, millionths since.
fn bounds(line: &Line<'_>, fields: &str) -> Result<Bounds, ParseError> {
    if word(fields, "max").is_empty() {
        return Ok(Bounds::default());
    }
    let (min, max) = (field(line, fields, "min")?, field(line, fields, "max")?);
    Ok(match max {
        0..=100 => Bounds::percent(min, max),
        _ => Bounds { min, max },
    })
}

/// The bit of a device's capabilities by which its own share rules (`BDI_CAP_STRICTLIMIT`).
fn is_strict(line: &Line<'_>, fields: &str) -> Result<bool, ParseError> {
    match word(fields, "cap") {
        "" => Ok(false),
        _ => Ok(field::<u64>(line, fields, "cap")? & 4 != 0),
    }
}

pub(super) fn shared(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    pages(line, fields, "is").map(Event::Shared)
}

pub(super) fn update(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    let number = |name| field(line, fields, name);
    let group = match word(fields, "group") {
        "0x0" => None,
        _ => Some(view(line, fields, "g_")?),
    };
    Ok(Event::Update(Update {
        writeback: word(fields, "wb").into(),
        is_balance: number("ratelimit")? != 0,
        machine: view(line, fields, "")?,
        group,
        now: number("now")?,
        pace: pace(line, fields)?,
        counts: counts(line, fields, ["dirtied", "written"])?,
    }))
}

fn view(line: &Line<'_>, fields: &str, of: &str) -> Result<View, ParseError> {
    let number = |name: &str| field(line, fields, &[of, name].concat());
    let domain = domain(line, fields, of)?;
    Ok(View {
        domain,
        device: Device {
            thresholds: Thresholds {
                background: Pages(number("wb_bg_thresh")?),
                dirty: Pages(number("wb_thresh")?),
            },
            dirty: Pages(number("wb_dirty")?),
            bandwidth: field(line, fields, "awrite_bw")?,
            is_strict: is_strict(line, fields)?,
        },
        position: number("pos_ratio")?,
        limit: Limit {
            pages: domain.limit,
            stamp: number("limit_stamp")?,
        },
    })
}

fn pace(line: &Line<'_>, fields: &str) -> Result<Pace, ParseError> {
    let number = |name| field(line, fields, name);
    Ok(Pace {
        bandwidth: Bandwidth {
            current: number("write_bw")?,
            average: number("awrite_bw")?,
        },
        ratelimit: Ratelimit {
            base: number("dirty_ratelimit")?,
            balanced: number("balanced")?,
        },
        stamp: number("stamp")?,
        counts: counts(line, fields, ["dirtied_stamp", "written_stamp"])?,
    })
}

fn counts(line: &Line<'_>, fields: &str, names: [&str; 2]) -> Result<Counts, ParseError> {
    Ok(Counts {
        dirtied: pages(line, fields, names[0])?,
        written: pages(line, fields, names[1])?,
    })
}

pub(super) fn period(line: &Line<'_>, fields: &str) -> Result<Event, ParseError> {
    let number = |name| field(line, fields, name);
    Ok(Event::Period(Period {
        all: Completions {
            events: Counter::of(number("all")?),
            period: number("period")?,
            ends: number("ends")?,
            ..Completions::default()
        },
        now: number("now")?,
    }))
}
