//! The writeback tracepoints: what the controller of dirty pages decided and by what, as
//! `trace_pipe` has it, or a console with `tp_printk`.
//!
//! Amounts stay in the units that the kernel prints: pages, kilobytes a second (1024 bytes),
//! milliseconds. The fields are those of 6.1 and 6.12; one that is not read is passed over. Four
//! events are none of the kernel's own: kernel probes that show what its tracepoints leave out,
//! defined in `fixtures/throttle/README.md`. They print the controller's own numbers (ticks, pages
//! a second), which are read into its types.
//!
//! [`any`] reads a line of whatever event, without its fields.

mod any;
mod fields;

use alloc::string::String;
use alloc::vec::Vec;

use crate::formula::throttle::share::{Bounds, Completed, Completions};
use crate::formula::throttle::{Counts, Device, Domain, Limit, Pace};
use crate::text::{Line, ParseError, lines};
use crate::units::{Nanos, Pages};

pub use any::{Any, any};
pub use fields::{field, word};

/// A line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Line number, from 1.
    pub line: usize,
    /// The thread; 0 on a console, which does not tell, and for an idle CPU.
    pub pid: u64,
    /// When, by the trace's clock: nanoseconds since boot, printed to the microsecond.
    pub at: Nanos,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// `global_dirty_state`: the machine's thresholds were computed.
    State(State),
    /// `balance_dirty_pages`: a task was looked at beyond the free run.
    Balance(Balance),
    /// `bdi_dirty_ratelimit`: the rates of a device were renewed.
    Rates(Rates),
    /// `writeback_start` and `writeback_written`: before and after a round of the flusher's work.
    Work(Work),
    /// `writeback_single_inode`: the flusher was done with a file for this turn.
    Inode(Inode),
    /// `wbt_timer`: the throttling of a device's writes ends a window.
    Window(Window),
    /// `wbt_step`: it took a step.
    Step(Step),
    /// Probe `share`: a device's share of a threshold is to be computed.
    Share(Share),
    /// Probe `shared`: the share.
    Shared(Pages),
    /// Probe `update`: a device's estimates are to be renewed.
    Update(Update),
    /// Probe `period`: a period of completions is to end.
    Period(Period),
}

/// The machine's dirty pages (`global_dirty_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Dirty.
    pub dirty: Pages,
    /// Under writeback.
    pub writeback: Pages,
    /// The background threshold.
    pub background: Pages,
    /// The threshold.
    pub threshold: Pages,
    /// The slow limit.
    pub limit: Pages,
    /// Pages ever dirtied.
    pub dirtied: Pages,
    /// Pages ever written.
    pub written: Pages,
}

/// A task that is looked at (`balance_dirty_pages`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Device, as "259:0".
    pub device: String,
    /// The machine's slow limit.
    pub limit: Pages,
    /// From the domain's thresholds and that limit.
    pub setpoint: Pages,
    /// Dirty or under writeback, of the domain.
    pub dirty: Pages,
    /// The set point by the device's share of the threshold.
    pub device_setpoint: Pages,
    /// Dirty or under writeback, of the device in the domain.
    pub device_dirty: Pages,
    /// The device's base rate, kB a second.
    pub ratelimit: u64,
    /// The task's rate, kB a second.
    pub task_ratelimit: u64,
    /// Pages that the task comes with.
    pub dirtied: Pages,
    /// Pages after which it was to be looked at.
    pub dirtied_pause: Pages,
    /// Milliseconds that it has been in here.
    pub paused: u64,
    /// Milliseconds that it is to sleep; 0 or less for none.
    pub pause: i64,
    /// Milliseconds that its pages are worth.
    pub period: u64,
    /// Milliseconds since its last pause.
    pub think: i64,
    /// The control group whose writeback it is; 1 is the root.
    pub group: u64,
}

/// A device's rates (`bdi_dirty_ratelimit`), kB a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Device, as "259:0".
    pub device: String,
    /// The bandwidth's estimate before this update.
    pub bandwidth: u64,
    /// Its average before this update.
    pub average: u64,
    /// What tasks dirtied since the last update.
    pub dirty_rate: u64,
    /// The base rate, renewed.
    pub ratelimit: u64,
    /// What one task was let, plus one page, before it was renewed.
    pub task_ratelimit: u64,
    /// The balanced rate, renewed.
    pub balanced: u64,
    /// The control group whose writeback it is; 1 is the root.
    pub group: u64,
}

/// A round of the flusher's work (`writeback_start`, `writeback_written`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Device, as "259:0".
    pub device: String,
    /// Whether it begins; the other one ends it.
    pub begins: bool,
    /// Pages that it may still write.
    pub left: i64,
    /// Why: `background`, `periodic`, `sync`, `vmscan`, …
    pub reason: String,
    /// The control group whose writeback it is; 1 is the root.
    pub group: u64,
}

/// A file that the flusher wrote of (`writeback_single_inode`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inode {
    /// Device, as "259:0".
    pub device: String,
    /// Its number.
    pub inode: u64,
    /// The tick at which it became dirty.
    pub dirtied_when: u64,
    /// Pages that this turn might write.
    pub chunk: i64,
    /// Pages that it wrote.
    pub wrote: i64,
}

/// A window of the throttling of a device's writes (`wbt_timer`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Device, as "259:0".
    pub device: String,
    /// What came of it ([`crate::formula::wbt::Status`]).
    pub status: u64,
    /// The step so far: halvings of the depth, negative for doublings.
    pub step: i32,
}

/// A step of it (`wbt_step`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Device, as "259:0".
    pub device: String,
    /// The step now.
    pub step: i32,
    /// Requests that may be written in the background, by tasks, and at most.
    pub limits: [u64; 3],
}

