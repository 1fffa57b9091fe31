//! The tunables of `/sys/kernel/mm/ksm`.

use alloc::format;
use alloc::string::{String, ToString};

use mm::formula::ksm_advisor::{Advisor, Bounds};

use crate::mm::parts::Memory;

/// Names of the tunables that ksmd reads begin with this.
pub(crate) const PREFIX: &str = "ksm.";

/// `pages_to_scan` after boot, and again when the advisor is switched off.
const DEFAULT_PAGES: u64 = 100;

/// `run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Run {
    /// 0: ksmd stands; what is merged stays so.
    #[default]
    Stop,
    /// 1.
    Merge,
    /// 2: everything was unmerged.
    Unmerge,
}

/// What the tunables say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) run: Run,
    pub(crate) pages_to_scan: u64,
    pub(crate) sleep_millisecs: u64,
    pub(super) smart_scan: bool,
    pub(super) merge_across_nodes: bool,
    pub(super) use_zero_pages: bool,
    pub(super) max_page_sharing: u32,
    /// The advisor sets `pages_to_scan`, within these bounds.
    pub(super) is_advised: bool,
    pub(super) bounds: Bounds,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            run: Run::Stop,
            pages_to_scan: DEFAULT_PAGES,
            sleep_millisecs: 20,
            smart_scan: false,
            merge_across_nodes: true,
            use_zero_pages: false,
            max_page_sharing: 256,
            is_advised: false,
            bounds: Bounds::default(),
        }
    }
}

impl Memory {
    /// Writes a tunable of ksmd's; it takes effect at once.
    ///
    /// # Errors
    /// Why the kernel refuses the value now.
    pub(crate) fn write_ksm(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number: u64 = value.parse().unwrap_or(0);
        let is_merged = self.ksm.counts.shared > 0;
        let settings = &mut self.ksm.settings;
        match name.strip_prefix(PREFIX).unwrap_or(name) {
            "run" => return self.write_run(number),
            "pages_to_scan" if settings.is_advised => {
                return refuse("the advisor sets it; set ksm.advisor_mode = none first");
            }
            "pages_to_scan" => settings.pages_to_scan = number,
            "sleep_millisecs" if settings.sleep_millisecs == number => {}
            "sleep_millisecs" => {
                settings.sleep_millisecs = number;
                self.ksm.sleeps_until = None;
                self.ksm.wants_cpu = true;
            }
            "smart_scan" => settings.smart_scan = number == 1,
            "merge_across_nodes" if settings.merge_across_nodes != (number == 1) && is_merged => {
                return refuse("pages are merged; unmerge them first with ksm.run = 2");
            }
            "merge_across_nodes" => settings.merge_across_nodes = number == 1,
            "use_zero_pages" => settings.use_zero_pages = number == 1,
            "max_page_sharing" if u64::from(settings.max_page_sharing) != number && is_merged => {
                return refuse("pages are merged; unmerge them first with ksm.run = 2");
            }
            "max_page_sharing" => {
                settings.max_page_sharing = u32::try_from(number).unwrap_or(u32::MAX);
            }
            "advisor_mode" => self.ksm.switch_advisor(value == "scan-time"),
            "advisor_target_scan_time" => settings.bounds.target = number,
            "advisor_max_cpu" => settings.bounds.max_cpu = number,
            "advisor_min_pages_to_scan" => settings.bounds.min_pages = number,
            "advisor_max_pages_to_scan" => settings.bounds.max_pages = number,
            _ => {}
        }
        Ok(())
    }

    fn write_run(&mut self, number: u64) -> Result<(), String> {
        let run = match number {
            0 => Run::Stop,
            1 => Run::Merge,
            _ => Run::Unmerge,
        };
        let before = core::mem::replace(&mut self.ksm.settings.run, run);
        self.ksm.wants_cpu |= run == Run::Merge;
        if run == Run::Unmerge && before != run && self.unmerge_all().is_err() {
            self.ksm.settings.run = Run::Stop;
            let free = self.cpu.real(self.zones.free_pages()).0 / 256;
            return Err(format!(
                "too little memory to give every page a copy of its own, with {free} MiB free"
            ));
        }
        Ok(())
    }
}

impl super::Ksm {
    /// The advisor begins with the fewest pages, and leaves the default behind.
    fn switch_advisor(&mut self, on: bool) {
        let settings = &mut self.settings;
        if core::mem::replace(&mut settings.is_advised, on) == on {
            return;
        }
        settings.pages_to_scan = match on {
            true => settings.bounds.min_pages,
            false => DEFAULT_PAGES,
        };
        self.advisor = Advisor::default();
    }
}

fn refuse(why: &str) -> Result<(), String> {
    Err(why.to_string())
}
