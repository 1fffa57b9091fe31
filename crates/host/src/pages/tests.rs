//! Reading from a made-up `/proc`.

use std::fs;
use std::os::unix::fs::FileExt as _;

use mm::formula::sharing::{self, Rules};
use mm::units::Bytes;

use super::*;
use crate::root::testing::{put, root};

const PAGE: u64 = 4096;
const START: u64 = 0x10_0000;
const RULES: Rules = Rules {
    max_page_sharing: 256,
    use_zero_pages: false,
};
const LIMITS: Limits = Limits {
    cpu: Nanos(3600 * Nanos::SECOND.0),
    keep: 1 << 20,
    between: Duration::ZERO,
};

/// Entries of the page map.
const OWN: u64 = 0x8180_0000_0000_0000;
const SHARED: u64 = 0x8080_0000_0000_0000;
const FILE: u64 = 0xa180_0000_0000_0000;
const SWAPPED: u64 = 0x4000_0000_0000_0000;

/// Puts a process below the root with these pages: the entry, and the byte that fills it.
fn process(root: &Root, pid: u32, pages: &[(u64, u8)]) -> Process {
    let end = START + pages.len() as u64 * PAGE;
    let maps = format!("{START:x}-{end:x} rw-p 00000000 00:00 0\n1000-2000 rw-s 0 0:0 0 /x\n");
    put(root, &format!("proc/{pid}/maps"), &maps);
    put(root, &format!("proc/{pid}/pagemap"), "");
    put(root, &format!("proc/{pid}/mem"), "");
    let open = |name| {
        let path = root.join(&format!("proc/{pid}/{name}"));
        fs::OpenOptions::new()
            .write(true)
            .open(path)
            .expect("a file")
    };
    let (map, memory) = (open("pagemap"), open("mem"));
    for (at, &(entry, byte)) in (0..).zip(pages) {
        let place = (START / PAGE + at) * 8;
        map.write_all_at(&entry.to_ne_bytes(), place)
            .expect("an entry");
        let page = [byte; PAGE as usize];
        memory
            .write_all_at(&page, START + at * PAGE)
            .expect("a page");
    }
    Process {
        pid,
        name: "x".to_owned(),
        rss_anon: Bytes(pages.len() as u64 * PAGE),
        swap: Bytes::ZERO,
        ksm: None,
    }
}

fn read_all(root: &Root, processes: &[Process], limits: &Limits) -> Reading {
    read(root, processes, PageSize::FOUR_KIB, limits)
}

fn freed(reading: &Reading) -> f64 {
    let estimate = sharing::estimate(&reading.sample(), RULES);
    estimate.expect("pages").freed.middle
}

#[test]
fn twins_are_found_within_and_between_processes() {
    let (_directory, root) = root(&[]);
    let one = process(
        &root,
        7,
        &[(OWN | 1, 1), (OWN | 2, 1), (OWN | 3, 2), (OWN | 4, 9)],
    );
    let two = process(&root, 8, &[(OWN | 5, 1), (OWN | 6, 2), (OWN | 7, 3)]);
    let reading = read_all(&root, &[one, two], &LIMITS);
    assert_eq!((reading.read, reading.all), (Pages(7), Pages(7)));
    assert_eq!(freed(&reading), 3.0);
    assert!(reading.twice && reading.lost.is_empty() && reading.refused.is_empty());
}

#[test]
fn only_anonymous_pages_in_memory_are_candidates() {
    let (_directory, root) = root(&[]);
    let pages = [
        (OWN | 1, 5),
        (FILE | 2, 5),
        (SWAPPED | 3, 5),
        (0, 5),
        // The kernel's page of zeros, and a page of zeros of the process's own.
        (SHARED | 4, 0),
        (OWN | 5, 0),
    ];
    let one = process(&root, 7, &pages);
    let reading = read_all(&root, &[one], &LIMITS);
    assert_eq!((reading.read, reading.swapped), (Pages(2), Pages(1)));
}

#[test]
fn a_page_that_two_processes_map_since_a_fork_is_one_page() {
    let (_directory, root) = root(&[]);
    let one = process(&root, 7, &[(SHARED | 1, 5), (OWN | 2, 6)]);
    let two = process(&root, 8, &[(SHARED | 1, 5), (OWN | 3, 6)]);
    assert_eq!(freed(&read_all(&root, &[one, two], &LIMITS)), 1.0);
    // A reader who may not know frames takes them for one too.
    let one = process(&root, 7, &[(SHARED, 5), (OWN, 6)]);
    let two = process(&root, 8, &[(SHARED, 5), (OWN, 6)]);
    assert_eq!(freed(&read_all(&root, &[one, two], &LIMITS)), 1.0);
}

