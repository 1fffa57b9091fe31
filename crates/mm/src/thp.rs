//! Transparent huge pages: `/sys/kernel/mm/transparent_hugepage/`.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use crate::catalogue::folder;
use crate::choice::Choice;
use crate::items::Items;
use crate::text::{ParseError, number};
use crate::units::Bytes;

/// Folder without the leading slash.
pub const DIR: &str = folder::THP;

/// The THP settings. A field is `None` where the file is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thp {
    /// `enabled`: where faults get huge pages (always, madvise, never).
    pub enabled: Option<Choice>,
    /// `defrag`: which faults wait for compaction.
    pub defrag: Option<Choice>,
    /// `shmem_enabled`: huge pages for shared memory.
    pub shmem_enabled: Option<Choice>,
    /// `hpage_pmd_size`: the size of one.
    pub size: Option<Bytes>,
    /// The numbers in `khugepaged/`, by file name.
    pub khugepaged: Items,
    /// `hugepages-*kB/enabled`: the choice for each size, by folder name; since Linux 6.8.
    pub sizes: BTreeMap<String, Choice>,
}

impl Thp {
    /// Takes in one file of the folder, by path without the leading slash; other paths, and files
    /// that this parser does not know, are passed over.
    ///
    /// # Errors
    /// Where the file does not hold what it should.
    pub fn read(&mut self, path: &str, text: &str) -> Result<(), ParseError> {
        let name = path
            .strip_prefix(DIR)
            .and_then(|name| name.strip_prefix('/'));
        name.map_or(Ok(()), |name| self.file(path, name, text))
    }

    /// Whether any size of huge page can be had, in which case khugepaged runs and raises
    /// `vm.min_free_kbytes`.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let on = |choice: &Choice| !matches!(choice.chosen(), "never" | "inherit");
        self.enabled.as_ref().is_some_and(on) || self.sizes.values().any(on)
    }

    fn file(&mut self, path: &str, name: &str, text: &str) -> Result<(), ParseError> {
        match name.split_once('/') {
            None if name == "enabled" => self.enabled = Some(Choice::parse(path, text)?),
            None if name == "defrag" => self.defrag = Some(Choice::parse(path, text)?),
            None if name == "shmem_enabled" => {
                self.shmem_enabled = Some(Choice::parse(path, text)?);
            }
            None if name == "hpage_pmd_size" => self.size = Some(Bytes(number(path, text)?)),
            Some(("khugepaged", item)) => self.khugepaged.push(item, number(path, text)?),
            Some((size, "enabled")) if size.starts_with("hugepages-") => {
                let choice = Choice::parse(path, text)?;
                self.sizes.insert(size.into(), choice);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The path of a file in the folder.
#[must_use]
pub fn path(name: &str) -> String {
    format!("{DIR}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_read_as_it_is_found() {
        let files = [
            (path("enabled"), "always [madvise] never\n"),
            (path("hpage_pmd_size"), "2097152\n"),
            (path("khugepaged/pages_to_scan"), "4096\n"),
            (
                path("hugepages-64kB/enabled"),
                "always inherit madvise [never]\n",
            ),
            (path("unknown"), "x\n"),
        ];
        let mut thp = Thp::default();
        for (path, text) in &files {
            thp.read(path, text).expect("a THP file");
        }
        assert_eq!(thp.enabled.as_ref().map(Choice::chosen), Some("madvise"));
        assert_eq!(thp.size, Some(Bytes(2 << 20)));
        assert_eq!(thp.khugepaged.get("pages_to_scan"), Some(4096));
        assert_eq!(thp.sizes["hugepages-64kB"].chosen(), "never");
        assert!(thp.is_on());
    }
}
