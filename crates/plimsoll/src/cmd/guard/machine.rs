//! The machine that is checked or explained: this one, or what evidence says of one.

use guard::Memory;
use host::Root;
use host::facts;
use mm::capture::Frame;
use mm::meminfo::{self, Meminfo};
use mm::notes::{FACTS, Facts};
use mm::units::PageSize;

/// The machine: this one, or what evidence says of one.
#[derive(Debug)]
pub(super) enum Machine<'a> {
    This(Root),
    Evidence(&'a Frame),
}

impl Machine<'_> {
    pub(super) fn file(&self, path: &str) -> Option<String> {
        match self {
            Self::This(root) => root.read(path).ok(),
            Self::Evidence(frame) => frame.file(path).map(str::to_owned),
        }
    }

    /// The number in a file.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.file(path)?.trim().parse().ok()
    }

    /// The size of its pages; 4 KiB where evidence does not say it.
    pub(super) fn page(&self) -> PageSize {
        match self {
            Self::This(root) => facts::read(root).page,
            Self::Evidence(frame) => Facts::from_text(frame.file(FACTS).unwrap_or_default()).page,
        }
    }

    /// # Errors
    /// There is no `/proc/meminfo`, or it is none.
    pub(super) fn memory(&self) -> anyhow::Result<Memory> {
        let text = self.file(meminfo::PATH);
        let text = text.ok_or_else(|| {
            anyhow::anyhow!(
                "there is no {}: without it no share has bytes",
                meminfo::PATH
            )
        })?;
        Ok(Memory::of(&Meminfo::parse(&text)?))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine of these files.
    pub(crate) fn root(folder: &tempfile::TempDir, files: &[(&str, &str)]) -> Root {
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        Root::new(folder.path())
    }

    #[test]
    fn a_number_is_read_and_what_is_none_is_no_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = root(&folder, &[("a/b", " 12\n"), ("a/c", "twelve\n")]);
        let machine = Machine::This(root);
        let numbers = ["a/b", "a/c", "a/d"].map(|path| machine.number(path));
        assert_eq!(numbers, [Some(12), None, None]);
    }
}
