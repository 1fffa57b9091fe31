//! Locks of real files.

use super::*;

fn file(length: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    fs::write(&path, vec![7; length]).expect("a file");
    (directory, path)
}

#[test]
fn what_is_resident_is_locked_and_a_file_cut_short_is_stale() {
    let (_directory, path) = file((1 << 20) + 17);
    let mut locks = Locks::new();
    let open = || Ok(fs::File::open(&path).expect("a file"));
    let length = Bytes((1 << 20) + 17);
    let locked = locks.lock(File(1), length, 5, open).expect("a lock");
    assert_eq!((locked.now, locked.is_new), (length, true));
    let again = locks.lock(File(1), length, 5, || unreachable!("it is open"));
    assert!(!again.expect("a lock").is_new);

    locks.find_stale(|fsid| fsid == 5);
    let stale = |locks: &mut Locks| {
        let mut held = Vec::new();
        locks.held(&mut held);
        held.iter().map(|held| held.is_stale).collect::<Vec<_>>()
    };
    assert_eq!(stale(&mut locks), [false]);
    locks.find_stale(|_| false);
    assert_eq!(stale(&mut locks), [true]);
    fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(4096))
        .expect("cut short");
    locks.find_stale(|_| true);
    assert_eq!(stale(&mut locks), [true]);
    // Nothing of it is touched, so there is no SIGBUS.
    let open = || unreachable!("it is open");
    locks.lock(File(1), length, 5, open).ok();
    locks.fill(File(1), length).expect("it is locked").ok();
    assert_eq!(stale(&mut locks), [true]);
    assert!(locks.unlock(File(1)).is_some() && locks.total().1 == 0);
}

#[test]
fn each_lock_is_counted_in_its_turn() {
    let files = [file(1 << 20), file(1 << 20)];
    let mut locks = Locks::new();
    for (number, (_, path)) in (1..).zip(&files) {
        let open = || Ok(fs::File::open(path).expect("a file"));
        let locked = locks.lock(File(number), Bytes(1 << 20), 5, open);
        assert_eq!(locked.expect("a lock").now, Bytes(1 << 20));
    }
    // As long as before, with nothing in memory.
    for (_, path) in &files {
        let file = fs::File::options().write(true).open(path);
        let file = file.expect("a file");
        let emptied = file.set_len(0).and_then(|()| file.set_len(1 << 20));
        emptied.expect("a hole");
    }
    (0..2).for_each(|_| locks.find_stale(|_| true));
    assert_eq!(locks.total(), (Bytes::ZERO, 2));
}

#[test]
fn a_long_file_is_looked_at_in_parts() {
    let (_directory, path) = file(1);
    let open = fs::File::options().write(true).read(true).open(&path);
    let open = open.expect("a file");
    let whole = 4 * PIECE as u64 + (PIECE / 2) as u64;
    open.set_len(whole).expect("a length");
    // Half of it is in memory.
    let half = vec![7; 2 * PIECE + PIECE / 4];
    std::os::unix::fs::FileExt::write_all_at(&open, &half, 0).expect("written");
    let mut locks = Locks::new();
    let seen = |locks: &mut Locks, length| locks.look(&open, Bytes(length), |_| Some(9));
    let resident = seen(&mut locks, whole).resident.0;
    assert!(
        resident.abs_diff(whole / 2) < whole / 6,
        "{resident} of {whole}"
    );
    assert_eq!(seen(&mut locks, PIECE as u64).resident, Bytes(PIECE as u64));
    assert_eq!(seen(&mut locks, whole).group, Some(9));
}

#[test]
fn what_comes_of_a_file_locked_in_part_is_locked_when_it_is_used_again_later() {
    let (_directory, path) = file(0);
    let open = fs::File::options().write(true).open(&path).expect("a file");
    let length = Bytes(2 << 20);
    open.set_len(length.0).expect("a hole");
    let mut locks = Locks::new();
    let lock = |locks: &mut Locks| {
        let open = || Ok(fs::File::open(&path).expect("a file"));
        locks.lock(File(1), length, 5, open).expect("a lock");
        locks.held[0].mapped.0
    };
    let write = |at| {
        let mib = vec![7; 1 << 20];
        std::os::unix::fs::FileExt::write_all_at(&open, &mib, at).expect("written");
    };
    assert_eq!(lock(&mut locks), 0);
    write(0);
    assert_eq!(lock(&mut locks), 1 << 20);
    write(1 << 20);
    assert_eq!(lock(&mut locks), 1 << 20, "it was just looked at");
    // All of it is in memory now, as this finds out, and half of it is mapped.
    locks.find_stale(|_| true);
    assert_eq!(locks.total().0, length);
    assert_eq!(lock(&mut locks), length.0);
}

#[test]
fn a_kernel_before_5_14_locks_runs_by_mlock() {
    let (_directory, path) = file(3 << 20);
    let mut locks = Locks::new();
    locks.populates = false;
    let open = || Ok(fs::File::open(&path).expect("a file"));
    let length = Bytes(3 << 20);
    let locked = locks.lock(File(1), length, 5, open).expect("a lock");
    assert_eq!(locked.now, length);
    let filled = locks.fill(File(1), Bytes(1 << 20)).expect("it is locked");
    assert_eq!(filled.expect("nothing is missing").now, length);
    assert!(locks.fill(File(2), Bytes(1)).is_none());
}

#[test]
fn a_lock_that_fails_is_reported_once() {
    let mut locks = Locks::new();
    let gone = || Err(io::ErrorKind::NotFound.into());
    assert!(locks.lock(File(3), Bytes(1), 5, gone).is_err());
    let mut held = Vec::new();
    locks.held(&mut held);
    assert!(held.len() == 1 && held[0].is_stale);
    locks.held(&mut held);
    assert_eq!(held.len(), 1);
}
