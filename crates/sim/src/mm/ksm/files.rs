//! What merging shows of itself: the files of `/sys/kernel/mm/ksm`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use mm::capture::Frame;
use mm::formula::ksm::general_profit;
use mm::ksm::{DIR, PROCESS_FILES, path_of_process};
use mm::units::PageSize;

use super::Space;
use super::candidate::Held;
use crate::mm::folio::Folios;
use crate::mm::folio::PageId;
use crate::mm::ksm::Ksm;
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

/// The files that a kernel has, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template(Vec<String>);

impl Template {
    /// Those of a kernel after boot.
    pub(crate) fn of(boot: &Frame) -> Self {
        let names = boot.files.keys().filter_map(|path| path.strip_prefix(DIR));
        let names = names.filter_map(|name| name.strip_prefix('/'));
        Self(names.map(str::to_string).collect())
    }

    /// Whether the kernel has none, or the workload nothing to merge.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Path and text of what the kernel says of a process: since 6.4 more than its candidates, as
    /// for the machine as a whole.
    pub(crate) fn files_of(
        &self,
        name: &str,
        entity: usize,
        memory: &Memory,
    ) -> Vec<(String, String)> {
        if self.is_empty() {
            return Vec::new();
        }
        let [items, merging, zero] = memory
            .ksm
            .merging_of(&memory.folios, entity)
            .map(|pages| memory.cpu.real(pages).0);
        let profit = general_profit(merging, zero, items, PageSize::FOUR_KIB);
        let mut stat = format!("ksm_rmap_items {items}\n");
        if self.0.iter().any(|name| name == "general_profit") {
            stat += &format!(
                "ksm_zero_pages {zero}\nksm_merging_pages {merging}\nksm_process_profit {profit}\n"
            );
        }
        let texts = [stat, format!("{merging}\n")];
        let paths = PROCESS_FILES.map(|file| path_of_process(name, file));
        paths.into_iter().zip(texts).collect()
    }

    /// Path and text of those that count, and of those that the kernel sets itself.
    pub(crate) fn files(&self, memory: &Memory) -> impl Iterator<Item = (String, String)> {
        self.0.iter().filter_map(|name| {
            let value = memory.ksm.ksm_file(&memory.cpu, name)?;
            Some((mm::ksm::path(name), format!("{value}\n")))
        })
    }
}

impl Ksm {
    /// A process's candidates, those of them that are merged, and its zero pages by merging.
    fn merging_of(&self, folios: &Folios, entity: usize) -> [u64; 3] {
        let of_entity = |space: &&Space| space.entity == entity && !space.exited;
        let spaces = self.spaces.iter().filter(of_entity);
        let areas = spaces.flat_map(|space| &space.areas);
        let areas = areas.filter_map(|id| self.areas[*id as usize].as_ref());
        let mut counts = [0; 3];
        for area in areas {
            for (index, candidate) in area.candidates.iter().enumerate() {
                let page = area.base + index as PageId;
                let is_zero = area.is_live && folios.is_merged(page) && folios.is_zero(page);
                counts[0] += u64::from(candidate.exists());
                counts[1] += u64::from(matches!(candidate.held(), Held::Stable { .. }));
                counts[2] += u64::from(is_zero);
            }
        }
        counts
    }

    fn ksm_file(&self, cpu: &Cpu, name: &str) -> Option<i64> {
        let ksm = self;
        let real = |pages: u64| cpu.real(pages).0;
        let (counts, trees) = (ksm.counts, &ksm.trees);
        let merged = counts.shared + counts.sharing + counts.unshared;
        let number = match name {
            "pages_to_scan" => ksm.settings.pages_to_scan,
            "pages_shared" => real(counts.shared),
            "pages_sharing" => real(counts.sharing),
            "pages_unshared" => real(counts.unshared),
            "pages_volatile" => real(counts.items.saturating_sub(merged)),
            "pages_scanned" => real(counts.scanned),
            "pages_skipped" => real(counts.skipped),
            "full_scans" => counts.full_scans,
            "ksm_zero_pages" => real(counts.zero_pages),
            "stable_node_chains" => real(trees.chains),
            "stable_node_dups" => real(trees.dups),
            "general_profit" => {
                let (sharing, zero) = (real(counts.sharing), real(counts.zero_pages));
                let items = real(counts.items);
                return Some(general_profit(sharing, zero, items, PageSize::FOUR_KIB));
            }
            _ => return None,
        };
        i64::try_from(number).ok()
    }
}
