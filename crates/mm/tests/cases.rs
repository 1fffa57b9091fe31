//! Published evidence of old and of vendors' kernels (`fixtures/cases`): what is computed by the
//! rule of each release equals what its kernel printed, to the page.

use std::fs;

use plimsoll_mm::formula::available;
use plimsoll_mm::recompute::{Chooser, Contradiction, Fit, Kswapd, Place, Ratios};
use plimsoll_mm::snapshot::{PageSource, Snapshot};
use plimsoll_mm::units::{Kib, Pages};
use plimsoll_mm::zoneinfo::{Watermarks, Zone, ZoneKind};

fn snapshot(case: &str) -> Snapshot {
    let capture = testkit::capture(&format!("fixtures/cases/{case}/capture.txt"));
    let snapshot = Snapshot::parse(capture.frames.first().expect("a frame"));
    assert_eq!(snapshot.errors, [], "{case}: everything is understood");
    snapshot
}

fn three(marks: Watermarks) -> [u64; 3] {
    [marks.min.0, marks.low.0, marks.high.0]
}

fn zones(snapshot: &Snapshot) -> &[Zone] {
    &snapshot.zoneinfo.as_ref().expect("zoneinfo").zones
}

fn zone(snapshot: &Snapshot, kind: ZoneKind) -> &Zone {
    let mut zones = zones(snapshot).iter();
    zones.find(|zone| zone.kind == kind).expect("the zone")
}

#[test]
fn rhel_8_s_item_without_a_name_is_a_term_of_mem_available() {
    let snapshot = snapshot("01-nameless-node-stat");
    let computed = snapshot.available_by().expect("its inputs");
    assert_eq!(computed.rule, available::Rule::Nameless);
    assert_eq!(computed.terms.nameless, Pages(131));
    assert_eq!(computed.terms.total, Pages(487_524));
    // Four pages moved between meminfo and zoneinfo.
    assert_eq!(computed.fit, Fit::Differs);
    let marks = snapshot.watermarks().expect("the tunables");
    let marks: Vec<_> = marks.into_iter().take(3).map(three).collect();
    let now = [[32, 40, 48], [8237, 10_296, 12_355], [8625, 10_781, 12_937]];
    assert_eq!(marks, now);
    let limits = snapshot.thresholds_by().expect("the tunables");
    let limits = limits.thresholds;
    assert_eq!(
        (limits.background, limits.dirty),
        (Pages(49_590), Pages(99_303))
    );
}

#[test]
fn ubuntu_12_04_s_kernel_tells_no_managed_pages_and_everything_is_equal() {
    let snapshot = snapshot("02-zoneinfo-3.2-no-managed");
    let marks = snapshot.marks().expect("the tunables");
    let of: Vec<_> = marks.marks.iter().copied().map(three).collect();
    let printed = [[32, 40, 48], [6829, 8536, 10_243], [10_033, 12_541, 15_049]];
    assert!(marks.equal);
    assert_eq!(of, printed);
    let reserves = snapshot.reserves().expect("the ratios");
    assert!(reserves.equal, "{reserves:?}");
    assert_eq!(reserves.rows[0], [0, 3237, 7994, 7994].map(Pages));
    assert_eq!(reserves.rows[1], [0, 0, 4756, 4756].map(Pages));
    let computed = snapshot.thresholds_by().expect("the tunables");
    assert_eq!(computed.fit, Fit::Equal);
    assert_eq!(computed.dirtyable, Pages(1_912_502));
    assert!(computed.rows.iter().all(|row| snapshot.is_own(row)));
    let available = snapshot.available_by().expect("our own estimate");
    assert_eq!(available.fit, Fit::Unprinted);
}

#[test]
fn a_phone_of_2012_has_high_memory_and_its_own_marks() {
    let snapshot = snapshot("03-zoneinfo-3.4-highmem");
    let reserves = snapshot.reserves().expect("the columns");
    assert!(reserves.equal, "{reserves:?}");
    assert_eq!(reserves.rows[0], [0, 4038, 4038].map(Pages));
    let high = zone(&snapshot, ZoneKind::HighMem);
    assert_eq!(three(high.watermarks), [126, 311, 496]);
    let lists = &snapshot.zoneinfo.as_ref().expect("zoneinfo").nodes;
    assert_eq!(lists[0].items.get("nr_active_anon"), Some(11 + 67_081));
    let nodes = snapshot.nodes();
    assert_eq!(nodes[0].kswapd, Some(Kswapd::Balanced));
}

