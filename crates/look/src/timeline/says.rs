//! What a series says, worst first, each sentence with its numbers and its rule.

use evidence::series::{BOTH_WAYS, Item, POOR, Series, Source, Summary, Swapping};
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::findings::Severity;
use super::{amount, at, worst};

/// A sentence, and the rule by which it is said.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Said {
    pub(super) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<String>,
    /// The finding that it is, and how much that matters; `None` where nothing is wrong by it.
    #[serde(skip)]
    pub(super) finding: Option<(&'static str, Severity)>,
}

impl Said {
    fn fact(what: String) -> Self {
        Self {
            what,
            rule: None,
            finding: None,
        }
    }

    /// Sentence and rule as one paragraph.
    pub(super) fn line(&self) -> String {
        let rule = self.rule.iter().map(|rule| format!(" ({rule})"));
        format!("{}{}", self.what, rule.collect::<String>())
    }
}

/// All of it. A value that the series lacks leads to no sentence.
pub(super) fn all(series: &Series) -> Vec<Said> {
    let parts = [
        swapping(series),
        reclaim(series),
        pressure(series),
        major_faults(series),
        blocked(series),
        io_wait(series),
        memory(series),
        short(series),
        swap_used(series),
    ];
    parts.into_iter().flatten().collect()
}

/// " at 16:44:15" where the row has a time, else " in row 3".
fn when(series: &Series, row: usize) -> String {
    match at(series, row) {
        Some(time) => format!(" at {time}"),
        None => format!(" in row {}", row + 1),
    }
}

/// The largest value and its moment.
fn peak(series: &Series, item: Item, summary: &Summary) -> String {
    let most = amount(item, summary.max);
    format!("{most}{}", when(series, summary.max_row))
}

fn swapping(series: &Series) -> Option<Said> {
    let kind = series.swapping()?;
    let (read, written) = (
        series.summary(Item::SwapIn)?,
        series.summary(Item::SwapOut)?,
    );
    let [most_read, most_written] = [(Item::SwapIn, &read), (Item::SwapOut, &written)]
        .map(|(item, summary)| peak(series, item, summary));
    let rows = read.count;
    let rule = format!(
        "thrashing: at least {}/s both ways in {} rows together",
        Bytes((BOTH_WAYS * 1024.0) as u64),
        series.enough_rows()
    );
    Some(match kind {
        Swapping::Thrashing => Said {
            what: thrashing(series),
            rule: Some(rule),
            finding: Some(("thrashing-anonymous-pages", Severity::Critical)),
        },
        Swapping::Both => Said {
            what: format!(
                "Swap moves both ways, too little or for too short a time to be called thrashing: \
                 out up to {most_written}, in up to {most_read}."
            ),
            rule: Some(rule),
            finding: Some(("thrashing-anonymous-pages", Severity::Warning)),
        },
        Swapping::Out => Said::fact(format!(
            "Swap is written and not read: up to {most_written}. What went out was not needed \
             again in these {rows} rows."
        )),
        Swapping::In => Said::fact(format!(
            "Swap is read and not written: up to {most_read}. What went out earlier comes back."
        )),
        Swapping::None => Said::fact(format!(
            "No swapping: nothing went in or out in {rows} rows."
        )),
    })
}

fn thrashing(series: &Series) -> String {
    let rows = series.thrashing();
    let mean = |item| {
        let values = rows.clone().filter_map(|row| series.value(item, row));
        amount(item, values.sum::<f64>() / rows.len().max(1) as f64)
    };
    let (read, written) = (mean(Item::SwapIn), mean(Item::SwapOut));
    let span = match (at(series, rows.start), at(series, rows.end - 1)) {
        (Some(from), Some(to)) => format!(", {from} to {to}"),
        _ => String::new(),
    };
    format!(
        "Thrashing: swap moves in and out at once in {} rows together{span}, on average {read} in \
         and {written} out. Memory in use does not fit.",
        rows.len()
    )
}

fn reclaim(series: &Series) -> Option<Said> {
    let reclaim = series.reclaim()?;
    let all = series.intervals();
    if reclaim.rows == 0 {
        return Some(Said::fact(format!(
            "No reclaim: nothing was scanned in {all} rows."
        )));
    }
    let who = match reclaim.direct_rows {
        0 => "kswapd alone reclaimed".to_owned(),
        rows => {
            let share = reclaim.direct / (reclaim.direct + reclaim.kswapd) * 100.0;
            format!(
                "Tasks had to reclaim for themselves in {rows} of {all} rows: {share:.0} % of the \
                 scanning was direct"
            )
        }
    };
    let worst = when(series, reclaim.worst_row);
    let finding = direct(reclaim.direct, reclaim.kswapd);
    let Some(share) = reclaim.efficiency() else {
        let what = format!("{who}. The most was scanned{worst}.");
        return Some(Said {
            finding,
            ..Said::fact(what)
        });
    };
    let percent = share * 100.0;
    let poor = match share < POOR {
        true => ": most of it was in use, dirty or locked",
        false => "",
    };
    Some(Said {
        what: format!(
            "{who}. Of what was scanned {percent:.0} % was freed{poor}. The most was \
             scanned{worst}."
        ),
        rule: Some(format!(
            "poor below {:.0} %{}",
            POOR * 100.0,
            doubled(series)
        )),
        finding,
    })
}

/// Direct reclaim costs the tasks that allocate; a few pages in a burst are no story.
fn direct(direct: f64, kswapd: f64) -> Option<(&'static str, Severity)> {
    const WORTH: f64 = 0.05;
    let share = direct / (direct + kswapd);
    (share >= WORTH).then_some(("direct-reclaim", Severity::Warning))
}

