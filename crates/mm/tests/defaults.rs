//! What the kernel chooses by itself, against kernels that nobody had set anything on.

use plimsoll_mm::catalogue::resolve;
use plimsoll_mm::recompute::Chosen;
use plimsoll_mm::snapshot::Snapshot;
use plimsoll_mm::units::Bytes;

fn fixture(path: &str, label: &str) -> Snapshot {
    let capture = testkit::capture(&format!("fixtures/{path}"));
    Snapshot::parse(capture.labelled(label).expect("its snapshot"))
}

const KERNELS: [&str; 8] = [
    "vm-1280mib-5.10-686",
    "vm-1536mib-5.10-686-pae",
    "vm-1536mib-6.1-686-pae",
    "vm-1gib-5.10",
    "vm-1gib-7.2",
    "vm-2-nodes-5.10",
    "vm-5gib-7.2",
    "vm-768mib-6.1-686",
];

/// khugepaged of 5.10 and 6.1 asked before the pages of the initial RAM disk came; see
/// `fixtures/kernels/README.md`.
const EARLY: [&str; 4] = [
    "vm-1280mib-5.10-686",
    "vm-1536mib-5.10-686-pae",
    "vm-1gib-5.10",
    "vm-768mib-6.1-686",
];

#[test]
fn on_a_kernel_that_booted_nothing_differs_from_what_it_chooses() {
    let mut compared = 0;
    for kernel in KERNELS {
        let snapshot = fixture(&format!("kernels/{kernel}/booted.txt"), "as-booted");
        for (&name, value) in &snapshot.tunables {
            let named = resolve(name).expect("a tunable");
            if name == "vm.min_free_kbytes" && EARLY.contains(&kernel) {
                continue;
            }
            let differs = snapshot.differs(named, value);
            let chosen = snapshot.default_of(named);
            assert_ne!(
                differs,
                Some(true),
                "{kernel}: {name} = {value}, {chosen:?}"
            );
            compared += usize::from(differs.is_some());
        }
    }
    assert!(compared > 400, "{compared} values");
}

#[test]
fn what_was_set_differs_and_its_worth_is_told() {
    let changed = fixture("kernels/vm-1gib-5.10/capture.txt", "changed");
    let of = |name: &str| {
        let value = changed.tunable(name).expect("its value");
        let differs = changed.differs(resolve(name).expect("a tunable"), value);
        let worth = changed.worth(name, value).map(|Bytes(bytes)| bytes >> 20);
        (value.to_owned(), differs, worth)
    };
    let pages = |name: &str| changed.vmstat(name).map(|pages| (pages * 4096) >> 20);
    let limit = pages("nr_dirty_threshold");
    assert_eq!(of("vm.dirty_ratio"), ("33".into(), Some(true), limit));
    let background = pages("nr_dirty_background_threshold");
    assert_eq!(
        of("vm.dirty_background_ratio"),
        ("7".into(), Some(true), background)
    );
    let zones = &changed.zoneinfo.as_ref().expect("zoneinfo").zones;
    let high: u64 = zones.iter().map(|zone| zone.unboosted().high.0).sum();
    let high = Some((high * 4096) >> 20);
    assert_eq!(of("vm.min_free_kbytes"), ("40000".into(), Some(true), high));
    assert_eq!(
        of("vm.watermark_scale_factor"),
        ("150".into(), Some(true), high)
    );
}

#[test]
fn what_files_do_not_tell_is_not_compared() {
    let snapshot = Snapshot::default();
    let named = resolve("vm.min_free_kbytes").expect("a tunable");
    assert_eq!(snapshot.default_of(named), Chosen::Unknown);
    assert_eq!(snapshot.differs(named, "67584"), None);
    assert_eq!(snapshot.worth("vm.dirty_ratio", "20"), None);
    // A kernel's own choice of how it was built is in none of these files.
    let zswap = resolve("zswap.enabled").expect("a tunable");
    assert_eq!(
        fixture("kernels/vm-1gib-7.2/booted.txt", "as-booted").default_of(zswap),
        Chosen::Unknown
    );
}
