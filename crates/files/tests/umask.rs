//! A test of its own, because the umask is the whole process's.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use plimsoll_files::Folder;
use rustix::fs::Mode;

#[test]
fn files_have_their_mode_whatever_the_umask() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = Folder::at(directory.path()).expect("a folder");
    for umask in [0o000, 0o077, 0o777] {
        let name = format!("run/{umask:o}");
        let before = rustix::process::umask(Mode::from_raw_mode(umask));
        let folder = root.make_trusted(&name).expect("made");
        let lock = folder.lock_file(OsStr::new("lock"));
        let appended = folder.append(OsStr::new("journal"), 0, b"one\n");
        rustix::process::umask(before);
        lock.expect("a lock");
        appended.expect("a journal");
        let at = directory.path().join(name);
        let modes = [mode(&at), mode(&at.join("lock")), mode(&at.join("journal"))];
        assert_eq!(modes, [0o755, 0o600, 0o644], "umask {umask:o}");
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o7777
}
