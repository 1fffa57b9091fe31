//! What a request asked for: its GFP flags, by name where the log has names (since 4.6), else by
//! number and the table of the kernel's time.
//!
//! The four zone bits never moved. The others were laid out again in 4.4 (`__GFP_WAIT` became
//! direct and kswapd reclaim), 4.12, 4.18 and 5.1; of 5.1 to the newest they are the same but for
//! `__GFP_ATOMIC`, which went in 6.4. Source: `include/linux/gfp.h`, later `gfp_types.h`.

use alloc::string::String;

use super::text::value_of;
use crate::zoneinfo::ZoneKind;

/// Flags that matter to the question which zone may serve, and who may wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gfp {
    /// The number, where it is printed.
    pub mask: Option<u64>,
    /// The names as printed; empty on kernels before 4.6.
    pub names: String,
    /// From which table the number was read; `None` where the names told.
    pub table: Option<Table>,
    /// Whether that table is a guess by the number itself: no release is told.
    pub guessed: bool,
    /// `__GFP_DMA`: the lowest zone only.
    pub dma: bool,
    /// `__GFP_DMA32`.
    pub dma32: bool,
    /// `__GFP_HIGHMEM`: memory that the kernel does not map will do.
    pub highmem: bool,
    /// `__GFP_MOVABLE`: the pages can be moved, so that CMA's will do.
    pub movable: bool,
    /// Whether the task may reclaim and wait.
    pub direct_reclaim: bool,
    /// `__GFP_IO`.
    pub io: bool,
    /// `__GFP_FS`: without it the OOM killer is not called.
    pub fs: bool,
    /// `__GFP_HIGH`: half of the min mark may be used.
    pub high: bool,
    /// `__GFP_NORETRY`.
    pub noretry: bool,
    /// `__GFP_NOFAIL`.
    pub nofail: bool,
    /// `__GFP_THISNODE`: no other node will do.
    pub thisnode: bool,
    /// `__GFP_HARDWALL`: bound to the cpuset.
    pub hardwall: bool,
    /// `__GFP_ACCOUNT`: charged to the task's control group.
    pub account: bool,
    /// `__GFP_NOMEMALLOC`: never below the marks.
    pub nomemalloc: bool,
}

/// A layout of the flags' bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// 2.6.32 to 4.3.
    Wait,
    /// 4.4 to 4.11.
    Since4x4,
    /// 4.12 to 4.17.
    Since4x12,
    /// 4.18 to 5.0.
    Since4x18,
    /// 5.1 on.
    Since5x1,
}

/// The bits of one table.
struct Bits {
    /// Direct reclaim.
    direct: u64,
    noretry: u64,
    nofail: u64,
    nomemalloc: u64,
    hardwall: u64,
    thisnode: u64,
    account: u64,
}

const OLD: Bits = Bits {
    direct: 0x10,
    noretry: 0x1000,
    nofail: 0x800,
    nomemalloc: 0x1_0000,
    hardwall: 0x2_0000,
    thisnode: 0x4_0000,
    account: 0,
};
const SINCE_4_4: Bits = Bits {
    direct: 0x40_0000,
    account: 0x10_0000,
    ..OLD
};
const SINCE_4_18: Bits = Bits {
    direct: 0x20_0000,
    ..SINCE_4_4
};
const SINCE_5_1: Bits = Bits {
    direct: 0x400,
    noretry: 0x1_0000,
    nofail: 0x8000,
    nomemalloc: 0x8_0000,
    hardwall: 0x10_0000,
    thisnode: 0x20_0000,
    account: 0x40_0000,
};

impl Table {
    /// The table of a release; without one, of the number's own look: a bit that only one table's
    /// usual requests have.
    fn of(mask: u64, release: Option<(u32, u32)>) -> Self {
        match release {
            Some(release) if release >= (5, 1) => Self::Since5x1,
            Some(release) if release >= (4, 18) => Self::Since4x18,
            Some(release) if release >= (4, 12) => Self::Since4x12,
            Some(release) if release >= (4, 4) => Self::Since4x4,
            Some(_) => Self::Wait,
            None if mask & 0x200_0000 != 0 => Self::Since4x4,
            None if mask & 0x100_0000 != 0 => Self::Since4x12,
            None if mask & 0x60_0000 == 0x60_0000 => Self::Since4x18,
            None if mask & 0xc00 != 0 && mask & 0x10 == 0 => Self::Since5x1,
            None => Self::Wait,
        }
    }