/// What may be wrong with the efficiency of a sar that does not show whether it counts twice.
fn doubled(series: &Series) -> &'static str {
    match series.source {
        Source::Sar | Source::Sadf if !series.is_halved => {
            "; half of it if this sysstat is older than May 2026 and the kernel 5.8 or newer, \
             which together count what is freed twice"
        }
        _ => "",
    }
}

fn pressure(series: &Series) -> Option<Said> {
    let some = series
        .summary(Item::MemorySome)
        .filter(|some| some.max >= 1.0)?;
    let full = series.summary(Item::MemoryFull);
    let full = full.map(|full| format!(", all tasks up to {:.1} %", full.max));
    let severity = match some.max >= 10.0 {
        true => Severity::Warning,
        false => Severity::Note,
    };
    let what = format!(
        "Some task waited for memory up to {}{}.",
        peak(series, Item::MemorySome, &some),
        full.as_deref().unwrap_or("")
    );
    Some(Said {
        finding: Some(("memory-pressure", severity)),
        ..Said::fact(what)
    })
}

fn major_faults(series: &Series) -> Option<Said> {
    let faults = series
        .summary(Item::MajorFaults)
        .filter(|faults| faults.max >= 1.0)?;
    let mean = amount(Item::MajorFaults, faults.mean);
    let most = peak(series, Item::MajorFaults, &faults);
    Some(Said::fact(format!(
        "Major faults, each a wait for a read: {mean} on average, up to {most}."
    )))
}

fn blocked(series: &Series) -> Option<Said> {
    let blocked = series
        .summary(Item::Blocked)
        .filter(|blocked| blocked.max > 0.0)?;
    let rows = series
        .values(Item::Blocked)
        .filter(|(_, tasks)| *tasks > 0.0)
        .count();
    Some(Said::fact(format!(
        "Tasks were blocked, mostly for a disk, in {rows} of {} rows: up to {}.",
        blocked.count,
        peak(series, Item::Blocked, &blocked)
    )))
}

fn io_wait(series: &Series) -> Option<Said> {
    const WORTH: f64 = 10.0;
    let wait = series
        .summary(Item::IoWait)
        .filter(|wait| wait.max >= WORTH)?;
    Some(Said::fact(format!(
        "CPUs were idle for a disk {:.0} % of the time, up to {}.",
        wait.mean,
        peak(series, Item::IoWait, &wait)
    )))
}

/// Which way memory went: MemAvailable where it is known, else free and the page cache.
fn memory(series: &Series) -> Option<Said> {
    let change = |item: Item| {
        let level = series.summary(item).filter(|level| level.count > 1)?;
        let [first, last] = [level.first, level.last].map(|value| amount(item, value));
        let (row, least) = worst(item, &level);
        let least = match level.min < level.first.min(level.last) {
            true => format!(" (least {}{})", amount(item, least), when(series, row)),
            false => String::new(),
        };
        Some(format!("{} {first} to {last}{least}", item.words()))
    };
    let items = match series.column(Item::Available) {
        Some(_) => [Item::Available, Item::Cached],
        None => [Item::Free, Item::Cached],
    };
    let changes: Vec<String> = items.into_iter().filter_map(change).collect();
    let shrinks = series
        .summary(Item::Cached)
        .is_some_and(|c| c.last < c.first * 0.9);
    let meaning = match shrinks {
        true => ": the page cache shrinks",
        false => "",
    };
    (!changes.is_empty()).then(|| {
        Said::fact(format!(
            "From first to last row: {}{meaning}.",
            changes.join(", ")
        ))
    })
}

/// Percent of memory below which what is free or page cache is little, and very little.
const LITTLE: [f64; 2] = [10.0, 5.0];

/// The row in which free pages and page cache were the least of what is free or on a list: with
/// reclaimable slab they are all that can be had without swapping.
fn short(series: &Series) -> Option<Said> {
    let sum = |items: &[Item], row| {
        items
            .iter()
            .try_fold(0.0, |sum, &item| Some(sum + series.value(item, row)?))
    };
    let row = |row| {
        let given = sum(&[Item::Free, Item::Buffers, Item::Cached], row)?;
        let all = sum(&[Item::Free, Item::Active, Item::Inactive], row)?;
        (all > 0.0).then(|| (100.0 * given / all, given, row))
    };
    let rows = (0..series.rows.len()).filter_map(row);
    let (share, given, row) = rows.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let severity = match LITTLE.map(|limit| share < limit) {
        [_, true] => Severity::Critical,
        [true, _] => Severity::Warning,
        _ => return None,
    };
    let given = amount(Item::Free, given);
    Some(Said {
        what: format!(
            "Free memory and page cache were {given}{}, {share:.0} % of what is free or on a list.",
            when(series, row)
        ),
        rule: Some(
            "with reclaimable slab they are all that can be had without swapping".to_owned(),
        ),
        finding: Some(("available-low", severity)),
    })
}

fn swap_used(series: &Series) -> Option<Said> {
    let used = series
        .summary(Item::SwapUsed)
        .filter(|used| used.count > 1)?;
    let [first, last] = [used.first, used.last].map(|value| amount(Item::SwapUsed, value));
    let what = match used.last.total_cmp(&used.first) {
        std::cmp::Ordering::Greater => format!("Swap used grows from {first} to {last}."),
        std::cmp::Ordering::Less => format!("Swap used falls from {first} to {last}."),
        std::cmp::Ordering::Equal if used.last > 0.0 => format!("Swap used stays at {last}."),
        std::cmp::Ordering::Equal => return None,
    };
    Some(Said::fact(what))
}
