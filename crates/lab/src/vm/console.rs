//! What the guest's kernel wrote to its serial console.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// What tells most about a failure, in falling order.
const TELLING: [&str; 6] = [
    "Kernel panic",
    "plimsoll: ",
    "Out of memory",
    "BUG: ",
    "Oops: ",
    "error",
];

/// Follows the console while the VM runs.
#[derive(Debug)]
pub(super) struct Console {
    file: Option<File>,
    /// The beginning of a line that has not ended.
    rest: Vec<u8>,
    lines: Vec<String>,
}

impl Console {
    pub(super) fn new() -> Self {
        Self {
            file: None,
            rest: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Reads what has been written since the last call and hands each whole line to `each`.
    ///
    /// # Errors
    /// Those of reading the file; one that QEMU has not made yet is empty.
    pub(super) fn follow(&mut self, path: &Path, mut each: impl FnMut(&str)) -> io::Result<()> {
        if self.file.is_none() {
            self.file = File::open(path).ok();
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.read_to_end(&mut self.rest)?;
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if !line.is_empty() {
                each(&line);
                self.lines.push(line);
            }
        }
        Ok(())
    }

    /// The line that tells most about why the VM ended.
    pub(super) fn telling_line(&self) -> Option<&str> {
        let last_with = |mark: &&str| self.lines.iter().rev().find(|line| line.contains(*mark));
        let line = TELLING.iter().find_map(last_with);
        line.or(self.lines.last()).map(String::as_str)
    }

    /// Whether the kernel gave up.
    pub(super) fn panicked(&self) -> bool {
        self.lines.iter().any(|line| line.contains(TELLING[0]))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn console(text: &str) -> Console {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("console");
        let mut console = Console::new();
        console
            .follow(&path, |_| unreachable!("no file yet"))
            .unwrap();
        fs::write(&path, text).unwrap();
        console.follow(&path, |_| ()).unwrap();
        console
    }

    #[test]
    fn the_telling_line_is_the_cause_and_not_the_last() {
        let text = "booting\r\n[ 2.0] Kernel panic - not syncing: VFS\r\n[ 2.1] ---[ end ]---\r\n";
        let console = console(text);
        assert_eq!(
            console.telling_line(),
            Some("[ 2.0] Kernel panic - not syncing: VFS")
        );
        assert!(console.panicked());
    }

    #[test]
    fn without_a_cause_it_is_the_last_whole_line() {
        let console = console("one\ntwo\nhalf");
        assert_eq!(console.telling_line(), Some("two"));
        assert!(!console.panicked());
        assert_eq!(Console::new().telling_line(), None);
    }

    #[test]
    fn lines_arrive_once_and_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("console");
        let (mut console, mut seen) = (Console::new(), Vec::new());
        for text in ["on", "one\ntw", "one\ntwo\n"] {
            fs::write(&path, text).unwrap();
            console
                .follow(&path, |line| seen.push(line.to_owned()))
                .unwrap();
        }
        assert_eq!(seen, ["one", "two"]);
    }
}
