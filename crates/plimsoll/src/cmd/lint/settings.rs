//! `plimsoll.toml` as it lies in a directory. What stands on the command line comes before it.

use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::Context as _;
use files::Folder;
use look::lint::settings::Settings;

/// The file, in the directory that lint is run in.
const FILE: &str = "plimsoll.toml";

/// The longest that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads the file; nothing where there is none, or where this machine is looked at, about which the
/// directory says nothing. A repository may hold it, so a link in it leads to nothing outside of
/// this directory.
///
/// # Errors
/// The line of what is not known.
pub(super) fn read(is_this_machine: bool) -> anyhow::Result<Settings> {
    if is_this_machine {
        return Ok(Settings::default());
    }
    match text(Path::new(".")).with_context(|| format!("{FILE}: cannot be read"))? {
        Some(text) => Settings::parse(&text).with_context(|| FILE.to_owned()),
        None => Ok(Settings::default()),
    }
}

fn text(directory: &Path) -> io::Result<Option<String>> {
    let directory = Folder::at(directory)?;
    let bytes = match (directory.read(FILE, LONGEST), directory.entry(FILE)) {
        (Err(error), Err(_)) if error.kind() == ErrorKind::NotFound => return Ok(None),
        (Err(error), Ok(_)) if error.kind() == ErrorKind::NotFound => {
            return Err(io::Error::other(
                "a link that leads to nothing in this directory",
            ));
        }
        (bytes, _) => bytes?,
    };
    let text = String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData)?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_short_file_of_this_directory_is_read() {
        let outside = tempfile::tempdir().expect("a directory");
        let secret = outside.path().join("secret");
        std::fs::write(&secret, "secret:1\n").expect("a file");
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let read = || text(directory.path());
        assert_eq!(read().expect("there is none"), None);
        let link = |to: &Path| {
            std::fs::remove_file(at(FILE)).ok();
            std::os::unix::fs::symlink(to, at(FILE)).expect("a link");
        };
        std::fs::write(at("own"), "text").expect("a file");
        link(Path::new("own"));
        assert_eq!(read().expect("its own").as_deref(), Some("text"));
        for to in [secret.as_path(), Path::new("/dev/zero"), Path::new("gone")] {
            link(to);
            let error = read().expect_err("it leads out, or nowhere").to_string();
            assert!(error.contains("a link"), "{error}");
        }
        std::fs::remove_file(at(FILE)).expect("a link");
        let long = std::fs::File::create(at(FILE)).expect("a file");
        long.set_len(LONGEST + 1).expect("its length");
        assert_eq!(
            read().expect_err("too long").kind(),
            ErrorKind::FileTooLarge
        );
        std::fs::remove_file(at(FILE)).expect("a file");
        let made = std::process::Command::new("mkfifo").arg(at(FILE)).status();
        assert!(made.expect("mkfifo").success());
        let error = read().expect_err("a pipe").to_string();
        assert!(error.contains("a pipe"), "{error}");
    }
}
