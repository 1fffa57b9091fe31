//! What it leaves alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{MIB, Place, read};

/// A memory control group with a limit, removed at the end.
struct Group {
    folder: PathBuf,
    /// Whether the root's controllers had to be told.
    is_told: bool,
}

const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.subtree_control";

impl Group {
    fn new(limit: usize) -> Self {
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (root, file) = match v1.exists() {
            true => (v1, "memory.limit_in_bytes"),
            false => (Path::new("/sys/fs/cgroup"), "memory.max"),
        };
        let has = |text: String| text.split_whitespace().any(|name| name == "memory");
        let is_told = !v1.exists() && !has(fs::read_to_string(CONTROLLERS).expect("cgroup v2"));
        if is_told {
            fs::write(CONTROLLERS, "+memory").expect("cgroup v2");
        }
        let folder = root.join(format!("plimsoll-test-{}", std::process::id()));
        fs::create_dir(&folder).expect("a group");
        fs::write(folder.join(file), limit.to_string()).expect("a limit");
        Self { folder, is_told }
    }

    /// Runs a script in it.
    fn run(&self, script: &str, file: &Path) {
        let procs = self.folder.join("cgroup.procs");
        let script = format!("echo $$ > {} && {script}", procs.display());
        let done = Command::new("sh").args(["-c", &script]).arg(file).status();
        assert!(done.expect("sh").success(), "{script}");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        fs::remove_dir(&self.folder).ok();
        if self.is_told {
            fs::write(CONTROLLERS, "-memory").ok();
        }
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
    let names = ["one", "other", "too large"];
    let [one, other, too_large] = names.map(|name| place.path(name));
    // Its pages are charged to who writes them.
    for (file, size) in [(&one, 6), (&other, 6), (&too_large, 12)] {
        let write = format!("head -c {size}M /dev/zero > \"$0\" && sync \"$0\"");
        group.run(&write, file);
    }
    let guard = place.start(&[]);
    // All in one sample.
    for _ in 0..3 {
        for file in [&excepted, &too_large, &one, &other] {
            assert!(!fs::read(file).expect("a file").is_empty());
        }
        sleep(Duration::from_millis(1300));
    }
    let locked = || [&one, &other].map(|file| guard.locked(file).is_some());
    guard.wait_for("a file within a quarter of the limit is locked", || {
        locked().contains(&true)
    });
    read(&too_large, 1);
    assert!(
        locked().contains(&false),
        "both are too much: {}",
        guard.log()
    );
    assert_eq!(guard.locked(&too_large), None, "{}", guard.log());
    assert_eq!(guard.locked(&excepted), None, "{}", guard.log());
    let log = guard.log();
    assert!(
        log.contains("up to a quarter of its limit of 32 MiB"),
        "{log}"
    );
    assert!(guard.end(Signal::TERM).success());
}
