//! Captures of real kernels: everything in them is understood, and what the formulas give equals
//! what the kernel says, to the page.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_mm::capture::Capture;
use plimsoll_mm::catalogue::{self, DefaultRule};
use plimsoll_mm::snapshot::Snapshot;
use plimsoll_mm::thp::Thp;
use plimsoll_mm::units::{Kib, Pages};
use plimsoll_mm::zoneinfo::Watermarks;

/// The captures of machines below `fixtures/hosts`, of kernels below `fixtures/kernels` and of
/// changed settings in `fixtures/formulas`.
fn captures() -> Vec<(PathBuf, Capture)> {
    let fixtures = testkit::checkout("fixtures");
    let folders = folders(&fixtures.join("hosts")).chain(folders(&fixtures.join("kernels")));
    let folders = folders.filter(|folder| !has_32_bits(folder));
    let files = folders.map(|folder| folder.join("capture.txt"));
    let changed = entries(&fixtures.join("formulas"));
    let changed = changed
        .into_iter()
        .filter(|file| file.extension() == Some("txt".as_ref()));
    let captures: Vec<_> = files.chain(changed).map(read).collect();
    assert!(captures.len() >= 11, "all three folders are there");
    captures
}

/// The captures of kernels of 32 bits: with high memory, or with huge pages of 4 MiB.
///
/// Not held there: the default of `vm.min_free_kbytes`. khugepaged asks for 5 % of memory beyond
/// the high marks before the pages of the initial RAM disk come, and `capture.txt` does not tell
/// how many these were.
fn captures_of_32_bits() -> Vec<(PathBuf, Capture)> {
    let fixtures = testkit::checkout("fixtures/kernels");
    let folders = folders(&fixtures).filter(|folder| has_32_bits(folder));
    let captures: Vec<_> = folders
        .map(|folder| read(folder.join("capture.txt")))
        .collect();
    assert!(captures.len() >= 3, "5.10 and 6.1");
    captures
}

/// Whether a folder's name is one of a 686 kernel.
fn has_32_bits(folder: &Path) -> bool {
    folder.to_string_lossy().contains("-686")
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder).into_iter().filter(|entry| entry.is_dir())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the fixtures are there");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

fn read(path: PathBuf) -> (PathBuf, Capture) {
    let text = fs::read_to_string(&path).expect("a capture");
    let capture = Capture::parse(&text).expect("the capture's format");
    assert_eq!(capture.to_text(), text, "{}", path.display());
    (path, capture)
}

/// Every snapshot of every capture.
fn check_every(test: impl Fn(&Snapshot, &str)) {
    check_each(captures(), &test);
    check_each(captures_of_32_bits(), &test);
}

fn check_each(captures: Vec<(PathBuf, Capture)>, test: &impl Fn(&Snapshot, &str)) {
    for (path, capture) in captures {
        for frame in &capture.frames {
            let label = frame.label.as_deref().unwrap_or("sample");
            let place = format!("{}, {label}", path.display());
            test(&Snapshot::parse(frame), &place);
        }
    }
}

/// The first snapshot of every capture, in which no tunable is changed.
fn check_defaults(captures: Vec<(PathBuf, Capture)>, test: impl Fn(&Snapshot, &str)) {
    for (path, capture) in captures {
        let first = capture.frames.first().expect("a snapshot");
        test(&Snapshot::parse(first), &path.display().to_string());
    }
}

#[test]
fn every_file_is_understood() {
    check_every(|snapshot, place| {
        assert_eq!(snapshot.errors, [], "{place}");
        assert!(snapshot.meminfo.is_some(), "{place}");
        assert!(snapshot.vmstat.is_some(), "{place}");
        assert!(snapshot.zoneinfo.is_some(), "{place}");
        assert!(!snapshot.tunables.is_empty(), "{place}");
    });
}

#[test]
fn watermarks_are_the_kernels_own() {
    check_every(|snapshot, place| {
        let zones = &snapshot.zoneinfo.as_ref().expect("zoneinfo").zones;
        let computed = snapshot.watermarks().expect("the tunables are there");
        for (zone, computed) in zones.iter().zip(computed) {
            let promo = zone.watermarks.promo.and(computed.promo);
            let computed = Watermarks { promo, ..computed };
            assert_eq!(zone.watermarks, computed, "{place}, {}", zone.kind);
        }
    });
}

