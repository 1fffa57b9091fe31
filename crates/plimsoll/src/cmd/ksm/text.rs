//! The estimate as text, what decides first.

use look::share::percent;
use mm::formula::ksm::RMAP_ITEM;
use mm::units::{Bytes, Nanos};

use super::figures::{Figures, Range, Saving, Share, Unread};
use super::pace::Kind;
use crate::table::Table;
use crate::term::Canvas;
use look::page::Page;
use look::share::bar;

/// Processes that are listed; the JSON has all.
const LISTED: usize = 10;

/// The whole page.
pub(super) fn page(figures: &Figures, canvas: Canvas) -> String {
    let mut page = Page::new(canvas);
    match &figures.estimate {
        Some(saving) => write_saving(&mut page, figures, saving),
        None => page.title("Merging equal pages (KSM): nothing could be read"),
    }
    if let Some(unread) = &figures.unread {
        write_unread(&mut page, unread);
    }
    page.heading("To know before");
    for note in &figures.notes {
        page.paragraph(2, note);
    }
    write_took(&mut page, figures);
    page.into_text()
}

fn write_saving(page: &mut Page, figures: &Figures, saving: &Saving) {
    let bytes = |pages: u64| pages.saturating_mul(figures.page_bytes);
    let candidates = bytes(saving.candidate_pages);
    page.title(&answer(saving, candidates));
    page.line("");
    page.amount("anonymous memory", candidates, &read(figures, saving));
    page.amount(
        "becomes free",
        saving.freed_bytes.middle,
        &format!(
            "{} of it; {}",
            percent(saving.freed_bytes.middle, candidates),
            interval(saving)
        ),
    );
    let items = format!("ksmd's notes, {} bytes for each page", RMAP_ITEM.0);
    page.amount("less metadata", saving.metadata_bytes, &items);
    page.row(
        "profit",
        Bytes::signed(saving.profit_bytes),
        "what KSM's general_profit is about",
    );
    if figures.already_merged_bytes > 0 {
        page.amount(
            "merged already",
            figures.already_merged_bytes,
            "not counted above",
        );
    }
    write_origin(page, figures, saving);
    write_processes(page, saving);
    write_ksmd(page, saving);
}

/// The answer in one sentence, with the figure and the interval of the table below it.
fn answer(saving: &Saving, candidates: u64) -> String {
    let freed = saving.freed_bytes.middle;
    let cost = match saving.profit_bytes {
        1.. => String::new(),
        _ => format!(", less than its metadata: {}", Bytes(saving.metadata_bytes)),
    };
    format!(
        "Merging equal pages (KSM) would free {} of {}, {}; {}{cost}",
        Bytes(freed),
        Bytes(candidates),
        percent(freed, candidates),
        interval(saving),
    )
}

fn read(figures: &Figures, saving: &Saving) -> String {
    let whose = match figures.processes {
        1 => "in memory, of one process".to_owned(),
        count => format!("in memory, of {count} processes"),
    };
    let kept = match saving.one_in {
        1 => String::new(),
        one_in => format!("; one content in {one_in} was kept"),
    };
    match saving.read_pages >= saving.candidate_pages {
        true => format!("{whose}, all of it read{kept}"),
        false => {
            let part = percent(saving.read_pages, saving.candidate_pages);
            format!("{whose}, {part} of it read{kept}")
        }
    }
}

fn interval(saving: &Saving) -> String {
    let Range { low, high, .. } = saving.freed_bytes;
    match low == high {
        true => "every page was compared".to_owned(),
        false => format!("95 % interval {} to {}", Bytes(low), Bytes(high)),
    }
}

/// Where the saving comes from, and what does not merge.
fn write_origin(page: &mut Page, figures: &Figures, saving: &Saving) {
    page.heading("Where it comes from");
    let parts = [
        ("pages of zeros", saving.of_zeros_bytes),
        ("twins in one process", saving.within_processes_bytes),
        ("twins across processes", saving.across_processes_bytes),
    ];
    let whole = parts.iter().map(|(_, bytes)| bytes).sum();
    for (name, bytes) in parts {
        let bar = bar(page, bytes, whole, "");
        page.amount(name, bytes, bar.trim_end());
    }
    let volatile = saving.pages_volatile.saturating_mul(figures.page_bytes);
    let again = format!(
        "held something else {} s later; ksmd leaves such pages alone",
        figures.between_seconds
    );
    page.amount("changes too fast", volatile, &again);
}

