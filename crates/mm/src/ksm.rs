//! Kernel samepage merging: the files of `/sys/kernel/mm/ksm/`, and those of a process.

use alloc::format;
use alloc::string::String;

use crate::catalogue::folder;
use crate::choice::Choice;
use crate::items::named_numbers;
use crate::text::{ParseError, number};

/// Folder without the leading slash.
pub const DIR: &str = folder::KSM;

named_numbers!(
    /// The numbers of the folder, by file name.
    KsmNumbers(u64, core::convert::identity) {
        /// 1 while ksmd merges, 0 while it stands, 2 after everything was unmerged.
        run = "run",
        /// Pages scanned between two sleeps.
        pages_to_scan = "pages_to_scan",
        /// Sleep between two scans, in milliseconds.
        sleep_millisecs = "sleep_millisecs",
        /// 1 where pages of different nodes may be merged.
        merge_across_nodes = "merge_across_nodes",
        /// 1 where pages that never matched are scanned less often; since Linux 6.7.
        smart_scan = "smart_scan",
        /// 1 where empty pages are merged with the zero page.
        use_zero_pages = "use_zero_pages",
        /// Most mappings that share one page.
        max_page_sharing = "max_page_sharing",
        /// Merged pages in use.
        pages_shared = "pages_shared",
        /// Mappings that they save.
        pages_sharing = "pages_sharing",
        /// Candidates without a twin.
        pages_unshared = "pages_unshared",
        /// Candidates that change too fast.
        pages_volatile = "pages_volatile",
        /// Candidates passed over by smart scan; since Linux 6.7.
        pages_skipped = "pages_skipped",
        /// Candidates scanned; since Linux 6.6.
        pages_scanned = "pages_scanned",
        /// Times that every candidate was scanned.
        full_scans = "full_scans",
        /// Pages merged with the zero page.
        ksm_zero_pages = "ksm_zero_pages",
    }
);

/// The folder. A field is `None` where the file is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ksm {
    /// Every file that holds one number.
    pub numbers: KsmNumbers,
    /// Bytes saved less bytes of metadata, as the kernel reports it; since Linux 6.4.
    pub general_profit: Option<i64>,
    /// Who sets `pages_to_scan`; since Linux 6.8.
    pub advisor_mode: Option<Choice>,
}

impl Ksm {
    /// Takes in one file of the folder, by path without the leading slash; other paths, and files
    /// that this parser does not know, are passed over.
    ///
    /// # Errors
    /// Where the file does not hold what it should.
    pub fn read(&mut self, path: &str, text: &str) -> Result<(), ParseError> {
        let name = path
            .strip_prefix(DIR)
            .and_then(|name| name.strip_prefix('/'));
        match name {
            None => {}
            Some("general_profit") => self.general_profit = Some(number(path, text)?),
            Some("advisor_mode") => self.advisor_mode = Some(Choice::parse(path, text)?),
            Some(name) if KsmNumbers::has(name) => self.numbers.set(name, number(path, text)?),
            Some(name) => {
                if let Ok(value) = number(path, text) {
                    self.numbers.set(name, value);
                }
            }
        }
        Ok(())
    }
}

/// The files that the kernel keeps of each process, below `/proc/PID`.
pub const PROCESS_FILES: [&str; 2] = ["ksm_stat", "ksm_merging_pages"];

/// The path under which a capture holds such a file of a process of the workload: by its name,
/// which stays the same from run to run where its number does not.
#[must_use]
pub fn path_of_process(process: &str, file: &str) -> String {
    format!("proc/{process}/{file}")
}

/// The process that such a file is about, by name or by number; `None` for other paths.
#[must_use]
pub fn process_of(path: &str) -> Option<&str> {
    let (process, file) = path.strip_prefix("proc/")?.rsplit_once('/')?;
    (PROCESS_FILES.contains(&file) && !process.is_empty()).then_some(process)
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
    fn numbers_profit_and_advisor_are_read() {
        let files = [
            ("sys/kernel/mm/ksm/pages_sharing", "12\n"),
            ("sys/kernel/mm/ksm/stable_node_dups", "3\n"),
            ("sys/kernel/mm/ksm/of_the_future", "some words\n"),
            ("sys/kernel/mm/ksm/general_profit", "-64\n"),
            ("sys/kernel/mm/ksm/advisor_mode", "[none] scan-time\n"),
            ("proc/meminfo", "MemTotal: 1 kB\n"),
        ];
        let mut ksm = Ksm::default();
        for (path, text) in files {
            ksm.read(path, text).expect("a KSM file");
        }
        assert_eq!(ksm.numbers.pages_sharing, Some(12));
        assert_eq!(ksm.numbers.get("stable_node_dups"), Some(3));
        assert_eq!(ksm.general_profit, Some(-64));
        assert_eq!(ksm.advisor_mode.as_ref().map(Choice::chosen), Some("none"));
        assert_eq!(ksm.numbers.run, None);
    }

    #[test]
    fn a_process_is_found_in_the_path_of_its_files() {
        let path = path_of_process("guest.1", "ksm_stat");
        assert_eq!(process_of(&path), Some("guest.1"));
        assert_eq!(process_of("proc/ksmd/stat"), None);
        assert_eq!(process_of("proc/ksm_stat"), None);
    }

    #[test]
    fn a_file_that_is_no_number_is_named() {
        let error = Ksm::default()
            .read(&path("run"), "yes")
            .expect_err("no number");
        assert_eq!(error.file, "sys/kernel/mm/ksm/run");
    }
}