/// A device's share is to be computed (probe of `__wb_calc_thresh`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The address of the device's writeback: which one it is.
    pub writeback: String,
    /// The domain; of it the flusher sets only what is shared, as the dirty threshold.
    pub domain: Domain,
    /// The device's average bandwidth, pages a second.
    pub bandwidth: u64,
    /// What was written in the domain; when the period ends is not shown.
    pub all: Completions,
    /// What was written of the device.
    pub own: Completed,
    /// What it is allowed, where the probe shows that.
    pub bounds: Bounds,
    /// Whether its share rules, likewise.
    pub is_strict: bool,
}

/// A device's estimates are to be renewed (probe of `__wb_update_bandwidth`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The address of the device's writeback: which one it is.
    pub writeback: String,
    /// Whether the rates are renewed too, and the domain's limit, for a task that is to be slowed.
    pub is_balance: bool,
    /// The machine's view of the device, where the rates are renewed.
    pub machine: View,
    /// That of the control group, likewise, where the device's writeback is a group's.
    pub group: Option<View>,
    /// The tick.
    pub now: u64,
    /// What is to be renewed.
    pub pace: Pace,
    /// The pages dirtied and written so far.
    pub counts: Counts,
}

/// A period of completions is to end (probe of `writeout_period`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// The completions of a domain, before.
    pub all: Completions,
    /// The tick.
    pub now: u64,
}

/// A device in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The domain.
    pub domain: Domain,
    /// The device in it.
    pub device: Device,
    /// The position ratio of both.
    pub position: u64,
    /// The domain's slow limit, and when it was last moved.
    pub limit: Limit,
}

type Read = fn(&Line<'_>, &str) -> Result<Event, ParseError>;

/// The events by what stands before their fields; a probe's begin with its place.
const EVENTS: [(&str, Read); 12] = [
    (" global_dirty_state: ", fields::state),
    (" balance_dirty_pages: ", fields::balance),
    (" bdi_dirty_ratelimit: ", fields::rates),
    (" writeback_start: ", fields::begun),
    (" writeback_written: ", fields::written),
    (" writeback_single_inode: ", fields::inode),
    (" wbt_timer: ", fields::window),
    (" wbt_step: ", fields::step),
    (" share: (", fields::share),
    (" shared: (", fields::shared),
    (" update: (", fields::update),
    (" period: (", fields::period),
];

/// The events of a trace in its order. Lines of other events, and what else a console holds, are
/// passed over.
///
/// # Errors
/// The first line of a known event that has no time, or a field that is missing or no number.
pub fn parse(file: &str, text: &str) -> Result<Vec<Entry>, ParseError> {
    let entry = |line: Line<'_>| {
        let (head, read, rest) = split(line.text)?;
        Some(time(&line, head).and_then(|at| {
            Ok(Entry {
                line: line.number,
                pid: pid(head),
                at,
                event: read(&line, rest)?,
            })
        }))
    };
    lines(file, text).filter_map(entry).collect()
}

/// A line that names a known event: what stands before the name, its reader, and its fields.
fn split(text: &str) -> Option<(&str, Read, &str)> {
    EVENTS.iter().find_map(|(name, read)| {
        let (head, fields) = text.split_once(name)?;
        Some((head, *read, fields))
    })
}

/// The time is the last word before the event, "1.047619:", or "[    1.047619]" on a console.
fn time(line: &Line<'_>, head: &str) -> Result<Nanos, ParseError> {
    let word = head.split_ascii_whitespace().last().unwrap_or("");
    let word = word.trim_matches(['[', ']', ':']);
    let (seconds, micros) = word.split_once('.').unwrap_or((word, ""));
    if micros.len() != 6 {
        return Err(line.error(word, "a time as 1.000000"));
    }
    let seconds: u64 = line.number_in(word, seconds)?;
    let micros: u64 = line.number_in(word, micros)?;
    Ok(Nanos(
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(micros * 1000),
    ))
}

/// The thread's number, "12" of "stick copy-12   [000] ...".
fn pid(head: &str) -> u64 {
    let task = head.split_once(" [").map_or("", |(task, _)| task);
    let number = task.trim_ascii_end().rsplit('-').next();
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_and_a_console_are_read_and_other_lines_passed_over() {
        let state = "global_dirty_state: dirty=3 writeback=1 bg_thresh=8192 thresh=16384 \
                     limit=16385 dirtied=53389 written=46074";
        let text = alloc::format!(
            "# tracer: nop\n   stick copy-124     [000] .N.1.     1.172619: {state}\n\
             [    0.000001] Command line: trace_event=writeback:global_dirty_state\n\
             [    2.000001] {state}\r\n"
        );
        let entries = parse("trace", &text).expect("a trace");
        let [first, second] = entries.as_slice() else {
            panic!("{entries:?}");
        };
        assert_eq!(
            (first.line, first.pid, first.at),
            (2, 124, Nanos(1_172_619_000))
        );
        assert_eq!(
            (second.line, second.pid, second.at),
            (4, 0, Nanos(2_000_001_000))
        );
        assert_eq!(first.event, second.event);
        let Event::State(state) = &first.event else {
            panic!("{first:?}");
        };
        assert_eq!((state.dirty, state.limit), (Pages(3), Pages(16_385)));
    }

    #[test]
    fn a_damaged_line_is_named() {
        let text = "\n[    1.000000] writeback_start: bdi 8:0: nr_pages=x reason=sync cgroup_ino=1";
        let error = parse("trace", text).expect_err("damaged");
        assert_eq!((error.line, error.item.as_str()), (2, "nr_pages"));
        let text = "[1] writeback_start: bdi 8:0: nr_pages=1 reason=sync cgroup_ino=1";
        assert_eq!(parse("trace", text).expect_err("no time").item, "1");
    }
}
