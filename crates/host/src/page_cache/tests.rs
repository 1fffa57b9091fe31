//! Files are found, asked and left out as they should be, and nothing is changed.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use super::*;
use crate::root::testing::{put, root};

const SOON: Duration = Duration::from_secs(30);

/// A root in which process 7 has these files open.
fn with_open(files: &[&Path]) -> (tempfile::TempDir, Root) {
    let (directory, root) = root(&[
        ("proc/7/comm", "backup\n"),
        ("proc/7/cgroup", "4:memory:/old\n0::/new\n"),
        ("proc/7/stat", "7 (a b) S 1 7 7 0 -1 4194304 0\n"),
    ]);
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    put(&root, "proc/7/mountinfo", &mounts);
    fs::create_dir(root.join("proc/7/fd")).expect("a folder");
    for (at, file) in files.iter().enumerate() {
        symlink(file, root.join(&format!("proc/7/fd/{at}"))).expect("a link");
    }
    (directory, root)
}

fn look(root: &Root) -> PageCache {
    read(root, PageSize::FOUR_KIB, SOON)
}

/// Where the kernel cannot be asked, that is all that is said.
fn is_without_cachestat(found: &PageCache) -> bool {
    if let Some(reason) = &found.left_out.none {
        println!("skipped: {reason}");
        assert_eq!(found.files, []);
    }
    found.left_out.none.is_some()
}

#[test]
fn pages_of_a_file_are_counted_and_its_time_of_access_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("data");
    fs::write(&path, vec![7; 100_000]).expect("a file");
    let before = fs::metadata(&path).expect("a file").atime_nsec();
    let (_directory, root) = with_open(&[&path, &path]);
    let found = look(&root);
    if is_without_cachestat(&found) {
        return;
    }
    let [file] = &found.files[..] else {
        panic!("one file: {found:?}");
    };
    assert_eq!((file.size, file.cached), (Bytes(100_000), Bytes(25 * 4096)));
    assert_eq!(
        (file.path.as_str(), file.group.as_str()),
        (path.to_str().unwrap(), "/old")
    );
    assert_eq!(file.programs, ["backup"]);
    assert_eq!(found.programs[0].cached, Bytes(25 * 4096));
    assert_eq!(fs::metadata(&path).expect("a file").atime_nsec(), before);
}

#[test]
fn what_is_no_file_what_is_gone_and_what_is_leased_is_not_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("fifo"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("a fifo");
    fs::write(at("leased"), "x").expect("a file");
    let inode = fs::metadata(at("leased")).expect("a file").ino();
    let files = [
        at("fifo"),
        "/dev/zero".into(),
        at("gone"),
        "/tmp".into(),
        at("leased"),
    ];
    let (_directory, root) = with_open(&files.each_ref().map(|it| it.as_path()));
    put(
        &root,
        "proc/locks",
        &format!("1: LEASE  ACTIVE    WRITE 7 08:01:{inode} 0 EOF\n"),
    );
    let found = look(&root);
    assert_eq!(found.files, []);
    let leased = usize::from(found.left_out.none.is_none());
    assert_eq!((found.left_out.leased, found.left_out.served), (leased, 0));
}

#[test]
fn a_mount_that_is_not_in_sight_is_not_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("data"), "x").expect("a file");
    // Only that of `/` counts then, and this one is on another.
    let shared = Path::new("/dev/shm")
        .is_dir()
        .then(|| tempfile::tempdir_in("/dev/shm"));
    let Some(Ok(shared)) = shared else {
        println!("skipped: there is no /dev/shm");
        return;
    };
    let path = shared.path().join("data");
    fs::write(&path, "x").expect("a file");
    let (_directory, root) = with_open(&[&path]);
    put(&root, "proc/7/mountinfo", "");
    let found = look(&root);
    assert_eq!(found.files, []);
    assert_eq!(
        found.left_out.served,
        usize::from(found.left_out.none.is_none())
    );
}

#[test]
fn the_time_is_an_end() {
    let (_directory, root) = with_open(&[]);
    let found = read(&root, PageSize::FOUR_KIB, Duration::ZERO);
    assert!(found.left_out.is_cut || found.left_out.none.is_some());
}

#[test]
fn each_group_has_what_is_its_own_in_either_version() {
    let stat = |file: u32, shared: u32| format!("anon 9\nfile {file}\nshmem {shared}\n");
    let (_directory, second) = root(&[
        ("sys/fs/cgroup/memory.stat", &stat(100, 10)),
        ("sys/fs/cgroup/a/memory.stat", &stat(70, 10)),
        ("sys/fs/cgroup/a/b/memory.stat", &stat(60, 0)),
        ("sys/fs/cgroup/c/cgroup.procs", ""),
    ]);
    let of = |root: &Root| {
        let groups = group::read(root).into_iter();
        groups
            .map(|it| (it.path, it.cached.0, it.shared_memory.0))
            .collect::<Vec<_>>()
    };
    let named = |path: &str, cached, shared| (path.to_owned(), cached, shared);
    let expected = [named("/a/b", 60, 0), named("/", 30, 0), named("/a", 0, 10)];
    assert_eq!(of(&second), expected);
    let (_directory, first) = root(&[
        (
            "sys/fs/cgroup/memory/memory.stat",
            "cache 5\nshmem 2\ntotal_cache 99\n",
        ),
        ("sys/fs/cgroup/memory/a/memory.stat", "cache 7\nshmem 0\n"),
    ]);
    assert_eq!(of(&first), [named("/a", 7, 0), named("/", 3, 2)]);
}

#[test]
fn threads_of_the_kernel_have_no_files() {
    assert!(is_of_kernel("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0"));
    assert!(!is_of_kernel("7 (a) S) S 1 7 7 0 -1 4194304 0"));
    assert!(!is_of_kernel(""));
}

#[test]
fn this_machine_has_this_program_in_its_page_cache() {
    let found = look(&Root::default());
    if is_without_cachestat(&found) {
        return;
    }
    let own = std::env::current_exe().expect("a path");
    assert!(
        found.files.iter().any(|it| Path::new(&it.path) == own),
        "{:?}",
        found.left_out
    );
}