#[test]
fn a_page_that_changes_between_the_looks_is_volatile() {
    let (_directory, root) = root(&[]);
    let one = process(&root, 7, &[(OWN | 1, 5), (OWN | 2, 5), (OWN | 3, 5)]);
    let limits = Limits {
        between: Duration::from_millis(400),
        ..LIMITS
    };
    let path = root.join("proc/7/mem");
    let writer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        let file = fs::OpenOptions::new()
            .write(true)
            .open(path)
            .expect("the memory");
        file.write_all_at(&[6; 8], START + PAGE).expect("a write");
    });
    let reading = read_all(&root, &[one], &limits);
    writer.join().expect("it wrote");
    let estimate = sharing::estimate(&reading.sample(), RULES).expect("pages");
    assert_eq!((estimate.freed.middle, estimate.volatile), (1.0, 1.0));
}

#[test]
fn huge_pages_are_summed_up_while_there_is_time() {
    let (_directory, root) = root(&[]);
    let processes = [
        process(&root, 7, &[(OWN | 1, 5)]),
        process(&root, 8, &[(OWN | 2, 5)]),
    ];
    put(&root, "proc/7/smaps_rollup", "AnonHugePages: 4 kB\n");
    put(&root, "proc/8/smaps_rollup", "AnonHugePages: 8 kB\n");
    assert_eq!(read_all(&root, &processes, &LIMITS).huge, Bytes(12 << 10));
    let limits = Limits {
        cpu: Nanos::ZERO,
        ..LIMITS
    };
    assert_eq!(read_all(&root, &processes, &limits).huge, Bytes::ZERO);
}

#[test]
fn large_memory_is_read_in_pieces_and_whole() {
    let (_directory, root) = root(&[]);
    let pages: Vec<(u64, u8)> = (1..10_001)
        .map(|at| (OWN | at, (at % 250) as u8 + 1))
        .collect();
    let reading = read_all(&root, &[process(&root, 7, &pages)], &LIMITS);
    assert_eq!(reading.owners(), [0, 0, 0]);
    assert_eq!((reading.read, freed(&reading)), (Pages(10_000), 9_750.0));
    let limits = Limits {
        keep: 1000,
        ..LIMITS
    };
    let reading = read_all(&root, &[process(&root, 7, &pages)], &limits);
    assert!(reading.kept() <= 1000 && reading.read == Pages(10_000));
}

#[test]
fn without_time_the_processes_tell_how_much_there_is() {
    let (_directory, root) = root(&[]);
    let pages: Vec<(u64, u8)> = (1..10_001).map(|at| (OWN | at, 1)).collect();
    let limits = Limits {
        cpu: Nanos::ZERO,
        ..LIMITS
    };
    let reading = read_all(&root, &[process(&root, 7, &pages)], &limits);
    assert_eq!((reading.read, reading.all), (Pages::ZERO, Pages(10_000)));
    assert!(sharing::estimate(&reading.sample(), RULES).is_none());
}

#[test]
fn a_process_that_ends_and_one_that_may_not_be_read_are_named() {
    let (_directory, root) = root(&[]);
    let stays = process(&root, 7, &[(OWN | 1, 5), (OWN | 2, 5)]);
    let ended = process(&root, 8, &[(OWN | 3, 5)]);
    fs::remove_dir_all(root.join("proc/8")).expect("it ends");
    let hidden = process(&root, 9, &[(OWN | 4, 5)]);
    // A directory in a file's place is refused to every reader, the administrator too.
    fs::remove_file(root.join("proc/9/maps")).expect("no file");
    fs::create_dir(root.join("proc/9/maps")).expect("a directory");
    let reading = read_all(&root, &[stays, ended, hidden], &LIMITS);
    assert_eq!((freed(&reading), reading.lost.as_slice()), (1.0, &[1][..]));
    assert_eq!(reading.refused[0].0, 2);
}

#[test]
fn address_space_that_somebody_maps_without_end_takes_no_memory_here() {
    let (_directory, root) = root(&[]);
    let stays = process(&root, 7, &[(OWN | 1, 5), (OWN | 2, 5)]);
    let huge = process(&root, 8, &[(OWN | 3, 5)]);
    let end = START + (120 << 40);
    let maps = format!("{START:x}-{end:x} rw-p 00000000 00:00 0\n");
    put(&root, "proc/8/maps", &maps);
    let reading = read_all(&root, &[stays, huge], &LIMITS);
    assert_eq!(freed(&reading), 1.0);
    assert_eq!(
        reading.refused,
        [(
            1,
            "its 120 TiB of address space is more than is looked at".to_owned()
        )]
    );
}

#[test]
fn memory_that_shrinks_while_it_is_read_is_left_out() {
    let (_directory, root) = root(&[]);
    let one = process(&root, 7, &[(OWN | 1, 5), (OWN | 2, 5), (OWN | 3, 5)]);
    let memory = fs::OpenOptions::new()
        .write(true)
        .open(root.join("proc/7/mem"));
    memory
        .expect("the memory")
        .set_len(START + 2 * PAGE)
        .expect("shorter");
    let reading = read_all(&root, &[one], &LIMITS);
    assert_eq!((reading.read, freed(&reading)), (Pages(2), 1.0));
}
