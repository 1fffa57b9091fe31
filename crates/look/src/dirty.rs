//! How much may be dirty, and how much is.

use mm::bdi::Bdi;
use mm::formula::dirty::Thresholds;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, PageSize, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use super::check::{self, Check, Slack};
use super::flush::Flush;
use super::load_line::{Level, Mark, apart};
use super::page::Page;

/// Thresholds and what is dirty, in pages.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Dirty {
    dirtyable_pages: u64,
    background: Threshold,
    limit: Threshold,
    dirty_pages: u64,
    writeback_pages: u64,
    #[serde(skip)]
    unwritten: Pages,
    #[serde(skip_serializing_if = "Option::is_none")]
    expire_centisecs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writeback_centisecs: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<Device>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flush: Option<Flush>,
    #[serde(skip)]
    by: String,
    #[serde(skip)]
    slack: Slack,
    #[serde(skip)]
    page: PageSize,
}

/// A device whose part of the limit is bounded, in percent.
#[derive(Debug, JsonSchema, Serialize)]
struct Device {
    device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ratio: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ratio: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict_limit: Option<bool>,
}

/// One threshold: as it is set, as we compute it, as the kernel prints it.
#[derive(Debug, JsonSchema, Serialize)]
struct Threshold {
    setting: String,
    pages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_pages: Option<u64>,
}

impl Device {
    fn of(name: &str, bdi: &Bdi) -> Self {
        Self {
            device: name.to_owned(),
            min_ratio: bdi.min_ratio,
            max_ratio: bdi.max_ratio,
            max_bytes: bdi.max_bytes.map(|bytes| bytes.0),
            strict_limit: bdi.is_strict,
        }
    }

    fn write(&self, page: &mut Page) {
        let part = match (self.min_ratio, self.max_ratio) {
            (None | Some(0), Some(most)) => format!("{most} %"),
            (Some(least), Some(most)) => format!("{least}-{most} %"),
            (Some(least), None) => format!("from {least} %"),
            (None, None) => String::new(),
        };
        let mut about = match self.strict_limit {
            Some(true) => "of the limits is its part, strict_limit".to_owned(),
            Some(false) | None => "of the limits is its part at most".to_owned(),
        };
        if let Some(bytes) = self.max_bytes {
            about.push_str(&format!(": {}", Bytes(bytes)));
        }
        page.row(&format!("device {}", self.device), part, &about);
    }
}

impl Dirty {
    /// Thresholds from one reading, and what the devices wrote since the first; `note` says what
    /// could not be read. `None` where an input is missing.
    pub(crate) fn of(first: &Snapshot, snapshot: &Snapshot, note: &str) -> Option<Self> {
        let vmstat = snapshot.vmstat.as_ref()?;
        let page = snapshot.page;
        let by_rules = snapshot.thresholds_by()?;
        let computed = by_rules.thresholds;
        let pair = |name| setting(snapshot, name);
        let threshold = |setting, computed: Pages, item| Threshold {
            setting,
            pages: computed.0,
            kernel_pages: vmstat.get(item),
        };
        let bounded = snapshot.bdi.iter().filter(|(_, bdi)| bdi.is_bounded());
        Some(Self {
            devices: bounded.map(|(name, bdi)| Device::of(name, bdi)).collect(),
            dirtyable_pages: by_rules.dirtyable.0,
            by: check::by(snapshot, &by_rules.rows, by_rules.reserve),
            slack: Slack::of(snapshot),
            background: threshold(
                pair("dirty_background")?,
                computed.background,
                "nr_dirty_background_threshold",
            ),
            limit: threshold(pair("dirty")?, computed.dirty, "nr_dirty_threshold"),
            dirty_pages: vmstat.get("nr_dirty")?,
            writeback_pages: vmstat.get("nr_writeback")?,
            unwritten: snapshot.unwritten()?,
            expire_centisecs: snapshot.number("vm.dirty_expire_centisecs"),
            writeback_centisecs: snapshot.number("vm.dirty_writeback_centisecs"),
            flush: Flush::of(first, snapshot, note),
            page,
        })
    }

