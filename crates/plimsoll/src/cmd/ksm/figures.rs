//! What the estimate came to, as plain data. The JSON's shape is these structs.

use std::time::Duration;

use host::pages::Reading;
use host::processes::Process;
use mm::formula::ksm::{RMAP_ITEM, general_profit};
use mm::formula::ksmd::{Load, VisitCost};
use mm::formula::sharing::{self, Estimate, Rules};
use mm::ksm::{Ksm, KsmNumbers};
use mm::notes::{Place, Reader};
use mm::units::{Bytes, Nanos, PageSize, Pages};
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::notes;
use super::pace::{Pace, paces};

/// Mappings of one kept page where the kernel does not say; its own default.
const MAX_PAGE_SHARING: u64 = 256;

/// Everything that was looked at.
#[derive(Debug)]
pub(super) struct Looked<'a> {
    pub(super) processes: &'a [Process],
    pub(super) reading: &'a Reading,
    pub(super) page: PageSize,
    pub(super) ksm: Option<Ksm>,
    pub(super) visit: VisitCost,
    pub(super) between: Duration,
    pub(super) limit: Duration,
    pub(super) place: Place,
    pub(super) reader: Reader,
}

/// What is shown.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Figures {
    pub(super) processes: usize,
    pub(super) page_bytes: u64,
    pub(super) between_seconds: f64,
    /// `None` where nothing could be read.
    pub(super) estimate: Option<Saving>,
    /// What the kernel merged already in these processes.
    pub(super) already_merged_bytes: u64,
    pub(super) unread: Option<Unread>,
    pub(super) notes: Vec<String>,
    pub(super) took: Took,
}

impl Shape for Figures {
    const NAME: &'static str = "ksm-estimate";
    const VERSION: u32 = 2;
}

/// What merging would save, and what it would cost.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Saving {
    pub(super) candidate_pages: u64,
    pub(super) read_pages: u64,
    pub(super) kept_pages: usize,
    pub(super) one_in: u64,
    /// Memory that becomes free, with the 95 % interval.
    pub(super) freed_bytes: Range,
    /// What `pages_sharing` and `ksm_zero_pages` will say together.
    pub(super) pages_sharing: Range,
    pub(super) pages_shared: u64,
    pub(super) pages_volatile: u64,
    pub(super) metadata_bytes: u64,
    pub(super) profit_bytes: i64,
    /// The parts of what becomes free, as far as was read.
    pub(super) of_zeros_bytes: u64,
    pub(super) within_processes_bytes: u64,
    pub(super) across_processes_bytes: u64,
    /// Of what becomes free: in processes that ask for merging today; `None` where the kernel
    /// does not say who does.
    pub(super) asked_for_bytes: Option<u64>,
    pub(super) by_process: Vec<Share>,
    pub(super) visits: Visits,
    pub(super) ksmd: Vec<Pace>,
}

/// What visits of ksmd take.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub(super) struct Visits {
    /// A page's first: its checksum.
    pub(super) first_nanos: u64,
    /// A later one, of a page that is not merged.
    pub(super) search_nanos: u64,
    /// On average, once everything is merged.
    pub(super) settled_nanos: u64,
}

/// A figure within its bounds.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub(super) struct Range {
    pub(super) low: u64,
    pub(super) middle: u64,
    pub(super) high: u64,
}

/// What one process gives.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Share {
    pub(super) pid: u32,
    pub(super) name: String,
    pub(super) anonymous_bytes: u64,
    /// As far as it was read; `None` where it was not reached.
    pub(super) freed_bytes: Option<u64>,
    /// Whether it asks for merging; `None` where the kernel does not say.
    pub(super) asks: Option<bool>,
}

/// Processes that may not be read.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Unread {
    pub(super) processes: usize,
    pub(super) at_most_bytes: u64,
    pub(super) reason: String,
    #[serde(skip)]
    pub(super) way_out: &'static str,
}

/// What the estimate itself took.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(super) struct Took {
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    pub(super) peak_bytes: Option<u64>,
}

impl Figures {
    /// Works everything out.
    pub(super) fn of(looked: &Looked<'_>) -> Self {
        let estimate = sharing::estimate(&looked.reading.sample(), looked.rules());
        Self {
            processes: looked.processes.len() - looked.reading.refused.len(),
            page_bytes: looked.page.bytes(),
            between_seconds: looked.between.as_secs_f64(),
            estimate: estimate.map(|estimate| Saving::of(looked, &estimate)),
            already_merged_bytes: looked.already_merged(),
            unread: looked.unread(),
            notes: notes::of(looked),
            took: Took::default(),
        }
    }

    /// Notes what the estimate took.
    pub(super) fn took(&mut self, wall: Duration, cpu: Nanos, peak: Option<Bytes>) {
        self.took = Took {
            seconds: wall.as_secs_f64(),
            cpu_seconds: cpu.seconds(),
            peak_bytes: peak.map(|bytes| bytes.0),
        };
    }
}

