//! A configuration file and its drop-ins, as texts.

use std::io;
use std::path::{Path, PathBuf};

use files::{Folder, named};

use crate::reason;

/// The longest file that is read.
const LONGEST: u64 = 1 << 20;

/// Names that are taken of the folder.
const MOST_NAMES: usize = 4096;

/// The file and `FILE.d/*.toml` in order of name, each with its text.
///
/// # Errors
/// One line: which file cannot be read and why; for the file itself, the way out.
pub fn read(path: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let files = files(path).into_iter();
    let texts = files.map(|file| match named::text(&file, LONGEST) {
        Ok(text) => Ok((file, text)),
        Err(error) => {
            let way_out = match error.kind() {
                io::ErrorKind::NotFound => "; name another with --config FILE",
                _ => "",
            };
            Err(format!("{}: {}{way_out}", file.display(), reason(&error)))
        }
    });
    texts.collect()
}

/// The file and its drop-ins.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut folder = path.as_os_str().to_owned();
    folder.push(".d");
    let folder = PathBuf::from(folder);
    let names = Folder::at(&folder).and_then(|folder| folder.names(MOST_NAMES));
    let paths = names
        .into_iter()
        .flatten()
        .map(|(name, _)| folder.join(name));
    let drop_ins = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    [path.to_owned()].into_iter().chain(drop_ins).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn drop_ins_come_after_the_file_in_order_of_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("guard.toml");
        fs::create_dir(directory.path().join("guard.toml.d")).expect("a directory");
        for name in ["", ".d/20.toml", ".d/10.toml", ".d/30.conf"] {
            let file = directory.path().join(format!("guard.toml{name}"));
            fs::write(file, name).expect("a file");
        }
        let texts = read(&path).expect("texts");
        let texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["", ".d/10.toml", ".d/20.toml"]);
    }

    #[test]
    fn a_file_that_is_not_there_says_the_way_out() {
        let missing = read(Path::new("/missing/guard.toml")).expect_err("no file");
        assert_eq!(
            missing,
            "/missing/guard.toml: No such file or directory; name another with --config FILE"
        );
        let error = read(Path::new("/dev/zero")).expect_err("endless");
        assert!(error.starts_with("/dev/zero: "), "{error}");
    }
}