    /// Ours against the kernel's.
    pub(crate) fn checks(&self) -> Vec<Check> {
        let check = |name, threshold: &Threshold| {
            let kernel = Pages(threshold.kernel_pages?);
            let computed = Pages(threshold.pages);
            Some(Check::moving(name, computed, kernel, self.slack).by(&self.by))
        };
        let background = check("background threshold", &self.background);
        background
            .into_iter()
            .chain(check("dirty threshold", &self.limit))
            .collect()
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Dirty pages: what waits to be written");
        page.paragraph(
            2,
            "Flushers write above the background threshold; writers are slowed above the middle \
             and wait at the limit.",
        );
        self.draw(page);
        self.write_rows(page);
    }

    /// Writes the line and the devices alone, with the amounts in its heading.
    pub(crate) fn write_line(&self, page: &mut Page) {
        let (dirty, writeback) = (
            self.amount(self.dirty_pages),
            self.amount(self.writeback_pages),
        );
        page.heading(&format!(
            "Dirty pages: {dirty}, and {writeback} under writeback"
        ));
        self.draw(page);
        self.flush.iter().for_each(|flush| flush.write(page));
    }

    fn draw(&self, page: &mut Page) {
        page.load_line(&self.marks(), self.unwritten.0);
    }

    fn marks(&self) -> [Mark; 3] {
        let limits = Thresholds {
            background: Pages(self.background.pages),
            dirty: Pages(self.limit.pages),
        };
        let marks = [
            ("background", limits.background),
            ("throttled", limits.freerun()),
            ("limit", limits.dirty),
        ];
        marks.map(|(name, at)| Mark {
            name,
            at: at.0,
            amount: self.amount(at.0),
        })
    }

    /// All that is dirty or being written against the limits, then the same of each device.
    pub(crate) fn levels(&self) -> Vec<Level> {
        let [background, throttled, limit] = self.marks();
        let held = self.unwritten.0;
        let next = |mark: &Mark| format!("{} to {}", apart(held, mark.at, self.page), mark.name);
        let stands = match held {
            _ if held >= limit.at => "at the limit: writers wait".to_owned(),
            _ if held >= throttled.at => format!("{}, writers are slowed", next(&limit)),
            _ if held >= background.at => next(&throttled),
            _ => next(&background),
        };
        let is_pressing = held >= throttled.at;
        let marks = vec![background, throttled, limit];
        let all = Level::new("dirty", Some(held), marks).says(stands, is_pressing);
        let devices = self.flush.iter().flat_map(Flush::levels);
        [all].into_iter().chain(devices).collect()
    }

    /// Why it is not known what each device holds.
    pub(crate) fn hidden(&self) -> Option<String> {
        self.flush.as_ref()?.hidden()
    }

    fn amount(&self, pages: u64) -> String {
        Pages(pages).bytes(self.page).to_string()
    }

    fn write_rows(&self, page: &mut Page) {
        let amount = |pages| self.amount(pages);
        page.row("dirty", amount(self.dirty_pages), "");
        page.row("under writeback", amount(self.writeback_pages), "");
        page.row(
            "dirtyable memory",
            amount(self.dirtyable_pages),
            "what the ratios are of",
        );
        let (background, limit) = (&self.background, &self.limit);
        page.row(
            "background threshold",
            amount(background.pages),
            &background.setting,
        );
        page.row("dirty threshold", amount(limit.pages), &limit.setting);
        if let Some(centisecs) = self.expire_centisecs {
            page.row(
                "written at the age of",
                seconds(centisecs),
                "vm.dirty_expire_centisecs",
            );
        }
        if let Some(centisecs) = self.writeback_centisecs {
            page.row(
                "flushers look every",
                seconds(centisecs),
                "vm.dirty_writeback_centisecs",
            );
        }
        self.devices.iter().for_each(|device| device.write(page));
        self.flush.iter().for_each(|flush| flush.write(page));
    }
}

/// The tunable that rules a threshold, of the exclusive pair, and its value.
fn setting(snapshot: &Snapshot, name: &str) -> Option<String> {
    let bytes = format!("vm.{name}_bytes");
    let ratio = format!("vm.{name}_ratio");
    match snapshot.number(&bytes) {
        Some(value) if value > 0 => Some(format!("{bytes} = {value}")),
        _ => Some(format!("{ratio} = {}", snapshot.number(&ratio)?)),
    }
}

fn seconds(centisecs: u64) -> String {
    match centisecs {
        0 => "never".to_owned(),
        centisecs if centisecs.is_multiple_of(100) => format!("{} s", centisecs / 100),
        centisecs => format!("{}.{:02} s", centisecs / 100, centisecs % 100),
    }
}