impl Saving {
    fn of(looked: &Looked<'_>, estimate: &Estimate) -> Self {
        let reading = looked.reading;
        let bytes = |pages: f64| looked.bytes(pages);
        let candidates = reading.all.0;
        let load = Load {
            candidates,
            shared: estimate.shared as u64,
            sharing: estimate.sharing.middle as u64,
        };
        let cost = looked.visit;
        let freed = Range::of(&estimate.freed, bytes);
        let metadata = candidates.saturating_mul(RMAP_ITEM.0);
        let by_process = looked.shares(estimate);
        let asks = by_process.iter().filter(|share| share.asks == Some(true));
        let known = by_process.iter().any(|share| share.asks.is_some());
        Self {
            candidate_pages: candidates,
            read_pages: reading.read.0,
            kept_pages: reading.kept(),
            one_in: reading.sample().one_in,
            freed_bytes: freed,
            pages_sharing: Range::of(&estimate.sharing, |pages| pages as u64),
            pages_shared: estimate.shared as u64,
            pages_volatile: estimate.volatile as u64,
            metadata_bytes: metadata,
            profit_bytes: general_profit(
                freed.middle / looked.page.bytes(),
                0,
                candidates,
                looked.page,
            ),
            of_zeros_bytes: bytes(estimate.zeros),
            within_processes_bytes: bytes(estimate.within),
            across_processes_bytes: bytes(estimate.across),
            asked_for_bytes: known.then(|| asks.filter_map(|share| share.freed_bytes).sum()),
            by_process,
            visits: Visits {
                first_nanos: cost.page.0,
                search_nanos: cost.search(load).0,
                settled_nanos: cost.settled(load).0,
            },
            ksmd: paces(&looked.numbers(), looked.advisor(), load, cost),
        }
    }
}

impl Range {
    fn of(interval: &sharing::Interval, unit: impl Fn(f64) -> u64) -> Self {
        Self {
            low: unit(interval.low),
            middle: unit(interval.middle),
            high: unit(interval.high),
        }
    }
}

impl Looked<'_> {
    /// The numbers of KSM's files; the kernel's defaults where there are none.
    pub(super) fn numbers(&self) -> KsmNumbers {
        let numbers = self.ksm.as_ref().map(|ksm| ksm.numbers.clone());
        numbers.unwrap_or_default()
    }

    /// Whether the kernel itself sets `pages_to_scan`.
    pub(super) fn advisor(&self) -> bool {
        let mode = self.ksm.as_ref().and_then(|ksm| ksm.advisor_mode.as_ref());
        mode.is_some_and(|mode| mode.chosen() != "none")
    }

    fn rules(&self) -> Rules {
        let numbers = self.numbers();
        Rules {
            max_page_sharing: numbers.max_page_sharing.unwrap_or(MAX_PAGE_SHARING),
            use_zero_pages: numbers.use_zero_pages == Some(1),
        }
    }

    fn bytes(&self, pages: f64) -> u64 {
        Pages(pages as u64).bytes(self.page).0
    }

    fn already_merged(&self) -> u64 {
        let numbers = self
            .processes
            .iter()
            .filter_map(|process| process.ksm.as_ref());
        let pages = numbers.map(|ksm| {
            let of = |number: Option<u64>| number.unwrap_or(0);
            of(ksm.numbers.merging_pages).saturating_add(of(ksm.numbers.zero_pages))
        });
        Pages(pages.fold(0, u64::saturating_add)).bytes(self.page).0
    }

    /// Processes that may not be read: at most everything but one page can be freed in them.
    fn unread(&self) -> Option<Unread> {
        let refused = &self.reading.refused;
        let (_, reason) = refused.first()?;
        let processes = refused
            .iter()
            .map(|&(index, _)| &self.processes[index as usize]);
        let anonymous: Bytes = processes.map(|process| process.rss_anon).sum();
        Some(Unread {
            processes: refused.len(),
            at_most_bytes: anonymous.saturating_sub(Bytes(self.page.bytes())).0,
            reason: reason.clone(),
            way_out: match self.reader {
                Reader::User => "run as root to see",
                Reader::Root => {
                    "root is refused where it lacks CAP_SYS_PTRACE, as in a container, or where a \
                     security module forbids it"
                }
            },
        })
    }

    /// What each process gives, the most first.
    fn shares(&self, estimate: &Estimate) -> Vec<Share> {
        let (reading, sample) = (self.reading, self.reading.sample());
        let mut freed = vec![0.0; self.processes.len()];
        for (owner, pages) in reading.owners().iter().zip(&estimate.by_unit) {
            freed[*owner as usize] += pages;
        }
        let mut candidates = vec![0_u64; self.processes.len()];
        for candidate in sample.candidates {
            candidates[reading.owners()[candidate.unit as usize] as usize] += 1;
        }
        // A kept page stands for `weight` pages that were read.
        let weight = reading.read.0 as f64 / reading.kept().max(1) as f64;
        let whole = reading.read == reading.all;
        let stands_for = reading.all.0 as f64 / reading.kept().max(1) as f64;
        let refused = |index: usize| {
            let mut refused = reading.refused.iter();
            refused.any(|&(process, _)| process as usize == index)
        };
        let share = |(index, process): (usize, &Process)| {
            let (kept, freed) = (candidates[index] as f64, freed[index] / stands_for);
            let anonymous = match whole {
                true => self.bytes(kept * weight),
                false => process.rss_anon.0,
            };
            let part = freed / kept.max(1.0);
            Share {
                pid: process.pid,
                name: process.name.clone(),
                anonymous_bytes: anonymous,
                freed_bytes: (kept > 0.0 || whole).then_some((anonymous as f64 * part) as u64),
                asks: process.ksm.as_ref().and_then(mm::process::KsmStat::asks),
            }
        };
        let read = self
            .processes
            .iter()
            .enumerate()
            .filter(|&(index, _)| !refused(index));
        let mut shares: Vec<Share> = read.map(share).collect();
        shares.sort_by_key(|share| (std::cmp::Reverse(share.freed_bytes), share.pid));
        shares
    }
}
