//! Zones against their marks, and nodes as kswapd sees them, on both sides of the release where the
//! rule changed.

use plimsoll_mm::capture::Frame;
use plimsoll_mm::recompute::{Kswapd, Place};
use plimsoll_mm::snapshot::Snapshot;
use plimsoll_mm::units::Pages;
use plimsoll_mm::zoneinfo::ZoneKind;

/// A machine with DMA32 and Normal, marks 100/125/150 and 200/250/300, and a reserve of 40 in
/// DMA32.
fn machine(release: &str, free: [u64; 2], items: &str) -> Snapshot {
    let zone = |name: &str, free: u64, marks: [u64; 3], kept: u64| {
        format!(
            "Node 0, zone {name}\n  pages free {free}\n        min {}\n        low {}\n        \
             high {}\n        spanned 9000\n        present 9000\n        managed 9000\n        \
             protection: (0, {kept}, {kept})\n      nr_free_pages {free}\n{items}",
            marks[0], marks[1], marks[2]
        )
    };
    let dma32 = zone("DMA32", free[0], [100, 125, 150], 40);
    let normal = zone("Normal", free[1], [200, 250, 300], 0);
    let mut frame = Frame::default();
    let mut put = |path: &str, text: String| frame.files.insert(path.to_owned(), text);
    put("proc/zoneinfo", dma32 + &normal);
    put("proc/sys/kernel/osrelease", release.to_owned());
    put("plimsoll/facts", "reader\troot\n".to_owned());
    Snapshot::parse(&frame)
}

fn kswapd(release: &str, free: [u64; 2]) -> Option<Kswapd> {
    machine(release, free, "").nodes()[0].kswapd
}

#[test]
fn since_4_8_one_zone_above_high_and_its_reserve_is_enough() {
    let by = |zone| Some(Kswapd::BalancedBy(zone));
    assert_eq!(kswapd("4.8.0", [50, 301]), by(ZoneKind::Normal));
    assert_eq!(kswapd("4.8.0", [191, 50]), by(ZoneKind::Dma32));
    assert_eq!(
        kswapd("4.8.0", [190, 50]),
        Some(Kswapd::GoesOn),
        "at the mark"
    );
    assert_eq!(kswapd("6.12.1", [166, 50]), Some(Kswapd::GoesOn));
    assert_eq!(kswapd("6.12.1", [165, 250]), Some(Kswapd::Reclaims));
}

#[test]
fn before_4_8_every_zone_must_be_above_high() {
    assert_eq!(kswapd("4.7.10", [50, 301]), Some(Kswapd::GoesOn));
    assert_eq!(kswapd("4.7.10", [151, 301]), Some(Kswapd::Balanced));
    assert_eq!(
        kswapd("3.10.0-1160.el7", [165, 250]),
        Some(Kswapd::Reclaims)
    );
}

#[test]
fn free_pages_kept_for_atomic_requests_do_not_stand_against_the_marks() {
    let kept = machine("6.12.1", [9, 320], "      nr_free_highatomic 60\n");
    let zone = &kept.zoneinfo.as_ref().expect("zoneinfo").zones[1];
    let standing = kept.standing(zone);
    assert_eq!(
        (standing.highatomic, standing.against),
        (Pages(60), Pages(260))
    );
    assert_eq!(standing.place, Place::BelowHigh);
    let most = machine("6.12.1", [9, 320], "      nr_free_cma 400\n");
    let zone = &most.zoneinfo.as_ref().expect("zoneinfo").zones[1];
    let standing = most.standing(zone);
    assert_eq!((standing.cma, standing.against), (Pages(320), Pages(0)));
    assert_eq!(standing.place, Place::BelowMin);
}
