//! Pages that come to a zone late: the memory of the initramfs and of the kernel's own
//! initialisation, which boot gives back to the zone below 4 GiB after it has chosen the per-CPU
//! lists' batches, `min_free_kbytes` and the watermarks by the zones' sizes.

use alloc::vec::Vec;

use mm::capture::Frame;
use mm::catalogue::path_of;
use mm::formula::batch::zone_batchsize;
use mm::formula::min_free;
use mm::formula::watermarks::ZoneSize;
use mm::units::{Kib, PageSize, Pages};
use mm::zoneinfo::{Zone as Layout, ZoneKind, Zoneinfo};
use scenario::calibration::Boot;

const PAGE: PageSize = PageSize::FOUR_KIB;
const PAGEBLOCK: Pages = Pages(512);
const HUGE_PAGES_ENABLED: &str = path_of("thp.enabled");
const MIN_FREE: &str = path_of("vm.min_free_kbytes");

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

/// `min_free_kbytes` that a kernel chooses for these zones.
pub(super) fn chosen_min_free(layout: &[Layout], frame: &Frame, late: Pages) -> Kib {
    // Those that the kernel's own requests may use (`nr_free_buffer_pages`).
    let zones: Vec<Layout> = layout
        .iter()
        .filter(|it| it.is_populated())
        .cloned()
        .collect();
    let thp = frame.file(HUGE_PAGES_ENABLED).unwrap_or_default();
    let has_huge_pages = thp.contains('[') && !thp.contains("[never]");
    min_free::at_boot(&early_sizes(&zones, late), has_huge_pages, PAGEBLOCK, PAGE)
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
