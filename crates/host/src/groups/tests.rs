//! Tests of how groups are told from each other and how large they are.

use super::*;
use crate::root::testing::{put, root};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

fn names(groups: &Groups) -> BTreeSet<&str> {
    let paths = groups.files.keys();
    paths.filter_map(|path| mm::memcg::group_of(path)).collect()
}

const CONTROLLERS: (&str, &str) = ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");

#[test]
fn groups_that_bind_memory_are_read_with_those_above_and_the_others_are_counted() {
    let (_directory, root) = root(&[
        CONTROLLERS,
        ("proc/self/cgroup", "0::/user/me\n"),
        ("sys/fs/cgroup/memory.stat", "anon 1\n"),
        ("sys/fs/cgroup/user/me/memory.max", "max\n"),
        ("sys/fs/cgroup/user/other/memory.max", "max\n"),
        ("sys/fs/cgroup/a/memory.low", "0\n"),
        ("sys/fs/cgroup/a/db/memory.low", "4096\n"),
        ("sys/fs/cgroup/a/web/memory.events", "oom_kill 1\n"),
        ("sys/fs/cgroup/a/batch/memory.current", "9\n"),
    ]);
    let groups = read(&root);
    let expected = BTreeSet::from(["", "user/me", "a", "a/db", "a/web"]);
    assert_eq!(names(&groups), expected);
    let note = groups.note().expect("two are left out");
    assert_eq!(note, "unbound\t2\nbound\t0\nunvisited\t0\n");
}

#[test]
fn the_largest_groups_are_read_bound_or_not() {
    let (_directory, root) = root(&[
        CONTROLLERS,
        ("sys/fs/cgroup/a/memory.current", "10\n"),
        ("sys/fs/cgroup/a/b/memory.current", "9\n"),
        ("sys/fs/cgroup/a/b/memory.stat", "anon 9\n"),
        ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ("sys/fs/cgroup/c/memory.current", "8\n"),
    ]);
    let files = largest(&root, 2);
    let paths: Vec<&str> = files.keys().map(String::as_str).collect();
    let expected = ["a/b/memory.current", "a/b/memory.stat", "a/memory.current"];
    assert_eq!(paths, expected.map(|path| format!("sys/fs/cgroup/{path}")));
}

#[test]
fn a_group_whose_name_is_no_text_is_counted_and_the_others_are_read() {
    let (_directory, root) = root(&[CONTROLLERS, ("sys/fs/cgroup/a/memory.max", "4096\n")]);
    let name = std::ffi::OsStr::from_bytes(b"\xff");
    fs::create_dir(root.join("sys/fs/cgroup/a").join(name)).expect("a directory");
    let groups = read(&root);
    assert!(names(&groups).contains("a"));
    let note = groups.note().expect("one is left out");
    assert!(note.ends_with("unvisited\t1\n"), "{note}");
}

#[test]
fn groups_of_v1_are_found_by_their_own_files() {
    let (_directory, root) = root(&[
        ("proc/self/cgroup", "4:memory:/me\n0::/\n"),
        (
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
        ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "4096\n"),
        (
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
        (
            "sys/fs/cgroup/memory/c/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
    ]);
    let groups = read(&root);
    let expected = BTreeSet::from(["memory", "memory/a", "memory/a/b"]);
    assert_eq!(names(&groups), expected);
    assert!(
        groups
            .note()
            .is_some_and(|note| note.starts_with("unbound\t1\n"))
    );
}

#[test]
fn a_task_is_charged_to_the_group_of_the_memory_controller() {
    let (_directory, root) = root(&[
        (
            "proc/5/cgroup",
            "2:cpu,memory:/a\n1:name=systemd:/x\n0::/\n",
        ),
        ("proc/6/cgroup", "1:name=systemd:/x\n0::/b.slice/c:d\n"),
        ("proc/7/cgroup", "0::/../x\n"),
    ]);
    let group = |thread| of(&root, thread);
    assert_eq!(group(5).as_deref(), Some("a"));
    assert_eq!(group(6).as_deref(), Some("b.slice/c:d"));
    assert_eq!((group(7), group(8)), (None, None));
}

#[test]
fn what_a_group_has_beside_the_cache_has_tmpfs_in_it() {
    let (_directory, root) = root(&[
        CONTROLLERS,
        ("sys/fs/cgroup/a/memory.current", "10000\n"),
        (
            "sys/fs/cgroup/a/memory.stat",
            "anon 2000\nfile 7000\nshmem 1000\n",
        ),
    ]);
    let expected = Used {
        all: Bytes(4000),
        anonymous: Bytes(2000),
    };
    assert_eq!(used(&root, "a"), Some(expected));
    assert_eq!(used(&root, "b"), None);
}

#[test]
fn a_machine_with_thousands_of_groups_gives_a_bounded_capture() {
    let (_directory, root) = root(&[CONTROLLERS]);
    for index in 0..VISITED {
        put(
            &root,
            &format!("sys/fs/cgroup/g{index}/memory.max"),
            "4096\n",
        );
    }
    let groups = read(&root);
    assert_eq!(names(&groups).len(), KEPT);
    let (bound, unvisited) = (VISITED - KEPT - 1, 1);
    let note = format!("unbound\t0\nbound\t{bound}\nunvisited\t{unvisited}\n");
    assert_eq!(groups.note(), Some(note));
}

#[test]
fn files_that_may_not_be_read_are_noted_but_not_all_of_them() {
    let (_directory, root) = root(&[CONTROLLERS]);
    for index in 0..9 {
        let group = format!("sys/fs/cgroup/g{index}");
        put(&root, &format!("{group}/memory.max"), "4096\n");
        // A directory in a file's place is refused to every reader, the administrator too.
        fs::create_dir(root.join(&format!("{group}/memory.current"))).expect("a directory");
    }
    let groups = read(&root);
    assert_eq!(groups.refused.len(), REFUSALS + 1);
    assert_eq!(groups.refused[REFUSALS].0, "sys/fs/cgroup");
    assert!(groups.refused[REFUSALS].1.starts_with("5 further files"));
}

#[test]
fn a_group_that_is_gone_leaves_no_trace() {
    let (_directory, root) = root(&[CONTROLLERS, ("proc/self/cgroup", "0::/gone/../x\n")]);
    let gone = root.join("sys/fs/cgroup/gone");
    fs::create_dir(&gone).expect("a directory");
    fs::set_permissions(&gone, fs::Permissions::from_mode(0o000)).expect("permissions");
    let groups = read(&root);
    assert!(groups.files.is_empty() && groups.refused.is_empty());
    let nodev = io::Error::from_raw_os_error(19);
    assert!(is_gone(&nodev) && !is_gone(&io::Error::from_raw_os_error(13)));
}
