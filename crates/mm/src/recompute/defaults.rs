//! What a tunable's value would be on this machine if nobody had set it.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::catalogue::{DefaultRule, Named, Tunable};
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Kib};
use crate::zoneinfo::ZoneKind;

/// Machines below this have transparent huge pages switched off at boot (`hugepage_init`).
const SMALL: Bytes = Bytes(512 << 20);

/// `MemTotal` has what came after that decision: the image of the initramfs, and the memory of the
/// kernel's own initialisation. More than they are.
const LATE: Bytes = Bytes(128 << 20);

/// The most that the two reserves of overcommit are by themselves, in KiB (`init_admin_reserve`,
/// `init_user_reserve`).
const RESERVES: [(&str, u64); 2] = [
    ("vm.admin_reserve_kbytes", 8192),
    ("vm.user_reserve_kbytes", 131_072),
];

/// What the kernel chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// This value, as it would be written.
    Value(String),
    /// A number from the first to the second: what it depends on is not all told.
    Between(u64, u64),
    /// The files do not tell.
    Unknown,
}

impl Snapshot {
    /// What the kernel chooses for a tunable on this machine.
    #[must_use]
    pub fn default_of(&self, named: Named<'_>) -> Chosen {
        let tunable = named.tunable;
        match tunable.default {
            DefaultRule::Partner => Chosen::Value("0".into()),
            DefaultRule::Action => Chosen::Unknown,
            DefaultRule::Fixed(value) => self
                .pages_of_a_huge_page(tunable)
                .unwrap_or_else(|| Chosen::Value(value.into())),
            DefaultRule::Rule(_) => self.by_rule(named).unwrap_or(Chosen::Unknown),
        }
    }

    /// Whether a value differs from what the kernel chooses; `None` where that is not known.
    #[must_use]
    pub fn differs(&self, named: Named<'_>, value: &str) -> Option<bool> {
        match self.default_of(named) {
            Chosen::Value(default) => Some(!named.tunable.means_same(&default, value)),
            Chosen::Between(least, most) => {
                Some(!(least..=most).contains(&value.trim().parse().ok()?))
            }
            Chosen::Unknown => None,
        }
    }

    fn by_rule(&self, named: Named<'_>) -> Option<Chosen> {
        let name = named.tunable.name;
        if let Some((_, most)) = RESERVES.iter().find(|(own, _)| *own == name) {
            return self.overcommit_reserve(*most);
        }
        let value = match name {
            "vm.min_free_kbytes" => return self.min_free(),
            "vm.lowmem_reserve_ratio" => self.lowmem_reserve_ratio()?,
            "vm.unprivileged_userfaultfd" if self.span().is_since(5, 11) => "0".into(),
            "vm.unprivileged_userfaultfd" if self.span().is_before(5, 11) => "1".into(),
            "vm.numa_zonelist_order" if self.span().is_since(4, 14) => "Node".into(),
            "thp.enabled" | "thp.defrag" if self.is_small()? => "never".into(),
            "thp.defrag" => "madvise".into(),
            "thp.shmem_enabled" => "never".into(),
            "thp.use_zero_page" | "khugepaged.defrag" => switch(!self.is_small()?),
            "khugepaged.pages_to_scan" => (8 * self.pages_in_a_huge_page()?).to_string(),
            "thp.SIZE.enabled" | "thp.SIZE.shmem_enabled" => self.of_size(named)?,
            _ => return None,
        };
        Some(Chosen::Value(value))
    }

    /// khugepaged's and the square root's; the latter was drawn before the pages of the initial RAM
    /// disk came, so it is up to 2 % less.
    fn min_free(&self) -> Option<Chosen> {
        let chosen = self.chosen_min_free()?;
        let Kib(root) = chosen.by_root;
        let (least, most) = match chosen.khugepaged {
            Some(asked) if *asked.end() >= root => (*asked.start(), *asked.end()),
            _ => (root - root / 50, root),
        };
        Some(match least == most {
            true => Chosen::Value(most.to_string()),
            false => Chosen::Between(least, most),
        })
    }

    /// 3 % of what was free at boot, at most `most`: a number up to that, but `most` itself on a
    /// machine that has a third more than it takes, however much the boot had taken.
    fn overcommit_reserve(&self, most: u64) -> Option<Chosen> {
        let Kib(total) = self.meminfo.as_ref()?.mem_total?;
        let is_ample = total / 100 * 3 / 4 * 3 >= most;
        Some(match is_ample && !self.memory_comes_later() {
            true => Chosen::Value(most.to_string()),
            false => Chosen::Between(0, most),
        })
    }

    /// Whether memory may have come after boot: this kernel has more than its zones manage, or a
    /// zone that grew. What was free at boot cannot be told from what there is.
    fn memory_comes_later(&self) -> bool {
        let total = self.meminfo.as_ref().and_then(|meminfo| meminfo.mem_total);
        let zones = self.managed().bytes(self.page);
        total.is_none_or(|total| zones > Bytes(0) && zones < Bytes(total.bytes().0 / 1000 * 999))
    }

    /// One number for each zone that the kernel was built with (`sysctl_lowmem_reserve_ratio`).
    fn lowmem_reserve_ratio(&self) -> Option<String> {
        let first = self.zones()?.first()?.node;
        let zones = self.zones()?.iter().filter(|zone| zone.node == first);
        let ratios = zones.map(|zone| match zone.kind {
            ZoneKind::Dma | ZoneKind::Dma32 => "256",
            ZoneKind::Normal => "32",
            _ => "0",
        });
        let ratios: Vec<&str> = ratios.collect();
        self.zones_are_whole().then(|| ratios.join(" "))
    }

    /// Whether huge pages were off; `None` where what came late decides.
    fn is_small(&self) -> Option<bool> {
        let total = self.meminfo.as_ref()?.mem_total?.bytes();
        let late = SMALL.0..SMALL.0 + LATE.0;
        (!late.contains(&total.0)).then_some(total < SMALL)
    }

    fn pages_in_a_huge_page(&self) -> Option<u64> {
        let size = self.thp.as_ref()?.size?;
        Some(size.0 / self.page.bytes())
    }

    /// khugepaged's bounds are parts of a huge page: all but one of its pages, an eighth, a half.
    fn pages_of_a_huge_page(&self, tunable: &Tunable) -> Option<Chosen> {
        let pages = self.pages_in_a_huge_page();
        let part = match tunable.name {
            "khugepaged.max_ptes_none" => pages?.checked_sub(1)?,
            "khugepaged.max_ptes_swap" => pages? / 8,
            "khugepaged.max_ptes_shared" => pages? / 2,
            _ => return None,
        };
        Some(Chosen::Value(part.to_string()))
    }

    /// The largest size follows the switch of all, the others are off.
    fn of_size(&self, named: Named<'_>) -> Option<String> {
        let largest = self.thp.as_ref()?.size?.0 >> 10;
        let name = named.to_string();
        let is_largest = name.contains(&alloc::format!(".hugepages-{largest}kB."));
        Some(if is_largest { "inherit" } else { "never" }.into())
    }
}

fn switch(on: bool) -> String {
    u64::from(on).to_string()
}
