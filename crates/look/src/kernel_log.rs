//! A kernel log's report: why the kernel killed or refused, by the report's own numbers.

mod diagnosis;
mod dump;
mod elsewhere;
mod events;
mod finding;
mod limit;
mod refused;
mod settings;
mod words;

use mm::capture::Capture;
use mm::kernel_log::{Cause, Group, Holders, Killed, PATH, Process, Report, ZoneCheck};
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use super::findings::Said;
use super::load_line::Mark;
use super::page::Page;
use super::share::bar;

pub(crate) use self::events::{Event, events, findings, shown, write as write_events};
use self::finding::Context;

/// Characters that are shown of a process's name; the kernel's own have at most 15.
const NAME: usize = 24;

/// Processes that are shown.
const SHOWN: usize = 10;

/// One report.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct KernelLog {
    event: &'static str,
    #[serde(skip)]
    finding: Option<(&'static str, Said)>,
    whose: &'static str,
    refusals: Vec<&'static str>,
    diagnosis: Vec<String>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Request>,
    zones: Vec<ZoneAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Limits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_bytes: Option<u64>,
    holders: Vec<Holder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_total_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_free_bytes: Option<u64>,
    /// Whether the report tells the size of a page; else 4 KiB are assumed.
    page_told: bool,
    process_count: u64,
    processes_resident_bytes: u64,
    processes: Vec<ProcessRow>,
    killed: Vec<Victim>,
    would_help: Vec<String>,
    would_not_help: Vec<String>,
}

/// What was asked for.
#[derive(Debug, JsonSchema, Serialize)]
struct Request {
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gfp_mask: Option<u64>,
    gfp_names: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gfp_table: Option<&'static str>,
    /// Whether the table is a guess by the number: no release is told.
    gfp_table_guessed: bool,
    highest_zone: &'static str,
    may_wait: bool,
    movable: bool,
}

/// A zone against the request.
#[derive(Debug, JsonSchema, Serialize)]
struct ZoneAnswer {
    node: u32,
    name: &'static str,
    answer: &'static str,
    free_bytes: u64,
    cma_bytes: u64,
    highatomic_bytes: u64,
    usable_bytes: u64,
    boost_bytes: u64,
    min_bytes: u64,
    low_bytes: u64,
    high_bytes: u64,
    reserve_bytes: u64,
    needed_bytes: u64,
    #[serde(skip)]
    check: ZoneCheck,
}

/// The control group's counters.
#[derive(Debug, JsonSchema, Serialize)]
struct Limits {
    name: String,
    task_group: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failures: Option<u64>,
}

/// A part of memory.
#[derive(Debug, JsonSchema, Serialize)]
struct Holder {
    name: &'static str,
    bytes: u64,
}

/// A process.
#[derive(Debug, JsonSchema, Serialize)]
struct ProcessRow {
    pid: u64,
    name: String,
    uid: u64,
    resident_bytes: u64,
    swap_bytes: u64,
    adjustment: i64,
    killed: bool,
}

/// A process that was killed.
#[derive(Debug, JsonSchema, Serialize)]
struct Victim {
    pid: u64,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resident_bytes: Option<u64>,
}

impl KernelLog {
    /// The report of a snapshot, in the log of a capture.
    pub(crate) fn of(snapshot: &Snapshot, capture: &Capture) -> Option<Self> {
        let report = snapshot.report.as_ref()?;
        Some(Self::read(report, &events::context(capture)))
    }

    fn read(report: &Report, context: &Context) -> Self {
        let cause = Cause::of(report);
        let holders = Holders::of(report);
        let settings = settings::settings(report, &cause, &holders, context);
        let rows = report.processes.largest.iter().take(SHOWN);
        let group = Some(&report.group).filter(|group| group.is_told());
        Self {
            event: words::event(report.event),
            finding: Some(finding::finding(
                report, &cause, &holders, &settings, context,
            )),
            whose: words::whose(cause.whose),
            refusals: cause.refusals.iter().copied().map(words::refusal).collect(),
            diagnosis: diagnosis::sentences(report, &cause, &holders, &settings, context),
            message: report.head.clone(),
            request: Request::of(report),
            zones: cause.zones.iter().map(ZoneAnswer::of).collect(),
            group: group.map(Limits::of),
            total_bytes: holders.total.map(|total| total.0),
            holders: parts(&holders),
            swap_total_bytes: report.swap.map(|swap| swap.bytes().0),
            swap_free_bytes: report.swap_free.map(|free| free.bytes().0),
            page_told: report.page_told,
            process_count: report.processes.count,
            processes_resident_bytes: report.processes.rss.bytes(report.page).0,
            processes: rows
                .map(|process| ProcessRow::of(report, process))
                .collect(),
            killed: report.killed.iter().map(Victim::of).collect(),
            would_help: settings.would,
            would_not_help: settings.would_not,
        }
    }

