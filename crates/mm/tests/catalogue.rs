//! The catalogue against files of real kernels.

use std::fs;
use std::path::PathBuf;

use plimsoll_mm::capture::{Capture, Frame};
use plimsoll_mm::catalogue::{self, KeyError, Standing, resolve};
use plimsoll_mm::release::Release;

/// Folders in which a kernel keeps tunables of memory.
const FOLDERS: [&str; 6] = [
    "proc/sys/vm/",
    "sys/kernel/mm/ksm/",
    "sys/kernel/mm/lru_gen/",
    "sys/kernel/mm/transparent_hugepage/",
    "sys/kernel/mm/hugepages/",
    "sys/module/zswap/parameters/",
];

/// Files that kernels outside kernel.org have there: the tenant's kernel of the first host.
const OF_A_HOST: [&str; 1] = ["proc/sys/vm/shrink_inodes_with_pagecache"];

/// Files of a pool of huge pages that count.
const OF_POOLS: [&str; 3] = ["free_hugepages", "resv_hugepages", "surplus_hugepages"];

/// Every capture below `fixtures`.
fn captures() -> Vec<(PathBuf, Capture)> {
    let mut found = Vec::new();
    let mut folders = vec![testkit::checkout("fixtures")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of fixtures") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.extend(capture(path)),
            }
        }
    }
    assert!(found.len() > 40, "{} captures", found.len());
    found
}

fn capture(path: PathBuf) -> Option<(PathBuf, Capture)> {
    let text = fs::read_to_string(&path).ok()?;
    let capture = Capture::parse(&text).ok()?;
    Some((path, capture))
}

fn each(mut test: impl FnMut(&Frame, &str)) {
    for (path, capture) in captures() {
        let place = path.display().to_string();
        capture.frames.iter().for_each(|frame| test(frame, &place));
    }
}

#[test]
fn every_tunable_that_a_kernel_shows_is_in_the_catalogue() {
    let mut seen = 0;
    each(|frame, place| {
        for path in frame.files.keys() {
            let bdi = path.starts_with("sys/block/") && path.contains("/bdi/");
            let ours = bdi || FOLDERS.iter().any(|folder| path.starts_with(folder));
            let counts = OF_POOLS.iter().any(|file| path.ends_with(file));
            if !ours || counts || OF_A_HOST.contains(&path.as_str()) {
                continue;
            }
            seen += 1;
            match resolve(path) {
                Ok(named) => assert_eq!(&named.path(), path, "{place}"),
                Err(KeyError::Counter { .. }) => {}
                Err(error) => panic!("{place}: {error}"),
            }
        }
    });
    assert!(seen > 1000, "{seen} files");
}

#[test]
fn no_kernel_shows_a_tunable_that_it_should_not_have() {
    let mut releases = std::collections::BTreeSet::new();
    each(|frame, place| {
        let release = frame.file("proc/sys/kernel/osrelease");
        let Some(release) = release.and_then(Release::parse) else {
            return;
        };
        releases.insert((release.version.0, release.version.1));
        let there = catalogue::all().filter(|tunable| frame.file(tunable.path).is_some());
        for tunable in there {
            let standing = tunable.kernels.standing(release.span());
            let lacks = [Standing::NotYet, Standing::NoLonger].contains(&standing);
            assert!(!lacks, "{place}: {}: {standing:?}", tunable.name);
        }
    });
    assert!(releases.len() >= 5, "{releases:?}");
}
