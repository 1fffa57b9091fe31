//! What it leaves alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::harness::{MIB, Place, read};

/// A memory control group with a limit, removed at the end.
struct Group(PathBuf);

impl Group {
    fn new(limit: usize) -> Self {
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (root, file) = match v1.exists() {
            true => (v1, "memory.limit_in_bytes"),
            false => (Path::new("/sys/fs/cgroup"), "memory.max"),
        };
        if !v1.exists() {
            fs::write(root.join("cgroup.subtree_control"), "+memory").expect("cgroup v2");
        }
        let group = Self(root.join(format!("plimsoll-test-{}", std::process::id())));
        fs::create_dir(&group.0).expect("a group");
        fs::write(group.0.join(file), limit.to_string()).expect("a limit");
        group
    }

    /// Runs a script in it.
    fn run(&self, script: &str, file: &Path) {
        let procs = self.0.join("cgroup.procs");
        let script = format!("echo $$ > {} && {script}", procs.display());
        let done = Command::new("sh").args(["-c", &script]).arg(file).status();
        assert!(done.expect("sh").success(), "{script}");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).ok();
    }
}

#[test]
fn a_container_keeps_most_of_its_limit_and_what_is_excepted_is_left_alone() {
    let Some(place) = Place::new("[floor]\nclean_min = \"5 %\"\n") else {
        return;
    };
    let excepted = place.file("excepted", 2 * MIB);
    place.configure(&format!(
        "floor.clean_min = \"5 %\"\nfloor.except = [{excepted:?}, \"unit:none.service\"]\n"
    ));
    let group = Group::new(32 * MIB);
    let [fits, too_large] = ["fits", "too large"].map(|name| place.path(name));
    // Its pages are charged to who writes them.
    for (file, size) in [(&fits, 6), (&too_large, 12)] {
        let write = format!("head -c {size}M /dev/zero > \"$0\" && sync \"$0\"");
        group.run(&write, file);
    }
    let guard = place.start(&[]);
    for file in [&excepted, &too_large, &fits] {
        read(file, 2);
    }
    guard.wait_for("a file within a quarter of the limit is locked", || {
        guard.locked(&fits).is_some()
    });
    read(&too_large, 1);
    assert_eq!(guard.locked(&too_large), None, "{}", guard.log());
    assert_eq!(guard.locked(&excepted), None, "{}", guard.log());
    let log = guard.log();
    assert!(
        log.contains("up to a quarter of its limit of 32 MiB"),
        "{log}"
    );
    assert!(guard.end(Signal::TERM).success());
}
