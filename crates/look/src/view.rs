//! What `inspect` shows: plain data made from a capture, written as text or as JSON.
//!
//! One section a file. A section whose kernel files are missing is left out; the last section says
//! which could not be read. The JSON's shape is these structs; `version` counts its changes.

use evidence::series;
use mm::capture::{Capture, Frame};
use mm::notes::{GROUPS, UNREADABLE};
use mm::page_cache::PageCache;
use mm::snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use crate::available::Available;
use crate::check::Check;
use crate::configured::{Configured, configured};
use crate::contradictions::Contradiction;
use crate::control_groups::Groups;
use crate::dirty::Dirty;
use crate::files::Files;
use crate::findings::{Findings, Looked, capacity, programs};
use crate::huge_pages::HugePages;
use crate::interval::Interval;
use crate::kernel_log::KernelLog;
use crate::ksm::Merging;
use crate::lists::Lists;
use crate::lru_gen::{Absent, LruGen};
use crate::machine::Machine;
use crate::memory::Memory;
use crate::nodes::Node;
use crate::page::{Canvas, Page};
use crate::pressure::Pressure;
use crate::reclaim::Reclaim;
use crate::refaults::Refaults;
use crate::sources::Evidence;
use crate::swap::Swap;
use crate::timeline::Timeline;
use crate::tools::Listed;
use crate::unreadable::Unreadable;
use crate::watermark_rule::WatermarkRule;
use crate::zones::Zone;
use crate::{
    check, contradictions, kernel_log, nodes, pressure, sources, tools, unreadable, zone_checks,
    zones,
};

/// What is asked for is not in the capture.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotThere(String);

/// The state of a machine.
#[derive(Debug, JsonSchema, Serialize)]
pub struct View {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) machine: Machine,
    #[serde(flatten)]
    pub(crate) findings: Findings,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernel_log: Option<KernelLog>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) kernel_log_events: Vec<kernel_log::Event>,
    /// Whether the frame holds a report and nothing else.
    #[serde(skip)]
    pub(crate) log_alone: bool,
    pub(crate) contradictions: Vec<Contradiction>,
    pub(crate) memory: Option<Memory>,
    /// Of this machine, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Files>,
    pub(crate) zones: Vec<Zone>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) watermark_rule: WatermarkRule,
    pub(crate) available: Option<Available>,
    pub(crate) dirty: Option<Dirty>,
    pub(crate) lists: Option<Lists>,
    pub(crate) reclaim: Option<Reclaim>,
    pub(crate) refaults: Option<Refaults>,
    pub(crate) pressure: Vec<Pressure>,
    pub(crate) swap: Option<Swap>,
    pub(crate) huge_pages: Option<HugePages>,
    pub(crate) lru_gen: Option<LruGen>,
    #[serde(skip)]
    pub(crate) no_lru_gen: Absent,
    pub(crate) ksm: Option<Merging>,
    #[serde(flatten)]
    pub(crate) control_groups: Groups,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeline: Option<Timeline>,
    /// What `top`, `ps` and `slabtop` listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<Listed>,
    #[serde(skip)]
    pub(crate) configured: Vec<Configured>,
    /// Whether the frame holds tables of tools and nothing else that is shown.
    #[serde(skip)]
    pub(crate) tables_alone: bool,
    pub(crate) checks: Vec<Check>,
    pub(crate) unreadable: Vec<Unreadable>,
}

impl Shape for View {
    const NAME: &'static str = "inspect";
    const VERSION: u32 = 2;
}

impl View {
    /// The state in the snapshot of this name, or in the last one; rates are taken from the first
    /// frame on.
    ///
    /// # Errors
    /// There is no such snapshot, or no frame says anything.
    pub fn of(capture: &Capture, name: Option<&str>) -> Result<Self, NotThere> {
        let shown = Self::frame(capture, name)?;
        let first = capture.frames.first().unwrap_or(shown);
        let mut view = Self::between(&Snapshot::parse(first), shown);
        view.evidence = sources::evidence(capture.frames.iter());
        view.kernel_log_events = kernel_log::events(capture);
        let own = Snapshot::parse(shown);
        view.kernel_log = KernelLog::of(&own, capture);
        if view.kernel_log.is_none() && name.is_none() {
            view.take_event(capture);
        }
        view.timeline = Timeline::of(capture, shown);
        let looked = Looked::new(shown, &own, None);
        let words = first.file(mm::programs::PATH);
        let said = words.map(|text| programs::said(text, &looked));
        view.findings.add(said.into_iter().flatten());
        let cache = capacity::arc(&looked);
        view.findings
            .add(cache.map(|said| ("zfs-cache-large", said)));
        if name.is_none() {
            view.findings.add(kernel_log::findings(capture));
        }
        let event = view.kernel_log.as_ref().and_then(KernelLog::finding);
        let opens = view.log_alone || kernel_log::opens_beside(shown);
        if let Some((name, _)) = event.as_ref().filter(|_| opens) {
            view.findings.open_with(name);
        }
        view.findings.add(event);
        view.findings
            .add(view.timeline.iter().flat_map(Timeline::findings));
        if shown.file(series::NODE_EXPORTER).is_some() {
            view.pressure = pressure::without_averages(view.pressure);
        }
        Ok(view)
    }

    /// A log beside the files of a machine: its report is part of the answer.
    fn take_event(&mut self, capture: &Capture) {
        let Some(frame) = kernel_log::shown(capture) else {
            return;
        };
        let event = Snapshot::parse(frame);
        self.kernel_log = KernelLog::of(&event, capture);
        self.findings
            .join(Findings::of(&Looked::new(frame, &event, None)));
    }