    /// The event as a finding.
    pub(crate) fn finding(&self) -> Option<(&'static str, Said)> {
        self.finding.clone()
    }

    /// Writes the answer, for a page without the diagnosis.
    pub(crate) fn write_answer(&self, page: &mut Page) {
        page.line("");
        for sentence in &self.diagnosis {
            page.paragraph(2, sentence);
        }
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        self.write_request(page);
        self.write_zones(page);
        self.write_holders(page);
        self.write_processes(page);
        self.write_settings(page);
    }

    fn write_request(&self, page: &mut Page) {
        if self.message.is_empty() {
            return;
        }
        page.heading("The message");
        page.paragraph(2, &self.message);
        let Some(request) = &self.request else { return };
        let wait = match request.may_wait {
            true => "may reclaim and wait",
            false => "may not wait",
        };
        let movable = match request.movable {
            true => "movable",
            false => "not movable",
        };
        let zones = match request.highest_zone {
            "DMA" => "DMA alone".to_owned(),
            zone => format!("{zone} and below"),
        };
        let about = format!("{wait}, is {movable}, and is served by {zones}");
        page.paragraph(2, &format!("The request {about}."));
        if let Some(releases) = request.gfp_table {
            let guess = match request.gfp_table_guessed {
                true => ", a guess by its bits: the log does not tell its release (--kernel does)",
                false => "",
            };
            let text = format!(
                "The log has the flags as a number only; it was read by the table of Linux \
                 {releases}{guess}."
            );
            page.paragraph(2, &text);
        }
    }

    fn write_zones(&self, page: &mut Page) {
        if self.zones.is_empty() {
            return;
        }
        page.heading("Each zone against the request, when the report was printed");
        for zone in self.zones.iter().rev() {
            zone.write(page);
        }
    }

    fn write_holders(&self, page: &mut Page) {
        let Some(total) = self.total_bytes.filter(|_| self.holders.len() > 1) else {
            return;
        };
        page.heading("Who held the memory");
        page.amount("total", total, "");
        for part in self.holders.iter().filter(|part| part.bytes > 0) {
            let about = bar(page, part.bytes, total, words::about_part(part.name));
            page.amount(words::part(part.name), part.bytes, &about);
        }
        if let Some((swap, free)) = self.swap_total_bytes.zip(self.swap_free_bytes) {
            page.amount("swap", swap, &format!("{} free", Bytes(free)));
        }
    }

    fn write_processes(&self, page: &mut Page) {
        if self.processes.is_empty() {
            return;
        }
        page.heading("The largest processes");
        page.line(format!(
            "  {:>8} {:>11} {:>11} {:>6}  name",
            "pid", "resident", "swap", "adj"
        ));
        for row in &self.processes {
            let killed = if row.killed { "  killed" } else { "" };
            page.line(format!(
                "  {:>8} {:>11} {:>11} {:>6}  {}{killed}",
                row.pid,
                Bytes(row.resident_bytes).to_string(),
                Bytes(row.swap_bytes).to_string(),
                row.adjustment,
                row.name.chars().take(NAME).collect::<String>(),
            ));
        }
        if self.process_count > 1 {
            let text = format!(
                "{} resident in all {} processes; pages that several share count in each.",
                Bytes(self.processes_resident_bytes),
                self.process_count,
            );
            page.paragraph(2, &text);
        }
        if !self.page_told {
            page.paragraph(
                2,
                "The report does not tell the size of a page: 4 KiB are assumed.",
            );
        }
    }

    fn write_settings(&self, page: &mut Page) {
        for (title, lines) in [
            ("What would have let it pass", &self.would_help),
            ("What would not", &self.would_not_help),
        ] {
            if !lines.is_empty() {
                page.heading(title);
                lines.iter().for_each(|line| page.paragraph(2, line));
            }
        }
    }
}

