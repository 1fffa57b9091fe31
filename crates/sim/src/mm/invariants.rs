//! Invariants that hold at every sample of every run.

use crate::mm::lru::Lru;
use crate::mm::parts::Memory;

/// Every page of every zone is free, on a list, being written, held by the kernel, or what boot
/// left; and the zones' counts are the lists'.
///
/// # Panics
/// If one of them does not hold: the model is wrong.
pub(crate) fn conservation(memory: &Memory) {
    let zones = &memory.zones;
    for zone in zones.iter() {
        let counted = zone.free.checked_add_signed(zone.untold);
        assert_eq!(counted, Some(zone.buddy.free()), "what is free is counted");
    }
    let used: u64 = zones
        .iter()
        .map(|z| {
            z.buddy.free()
                + z.pcp.count()
                + z.kernel
                + z.fixed
                + z.lru.iter().sum::<u64>()
                + z.unevictable
        })
        .sum();
    let managed: u64 = zones.iter().map(|zone| zone.managed).sum();
    assert_eq!(
        used + memory.swap.writing,
        managed,
        "pages are neither made nor lost"
    );
    for lru in Lru::ALL {
        let in_zones: u64 = zones.iter().map(|zone| zone.lru[lru as usize]).sum();
        assert_eq!(
            in_zones,
            memory.zones.list(lru),
            "{lru:?}: zones and list agree"
        );
    }
    let kernel: u64 = zones.iter().map(|zone| zone.kernel).sum();
    assert_eq!(
        kernel,
        memory.objects.pages() + memory.zones.hugetlb_pages(),
        "kernel pages have an owner"
    );
    memory.ksm.shares.check(&memory.folios);
    memory.groups.check();
    memory.writeback.check();
}