#[test]
fn a_router_of_4_1_has_mem_available_by_low_marks_and_whole_percents() {
    let snapshot = snapshot("04-available-by-low-marks-4.1");
    let computed = snapshot.available_by().expect("its inputs");
    assert_eq!(computed.fit, Fit::Equal);
    assert_eq!(computed.terms.total, Pages(10_004));
    assert!(snapshot.is_own(computed.row));
    let limits = snapshot.thresholds_by().expect("the tunables");
    assert_eq!(limits.fit, Fit::Equal);
    assert_eq!(limits.thresholds.background, Pages(800));
    let marks = snapshot.marks().expect("the tunables");
    assert!(marks.equal && snapshot.is_own(marks.row));
    assert_eq!(three(marks.marks[0]), [306, 382, 459]);
}

#[test]
fn a_boost_that_is_not_printed_is_found_in_the_marks() {
    let snapshot = snapshot("05-hidden-boost");
    assert!(snapshot.hidden_boost && snapshot.hides_boost());
    let boost = |kind| zone(&snapshot, kind).boost;
    assert_eq!(boost(ZoneKind::Dma), None);
    assert_eq!(boost(ZoneKind::Dma32), Some(Pages(13_312)));
    assert_eq!(boost(ZoneKind::Normal), Some(Pages(512)));
    let marks = |kind| three(zone(&snapshot, kind).unboosted());
    assert_eq!(marks(ZoneKind::Dma32), [6198, 7747, 9296]);
    assert_eq!(marks(ZoneKind::Normal), [10_664, 13_330, 15_996]);
    assert!(snapshot.min_marks_share_out_min_free(), "16895 of 16896");
}

#[test]
fn free_pages_of_cma_do_not_stand_against_the_marks_and_the_vendor_s_extra_is_found() {
    let snapshot = snapshot("06-free-pages-are-cma");
    let standing = snapshot.standing(zone(&snapshot, ZoneKind::HighMem));
    assert_eq!(standing.cma, Pages(62_429));
    assert_eq!(standing.against, Pages(667));
    assert_eq!(standing.place, Place::BelowLow);
    let nodes = snapshot.nodes();
    assert_eq!(nodes[0].kswapd, Some(Kswapd::BalancedBy(ZoneKind::Dma)));
    let marks = snapshot.marks().expect("the tunable");
    assert_eq!(marks.extra_free, Some(Kib(23_912)));
    let reserves = snapshot.reserves().expect("the ratios");
    assert!(
        reserves.equal && snapshot.is_own(reserves.row),
        "{reserves:?}"
    );
}

#[test]
fn from_5_8_to_5_10_49_movable_requests_find_no_reserve() {
    let snapshot = snapshot("07-lowmem-reserve-5.10");
    let reserves = snapshot.reserves().expect("the ratios");
    assert!(
        reserves.equal && snapshot.is_own(reserves.row),
        "{reserves:?}"
    );
    assert_eq!(reserves.rows[0], [0, 0, 1491, 0].map(Pages));
}

#[test]
fn a_later_5_10_is_told_by_name_to_have_the_reserve_of_5_8() {
    let mut snapshot = snapshot("07-lowmem-reserve-5.10");
    snapshot.release = Some("5.10.60".to_owned());
    let reserves = snapshot.reserves().expect("the ratios");
    assert!(reserves.equal && !snapshot.is_own(reserves.row));
    assert_eq!(reserves.row.releases.to_string(), "5.8 to 5.10.49");
}

#[test]
fn without_the_ratios_the_reserve_tells_them() {
    let mut snapshot = snapshot("07-lowmem-reserve-5.10");
    snapshot.tunables.remove("vm.lowmem_reserve_ratio");
    let reserves = snapshot.reserves().expect("the columns");
    assert!(reserves.equal);
    assert_eq!(reserves.ratios, Ratios::Default(vec![256, 32, 0, 0]));
    for zone in snapshot
        .zoneinfo
        .iter_mut()
        .flat_map(|info| &mut info.zones)
    {
        for kept in &mut zone.protection {
            *kept = Pages(if kept.0 > 0 { 381_696 / 64 } else { 0 });
        }
    }
    let reserves = snapshot.reserves().expect("the columns");
    assert!(reserves.equal);
    assert_eq!(reserves.ratios, Ratios::Inferred(vec![64, 32, 0, 0]));
}

#[test]
fn a_reserve_that_reading_made_again_differs_only_before() {
    let reserves = snapshot("08-reading-remakes-the-reserve").reserves();
    let reserves = reserves.expect("the ratios");
    assert!(!reserves.equal);
    assert!(matches!(reserves.ratios, Ratios::Told(_)));
}

