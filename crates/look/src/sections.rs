//! The sections of the page, in their order, and which of them are shown.

use crate::page::{Canvas, Page};
use crate::view::View;
use crate::{
    check, configured, contradictions, kernel_log, lru_gen, pressure, sources, tools, unreadable,
    zones,
};

/// One part of the page, as `--section` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What is wrong, worst first.
    Diagnosis,
    /// OOM kills and failed allocations.
    KernelLog,
    /// What happened over time.
    Timeline,
    /// What top, ps and slabtop list.
    Tools,
    /// What files of configuration and commands set.
    Configuration,
    /// What the memory is used for.
    Memory,
    /// Whose pages the page cache holds.
    Files,
    /// Free pages of each zone against its watermarks.
    Zones,
    /// How MemAvailable comes about.
    Available,
    /// What may be dirty, and what is.
    Dirty,
    /// The page lists and what the next pass scans.
    Lists,
    /// What reclaim did.
    Reclaim,
    /// Evicted pages that were needed again.
    Refaults,
    /// Time in which tasks waited.
    Pressure,
    /// Swap areas and what swappiness does here.
    Swap,
    /// Transparent and reserved huge pages.
    HugePages,
    /// The multi-generation LRU.
    Lru,
    /// Samepage merging.
    Ksm,
    /// Control groups that bind memory.
    ControlGroups,
    /// Our numbers against the kernel's.
    Check,
    /// What could not be read.
    Unreadable,
}

/// Writes a section of a view.
type Writer = fn(&View, &mut Page);

/// Every section, what it is called and shows, and its writer, in the order of the page.
const SECTIONS: &[(Section, &str, &str, Writer)] = &[
    (
        Section::Diagnosis,
        "diagnosis",
        "What is wrong, worst first",
        |view, page| view.findings.write(page),
    ),
    (
        Section::KernelLog,
        "kernel-log",
        "OOM kills and failed allocations",
        |view, page| {
            each(&view.kernel_log, |it| it.write(page));
            kernel_log::write_events(&view.kernel_log_events, page);
        },
    ),
    (
        Section::Timeline,
        "timeline",
        "What happened over time",
        |view, page| {
            each(&view.timeline, |it| it.write(page));
        },
    ),
    (
        Section::Tools,
        "tools",
        "What top, ps and slabtop list",
        |view, page| tools::write(&view.tools, page),
    ),
    (
        Section::Configuration,
        "configuration",
        "What files of configuration and commands set",
        |view, page| configured::write(&view.configured, page),
    ),
    (
        Section::Memory,
        "memory",
        "What the memory is used for",
        |view, page| each(&view.memory, |it| it.write(page)),
    ),
    (
        Section::Files,
        "files",
        "Whose pages the page cache holds; of this machine, if asked for",
        |view, page| each(&view.files, |it| it.write(page)),
    ),
    (
        Section::Zones,
        "zones",
        "Free pages of each zone against its watermarks",
        |view, page| zones::write(&view.zones, &view.watermark_rule, page),
    ),
    (
        Section::Available,
        "available",
        "How MemAvailable comes about",
        |view, page| each(&view.available, |it| it.write(page)),
    ),
    (
        Section::Dirty,
        "dirty",
        "What may be dirty, and what is",
        |view, page| each(&view.dirty, |it| it.write(page)),
    ),
    (
        Section::Lists,
        "lists",
        "The page lists and what the next pass scans",
        |view, page| each(&view.lists, |it| it.write(page)),
    ),
    (
        Section::Reclaim,
        "reclaim",
        "What reclaim did",
        |view, page| each(&view.reclaim, |it| it.write(page)),
    ),
    (
        Section::Refaults,
        "refaults",
        "Evicted pages that were needed again",
        |view, page| each(&view.refaults, |it| it.write(page)),
    ),
    (
        Section::Pressure,
        "pressure",
        "Time in which tasks waited",
        |view, page| pressure::write(&view.pressure, page),
    ),
    (
        Section::Swap,
        "swap",
        "Swap areas and what swappiness does here",
        |view, page| each(&view.swap, |it| it.write(page)),
    ),
    (
        Section::HugePages,
        "huge-pages",
        "Transparent and reserved huge pages",
        |view, page| each(&view.huge_pages, |it| it.write(page)),
    ),
    (
        Section::Lru,
        "lru",
        "The multi-generation LRU",
        |view, page| lru_gen::write(view.lru_gen.as_ref(), view.no_lru_gen, page),
    ),
    (Section::Ksm, "ksm", "Samepage merging", |view, page| {
        each(&view.ksm, |it| it.write(page))
    }),
    (
        Section::ControlGroups,
        "control-groups",
        "Control groups that bind memory",
        |view, page| view.control_groups.write(page),
    ),
    (
        Section::Check,
        "check",
        "Our numbers against the kernel's",
        |view, page| check::write(&view.checks, page),
    ),
    (
        Section::Unreadable,
        "unreadable",
        "What could not be read",
        |view, page| unreadable::write(&view.unreadable, page),
    ),
];

