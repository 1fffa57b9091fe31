//! The page that is served: the file that opens from a disk too, which may ask the server here.
//!
//! It is a file of its own and not in this program: another compiler makes it, for a browser, and
//! it would double the program. Who could write that file would tell the reader what to type as
//! root, so the package's is believed only where root alone can have written it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use files::{Folder, named};

/// Where the package has it, below `/`, and where an archive that was unpacked over `/usr/local`.
const INSTALLED: [&str; 2] = [
    "usr/share/plimsoll/plimsoll.html",
    "usr/local/share/plimsoll/plimsoll.html",
];
/// More than any page has, in bytes.
const LONGEST: u64 = 16 << 20;

/// What the policy of the page says when it opens from a disk, and what when it is served. The
/// page looks at its policy to know whether there is a machine to be shown.
const ASKS_NOBODY: &str = "connect-src 'none'";
const ASKS_HERE: &str = "connect-src 'self'";

/// The page, from where the user says or the package has it.
///
/// # Errors
/// There is none, or it is another file.
pub(super) fn read(given: Option<&Path>) -> anyhow::Result<Arc<[u8]>> {
    let (bytes, name) = match given {
        Some(path) => (named::read(path, LONGEST), path.display().to_string()),
        None => installed(),
    };
    let bytes = bytes.with_context(|| {
        format!("{name}: no page to serve: cargo xtask page makes one, give it with --page FILE")
    })?;
    served(&bytes).with_context(|| format!("{name}: give the file that cargo xtask page makes"))
}

/// The installed page and where it lies; the first place is named where none has it.
fn installed() -> (io::Result<Vec<u8>>, String) {
    let read = |path| Folder::at(Path::new("/"))?.read_trusted_below(path, LONGEST);
    let is_absent = |read: &io::Result<Vec<u8>>| {
        let kind = read.as_ref().err().map(io::Error::kind);
        kind == Some(io::ErrorKind::NotFound)
    };
    let [first, second] = INSTALLED.map(|path| (read(path), format!("/{path}")));
    match is_absent(&first.0) && !is_absent(&second.0) {
        true => second,
        false => first,
    }
}

/// A page whose policy lets it ask the server that it came from.
fn served(bytes: &[u8]) -> anyhow::Result<Arc<[u8]>> {
    let text = std::str::from_utf8(bytes)?;
    match text.split_once(ASKS_NOBODY) {
        Some((before, behind)) if before.contains("<meta") => {
            let text = format!("{before}{ASKS_HERE}{behind}");
            Ok(text.into_bytes().into())
        }
        _ => bail!("it is not the page of the model"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_policy_changes() {
        let page = |what: &str| format!("<meta content=\"{what}; x\">\nconnect-src 'none'");
        let made = served(page(ASKS_NOBODY).as_bytes()).expect("a page");
        assert_eq!(made.as_ref(), page(ASKS_HERE).as_bytes());
        served(b"<p>").expect_err("no page");
        served(b"\xff").expect_err("no text");
    }
}