#[test]
fn what_khugepaged_asked_for_under_its_cap_is_its_own() {
    let mut snapshot = snapshot("12-khugepaged-and-its-cap");
    assert_eq!(snapshot.min_free_chooser(), Some(Chooser::Khugepaged));
    let chosen = snapshot.chosen_min_free().expect("the zones");
    assert_eq!(chosen.by_root, Kib(2759));
    assert_eq!(chosen.khugepaged.map(|asked| *asked.end()), Some(23_596));
    let mut chooser = |value: &str| {
        let set = value.to_owned();
        snapshot.tunables.insert("vm.min_free_kbytes", set);
        snapshot.min_free_chooser()
    };
    assert_eq!(chooser("23000"), Some(Chooser::Khugepaged), "asked again");
    assert_eq!(chooser("23600"), Some(Chooser::Set));
    assert_eq!(chooser("2709"), Some(Chooser::Root));
    assert_eq!(chooser("65536"), Some(Chooser::Set));
}

#[test]
fn one_zone_below_low_does_not_wake_kswapd() {
    let snapshot = snapshot("13-kswapd-is-per-node");
    let normal = snapshot.standing(zone(&snapshot, ZoneKind::Normal));
    assert_eq!(
        (normal.place, normal.against),
        (Place::BelowLow, Pages(8846))
    );
    let nodes = snapshot.nodes();
    assert_eq!(nodes[0].kswapd, Some(Kswapd::BalancedBy(ZoneKind::Dma32)));
}

#[test]
fn of_a_part_of_a_node_nothing_is_said_about_kswapd() {
    let snapshot = snapshot("14-partial-pastes");
    assert!(!snapshot.is_live && !snapshot.zones_are_whole());
    assert_eq!(snapshot.page_source, PageSource::Assumed);
    assert_eq!(snapshot.nodes()[0].kswapd, None);
    assert_eq!(snapshot.reserves(), None);
    assert!(snapshot.span().is_since(4, 8), "by nr_zone_inactive_anon");
}

#[test]
fn none_of_the_cases_contradicts_itself() {
    let folder = testkit::checkout("fixtures/cases");
    let mut checked = 0;
    for entry in fs::read_dir(folder).expect("the cases") {
        let entry = entry.expect("an entry");
        if entry.path().join("capture.txt").exists() {
            let case = entry.file_name();
            let case = case.to_str().expect("UTF-8");
            assert_eq!(snapshot(case).contradictions(), [], "{case}");
            checked += 1;
        }
    }
    assert_eq!(checked, 12);
}

#[test]
fn a_scale_factor_that_is_not_told_is_told_by_the_marks() {
    let mut snapshot = snapshot("12-khugepaged-and-its-cap");
    let set = snapshot
        .tunables
        .insert("vm.watermark_scale_factor", "200".to_owned());
    assert_eq!(set.as_deref(), Some("10"));
    let marks = snapshot.watermarks().expect("the tunables");
    let zones = snapshot
        .zoneinfo
        .iter_mut()
        .flat_map(|info| &mut info.zones);
    for (zone, marks) in zones.zip(marks) {
        zone.watermarks = marks;
    }
    snapshot.tunables.remove("vm.watermark_scale_factor");
    let marks = snapshot.marks().expect("the tunables");
    assert!(marks.equal, "{marks:?}");
    assert_eq!(marks.scale_factor, Some(200));
}

#[test]
fn a_container_s_meminfo_beside_its_host_s_zones_contradicts_itself() {
    let mut snapshot = snapshot("01-nameless-node-stat");
    let meminfo = snapshot.meminfo.as_mut().expect("meminfo");
    meminfo.mem_total = Some(Kib(2_097_152));
    let found = snapshot.contradictions();
    let two_views = |found: &&Contradiction| matches!(found, Contradiction::TwoViews { .. });
    assert_eq!(found.iter().filter(two_views).count(), 1, "{found:?}");
    let meminfo = snapshot.meminfo.as_mut().expect("meminfo");
    meminfo.mem_available = Some(Kib(4_194_304));
    let found = snapshot.contradictions();
    let more = |found: &&Contradiction| {
        matches!(
            found,
            Contradiction::MoreThanAll {
                part: "MemAvailable",
                ..
            }
        )
    };
    assert_eq!(found.iter().filter(more).count(), 1, "{found:?}");
}

#[test]
fn memory_that_is_brought_in_as_it_is_needed_is_no_contradiction_in_a_paste() {
    let mut capture = testkit::capture("fixtures/hosts/vm-24gib-6.18/capture.txt");
    let frame = &mut capture.frames[0];
    frame
        .files
        .retain(|path, _| path.starts_with("proc/meminfo") || path.starts_with("proc/zoneinfo"));
    let snapshot = Snapshot::parse(frame);
    let total = snapshot
        .meminfo
        .as_ref()
        .and_then(|meminfo| meminfo.mem_total);
    let total = total.expect("MemTotal").bytes();
    assert!(snapshot.managed().bytes(snapshot.page).0 < total.0 / 2);
    assert_eq!(snapshot.contradictions(), []);
}
