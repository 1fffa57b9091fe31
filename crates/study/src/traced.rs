//! What a kernel's trace buffer says of each task, in the terms in which the model counts.

mod figures;
pub mod parting;

use std::collections::BTreeMap;

use mm::text::{Line, ParseError, lines};
use mm::trace::{Any, any, field, word};
use mm::units::Nanos;
use scenario::Scenario;
use scenario::outcome::{BOOT, Outcome, moment};
use scenario::traced::{Figure, TRACE, TRACED, Traced};

pub use figures::tells;

/// The tracepoints that are counted; a kernel may lack one with a `?`.
pub const DEFAULT: [&str; 12] = [
    "vmscan:mm_vmscan_direct_reclaim_begin",
    "vmscan:mm_vmscan_direct_reclaim_end",
    "vmscan:mm_vmscan_memcg_reclaim_begin?",
    "vmscan:mm_vmscan_memcg_reclaim_end?",
    "vmscan:mm_vmscan_kswapd_wake",
    "vmscan:mm_vmscan_lru_shrink_inactive",
    // Until 5.17 it was named after pages.
    "vmscan:mm_vmscan_writepage?",
    "vmscan:mm_vmscan_write_folio?",
    // Since 5.16.
    "vmscan:mm_vmscan_throttled?",
    "writeback:balance_dirty_pages",
    "block:block_bio_queue",
    "oom:mark_victim",
];

/// Sectors of 512 bytes in a page.
const SECTORS_PER_PAGE: u64 = 8;

/// What of a traced run is not in the counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Events that found the buffer full, from some moment on.
    pub lost: u64,
    /// Tracepoints that the kernel lacks.
    pub absent: Vec<String>,
    /// Events that are in the buffer, by name, those besides that nothing is counted of.
    pub events: BTreeMap<String, u64>,
    /// When the last of them came, since the run began.
    pub last: Nanos,
}

/// The counts of a traced run.
///
/// # Errors
/// The file has no trace, or a line of it is none, and which.
pub fn read(scenario: &Scenario, outcome: &Outcome) -> Result<(Traced, Kept), ParseError> {
    let none = |what| ParseError::new(TRACE, 1, "nothing", what);
    let frame = outcome.capture.frames.last();
    let file = |path: &str| frame.and_then(|frame| frame.file(path));
    let text = file(TRACE).ok_or_else(|| none("the trace of a run"))?;
    let ready = file(BOOT).and_then(|note| moment(note, "ready"));
    let ready = ready.ok_or_else(|| none("when the run was ready, in plimsoll/boot"))?;
    let mut kept = noted(file(TRACED).unwrap_or_default());
    let mut reader = Reader {
        begins: scenario.begins(ready),
        ..Reader::default()
    };
    for line in lines(TRACE, text) {
        if let Some(event) = any(&line)? {
            let number = kept.events.entry(event.event.to_owned()).or_default();
            *number += 1;
            kept.last = event.at.saturating_sub(reader.begins);
            reader.count(&line, &event)?;
        }
    }
    Ok((reader.traced, kept))
}

/// What the guest says of the buffer.
fn noted(note: &str) -> Kept {
    let mut kept = Kept::default();
    for line in note.lines() {
        match line.split_once(' ') {
            Some(("lost", number)) => kept.lost = number.parse().unwrap_or(0),
            Some(("absent", event)) => kept.absent.push(event.to_owned()),
            _ => {}
        }
    }
    kept
}

#[derive(Debug, Default)]
struct Reader {
    /// When the run began, by the trace's clock.
    begins: Nanos,
    traced: Traced,
    /// Since when each thread reclaims.
    reclaims: BTreeMap<u64, Nanos>,
}

impl Reader {
    /// Counts an event of the run; what came before it is not counted.
    fn count(&mut self, line: &Line<'_>, event: &Any<'_>) -> Result<(), ParseError> {
        let Some(at) = event.at.0.checked_sub(self.begins.0).map(Nanos) else {
            return Ok(());
        };
        let task = self.traced.task(name(event));
        let mut add = |figure, amount| self.traced.add(at, task, figure, amount);
        match event.event {
            "mm_vmscan_direct_reclaim_begin" => {
                add(Figure::DirectReclaims, 1);
                self.reclaims.insert(event.pid, at);
            }
            "mm_vmscan_memcg_reclaim_begin" => drop(self.reclaims.insert(event.pid, at)),
            "mm_vmscan_direct_reclaim_end" | "mm_vmscan_memcg_reclaim_end" => {
                let since = self.reclaims.remove(&event.pid).unwrap_or(at);
                add(Figure::ReclaimTime, at.saturating_sub(since).0);
                if event.event == "mm_vmscan_direct_reclaim_end" {
                    let got = field(line, event.fields, "nr_reclaimed")?;
                    add(Figure::ReclaimedDirectly, got);
                }
            }
            "mm_vmscan_kswapd_wake" => add(Figure::KswapdRuns, 1),
            "mm_vmscan_lru_shrink_inactive" => {
                add(Figure::Scanned, field(line, event.fields, "nr_scanned")?);
            }
            "mm_vmscan_writepage" | "mm_vmscan_write_folio" => add(Figure::SwappedOut, 1),
            "mm_vmscan_throttled" => {
                add(Figure::ReclaimWaits, 1);
                add(Figure::ReclaimWaitTime, delayed(line, event)?);
            }
            "balance_dirty_pages" => {
                let pause: i64 = field(line, event.fields, "pause")?;
                let pause = u64::try_from(pause).unwrap_or(0);
                add(Figure::Pauses, pause.min(1));
                add(Figure::PauseTime, pause.saturating_mul(Nanos::MILLI.0));
            }
            "block_bio_queue" => {
                if let Some((figure, pages)) = bio(line, event)? {
                    add(figure, pages);
                }
            }
            "mark_victim" => add(Figure::OomKills, 1),
            _ => {}
        }
        Ok(())
    }
}

/// What a task is called in the counts: the kernel has many threads of some kinds.
fn name<'a>(event: &Any<'a>) -> &'a str {
    let kind = event.task.split('/').next().unwrap_or_default();
    match kind {
        "kworker" | "jbd2" => kind,
        _ if event.pid == 1 => "plimsoll",
        _ => event.task,
    }
}

/// How long reclaim was held up; the kernel's own word for it has a slip.
fn delayed(line: &Line<'_>, event: &Any<'_>) -> Result<u64, ParseError> {
    let name = match word(event.fields, "usec_delayed") {
        "" => "usect_delayed",
        _ => "usec_delayed",
    };
    let micros: u64 = field(line, event.fields, name)?;
    Ok(micros.saturating_mul(1000))
}

/// What a bio moves, as in `259,0 WS 1234 + 8 [task]`; flushes and discards move nothing.
fn bio(line: &Line<'_>, event: &Any<'_>) -> Result<Option<(Figure, u64)>, ParseError> {
    let mut words = event.fields.split_ascii_whitespace();
    let does = words.nth(1).unwrap_or_default();
    let sectors: u64 = line.number_in("sectors", words.nth(2).unwrap_or_default())?;
    let figure = match does {
        _ if does.contains('D') => return Ok(None),
        _ if does.contains('R') => Figure::Read,
        _ if does.contains('W') => Figure::Written,
        _ => return Ok(None),
    };
    Ok(Some((figure, sectors.div_ceil(SECTORS_PER_PAGE))))
}

#[cfg(test)]
mod tests;