    /// The frame that is shown of a capture.
    ///
    /// # Errors
    /// As for [`View::of`].
    pub fn frame<'a>(capture: &'a Capture, name: Option<&str>) -> Result<&'a Frame, NotThere> {
        match name {
            Some(name) => capture.labelled(name).ok_or_else(|| unnamed(capture, name)),
            None => last(capture).ok_or_else(|| {
                NotThere("no frame of it has proc/zoneinfo or proc/meminfo: nothing to show".into())
            }),
        }
    }

    fn between(first: &Snapshot, frame: &Frame) -> Self {
        let snapshot = Snapshot::parse(frame);
        let interval = Interval::between(first, &snapshot);
        let note = frame.file(UNREADABLE).unwrap_or("");
        let available = Available::of(&snapshot);
        let dirty = Dirty::of(first, &snapshot, note);
        let mut checks = zone_checks::checks(&snapshot);
        checks.extend(available.as_ref().and_then(Available::check));
        checks.extend(dirty.iter().flat_map(Dirty::checks));
        Self {
            evidence: Vec::new(),
            machine: Machine::of(&snapshot, frame),
            findings: Findings::of(&Looked::new(frame, &snapshot, interval.as_ref())),
            kernel_log: None,
            kernel_log_events: Vec::new(),
            log_alone: kernel_log::is_alone(frame),
            contradictions: contradictions::contradictions(&snapshot),
            memory: Memory::of(&snapshot),
            files: None,
            zones: zones::zones(&snapshot),
            nodes: nodes::nodes(&snapshot),
            watermark_rule: WatermarkRule::of(&snapshot),
            available,
            dirty,
            lists: Lists::of(&snapshot),
            reclaim: Reclaim::of(&snapshot, interval.as_ref()),
            refaults: Refaults::of(&snapshot),
            pressure: pressure::pressures(first, &snapshot),
            swap: Swap::of(&snapshot),
            huge_pages: HugePages::of(&snapshot),
            lru_gen: LruGen::of(&snapshot),
            no_lru_gen: Absent::of(&snapshot),
            ksm: Merging::of(&snapshot),
            control_groups: Groups::of(&snapshot, frame.file(GROUPS).unwrap_or("")),
            timeline: None,
            tools: tools::lists(frame),
            configured: configured(frame, &snapshot),
            tables_alone: tools::are_alone(frame),
            checks,
            unreadable: unreadable::unreadable(note, &snapshot.errors),
        }
    }

    /// What moves, most telling first, for a terminal that shows it again and again.
    pub fn live_text(&self, canvas: Canvas) -> String {
        let mut page = Page::new(canvas);
        self.machine.write(&mut page);
        zones::write_lines(&self.zones, &mut page);
        self.dirty
            .iter()
            .for_each(|section| section.write_line(&mut page));
        pressure::write(&self.pressure, &mut page);
        self.reclaim
            .iter()
            .for_each(|section| section.write(&mut page));
        self.lists
            .iter()
            .for_each(|section| section.write(&mut page));
        page.into_text()
    }

    /// The same with the files of the page cache, as they were found on the machine of the capture.
    ///
    /// # Errors
    /// As for [`View::of`].
    pub fn with_files(mut self, found: &PageCache, capture: &Capture) -> Result<Self, NotThere> {
        let shown = Self::frame(capture, None)?;
        self.files = Some(Files::of(found, &Snapshot::parse(shown)));
        Ok(self)
    }

    /// The same of evidence that was named on the command line.
    pub fn of_evidence(mut self) -> Self {
        self.findings.of_evidence();
        self
    }

    /// Whether every recomputed number equals the kernel's; `None` where none tests a rule.
    pub fn all_equal(&self) -> Option<bool> {
        let all = self.checks.iter().all(|check| check.equal);
        self.checks.iter().any(Check::tests).then_some(all)
    }

    /// What could not be checked, and what that takes.
    pub fn unchecked(&self) -> Vec<&'static str> {
        check::unchecked(&self.checks)
    }

    /// Whether the recomputed numbers whose inputs move equal the kernel's: false where memory
    /// moved between the reading of two files.
    pub fn moving_equal(&self) -> bool {
        self.checks.iter().all(|check| check.equal || !check.moves)
    }
}

/// The last snapshot: with a name, else with zones, else with anything.
fn last(capture: &Capture) -> Option<&Frame> {
    let frames = || capture.frames.iter().rev();
    let has = |path| move |frame: &&Frame| frame.file(path).is_some();
    let full = || frames().filter(has("proc/zoneinfo"));
    let named = full().find(|frame| frame.label.is_some());
    named
        .or_else(|| full().next())
        .or_else(|| frames().find(has("proc/meminfo")))
        .or_else(|| frames().find(has("proc/vmstat")))
        .or_else(|| frames().find(|frame| frame.files.keys().any(|path| is_of_group(path))))
        .or_else(|| kernel_log::shown(capture))
        .or_else(|| frames().find(|frame| frame.files.keys().any(|path| says_something(path))))
}

/// Whether a file is a control group's.
fn is_of_group(path: &str) -> bool {
    path.starts_with("sys/fs/cgroup/")
}

/// Whether a file says anything of memory: a note of the facts or of the time does not.
fn says_something(path: &str) -> bool {
    let notes = path.starts_with("plimsoll/") && !path.starts_with(evidence::TOOLS);
    !notes && path != "proc/uptime"
}

fn unnamed(capture: &Capture, name: &str) -> NotThere {
    let labels = capture
        .frames
        .iter()
        .filter_map(|frame| frame.label.as_deref());
    NotThere(match labels.collect::<Vec<_>>().join("\", \"") {
        labels if labels.is_empty() => "none of its snapshots has a name".to_owned(),
        labels => format!("no snapshot is named \"{name}\"; there is \"{labels}\""),
    })
}

#[cfg(test)]
mod tests;
