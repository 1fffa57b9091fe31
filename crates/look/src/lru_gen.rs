//! The multi-generation LRU: how it is set, and its generations.

use mm::lru_gen::{Generation, TABLE};
use mm::release::{Release, Version};
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Nanos, PageSize, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// Groups whose generations are told, the largest.
const TOLD: usize = 16;

/// Of these, groups that the text shows.
const SHOWN: usize = 4;

/// How it is set.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct LruGen {
    enabled: bool,
    features: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ttl_milliseconds: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<Generations>,
    #[serde(skip_serializing_if = "is_zero")]
    groups_left_out: usize,
    #[serde(skip)]
    page: PageSize,
}

/// The generations of one control group on one node, the youngest first.
#[derive(Debug, JsonSchema, Serialize)]
struct Generations {
    group: String,
    node: u32,
    generations: Vec<AgedPages>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct AgedPages {
    generation: u64,
    age_milliseconds: u64,
    anonymous_pages: u64,
    file_pages: u64,
}

impl LruGen {
    /// `None` on a kernel without it, and where its files are not there.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (enabled, min_ttl) = (snapshot.lru_gen.enabled?, snapshot.lru_gen.min_ttl);
        let table = &snapshot.lru_gen.generations;
        let same = |a: &Generation, b: &Generation| a.memcg == b.memcg && a.node == b.node;
        let mut groups: Vec<Generations> =
            table.chunk_by(same).filter_map(Generations::of).collect();
        groups.retain(|group| group.pages() > 0);
        groups.sort_by_key(|group| std::cmp::Reverse(group.pages()));
        let groups_left_out = groups.len().saturating_sub(TOLD);
        groups.truncate(TOLD);
        Some(Self {
            enabled: enabled.core(),
            features: enabled.0,
            min_ttl_milliseconds: min_ttl.map(|ttl| ttl.0 / Nanos::MILLI.0),
            groups,
            groups_left_out,
            page: snapshot.page,
        })
    }

    fn write(&self, page: &mut Page) {
        let features = format!("features {:#06x}", self.features);
        match self.enabled {
            true => page.row("multi-generation", "on", &features),
            false => page.row("multi-generation", "off", "the classic two lists rule"),
        }
        match self.min_ttl_milliseconds {
            Some(0) => page.row("min_ttl_ms", 0, "the working set is not protected"),
            Some(ttl) => page.row("min_ttl_ms", ttl, "pages used so lately are kept, else OOM"),
            None => {}
        }
        match self.enabled {
            true if self.groups.is_empty() => page.paragraph(
                2,
                &format!(
                    "The generations are in /{TABLE}, which root may read where debugfs is \
                     mounted (mount -t debugfs none /sys/kernel/debug)."
                ),
            ),
            true => self.write_groups(page),
            false => {}
        }
    }

    fn write_groups(&self, page: &mut Page) {
        page.paragraph(2, "Reclaim takes pages of the oldest generation first.");
        let heads = ["age", "anonymous", "page cache"].map(|head| format!("{head:>12}"));
        page.line(format!("  {:<25}{}", "generations", heads.concat()));
        for group in self.groups.iter().take(SHOWN) {
            group.write(self.page, page);
        }
        let more = self.groups.len().saturating_sub(SHOWN) + self.groups_left_out;
        if more > 0 {
            page.paragraph(2, &format!("Left out: {more} smaller groups."));
        }
    }
}

impl Generations {
    fn of(table: &[Generation]) -> Option<Self> {
        let first = table.first()?;
        let row = |generation: &Generation| AgedPages {
            generation: generation.seq,
            age_milliseconds: generation.age.0 / Nanos::MILLI.0,
            anonymous_pages: generation.anon.0,
            file_pages: generation.file.0,
        };
        Some(Self {
            group: first.memcg.clone(),
            node: first.node,
            generations: table.iter().rev().map(row).collect(),
        })
    }

    fn pages(&self) -> u64 {
        let sizes = self.generations.iter();
        let sizes = sizes.map(|row| row.anonymous_pages.saturating_add(row.file_pages));
        sizes.fold(0, u64::saturating_add)
    }

    fn write(&self, size: PageSize, page: &mut Page) {
        page.line(format!("  {}, node {}", self.group, self.node));
        let oldest = self.generations.len().saturating_sub(1);
        for (index, row) in self.generations.iter().enumerate() {
            let about = match index {
                0 => "youngest",
                index if index == oldest => "oldest",
                _ => "",
            };
            let amount = |pages| Bytes::to_string(&Pages(pages).bytes(size));
            let (anon, file) = (amount(row.anonymous_pages), amount(row.file_pages));
            let age = Nanos(row.age_milliseconds.saturating_mul(Nanos::MILLI.0));
            let name = format!("generation {}", row.generation);
            page.line(format!(
                "    {name:<23}{:>12}{anon:>12}{file:>12}  {about}",
                age.to_string()
            ));
        }
    }
}

/// Why there is nothing to show of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The evidence holds nothing of the folder in which its files are.
    #[default]
    NotGiven,
    /// The evidence holds other files of that folder.
    LeftOut,
    /// A live kernel does not show it.
    NotThere,
    /// The release is older than it.
    TooOld,
}

impl Absent {
    /// What follows from the release, and from whether a live machine was read. Red Hat's 5.14 has
    /// it, and so may others' kernels.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let release = snapshot.release.as_deref().and_then(Release::parse);
        let stock = release.is_some_and(|release| {
            let old = Version::first(if release.vendor.is_some() { 5 } else { 6 }, 1);
            release.version < old
        });
        match (stock, snapshot.is_live, snapshot.has_sys_mm) {
            (true, _, _) => Self::TooOld,
            (false, true, _) => Self::NotThere,
            (false, false, true) => Self::LeftOut,
            (false, false, false) => Self::NotGiven,
        }
    }

    fn words(self) -> String {
        let words = match self {
            Self::LeftOut => {
                let folder = mm::catalogue::folder::LRU_GEN;
                return format!("not in this capture: nothing below /{folder} was given");
            }
            Self::NotGiven => "not in this capture: nothing below /sys/kernel/mm was given",
            Self::NotThere => {
                "classic: this kernel has no multi-generation LRU (or hides /sys/kernel/mm)"
            }
            Self::TooOld => "classic: the multi-generation LRU came with Linux 6.1",
        };
        words.to_owned()
    }
}

/// Writes the section; a kernel without it says which LRU it has.
pub(crate) fn write(lru_gen: Option<&LruGen>, absent: Absent, page: &mut Page) {
    page.heading("LRU");
    match lru_gen {
        Some(lru_gen) => lru_gen.write(page),
        None => page.paragraph(2, &absent.words()),
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
