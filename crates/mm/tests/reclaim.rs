//! Captures of machines that reclaim: what the formulas make of them, and what the kernel did.

use plimsoll_mm::formula::scan_balance::{Balance, Both, Reason};
use plimsoll_mm::hierarchy::Protection;
use plimsoll_mm::snapshot::Snapshot;
use plimsoll_mm::units::{Bytes, Pages};

const MIB: u64 = 1 << 20;

/// The snapshot of this name, of the VM with this kernel.
fn snapshot(kernel: &str, name: &str) -> Snapshot {
    let path = format!("fixtures/reclaim/vm-512mib-{kernel}/capture.txt");
    let capture = testkit::capture(&path);
    let frame = capture.labelled(name).expect("the snapshot");
    Snapshot::parse(frame)
}

#[test]
fn every_file_is_understood() {
    for kernel in ["6.1", "6.12"] {
        for name in ["idle", "end"] {
            let snapshot = snapshot(kernel, name);
            assert_eq!(snapshot.errors, [], "{kernel}, {name}");
            assert_eq!(snapshot.recursive_protection, Some(false));
            assert!(snapshot.zram.contains_key("zram0"), "{kernel}, {name}");
            assert!(snapshot.memcgs.len() >= 10, "{kernel}, {name}");
        }
    }
}

#[test]
fn a_file_that_is_read_again_and_again_ends_the_trimming_of_the_cache() {
    let pass = |name| {
        snapshot("6.1", name)
            .scan_inputs(0, 12)
            .expect("the files are there")
    };
    let idle = pass("idle");
    assert_eq!(idle.inactive.file, Pages::ZERO, "nothing was read yet");
    assert_eq!(idle.reason(), Reason::Costs);
    let end = pass("end");
    // The file was read again and again: its active list is longer than the inactive one.
    assert!(end.may_deactivate.file && !end.may_deactivate.anon);
    assert_eq!(
        end.balance(),
        Balance::Fractions(Both {
            anon: 60,
            file: 140
        })
    );
    let with_a_long_inactive_list = plimsoll_mm::formula::scan_balance::Inputs {
        may_deactivate: Both {
            anon: false,
            file: false,
        },
        ..end
    };
    assert_eq!(with_a_long_inactive_list.reason(), Reason::CacheTrim);
}

/// What was swapped out of a group, in MiB.
fn swapped(snapshot: &Snapshot, group: &str) -> u64 {
    let swapped = snapshot.memcgs[group].swap_current;
    swapped.expect("the kernel accounts for swap").0 / MIB
}

#[test]
fn what_protection_is_computed_is_what_the_kernel_kept() {
    let end = snapshot("6.1", "end");
    let tree = end.hierarchy();
    let min = tree.held("system/db", Protection::Min).expect("it is set");
    assert_eq!((min.setting, min.effective), (Bytes(64 * MIB), Bytes::ZERO));
    assert!(
        swapped(&end, "system/db") >= 40,
        "and the kernel took from it"
    );
    let mut sum = 0;
    for group in ["services/api", "services/web"] {
        let low = tree.held(group, Protection::Low).expect("it is set");
        assert!(low.effective < low.setting, "{group}");
        assert_eq!(
            low.taken_by.map(|taker| taker.group).as_deref(),
            Some("services")
        );
        assert_eq!(swapped(&end, group), 0, "{group}");
        sum += low.effective.0;
    }
    let services = tree.held("services", Protection::Low).expect("it is set");
    let left = services.effective.0 - sum;
    assert!(left < 2 * 4096, "all of it is shared out: {left}");
}
