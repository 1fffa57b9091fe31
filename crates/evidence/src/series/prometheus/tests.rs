//! A scrape and what becomes of it.

use super::*;
use mm::capture::Frame;
use mm::snapshot::Snapshot;
use mm::units::{Kib, Pages};
use mm::zoneinfo::ZoneKind;

const DUMP: &str = include_str!("../../../../../fixtures/series/node-exporter.txt");

fn snapshot(text: &str) -> Snapshot {
    let files = node_exporter(text).expect("a dump");
    Snapshot::parse(&Frame {
        files: files.into_iter().collect(),
        ..Frame::default()
    })
}

#[test]
fn a_dump_becomes_the_files_that_it_was_read_from() {
    let snapshot = snapshot(DUMP);
    assert!(snapshot.errors.is_empty(), "{:?}", snapshot.errors);
    assert_eq!(snapshot.release.as_deref(), Some("6.1.0-56-cloud-amd64"));
    let meminfo = snapshot.meminfo.as_ref().expect("meminfo");
    assert_eq!(meminfo.mem_total, Some(Kib(350_992)));
    assert_eq!(meminfo.active_anon, Some(Kib(17_907_712 / 1024)));
    assert!(snapshot.vmstat("pgscan_direct").is_some());
    let some = snapshot.pressure.memory.and_then(|psi| psi.some);
    assert!(some.is_some_and(|some| some.total > Nanos::ZERO));
    let zones = snapshot.zoneinfo.as_ref().expect("zoneinfo");
    let zone = zones.zone(0, ZoneKind::Dma32).expect("DMA32");
    assert_eq!(
        (zone.watermarks.min, zone.managed),
        (Pages(1781), Pages(83_908))
    );
    let reserve = zones.zone(0, ZoneKind::Dma).map(|dma| dma.protection[1]);
    assert_eq!(reserve, Some(Pages(307)));
}

#[test]
fn the_note_says_what_is_lost() {
    let files = node_exporter(DUMP).expect("a dump");
    let note = files.iter().find(|(path, _)| path == NOTE).expect("a note");
    assert!(note.1.contains("totals only") && !note.1.contains("2^53"));
    let large = node_exporter("node_vmstat_pgfault 1e17\n").expect("a dump");
    assert!(large.iter().any(|(_, text)| text.contains("2^53")));
}

#[test]
fn a_dump_says_when_it_was_made() {
    let at = scraped_at(DUMP).expect("both clocks");
    assert!((60..90).contains(&(at.0 / 1_000_000_000)), "{at:?}");
    assert_eq!(scraped_at("node_time_seconds 5\n"), None);
}

#[test]
fn names_from_before_0_16_and_swap_devices_are_read() {
    let text = "node_memory_MemTotal 1048576\nnode_memory_HugePages_Total 3\n\
                node_swap_size_bytes{device=\"/dev/vda2\",swap_type=\"partition\"} 8192\n\
                node_swap_priority{device=\"/dev/vda2\",swap_type=\"partition\"} -2\n";
    let snapshot = snapshot(text);
    assert!(snapshot.errors.is_empty(), "{:?}", snapshot.errors);
    let meminfo = snapshot.meminfo.as_ref().expect("meminfo");
    assert_eq!(meminfo.mem_total, Some(Kib(1024)));
    assert!(snapshot.swaps.is_some());
}

#[test]
fn other_texts_are_none() {
    for other in [
        "",
        "MemTotal: 1 kB\n",
        "node_load1 0.1\n",
        "node_memory_MemFree_bytes x",
        "node_vmstat_ 0",
    ] {
        assert_eq!(node_exporter(other), None, "{other}");
    }
}

#[test]
fn an_amount_that_no_machine_has_is_the_largest_that_is_believed() {
    let text = "node_memory_MemTotal_bytes 1e300\nnode_memory_HugePages_Rsvd 1e300\n";
    let snapshot = snapshot(text);
    assert!(snapshot.errors.is_empty(), "{:?}", snapshot.errors);
    let meminfo = snapshot.meminfo.as_ref().expect("meminfo");
    assert_eq!(meminfo.mem_total, Some(Kib(LARGEST_AMOUNT)));
}
