//! What is a host, in folders and in archives of every layout.

use std::fs;

use super::*;

const MEMINFO: &str = "MemTotal: 1024 kB\nMemFree: 512 kB\n";

/// An archive of these members, the name of each in its text where it is no kernel file.
fn tar(names: &[&str]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for name in names {
        let text = match name.ends_with("hostname") {
            true => "db7.example.org\n",
            false => MEMINFO,
        };
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, name, text.as_bytes())
            .expect("a vector takes it");
    }
    archive.into_inner().expect("a vector takes it")
}

/// What is found: the last part of each path, and whether it could be read.
fn found(path: &Path) -> (Vec<(String, bool)>, Option<String>) {
    let mut hosts = Vec::new();
    let end = each(path, &mut |host| {
        let name = host.path.rsplit(['/', ' ']).next().unwrap_or("").to_owned();
        hosts.push((name, host.read().is_ok()));
        true
    });
    (hosts, end.err().map(|error| error.to_string()))
}

#[track_caller]
fn assert_hosts(names: &[&str], hosts: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.tar");
    fs::write(&path, tar(names)).expect("it is written");
    let expected: Vec<_> = hosts.iter().map(|&name| (name.to_owned(), true)).collect();
    assert_eq!(found(&path), (expected, None), "{names:?}");
}

#[test]
fn the_entries_of_an_archive_are_hosts_below_the_folder_that_all_share() {
    assert_hosts(&["meminfo-a", "meminfo-b"], &["meminfo-a", "meminfo-b"]);
    assert_hosts(
        &["./all/meminfo-a", "./all/meminfo-b"],
        &["meminfo-a", "meminfo-b"],
    );
    assert_hosts(
        &["a/proc/meminfo", "a/proc/uptime", "b/proc/meminfo"],
        &["a", "b"],
    );
    assert_hosts(
        &["x/a/free", "x/a/proc/meminfo", "x/b/proc/meminfo"],
        &["a", "b"],
    );
    assert_hosts(&["proc/meminfo", "etc/sysctl.conf"], &["all.tar"]);
    assert_hosts(&["sosreport-a/proc/meminfo"], &["sosreport-a"]);
}

#[test]
fn a_host_is_called_as_its_files_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.tar");
    let names = ["a/etc/hostname", "a/proc/meminfo", "b/proc/meminfo"];
    fs::write(&path, tar(&names)).expect("it is written");
    let mut hosts = Vec::new();
    each(&path, &mut |host| {
        hosts.push(host.read().expect("it is read").host);
        true
    })
    .expect("it is read");
    assert_eq!(hosts, [Some("db7.example.org".to_owned()), None]);
}

#[test]
fn the_entries_of_a_folder_are_hosts_and_links_are_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("one/two");
    fs::create_dir_all(below.join("b/proc")).expect("a folder");
    fs::write(below.join("b/proc/meminfo"), MEMINFO).expect("it is written");
    fs::write(below.join("a.tar"), tar(&["proc/meminfo"])).expect("it is written");
    fs::write(below.join("c"), "no kernel file").expect("it is written");
    fs::write(below.join(".hidden"), MEMINFO).expect("it is written");
    std::os::unix::fs::symlink("b", below.join("d")).expect("a link");
    let (hosts, end) = found(folder.path());
    let expected = [("a.tar", true), ("b", true), ("c", false), ("d", false)];
    let expected = expected.map(|(name, read)| (name.to_owned(), read));
    assert_eq!((hosts, end), (expected.to_vec(), None));
    let (hosts, end) = found(&below.join("b"));
    assert_eq!((hosts, end), (vec![("b".to_owned(), true)], None));
    let counts = ["", "b", "c", "a.tar", "absent"].map(|name| count(&below.join(name)));
    assert_eq!(counts, [Some(4), Some(1), Some(1), None, None]);
    assert_eq!(count(folder.path()), Some(4));
}

#[test]
fn what_lies_before_the_damage_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.tar");
    let whole = tar(&["meminfo-a", "meminfo-b", "meminfo-c"]);
    // Each member takes a head and a block.
    fs::write(&path, &whole[..512 * 4 + 100]).expect("it is written");
    let (hosts, end) = found(&path);
    assert_eq!(hosts.len(), 2, "{hosts:?}");
    assert!(end.is_some());
}

#[test]
fn a_host_whose_files_lie_apart_is_not_judged_by_half_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.tar");
    let names = ["a/proc/meminfo", "b/proc/meminfo", "a/proc/uptime"];
    fs::write(&path, tar(&names)).expect("it is written");
    let (hosts, _) = found(&path);
    let expected = [("a", true), ("b", true), ("a", false)];
    assert_eq!(hosts, expected.map(|(name, read)| (name.to_owned(), read)));
}

#[test]
fn who_takes_no_more_gets_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.tar");
    fs::write(&path, tar(&["meminfo-a", "meminfo-b"])).expect("it is written");
    let mut taken = 0;
    each(&path, &mut |_| {
        taken += 1;
        false
    })
    .expect("it is read");
    assert_eq!(taken, 1);
}
