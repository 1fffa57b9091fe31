//! Other programs that act on what the guard acts on.

use host::{Root, processes};
use schemars::JsonSchema;
use serde::Serialize;

/// A program by the name that the kernel has for it, and where the two meet.
const KNOWN: [(&str, &str); 10] = [
    (
        "systemd-oomd",
        "kills control groups by pressure: locked files leave the others less memory",
    ),
    (
        "oomd",
        "kills control groups by pressure: locked files leave the others less memory",
    ),
    (
        "earlyoom",
        "kills by MemAvailable, in which locked files do not count",
    ),
    (
        "nohang",
        "kills by MemAvailable, in which locked files do not count",
    ),
    (
        "prelockd",
        "locks programs too: what both lock counts once, but each has a budget",
    ),
    (
        "memavaild",
        "reclaims from control groups too, below a limit of MemAvailable",
    ),
    (
        "tuned",
        "sets vm.swappiness and vm.dirty_* by its profile: floor and writeback stand down then",
    ),
    (
        "saptune",
        "sets vm.* by its notes: the policy whose tunable it sets stands down then",
    ),
    (
        "ksmtuned",
        "starts and stops ksmd by itself: ksm stands down",
    ),
    ("plimsoll-guard", "a guard runs already: only one may"),
];

/// One that runs.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(super) struct Other {
    pub(super) program: &'static str,
    pub(super) pid: u32,
    pub(super) meets: &'static str,
}

/// Those that run.
pub(super) fn find(root: &Root) -> Vec<Other> {
    let pids = processes::all(root).into_iter();
    pids.filter_map(|pid| known(root, pid)).collect()
}

fn known(root: &Root, pid: u32) -> Option<Other> {
    let name = processes::name_of_service(root, pid)?;
    let (program, meets) = KNOWN.into_iter().find(|(known, _)| *known == name)?;
    Some(Other {
        program,
        pid,
        meets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_their_names() {
        let directory = tempfile::tempdir().expect("a directory");
        for (pid, name) in [("12", "earlyoom\n"), ("3", "bash\n"), ("5", "tuned\n")] {
            let folder = directory.path().join("proc").join(pid);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("comm"), name).expect("a file");
        }
        let found = find(&Root::new(directory.path()));
        let found: Vec<_> = found.iter().map(|it| (it.program, it.pid)).collect();
        assert_eq!(found, [("tuned", 5), ("earlyoom", 12)]);
        assert!(
            KNOWN.iter().all(|(name, _)| name.len() <= 15),
            "as comm has it"
        );
    }
}