    /// The releases that it holds for.
    #[must_use]
    pub fn releases(self) -> &'static str {
        match self {
            Self::Wait => "2.6.32 to 4.3",
            Self::Since4x4 => "4.4 to 4.11",
            Self::Since4x12 => "4.12 to 4.17",
            Self::Since4x18 => "4.18 to 5.0",
            Self::Since5x1 => "5.1 and later",
        }
    }

    fn bits(self) -> Bits {
        match self {
            Self::Wait => OLD,
            Self::Since4x4 | Self::Since4x12 => SINCE_4_4,
            Self::Since4x18 => SINCE_4_18,
            Self::Since5x1 => SINCE_5_1,
        }
    }
}

impl Gfp {
    /// The flags in "…gfp_mask=0x14200ca(GFP_HIGHUSER_MOVABLE)…" or "…mode:0x20…".
    #[must_use]
    pub fn in_message(text: &str, release: Option<(u32, u32)>) -> Option<Self> {
        let of_2_4 = || value_of(text, "(gfp=")?.split('/').next();
        let value = value_of(text, "gfp_mask=").or_else(|| value_of(text, "mode:"));
        let value = value.or_else(of_2_4)?;
        let (number, names) = value.split_once('(').unwrap_or((value, ""));
        let mask = number.strip_prefix("0x").unwrap_or(number);
        let mask = u64::from_str_radix(mask, 16).ok()?;
        let names = names.trim_end_matches(')');
        let mut gfp = Self {
            mask: Some(mask),
            names: names.into(),
            ..Self::default()
        };
        if names.is_empty() {
            gfp.read_number(mask, release);
            // The bits that are read are those of 2.4 too.
            gfp.table = gfp.table.filter(|_| of_2_4().is_none());
        } else {
            names.split('|').for_each(|name| gfp.read_name(name));
        }
        Some(gfp)
    }

    fn read_number(&mut self, mask: u64, release: Option<(u32, u32)>) {
        let table = Table::of(mask, release);
        let bits = table.bits();
        let has = |bit| mask & bit != 0;
        self.table = Some(table);
        self.guessed = release.is_none();
        (self.dma, self.highmem) = (has(1), has(2));
        (self.dma32, self.movable) = (has(4), has(8));
        (self.high, self.io, self.fs) = (has(0x20), has(0x40), has(0x80));
        self.direct_reclaim = has(bits.direct);
        self.noretry = has(bits.noretry);
        self.nofail = has(bits.nofail);
        self.nomemalloc = has(bits.nomemalloc);
        self.hardwall = has(bits.hardwall);
        self.thisnode = has(bits.thisnode);
        self.account = has(bits.account);
    }

    fn read_name(&mut self, name: &str) {
        if let Some(group) = name.strip_prefix("GFP_") {
            self.read_group(group);
        }
        match name.trim_start_matches('_') {
            "GFP_DMA" => self.dma = true,
            "GFP_DMA32" => self.dma32 = true,
            "GFP_HIGHMEM" => self.highmem = true,
            "GFP_MOVABLE" => self.movable = true,
            "GFP_DIRECT_RECLAIM" | "GFP_RECLAIM" | "GFP_WAIT" => self.direct_reclaim = true,
            "GFP_IO" => self.io = true,
            "GFP_FS" => self.fs = true,
            "GFP_HIGH" => self.high = true,
            "GFP_NORETRY" => self.noretry = true,
            "GFP_NOFAIL" => self.nofail = true,
            "GFP_THISNODE" => self.thisnode = true,
            "GFP_HARDWALL" => self.hardwall = true,
            "GFP_ACCOUNT" => self.account = true,
            "GFP_NOMEMALLOC" => self.nomemalloc = true,
            _ => {}
        }
    }

    /// What a name of several flags stands for.
    fn read_group(&mut self, group: &str) {
        let user = group.starts_with("USER") || group.starts_with("HIGHUSER");
        let huge = group.starts_with("TRANSHUGE");
        let kernel = user || group.starts_with("KERNEL") || group == "TEMPORARY";
        self.direct_reclaim |= kernel || matches!(group, "NOIO" | "NOFS" | "TRANSHUGE");
        self.io |= kernel || huge || group == "NOFS";
        self.fs |= kernel || huge;
        self.hardwall |= user || huge;
        self.highmem |= group.starts_with("HIGHUSER") || huge;
        self.movable |= group == "HIGHUSER_MOVABLE" || huge;
        self.high |= group == "ATOMIC";
        self.account |= group == "KERNEL_ACCOUNT";
        self.nomemalloc |= huge;
    }