#[test]
fn protection_is_the_kernels_own() {
    check_every(|snapshot, place| {
        let zones = &snapshot.zoneinfo.as_ref().expect("zoneinfo").zones;
        let computed = snapshot.protection().expect("the tunables are there");
        for (zone, computed) in zones.iter().zip(computed) {
            assert_eq!(zone.protection, computed, "{place}, {}", zone.kind);
        }
    });
}

#[test]
fn available_memory_is_the_kernels_own() {
    check_every(|snapshot, place| {
        let said = snapshot.meminfo.as_ref().and_then(|m| m.mem_available);
        let said = said.expect("MemAvailable").pages_floor(snapshot.page);
        let computed = snapshot.available().expect("the files are there");
        assert_eq!(said, computed.total, "{place}");
    });
}

#[test]
fn dirty_thresholds_are_the_kernels_own() {
    check_every(|snapshot, place| {
        let said = |item| snapshot.vmstat(item).map(Pages).expect("a threshold");
        let computed = snapshot.thresholds().expect("the tunables are there");
        assert_eq!(said("nr_dirty_threshold"), computed.dirty, "{place}");
        assert_eq!(
            said("nr_dirty_background_threshold"),
            computed.background,
            "{place}"
        );
    });
}

/// What nothing has read `vm.lowmem_reserve_ratio` of: reserves are not above those of now, marks
/// are those of fewer pages, and what depends on both as they are is the kernel's own.
#[test]
fn as_booted_marks_and_reserves_are_of_fewer_pages_and_the_rest_is_the_kernels_own() {
    let fixtures = testkit::checkout("fixtures/kernels");
    let booted: Vec<_> = folders(&fixtures)
        .map(|folder| folder.join("booted.txt"))
        .collect();
    assert!(booted.len() >= 4, "one a kernel");
    for (path, capture) in booted.into_iter().map(read) {
        let place = path.display().to_string();
        let snapshot = Snapshot::parse(capture.frames.first().expect("a snapshot"));
        let zones = &snapshot.zoneinfo.as_ref().expect("zoneinfo").zones;
        let marks = snapshot.watermarks().expect("the tunables are there");
        let mut marks = marks.iter().zip(zones);
        assert!(
            marks.any(|(marks, zone)| marks.low != zone.watermarks.low),
            "{place}"
        );
        let reserves = snapshot.protection().expect("the tunables are there");
        for (zone, reserves) in zones.iter().zip(reserves) {
            let mut pairs = zone.protection.iter().zip(&reserves);
            assert!(
                pairs.all(|(then, now)| then <= now),
                "{place}, {}",
                zone.kind
            );
        }
        let said = snapshot.meminfo.as_ref().and_then(|m| m.mem_available);
        let said = said.expect("MemAvailable").pages_floor(snapshot.page);
        assert_eq!(
            said,
            snapshot.available().expect("the files").total,
            "{place}"
        );
    }
}

#[test]
fn what_a_tunable_shows_could_be_written() {
    check_every(|snapshot, place| {
        for (&name, value) in &snapshot.tunables {
            let tunable = catalogue::find(name).expect("it comes from the catalogue");
            let ruled_by_partner = tunable.partner.is_some() && value == "0";
            let writable = tunable.taken(value).is_some();
            assert!(writable || ruled_by_partner, "{place}: {name} = {value}");
        }
    });
}

#[test]
fn a_default_of_the_catalogue_is_the_kernels_default() {
    check_defaults(captures(), |snapshot, place| {
        for (&name, value) in &snapshot.tunables {
            let tunable = catalogue::find(name).expect("it comes from the catalogue");
            match tunable.default {
                DefaultRule::Fixed(default) => assert_eq!(value, default, "{place}: {name}"),
                DefaultRule::Partner => assert_eq!(value, "0", "{place}: {name}"),
                DefaultRule::Rule(_) | DefaultRule::Action => {}
            }
        }
    });
}

#[test]
fn the_default_of_min_free_kbytes_is_the_kernels_own() {
    check_defaults(captures(), |snapshot, place| {
        let kernel = snapshot.number("vm.min_free_kbytes").expect("it is there");
        let Kib(computed) = snapshot.default_min_free().expect("the files are there");
        let huge_pages = snapshot.thp.as_ref().is_some_and(Thp::is_on);
        // The square root was drawn before the initial RAM disk was freed: up to 2 % less.
        let late = if huge_pages { 0 } else { computed / 50 };
        assert!(
            (computed - late..=computed).contains(&kernel),
            "{place}: {computed}"
        );
    });
}
