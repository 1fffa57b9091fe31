//! The dynamic linker of a release of Debian's that is unpacked and not installed: its programs
//! need its libc, and begin in the linker that belongs to that.

use std::path::{Path, PathBuf};

/// The linker of the release that is unpacked below `root`.
pub(super) fn of(root: &Path) -> PathBuf {
    root.join("usr/lib64/ld-linux-x86-64.so.2")
}

/// What lets the linker run a program, which calls itself `name`; the program's own arguments
/// follow.
pub(super) fn arguments(root: &Path, name: &str, program: &Path) -> [String; 5] {
    let libraries = root.join("usr/lib/x86_64-linux-gnu");
    let text = |path: &Path| path.display().to_string();
    let option = ["--argv0", name, "--library-path"].map(str::to_owned);
    let [first, second, third] = option;
    [first, second, third, text(&libraries), text(program)]
}
