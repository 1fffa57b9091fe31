//! A line of the trace buffer, whatever its event.

use super::time;
use crate::text::{Line, ParseError};
use crate::units::Nanos;

/// A line of the trace buffer: `TASK-PID [CPU] FLAGS TIME: EVENT: FIELDS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Any<'a> {
    /// The thread's name, of 15 bytes at most.
    pub task: &'a str,
    /// Its number; 0 for an idle CPU.
    pub pid: u64,
    /// When, by the trace's clock, printed to the microsecond.
    pub at: Nanos,
    /// The tracepoint, without its subsystem.
    pub event: &'a str,
    /// What it prints.
    pub fields: &'a str,
}

/// Reads a line; `None` for a comment, an empty line and the mark of events that were lost.
///
/// # Errors
/// It is no line of a trace buffer.
pub fn any<'a>(line: &Line<'a>) -> Result<Option<Any<'a>>, ParseError> {
    let is_lost = line.text.starts_with("CPU:") && line.text.ends_with("EVENTS]");
    if is_lost || line.text.starts_with('#') || line.text.trim().is_empty() {
        return Ok(None);
    }
    let wrong = || line.error(line.text, "\"TASK-PID [CPU] FLAGS TIME: EVENT: FIELDS\"");
    let at = cpu(line.text).ok_or_else(wrong)?;
    let (head, rest) = line.text.split_at(at);
    let (when, what) = rest.split_once(": ").ok_or_else(wrong)?;
    let (event, fields) = what.split_once(':').ok_or_else(wrong)?;
    let (task, pid) = head.trim().rsplit_once('-').ok_or_else(wrong)?;
    Ok(Some(Any {
        task,
        pid: pid.parse().map_err(|_| wrong())?,
        at: time(line, when)?,
        event,
        fields: fields.trim(),
    }))
}

/// Where the CPU's number stands, " [000] "; a task's name may have brackets of its own.
fn cpu(text: &str) -> Option<usize> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_digit());
    let mut places = text.match_indices(" [");
    let found = places.find(|(at, _)| {
        let inside = text[at + 2..].split_once("] ");
        inside.is_some_and(|(word, _)| is_number(word))
    });
    found.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::lines;

    fn read(text: &str) -> Result<Option<Any<'_>>, ParseError> {
        any(&lines("trace", text).next().expect("a line"))
    }

    #[test]
    fn a_line_is_split_whatever_the_task_is_called() {
        let text = "   my [x] app-2-124     [000] .N.1.     1.172619: mm_vmscan_kswapd_wake: \
                    nid=0 order=0";
        let line = read(text).expect("a line").expect("an event");
        assert_eq!((line.task, line.pid), ("my [x] app-2", 124));
        assert_eq!(line.at, Nanos(1_172_619_000));
        assert_eq!(
            (line.event, line.fields),
            ("mm_vmscan_kswapd_wake", "nid=0 order=0")
        );
        let idle = "          <idle>-0       [000] d.h1.     2.000001: block_rq_complete: 259,0 R";
        let line = read(idle).expect("a line").expect("an event");
        assert_eq!((line.task, line.pid), ("<idle>", 0));
    }

    #[test]
    fn what_is_no_event_is_passed_over_and_nonsense_refused_in_a_line() {
        assert_eq!(read("# tracer: nop"), Ok(None));
        assert_eq!(read("CPU:0 [LOST 12 EVENTS]"), Ok(None));
        for text in [
            "nonsense",
            "a [000] 1.000000: x: y",
            "a-1 [000] ..... 1.0: x: y",
            "a-1 [000] ..... 1.000000 x y",
        ] {
            let error = read(text).expect_err("no event");
            assert!(error.line == 1 && !error.item.contains('\n'), "{error}");
        }
    }
}
