//! The headers of a kernel that was unpacked and never installed: what in them expects to lie where
//! a package is installed, or another libc, is told where it is.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::failed::failed;
use super::{Release, linker, packages};
use answer::bench::BenchError;

/// Where packages install headers.
const INSTALLED: &str = "/usr/src/";

/// What the programs of the headers need: libc, and what they read and sign objects with.
const LIBRARIES: &[&str] = &["libc6", "libelf1t64", "libssl3t64", "zlib1g", "libzstd1"];

/// Lets the headers' Makefiles include each other from where the root will be kept.
///
/// # Errors
/// Those of the files.
pub(super) fn settle(root: &Path, kept: &Path) -> Result<(), BenchError> {
    let there = format!("{}{INSTALLED}", kept.display());
    for folder in entries(&root.join("usr/src"))? {
        let path = folder.join("Makefile");
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        if text.lines().count() < 5 && text.contains(INSTALLED) {
            let text = text.replace(INSTALLED, &there);
            fs::write(&path, text).map_err(|error| failed(&path, &error))?;
        }
    }
    Ok(())
}

/// Puts the libraries of a release beside the headers, and lets each of their programs begin in the
/// dynamic linker that belongs to them.
///
/// # Errors
/// That the libraries cannot be fetched, or those of the files.
pub(super) fn bring_libraries(
    release: Release,
    root: &Path,
    kept: &Path,
    place: &Path,
) -> Result<(), BenchError> {
    let unpacked = packages::unpacked(release, LIBRARIES, &place.join("libraries"))?;
    let libraries = root.join("libraries");
    fs::rename(&unpacked, &libraries).map_err(|error| failed(&libraries, &error))?;
    for folder in entries(&root.join("usr/lib"))? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("linux-kbuild-") {
            wrap(&folder, &kept.join("libraries"), root, kept)?;
        }
    }
    Ok(())
}

/// Each program below a folder becomes a script that runs it by the linker.
fn wrap(folder: &Path, libraries: &Path, root: &Path, kept: &Path) -> Result<(), BenchError> {
    for path in entries(folder)? {
        match fs::symlink_metadata(&path) {
            Ok(it) if it.is_dir() => wrap(&path, libraries, root, kept)?,
            Ok(it) if it.is_file() && is_program(&path) => {
                let program = beside(&path);
                fs::rename(&path, &program).map_err(|error| failed(&path, &error))?;
                let there = kept.join(program.strip_prefix(root).unwrap_or(&program));
                write_script(&path, &script(libraries, &there))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Another name for a file. All of its own name stays: one folder has `objtool.real-x86` and
/// `objtool.real-powerpc`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".program");
    PathBuf::from(name)
}

fn script(libraries: &Path, program: &Path) -> String {
    let linker = linker::of(libraries);
    let arguments = linker::arguments(libraries, "\"$0\"", program).join(" ");
    format!("#!/bin/sh\nexec {} {arguments} \"$@\"\n", linker.display())
}

fn write_script(path: &Path, text: &str) -> Result<(), BenchError> {
    let wrong = |error| failed(path, &error);
    fs::write(path, text).map_err(wrong)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(wrong)
}

/// Whether a file is a program that a dynamic linker starts: an executable ELF file.
fn is_program(path: &Path) -> bool {
    let executable = fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
    executable && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
}

fn entries(path: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let entries = fs::read_dir(path).map_err(|error| failed(path, &error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makefiles_find_each_other_where_they_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let makefile = place.path().join("root/usr/src/linux-headers-7/Makefile");
        fs::create_dir_all(makefile.parent().unwrap()).unwrap();
        let text = "KBUILD_OUTPUT=/usr/src/a\ninclude /usr/src/b/Makefile\n";
        fs::write(&makefile, text).unwrap();
        settle(&place.path().join("root"), Path::new("/kept")).unwrap();
        let settled = fs::read_to_string(&makefile).unwrap();
        assert_eq!(
            settled,
            "KBUILD_OUTPUT=/kept/usr/src/a\ninclude /kept/usr/src/b/Makefile\n"
        );
    }

    #[test]
    fn programs_are_wrapped_and_scripts_are_not() {
        let place = tempfile::tempdir().unwrap();
        let (root, kept) = (place.path(), Path::new("/kept"));
        let folder = root.join("usr/lib/linux-kbuild-7/scripts");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [
            ("modpost", "\x7fELF"),
            ("objtool.real-powerpc", "\x7fELF of PowerPC"),
            ("objtool.real-x86", "\x7fELF of x86"),
            ("check.sh", "#!/bin/sh\n"),
        ] {
            write_script(&folder.join(name), text).unwrap();
        }
        wrap(&folder, Path::new("/kept/libraries"), root, kept).unwrap();
        let script = fs::read_to_string(folder.join("modpost")).unwrap();
        let program = "/kept/usr/lib/linux-kbuild-7/scripts/modpost.program";
        assert!(script.contains(program), "{script}");
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(text("modpost.program"), "\x7fELF");
        assert_eq!(text("objtool.real-powerpc.program"), "\x7fELF of PowerPC");
        assert_eq!(text("objtool.real-x86.program"), "\x7fELF of x86");
        assert_eq!(text("check.sh"), "#!/bin/sh\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 7);
    }
}
