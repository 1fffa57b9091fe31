//! Pages that come to a zone late: the memory of the initramfs and of the kernel's own
//! initialisation, which boot gives back to the zone below 4 GiB after it has chosen the per-CPU
//! lists' batches, `min_free_kbytes` and the watermarks by the zones' sizes.

use alloc::vec::Vec;

use mm::calibration::Boot;
use mm::capture::Frame;
use mm::catalogue::path_of;
use mm::formula::batch::zone_batchsize;
use mm::formula::min_free;
use mm::formula::watermarks::{MovableRule, Rule, ZoneSize, watermarks};
use mm::units::{Kib, PageSize, Pages};
use mm::zoneinfo::{Zone as Layout, ZoneKind, Zoneinfo};

const PAGE: PageSize = PageSize::FOUR_KIB;
const PAGEBLOCK: Pages = Pages(512);
const HUGE_PAGES_ENABLED: &str = path_of("thp.enabled");
const MIN_FREE: &str = path_of("vm.min_free_kbytes");

/// `vm.watermark_scale_factor` as the kernel starts.
pub(super) const SCALE_FACTOR: u64 = 10;

/// More than any of the calibrated kernels: 64 MiB.
const MOST: u64 = (64 << 20) / 4096;

/// How many there are. The captures do not say: it is the least that explains what each of them
/// chose, and none where no number does.
pub(super) fn late_pages(boots: &[Boot]) -> Pages {
    let booted: Vec<Booted> = boots.iter().filter_map(Booted::of).collect();
    let explains = |late: &u64| booted.iter().all(|it| it.is_explained_by(Pages(*late)));
    Pages((0..MOST).find(explains).unwrap_or(0))
}

/// The zones' sizes before the late pages came.
pub(super) fn early_sizes(layout: &[Layout], late: Pages) -> Vec<ZoneSize> {
    let size = |zone: &Layout| ZoneSize {
        kind: zone.kind,
        managed: early_size(zone, late),
    };
    layout.iter().map(size).collect()
}

/// Pages of a zone before the late ones came.
pub(super) fn early_size(zone: &Layout, late: Pages) -> Pages {
    match (zone.node, zone.kind) {
        (0, ZoneKind::Dma32) => Pages(zone.managed.0.saturating_sub(late.0)),
        _ => zone.managed,
    }
}

/// `min_free_kbytes` that a kernel chooses for these zones: by their square root, and what huge
/// pages want beyond the watermarks that follow from that, where they are on.
pub(super) fn chosen_min_free(layout: &[Layout], frame: &Frame, late: Pages) -> Kib {
    // The zones that the kernel's own requests may use (`nr_free_buffer_pages`).
    let zones: Vec<Layout> = layout
        .iter()
        .filter(|it| it.is_populated())
        .cloned()
        .collect();
    let sizes = early_sizes(&zones, late);
    let managed: Pages = sizes.iter().map(|zone| zone.managed).sum();
    let by_root = min_free::by_square_root(managed, PAGE);
    let thp = frame.file(HUGE_PAGES_ENABLED).unwrap_or_default();
    if thp.contains("[never]") || !thp.contains('[') {
        return by_root;
    }
    let rule = Rule {
        min_free: by_root.pages_floor(PAGE),
        scale_factor: SCALE_FACTOR,
        movable: MovableRule::observed(layout),
    };
    let high: Pages = watermarks(&sizes, rule).iter().map(|it| it.high).sum();
    let free_buffer = Pages(managed.0.saturating_sub(high.0));
    let huge = min_free::for_huge_pages(sizes.len() as u64, PAGEBLOCK, free_buffer, PAGE);
    by_root.max(huge)
}

/// A calibrated machine, and what its kernel chose by the sizes of its zones.
struct Booted<'a> {
    frame: &'a Frame,
    layout: Vec<Layout>,
    min_free: Kib,
}

impl<'a> Booted<'a> {
    fn of(boot: &'a Boot) -> Option<Self> {
        let frame = boot.capture.frames.first()?;
        let zoneinfo = Zoneinfo::parse(frame.file("proc/zoneinfo")?).ok()?;
        let min_free = frame.file(MIN_FREE)?.trim().parse().ok()?;
        Some(Self {
            frame,
            layout: zoneinfo.zones,
            min_free: Kib(min_free),
        })
    }

    fn is_explained_by(&self, late: Pages) -> bool {
        let batch = |zone: &Layout| zone.pagesets.first().map(|set| set.batch);
        let below_4_gib = |zone: &&Layout| zone.kind == ZoneKind::Dma32;
        let explained = |zone: &Layout| {
            batch(zone).is_none_or(|it| it == zone_batchsize(early_size(zone, late).0))
        };
        self.layout.iter().filter(below_4_gib).all(explained)
            && chosen_min_free(&self.layout, self.frame, late) == self.min_free
    }
}
