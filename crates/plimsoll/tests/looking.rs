//! What `inspect` opens on this very machine, as the kernel sees it: every file of /proc and /sys
//! is on the list of those that may be read.

use std::collections::BTreeSet;
use std::process::Command;

use host::looking::may_read;

/// Begins of files below /proc and /sys that the program's start or its tracer opens, and of the
/// second name by which a file is read that was opened as a path: the log has its first name, too.
const OTHERS: [&str; 2] = ["proc/self/maps", "proc/self/fd/"];

#[test]
fn inspect_opens_no_kernel_file_that_is_not_on_the_list() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("opened");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-e", "trace=open,openat,openat2", "-o"])
        .arg(&log);
    strace
        .arg(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["inspect", "--interval", "0.05", "--json"]);
    let output = match strace.output() {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            assert!(!why.contains("panicked"), "{why}");
            println!("skipped: strace may not trace here: {why}");
            return;
        }
        Err(error) => {
            println!("skipped: strace: {error}");
            return;
        }
    };
    assert!(output.stdout.starts_with(b"{"), "it inspected");
    let log = std::fs::read_to_string(log).expect("strace wrote it");
    let opened = kernel_files(&log);
    assert!(opened.len() > 40, "{opened:?}");
    let others = opened
        .iter()
        .filter(|path| !may_read(path) && !OTHERS.iter().any(|begin| path.starts_with(begin)));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&String>::new());
}

/// The files below /proc and /sys that were opened, without the folders that were listed.
fn kernel_files(log: &str) -> BTreeSet<String> {
    let opened = log
        .lines()
        .filter(|line| !line.contains("O_DIRECTORY") && !line.contains("= -1"));
    let paths = opened.filter_map(|line| line.split('"').nth(1)?.strip_prefix('/'));
    let of_kernel = |path: &&str| path.starts_with("proc/") || path.starts_with("sys/");
    paths.filter(of_kernel).map(str::to_owned).collect()
}

#[test]
fn a_log_of_strace_gives_its_files() {
    let log = "7 openat(AT_FDCWD, \"/proc/meminfo\", O_RDONLY|O_CLOEXEC) = 3\n\
               7 openat(AT_FDCWD, \"/sys/block\", O_RDONLY|O_DIRECTORY) = 3\n\
               7 openat(AT_FDCWD, \"/proc/gone\", O_RDONLY) = -1 ENOENT (No such file)\n\
               7 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3\n";
    assert!(
        kernel_files(log)
            .into_iter()
            .eq(["proc/meminfo".to_owned()])
    );
}