    /// Whether it can neither reclaim nor wait.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        !self.direct_reclaim && self.mask != Some(0)
    }

    /// The highest zone that may serve it, by `gfp_zone()`.
    #[must_use]
    pub fn highest_zone(&self) -> ZoneKind {
        match (self.dma, self.dma32, self.highmem, self.movable) {
            (true, ..) => ZoneKind::Dma,
            (_, true, ..) => ZoneKind::Dma32,
            (_, _, true, true) => ZoneKind::Movable,
            (_, _, true, false) => ZoneKind::HighMem,
            _ => ZoneKind::Normal,
        }
    }

    /// What is left of a min mark for it (`__zone_watermark_ok`): half with `__GFP_HIGH`, a quarter
    /// less of that where it cannot wait. Since 4.4 the latter takes the right to reserves, which
    /// only requests with `__GFP_HIGH` have of those that print.
    #[must_use]
    pub fn mark(&self, min: u64) -> u64 {
        let patient = !self.is_atomic() || self.nomemalloc;
        let old = self.table == Some(Table::Wait);
        let half = if self.high { min - min / 2 } else { min };
        match !patient && (self.high || old) {
            true => half - half / 4,
            false => half,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, release: Option<(u32, u32)>) -> Gfp {
        Gfp::in_message(text, release).expect("a mask")
    }

    /// Each time's GFP_KERNEL, GFP_HIGHUSER_MOVABLE and GFP_ATOMIC, by number alone.
    #[test]
    fn the_usual_requests_are_read_by_the_tables_of_all_times() {
        for (kernel, user, atomic, table) in [
            ("0xd0", "0x200da", "0x20", Table::Wait),
            ("0x24000c0", "0x24200ca", "0x2080020", Table::Since4x4),
            ("0x14000c0", "0x14200ca", "0x1080020", Table::Since4x12),
            ("0x6000c0", "0x6200ca", "0x480020", Table::Since4x18),
            ("0xcc0", "0x100cca", "0xa20", Table::Since5x1),
        ] {
            let at =
                |mask: &str| read(&alloc::format!("x invoked: gfp_mask={mask}, order=0"), None);
            let kernel = at(kernel);
            assert_eq!(kernel.table, Some(table));
            assert!(kernel.direct_reclaim && kernel.io && kernel.fs && !kernel.high);
            assert_eq!(kernel.highest_zone(), ZoneKind::Normal);
            let user = at(user);
            assert!(
                user.direct_reclaim && user.hardwall && user.movable,
                "{table:?}"
            );
            assert_eq!(user.highest_zone(), ZoneKind::Movable);
            let release = match table {
                Table::Wait => (3, 10),
                Table::Since4x4 => (4, 4),
                Table::Since4x12 => (4, 14),
                Table::Since4x18 => (4, 19),
                Table::Since5x1 => (5, 10),
            };
            let atomic = read(&alloc::format!("mode:{atomic}"), Some(release));
            assert!(atomic.is_atomic() && atomic.high);
            assert_eq!(atomic.mark(3200), 1200);
        }
    }

    #[test]
    fn names_count_where_they_are_printed() {
        let gfp = read(
            "mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null)",
            None,
        );
        assert!(gfp.direct_reclaim && gfp.fs && gfp.table.is_none());
        assert_eq!(gfp.names, "GFP_KERNEL|__GFP_COMP|__GFP_ZERO");
        let dma = read("mode:0xcc1(GFP_KERNEL|GFP_DMA), nodemask=(null)", None);
        assert_eq!(dma.highest_zone(), ZoneKind::Dma);
        let nowait = read("mode:0x800(GFP_NOWAIT)", None);
        assert_eq!((nowait.is_atomic(), nowait.mark(3200)), (true, 3200));
    }

    #[test]
    fn nonsense_has_no_flags() {
        assert_eq!(Gfp::in_message("gfp_mask=zz", None), None);
        assert_eq!(Gfp::in_message("", None), None);
    }
}
