//! A configuration file and its drop-ins, as texts.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use files::{Folder, Refused, named};

use crate::reason;

/// The longest file that is read, and the most files.
const LONGEST: u64 = 1 << 20;
const MOST: usize = 256;

/// Who may have written a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Anybody: it is only looked at.
    Anybody,
    /// Root alone: it is followed.
    Root,
}

/// The file and `FILE.d/*.toml` in order of name, each with its text.
///
/// # Errors
/// One line: which file cannot be read or believed and why; for the file itself, the way out.
pub fn read(path: &Path, writer: Writer) -> Result<Vec<(PathBuf, String)>, String> {
    let files = files(path, writer)?.into_iter();
    let texts = files.map(|file| match text(&file, writer) {
        Ok(text) => Ok((file, text)),
        Err(error) => Err(failed(&file, &error)),
    });
    texts.collect()
}

fn failed(file: &Path, error: &io::Error) -> String {
    let named = error.get_ref().and_then(|inner| inner.downcast_ref());
    match (named, error.kind()) {
        // It names the folder or file that is meant.
        (Some(Refused::Owner { .. } | Refused::Mode { .. }), _) => reason(error),
        (_, io::ErrorKind::NotFound) => {
            let (file, why) = (file.display(), reason(error));
            format!("{file}: {why}; name another with --config FILE")
        }
        _ => format!("{}: {}", file.display(), reason(error)),
    }
}

/// The file and its drop-ins.
fn files(path: &Path, writer: Writer) -> Result<Vec<PathBuf>, String> {
    let mut folder = path.as_os_str().to_owned();
    folder.push(".d");
    let folder = PathBuf::from(folder);
    let names = match names(&folder, writer) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        names => names.map_err(|error| failed(&folder, &error))?,
    };
    let is_toml = |name: &OsString| Path::new(name).extension() == Some(OsStr::new("toml"));
    let drop_ins = names
        .into_iter()
        .filter(is_toml)
        .map(|name| folder.join(name));
    Ok(std::iter::once(path.to_owned()).chain(drop_ins).collect())
}

fn names(folder: &Path, writer: Writer) -> io::Result<Vec<OsString>> {
    let folder = match writer {
        Writer::Anybody => Folder::at(folder)?,
        Writer::Root => root()?.trusted(std::path::absolute(folder)?)?,
    };
    let names = folder.names(MOST + 1)?;
    match names.len() > MOST {
        true => Err(io::Error::other("more than 256 files")),
        false => Ok(names.into_iter().map(|(name, _)| name).collect()),
    }
}

fn text(path: &Path, writer: Writer) -> io::Result<String> {
    let bytes = match writer {
        Writer::Anybody => named::read(path, LONGEST)?,
        Writer::Root => root()?.read_trusted_below(std::path::absolute(path)?, LONGEST)?,
    };
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text"))
}

fn root() -> io::Result<Folder> {
    Folder::at(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::process::Command;

    #[test]
    fn drop_ins_come_after_the_file_in_order_of_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("guard.toml");
        fs::create_dir(directory.path().join("guard.toml.d")).expect("a directory");
        for name in ["", ".d/20.toml", ".d/10.toml", ".d/30.conf"] {
            let file = directory.path().join(format!("guard.toml{name}"));
            fs::write(file, name).expect("a file");
        }
        for writer in [Writer::Anybody, Writer::Root] {
            let texts = read(&path, writer).expect("texts");
            let texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, ["", ".d/10.toml", ".d/20.toml"]);
        }
    }

    #[test]
    fn what_others_may_write_is_looked_at_and_not_followed() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let set_mode = |name: &str, mode| {
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).expect("permissions");
        };
        fs::create_dir(at("etc")).expect("a directory");
        fs::create_dir(at("etc/guard.toml.d")).expect("a directory");
        for name in ["etc/guard.toml", "etc/guard.toml.d/10.toml"] {
            fs::write(at(name), "").expect("a file");
        }
        let path = at("etc/guard.toml");
        for (name, mode) in [
            ("etc", 0o755),
            ("etc/guard.toml", 0o644),
            ("etc/guard.toml.d", 0o755),
            ("etc/guard.toml.d/10.toml", 0o644),
        ] {
            set_mode(name, mode | 0o002);
            let error = read(&path, Writer::Root).expect_err(name);
            assert!(
                error.contains("writable by others") && error.lines().count() == 1,
                "{error}"
            );
            assert_eq!(read(&path, Writer::Anybody).expect("texts").len(), 2);
            set_mode(name, mode);
        }
        symlink(&path, at("link.toml")).expect("a link");
        read(&at("link.toml"), Writer::Root).expect("a link of root's");
    }

    #[test]
    fn what_has_no_end_or_never_begins_is_refused_at_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        symlink("/dev/zero", at("device")).expect("a link");
        let made = Command::new("mkfifo").arg(at("pipe")).status();
        assert!(made.expect("mkfifo").success());
        fs::File::create(at("huge"))
            .and_then(|file| file.set_len(300 << 20))
            .expect("a file");
        fs::create_dir(at("folder")).expect("a folder");
        fs::write(at("bytes"), b"\xff").expect("a file");
        for writer in [Writer::Anybody, Writer::Root] {
            for name in ["device", "pipe", "huge", "folder", "bytes"] {
                let error = read(&at(name), writer).expect_err(name);
                let is_named = error.contains(name) || error.contains("/dev/zero");
                assert!(is_named && error.lines().count() == 1, "{error}");
            }
        }
        fs::create_dir(at("many.d")).expect("a folder");
        fs::write(at("many"), "").expect("a file");
        for number in 0..=MOST {
            fs::write(at("many.d").join(number.to_string()), "").expect("a file");
        }
        let error = read(&at("many"), Writer::Anybody).expect_err("too many");
        assert!(error.contains("more than 256 files"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_there_says_the_way_out() {
        let missing = read(Path::new("/missing/guard.toml"), Writer::Root).expect_err("no file");
        assert_eq!(
            missing,
            "/missing/guard.toml: No such file or directory; name another with --config FILE"
        );
    }
}