fn each<T>(section: &Option<T>, write: impl FnOnce(&T)) {
    if let Some(section) = section {
        write(section);
    }
}

/// The sections in the order of the page, each with its name and what it shows.
pub fn all() -> impl Iterator<Item = (Section, &'static str, &'static str)> {
    let sections = SECTIONS.iter();
    sections.map(|&(section, name, shows, _)| (section, name, shows))
}

/// How much of a view is shown.
#[derive(Clone, Debug)]
pub enum Extent {
    /// One screen: what happened, and what to do about it.
    Screen,
    /// Every section.
    All,
    /// These sections.
    Some(Vec<Section>),
}

/// Lines of a screen, the prompt's apart.
const SCREEN: usize = 23;

impl View {
    /// The page of text.
    pub fn text(&self, canvas: Canvas, extent: &Extent) -> String {
        let mut page = Page::new(canvas);
        sources::write(&self.evidence, &mut page);
        self.machine.write(&mut page);
        contradictions::write(&self.contradictions, &mut page);
        match extent {
            Extent::Screen => self.write_screen(&mut page),
            Extent::All => self.write_sections(&mut page, self.alone()),
            Extent::Some(shown) => self.write_sections(&mut page, shown),
        }
        page.into_text()
    }

    fn write_sections(&self, page: &mut Page, shown: &[Section]) {
        if shown.contains(&Section::KernelLog) && !shown.contains(&Section::Diagnosis) {
            each(&self.kernel_log, |it| it.write_answer(page));
        }
        for (section, _, _, write) in SECTIONS {
            if shown.is_empty() || shown.contains(section) {
                write(self, page);
            }
        }
    }

    /// Where there is a log or a tool's table and nothing else, what is known of it; nothing where
    /// every section has something to show.
    fn alone(&self) -> &'static [Section] {
        match (self.log_alone, self.tables_alone) {
            (true, _) => &[Section::Diagnosis, Section::KernelLog],
            (false, true) => &[
                Section::Diagnosis,
                Section::Timeline,
                Section::Tools,
                Section::Configuration,
                Section::Unreadable,
            ],
            _ => &[],
        }
    }

    /// The findings, then of the sections what fits, and how to see the rest.
    fn write_screen(&self, page: &mut Page) {
        self.findings.write_screen(page, SCREEN - 1);
        let mut left_out = false;
        for (section, _, _, write) in SECTIONS.iter().filter(|(it, ..)| *it != Section::Diagnosis) {
            let alone = self.alone();
            if !alone.is_empty() && !alone.contains(section) {
                continue;
            }
            let mut part = page.blank();
            write(self, &mut part);
            match page.lines() + part.lines() < SCREEN {
                true => page.append(part),
                false => left_out = true,
            }
        }
        if left_out {
            page.line("  All of it: --all; a part: --section NAME.");
        }
    }
}