/// Whether a frame holds a report and nothing else that is shown.
pub(crate) fn is_alone(frame: &mm::capture::Frame) -> bool {
    let has = |path: &str| frame.file(path).is_some();
    has(PATH) && !has("proc/meminfo") && !has("proc/zoneinfo") && !has("proc/vmstat")
}

/// Whether an event opens beside a frame: what the frame shows is no more than `free` printed.
pub(crate) fn opens_beside(frame: &mm::capture::Frame) -> bool {
    let has = |path: &str| frame.file(path).is_some();
    let by_free = has("plimsoll/tools/free") || !has("proc/meminfo");
    by_free && !has("proc/zoneinfo") && !has("proc/vmstat")
}

fn parts(holders: &Holders) -> Vec<Holder> {
    let part = |(name, bytes): (&'static str, Bytes)| Holder {
        name,
        bytes: bytes.0,
    };
    let known = holders.parts.iter().map(|part| (part.name, part.bytes));
    let other = holders.other.map(|bytes| ("other", bytes));
    let mut parts: Vec<Holder> = known.chain(other).map(part).collect();
    parts.sort_by_key(|part| core::cmp::Reverse(part.bytes));
    parts
}

impl Request {
    fn of(report: &Report) -> Option<Self> {
        let gfp = report.gfp.as_ref()?;
        Some(Self {
            order: report.order,
            gfp_mask: gfp.mask,
            gfp_names: gfp.names.clone(),
            gfp_table_guessed: gfp.guessed,
            gfp_table: gfp.table.map(mm::kernel_log::Table::releases),
            highest_zone: gfp.highest_zone().name(),
            may_wait: gfp.direct_reclaim,
            movable: gfp.movable,
        })
    }
}

impl ZoneAnswer {
    fn of(check: &ZoneCheck) -> Self {
        let bytes = |kib: Kib| kib.bytes().0;
        Self {
            node: check.node,
            name: check.kind.name(),
            answer: words::answer(check.answer),
            free_bytes: bytes(check.free),
            cma_bytes: bytes(check.cma),
            highatomic_bytes: bytes(check.highatomic),
            usable_bytes: bytes(check.usable),
            boost_bytes: bytes(check.boost),
            min_bytes: bytes(check.min),
            low_bytes: bytes(check.low),
            high_bytes: bytes(check.high),
            reserve_bytes: bytes(check.reserve),
            needed_bytes: bytes(check.needed()),
            check: *check,
        }
    }

    fn write(&self, page: &mut Page) {
        let check = &self.check;
        page.line("");
        let head = format!(
            "{} (node {}): {} kB free, {} kB count against {} kB: {}",
            self.name,
            self.node,
            check.free.0,
            check.usable.0,
            check.needed().0,
            words::about_answer(check.answer),
        );
        page.paragraph(2, &head);
        let marks = [("min", check.min), ("low", check.low), ("high", check.high)];
        let marks = marks.map(|(name, at)| Mark {
            name,
            at: at.0,
            amount: format!("{} kB", at.0),
        });
        page.load_line(&marks, check.usable.0);
        let extras = words::zone_extras(check);
        if !extras.is_empty() {
            page.paragraph(2, &extras);
        }
    }
}

impl Limits {
    fn of(group: &Group) -> Self {
        let memory = group.memory;
        Self {
            name: group.name.clone(),
            task_group: group.task_group.clone(),
            usage_bytes: memory.map(|memory| memory.usage.bytes().0),
            limit_bytes: memory.and_then(|memory| Some(memory.limit?.bytes().0)),
            failures: memory.map(|memory| memory.failures),
        }
    }
}

impl ProcessRow {
    fn of(report: &Report, process: &Process) -> Self {
        let bytes = |pages: Pages| pages.bytes(report.page).0;
        Self {
            pid: process.pid,
            name: process.name.clone(),
            uid: process.uid,
            resident_bytes: bytes(process.rss),
            swap_bytes: bytes(process.swap),
            adjustment: process.adjustment,
            killed: report.killed.iter().any(|killed| killed.pid == process.pid),
        }
    }
}

impl Victim {
    fn of(killed: &Killed) -> Self {
        Self {
            pid: killed.pid,
            name: killed.name.clone(),
            resident_bytes: killed.resident().map(|kib| kib.bytes().0),
        }
    }
}

#[cfg(test)]
mod tests;
