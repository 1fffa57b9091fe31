//! What is said of devices that hold much.

use super::*;
use mm::capture::Frame;

const RULES: Rules = Rules {
    throttled: true,
    expiry: Some(30.0),
};

/// A device that holds this many KiB of a limit of 1 GiB.
fn device(held: u64, part: u64, bandwidth: u64, wrote: Option<Wrote>) -> DeviceFlush {
    let stats = Stats {
        writeback: Some(Kib(0)),
        reclaimable: Some(Kib(held)),
        part: Some(Kib(part)),
        threshold: Some(Kib(1 << 20)),
        bandwidth: Some(Kib(bandwidth)),
        ..Stats::default()
    };
    DeviceFlush {
        device: "sdb".to_owned(),
        held: Held::of(&stats, wrote, &RULES),
        wrote,
    }
}

fn remarks(device: &DeviceFlush) -> String {
    device.remarks().collect::<Vec<_>>().join("\n")
}

#[test]
fn a_device_is_pointed_out_where_it_holds_more_than_its_part_or_than_it_can_write() {
    let (quarter, all) = (1 << 18, 1 << 20);
    assert_eq!(remarks(&device(quarter, all, 50 << 10, None)), "");
    let slow = remarks(&device(quarter, all, 5 << 10, None));
    assert!(
        slow.starts_with("sdb holds 25% of what all may hold, 51 s of its writing"),
        "{slow}"
    );
    let crowding = remarks(&device(quarter, quarter / 2, 50 << 10, None));
    assert!(crowding.contains("and 12% is its part"), "{crowding}");
    assert_eq!(
        remarks(&device(quarter - 4, 0, 1, None)),
        "",
        "it holds little"
    );
    let calm = Rules {
        throttled: false,
        expiry: None,
    };
    let stats = Stats {
        reclaimable: Some(Kib(all)),
        writeback: Some(Kib(0)),
        part: Some(Kib(0)),
        threshold: Some(Kib(all)),
        ..Stats::default()
    };
    assert_eq!(
        calm.broken_by(&stats, Some(1e9)),
        None,
        "nobody waits, nothing expires"
    );
}

#[test]
fn an_estimate_that_was_not_measured_or_lags_is_said() {
    let guess = remarks(&device(4, 1 << 20, 100 << 10, None));
    assert!(guess.contains("first guess"), "{guess}");
    let wrote = |busy| Wrote {
        wrote_bytes_per_second: 1024.0 * 1024.0,
        busy,
    };
    let lags = remarks(&device(64 << 10, 1 << 20, 32 << 10, Some(wrote(1.0))));
    assert!(lags.ends_with("its flush takes 64 s."), "{lags}");
    assert_eq!(
        remarks(&device(64 << 10, 1 << 20, 32 << 10, Some(wrote(0.5)))),
        ""
    );
    let none = device(0, 0, 100 << 10, None);
    assert_eq!(remarks(&none), "", "nothing to write");
}

#[test]
fn without_debugfs_the_reason_and_what_was_written_are_shown() {
    let frame = |at, written| {
        let disk = format!("8 16 sdb 1 0 8 1 1 0 {written} 1 0 {} 1\n", written / 4096);
        let files = [
            ("proc/diskstats", disk.as_str()),
            ("proc/vmstat", "nr_dirty 255\nnr_writeback 1\n"),
            ("sys/block/sdb/bdi/max_ratio", "100\n"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        Snapshot::parse(&Frame {
            at,
            label: None,
            files: files.into(),
        })
    };
    let (first, last) = (frame(Nanos(0), 0), frame(Nanos::SECOND, 2_048_000));
    let note = "sys/kernel/debug/bdi\tdebugfs is not mounted\n";
    let flush = Flush::of(&first, &last, note).expect("a device wrote");
    assert_eq!(
        flush.seconds,
        Some(5e-4),
        "1 MiB at a gigabyte in half a second"
    );
    let reason = flush.reason.expect("a reason");
    assert!(reason.ends_with("(root may: mount -t debugfs none /sys/kernel/debug)"));
    assert!(Flush::of(&first, &first, "").is_none(), "nothing is known");
}
