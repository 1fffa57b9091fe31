//! Messages that stand in one line.

use super::line::Origin;
use super::message::{Kind, is_row, kind};
use super::prefix::{bracket, caller};
use super::zone;

/// A message and what stands behind it in the same line, where another begins there: two CPUs
/// print, or a line lost its end.
pub(super) fn joined(text: &str) -> Option<(&str, &str)> {
    const BEGIN: [&str; 14] = [
        "Node ",
        "lowmem_reserve[]:",
        "Mem-Info:",
        "CPU: ",
        "Tasks state (memory values",
        "oom-kill:constraint=",
        "Out of memory: Kill",
        "Memory cgroup out of memory: Kill",
        "oom_reaper: reaped",
        "Total swap = ",
        "Free swap  = ",
        "Swap cache stats: ",
        "Call Trace:",
        "[",
    ];
    const LONGEST: usize = 4096;
    if text.len() > LONGEST || is_row(text) {
        return None;
    }
    let begins = |words: &str| {
        let mut places = text.match_indices(words).take(64).map(|(at, _)| at);
        places.find(|&at| at > 0 && begins_another(&text[at..]))
    };
    let at = BEGIN.iter().filter_map(|words| begins(words)).min()?;
    let before = text[..at].trim_ascii_end();
    // "<4>" of the other message.
    let marked = before
        .strip_suffix('>')
        .and_then(|rest| rest.rsplit_once('<'));
    let before = marked.map_or(before, |(before, _)| before);
    let known = !matches!(kind(before), Kind::Other | Kind::Trace);
    known.then(|| (before, &text[at..]))
}

/// Whether a message of a report begins here, or the time before one.
fn begins_another(text: &str) -> bool {
    match text.strip_prefix('[') {
        Some(_) => is_stamped(text),
        None if text.starts_with("Node ") => zone::line(text).is_some(),
        None if text.starts_with("CPU: ") => text.contains(" PID: ") && text.contains(" Comm: "),
        None => true,
    }
}

/// The origin and the message behind the kernel's time within a line; all of it where there is
/// none.
pub(super) fn behind_stamp(text: &str) -> (Origin, &str) {
    let Some((_, rest)) = is_stamped(text).then(|| bracket(text)).flatten() else {
        return (Origin::default(), text);
    };
    let rest = rest.trim_ascii_start();
    match caller(rest) {
        Some((caller, rest)) => (
            Origin {
                caller: caller.into(),
                ..Origin::default()
            },
            rest.trim_ascii_start(),
        ),
        None => (Origin::default(), rest),
    }
}

/// Whether a text begins with the kernel's time since boot, in microseconds.
pub(super) fn is_stamped(text: &str) -> bool {
    let inner = text.strip_prefix('[').and_then(|text| text.split_once(']'));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let stamp = inner.and_then(|(inner, _)| inner.trim_ascii().split_once('.'));
    stamp.is_some_and(|(seconds, micros)| {
        !seconds.is_empty() && digits(seconds) && micros.len() == 6 && digits(micros)
    })
}
