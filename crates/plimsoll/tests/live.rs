//! On this very machine, under the kernel that runs the test, what is computed equals what the
//! kernel says.

use host::Root;
use mm::capture::Frame;
use mm::meminfo::Meminfo;
use mm::snapshot::Snapshot;
use mm::units::{Nanos, Pages};
use mm::vmstat::Vmstat;

/// Readings that are tried until memory stands still during one of them.
const TRIES: usize = 20_000;

/// Files in the order in which they are read: the moving ones before and after the others.
const FILES: [&str; 3] = ["proc/meminfo", "proc/zoneinfo", "proc/vmstat"];

/// A reading during which no input of the figures moved: meminfo and vmstat say the same before and
/// after zoneinfo.
fn still(root: &Root, still: impl Fn(&Snapshot) -> Option<Vec<u64>>) -> Snapshot {
    let tunables = host::read::full(root, Nanos::ZERO);
    let read = |mut frame: Frame| {
        for path in FILES {
            frame
                .files
                .insert(path.to_owned(), root.read(path).expect("a kernel file"));
        }
        frame
    };
    let mut before = Snapshot::parse(&read(tunables.clone()));
    for _ in 0..TRIES {
        let after = Snapshot::parse(&read(tunables.clone()));
        if still(&before) == still(&after) {
            return after;
        }
        before = after;
    }
    panic!("memory moved in each of {TRIES} readings; run the test on a quieter machine");
}

/// The inputs of MemAvailable: from meminfo and, for the reserve, from zoneinfo.
fn available_inputs(snapshot: &Snapshot) -> Option<Vec<u64>> {
    let meminfo: &Meminfo = snapshot.meminfo.as_ref()?;
    let reclaimable = meminfo.kreclaimable.or(meminfo.sreclaimable);
    let items = [
        meminfo.mem_free,
        meminfo.active_file,
        meminfo.inactive_file,
        reclaimable,
        meminfo.mem_available,
    ];
    let items = items.into_iter().map(|item| Some(item?.0));
    items
        .chain([snapshot.totalreserve().map(|pages| pages.0)])
        .collect()
}

/// The inputs of the dirty thresholds in vmstat, and what may stand for them in meminfo.
fn dirty_inputs(snapshot: &Snapshot) -> Option<Vec<u64>> {
    let vmstat: &Vmstat = snapshot.vmstat.as_ref()?;
    let items = [
        "nr_free_pages",
        "nr_active_file",
        "nr_inactive_file",
        "nr_dirty_threshold",
    ];
    let items: Option<Vec<u64>> = items.into_iter().map(|item| vmstat.get(item)).collect();
    Some(
        items?
            .into_iter()
            .chain(available_inputs(snapshot)?)
            .collect(),
    )
}

#[test]
fn mem_available_equals_the_kernels() {
    let snapshot = still(&Root::default(), available_inputs);
    let kernel = snapshot
        .meminfo
        .as_ref()
        .and_then(|meminfo| meminfo.mem_available);
    let kernel = kernel.expect("MemAvailable").pages_floor(snapshot.page);
    let computed = reckonings(snapshot).map(|s| s.available().expect("the inputs").total);
    assert!(
        computed.contains(&kernel),
        "{computed:?}, kernel {kernel:?}"
    );
}

/// The snapshot, and as it is if the kernel worked out its reserve while a zone was boosted: the
/// boost then stays in the reserve until the watermarks are set again.
fn reckonings(snapshot: Snapshot) -> [Snapshot; 2] {
    let mut boosted = snapshot.clone();
    for zone in boosted.zoneinfo.iter_mut().flat_map(|info| &mut info.zones) {
        zone.boost = None;
    }
    [snapshot, boosted]
}

#[test]
fn dirty_thresholds_equal_the_kernels() {
    let snapshot = still(&Root::default(), dirty_inputs);
    let kernel = |item| snapshot.vmstat(item).map(Pages).expect("a threshold");
    let thresholds = (
        kernel("nr_dirty_threshold"),
        kernel("nr_dirty_background_threshold"),
    );
    let computed = reckonings(snapshot).map(|s| s.thresholds().expect("the inputs"));
    let computed = computed.map(|t| (t.dirty, t.background));
    assert!(
        computed.contains(&thresholds),
        "{computed:?}, kernel {thresholds:?}"
    );
}

#[test]
fn watermarks_and_reserves_equal_the_kernels_or_are_explained() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = command
        .args(["inspect", "--interval", "0", "--json"])
        .output();
    let json: serde_json::Value =
        serde_json::from_slice(&output.expect("the binary runs").stdout).expect("JSON");
    let checks = json["checks"].as_array().expect("checks");
    let of_zones = checks.iter().filter(|check| {
        let name = check["name"].as_str().expect("a name");
        name.contains("watermark") || name.contains("lowmem reserve")
    });
    let of_zones: Vec<_> = of_zones.collect();
    assert!(of_zones.len() >= 4, "a machine has at least one zone");
    for check in of_zones {
        // As booted the marks may be those of a zone without the initial RAM disk's pages.
        let explained = check["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("less, as at boot"));
        let reserve = check["name"]
            .as_str()
            .is_some_and(|name| name.contains("reserve"));
        assert!(check["equal"] == true || explained || reserve, "{check}");
    }
}