fn write_processes(page: &mut Page, saving: &Saving) {
    page.heading("By process");
    let mut table = Table::new(
        [
            "PID",
            "name",
            "anonymous",
            "becomes free",
            "",
            "asks for merging",
        ]
        .map(Into::into)
        .to_vec(),
    );
    for share in saving.by_process.iter().take(LISTED) {
        let freed = share.freed_bytes;
        let bytes = freed.map_or_else(
            || "not reached".to_owned(),
            |freed| Bytes(freed).to_string(),
        );
        let part = freed.map(|freed| percent(freed, share.anonymous_bytes));
        table.row(vec![
            share.pid.into(),
            share.name.as_str().into(),
            Bytes(share.anonymous_bytes).into(),
            bytes.into(),
            part.unwrap_or_default().into(),
            asks(share).into(),
        ]);
    }
    for line in table.to_string().lines() {
        page.line(format!("  {line}"));
    }
    if saving.by_process.len() > LISTED {
        page.line(format!(
            "  and {} more; --json lists all",
            saving.by_process.len() - LISTED
        ));
    }
    page.paragraph(2, &who_asks(saving));
}

fn asks(share: &Share) -> &'static str {
    match share.asks {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not said",
    }
}

fn who_asks(saving: &Saving) -> String {
    const HOW: &str = "A process asks by madvise(MADV_MERGEABLE), as QEMU does unless mem-merge is \
                       off, or is asked for by prctl(PR_SET_MEMORY_MERGE), which systemd's \
                       MemoryKSM=yes does and children inherit (Linux 6.4).";
    match saving.asked_for_bytes {
        Some(bytes) => format!(
            "ksmd takes only what asks to be merged: today processes that give {} of it. {HOW}",
            Bytes(bytes)
        ),
        None => format!("ksmd takes only what asks to be merged. {HOW}"),
    }
}

fn write_ksmd(page: &mut Page, saving: &Saving) {
    page.heading("What ksmd would need");
    let mut table = Table::new(
        ["pages_to_scan", "of one CPU", "until all is merged"]
            .map(Into::into)
            .to_vec(),
    );
    for pace in &saving.ksmd {
        let name = match pace.kind {
            Kind::Set => format!("{}, as it is set", pace.pages_to_scan),
            Kind::Advisor => format!("{}, the advisor's", pace.pages_to_scan),
            Kind::Other => pace.pages_to_scan.to_string(),
        };
        let until = pace.seconds.map_or_else(|| "never".to_owned(), duration);
        let cpu = format!("{:.1} %", pace.cpu_share * 100.0);
        table.row(vec![name.into(), cpu.into(), until.into()]);
    }
    for line in table.to_string().lines() {
        page.line(format!("  {line}"));
    }
    page.paragraph(
        2,
        &format!(
            "It takes this for as long as it runs. Merging takes two scans: a page's first visit \
             takes {}, one that searches for its twin {}, by what the same takes in this process \
             on this machine. The kernel will count pages_sharing {} and pages_shared {}.",
            Nanos(saving.visits.first_nanos),
            Nanos(saving.visits.search_nanos),
            saving.pages_sharing.middle,
            saving.pages_shared
        ),
    );
}

fn write_unread(page: &mut Page, unread: &Unread) {
    page.heading("Not readable here");
    let processes = match unread.processes {
        1 => "one process".to_owned(),
        count => format!("{count} processes"),
    };
    let about = format!("in {processes} ({}); {}", unread.reason, unread.way_out);
    page.row("becomes free, at most", Bytes(unread.at_most_bytes), &about);
}

fn write_took(page: &mut Page, figures: &Figures) {
    let took = &figures.took;
    let memory = took
        .peak_bytes
        .map(|bytes| format!(", {} of memory", Bytes(bytes)));
    page.line("");
    page.paragraph(
        0,
        &format!(
            "This estimate took {:.1} s of CPU time{} and {:.1} s. It changed nothing, but \
             the pages that it read count as accessed now.",
            took.cpu_seconds,
            memory.unwrap_or_default(),
            took.seconds
        ),
    );
}

fn duration(seconds: f64) -> String {
    match seconds {
        ..100.0 => format!("{seconds:.0} s"),
        ..6000.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}
