//! What a process says of itself, in `/proc/PID`: `status`, `smaps_rollup`, `ksm_stat` and, where
//! that says less, `ksm_merging_pages`.

use alloc::string::String;

use crate::items::named_numbers;
use crate::text::{ParseError, lines, number, shown};
use crate::units::{Bytes, Kib};

/// The lines of `status` that tell whether a process has memory, and how much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The command's name, at most 60 characters.
    pub name: String,
    /// The letter of its state; `Z` is a process that ended and was not waited for.
    pub state: Option<char>,
    /// Anonymous memory in RAM; `None` of kernel threads and of processes that ended.
    pub rss_anon: Option<Bytes>,
    /// Anonymous memory in swap.
    pub swap: Bytes,
    /// The most memory it ever had in RAM.
    pub peak: Option<Bytes>,
}

impl Status {
    /// Reads the file.
    ///
    /// # Errors
    /// Where an amount is no number.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let mut status = Self::default();
        for line in lines(file, text) {
            let (key, value) = line.text.split_once(':').unwrap_or((line.text, ""));
            let amount = || -> Result<Bytes, ParseError> {
                let (_, kib) = line.key_number()?;
                Ok(Kib(line.amount(key, kib)?).bytes())
            };
            match key {
                "Name" => status.name = shown(value),
                "State" => status.state = value.trim_ascii().chars().next(),
                "RssAnon" => status.rss_anon = Some(amount()?),
                "VmHWM" => status.peak = Some(amount()?),
                "VmSwap" => status.swap = amount()?,
                _ => {}
            }
        }
        Ok(status)
    }
}

/// Anonymous memory in huge pages, from `/proc/PID/smaps_rollup`; `None` where it does not say.
#[must_use]
pub fn anon_huge_pages(rollup: &str) -> Option<Bytes> {
    let line = lines("", rollup).find(|line| line.text.starts_with("AnonHugePages:"))?;
    let (_, kib) = line.key_number().ok()?;
    Some(Kib(line.amount("", kib).ok()?).bytes())
}

named_numbers!(
    /// The numbers of `ksm_stat`, by the kernel's names; since Linux 6.1.
    KsmStatNumbers(u64, core::convert::identity) {
        /// Candidate pages that ksmd keeps an item for.
        rmap_items = "ksm_rmap_items",
        /// Mappings of merged pages.
        merging_pages = "ksm_merging_pages",
        /// Mappings of the zero page that merging put there; since Linux 6.6.
        zero_pages = "ksm_zero_pages",
    }
);

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KsmStat {
    /// Its numbers.
    pub numbers: KsmStatNumbers,
    /// Whether all of its memory is to be merged (`PR_SET_MEMORY_MERGE`); since Linux 6.14.
    pub merge_any: Option<bool>,
    /// Whether some mapping of it is to be merged; since Linux 6.14.
    pub mergeable: Option<bool>,
}

impl KsmStat {
    /// Reads the file.
    ///
    /// # Errors
    /// Where a line is neither a name with a number nor one with yes or no.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let mut stat = Self::default();
        for line in lines(file, text) {
            let (key, word) = line.text.rsplit_once(' ').unwrap_or((line.text, ""));
            match (key.trim_end_matches(':'), word) {
                ("ksm_merge_any", "yes" | "no") => stat.merge_any = Some(word == "yes"),
                ("ksm_mergeable", "yes" | "no") => stat.mergeable = Some(word == "yes"),
                // Negative where merging costs more than it saves; the sums say the same.
                ("ksm_process_profit", _) => {}
                _ => {
                    let (name, value) = line.key_number()?;
                    stat.numbers.set(name, line.amount(name, value)?);
                }
            }
        }
        Ok(stat)
    }

    /// Takes in `ksm_stat` or `ksm_merging_pages`, which older kernels have beside it, by path.
    ///
    /// # Errors
    /// Where the file does not hold what it should.
    pub fn read(&mut self, path: &str, text: &str) -> Result<(), ParseError> {
        let merging = self.numbers.merging_pages;
        if path.ends_with("/ksm_stat") {
            *self = Self::parse(path, text)?;
            self.numbers.merging_pages = self.numbers.merging_pages.or(merging);
        } else {
            self.numbers.merging_pages = Some(number(path, text)?);
        }
        Ok(())
    }

    /// Whether the process asked for merging; `None` on kernels that do not say.
    #[must_use]
    pub fn asks(&self) -> Option<bool> {
        Some(self.merge_any? || self.mergeable?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_a_kernel_thread_are_told_apart() {
        let text = "Name:\ta b\nState:\tS (sleeping)\nRssAnon:\t     124 kB\nVmSwap:\t 8 kB\n";
        let status = Status::parse("proc/1/status", text).expect("a status");
        assert_eq!((status.name.as_str(), status.state), ("a b", Some('S')));
        assert_eq!(status.rss_anon, Some(Bytes(124 << 10)));
        assert_eq!(status.swap, Bytes(8 << 10));
        let text = "Name:\tkswapd0\nState:\tI (idle)\nThreads:\t1\n";
        let thread = Status::parse("proc/2/status", text).expect("a status");
        assert_eq!(thread.rss_anon, None);
        let error = Status::parse("proc/3/status", "RssAnon:\tmany kB\n").expect_err("no number");
        assert_eq!(error.line, 1);
    }

    #[test]
    fn huge_pages_are_found_among_the_sums() {
        let text = "5-6 ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nAnonHugePages:  2048 kB\n";
        assert_eq!(anon_huge_pages(text), Some(Bytes(2 << 20)));
        assert_eq!(anon_huge_pages("AnonHugePages: all\n"), None);
        assert_eq!(anon_huge_pages(""), None);
    }

    #[test]
    fn what_ksm_did_for_a_process_is_read_on_old_and_new_kernels() {
        let new = "ksm_rmap_items 9\nksm_zero_pages 1\nksm_merging_pages 4\n\
                   ksm_process_profit -64\nksm_merge_any: no\nksm_mergeable: yes\n";
        let stat = KsmStat::parse("proc/1/ksm_stat", new).expect("a ksm_stat");
        assert_eq!(stat.numbers.merging_pages, Some(4));
        assert_eq!(stat.numbers.zero_pages, Some(1));
        assert_eq!(stat.asks(), Some(true));
        let old = KsmStat::parse("proc/1/ksm_stat", "ksm_rmap_items 0\n").expect("of 6.1");
        assert_eq!((old.numbers.rmap_items, old.asks()), (Some(0), None));
        assert!(KsmStat::parse("proc/1/ksm_stat", "ksm_merge_any: maybe\n").is_err());
    }

    #[test]
    fn merged_pages_of_6_1_come_from_a_file_of_their_own_in_any_order() {
        let files = [
            ("proc/1/ksm_merging_pages", "5\n"),
            ("proc/1/ksm_stat", "ksm_rmap_items 9\n"),
        ];
        for order in [[0, 1], [1, 0]] {
            let mut stat = KsmStat::default();
            for (path, text) in order.map(|index| files[index]) {
                stat.read(path, text).expect("a number");
            }
            let numbers = &stat.numbers;
            assert_eq!(
                (numbers.rmap_items, numbers.merging_pages),
                (Some(9), Some(5))
            );
        }
    }
}
