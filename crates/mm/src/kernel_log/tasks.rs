//! The table of processes: every kernel's columns, found by their names.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use super::text::leading_number;
use crate::units::{Kib, Pages};

/// Processes that are kept, largest first.
const LARGEST: usize = 32;

/// A process of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u64,
    /// User.
    pub uid: u64,
    /// Name of the command, at most 15 bytes.
    pub name: String,
    /// Address space.
    pub total_vm: Pages,
    /// Resident pages; shared ones count in each process.
    pub rss: Pages,
    /// Pages in swap, since 3.6.
    pub swap: Pages,
    /// Pages of page tables, 3.2 to 4.15, or since then their bytes.
    pub tables: u64,
    /// `oom_score_adj`, or `oom_adj` before 2.6.36.
    pub adjustment: i64,
}

/// The table's rows, as sums and the largest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    /// Rows.
    pub count: u64,
    /// Sum of the resident pages.
    pub rss: Pages,
    /// Sum of the pages in swap.
    pub swap: Pages,
    /// The largest by resident pages and swap, largest first.
    pub largest: Vec<Process>,
    /// The heading's columns.
    columns: Vec<String>,
}

impl Processes {
    /// Reads the heading "[ pid ]   uid  tgid …" or a row; false where the line is neither.
    pub(super) fn line(&mut self, text: &str) -> bool {
        let Some((inner, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']'))
        else {
            return false;
        };
        if inner.trim_ascii() == "pid" {
            let columns = rest.split_ascii_whitespace().take(16);
            self.columns = columns.map(str::to_owned).collect();
            return true;
        }
        let pid = inner.trim_ascii().parse();
        let process = pid.ok().and_then(|pid| self.row(pid, rest));
        process.is_some_and(|process| {
            self.add(process);
            true
        })
    }

    fn row(&self, pid: u64, text: &str) -> Option<Process> {
        let mut process = Process {
            pid,
            ..Process::default()
        };
        let mut rest = text.trim_ascii_start();
        let guessed;
        let columns = if self.columns.is_empty() {
            guessed = columns_of(text);
            guessed.to_vec()
        } else {
            self.columns.iter().map(String::as_str).collect()
        };
        for column in columns {
            if column == "name" {
                break;
            }
            let (word, after) = rest.split_once(' ')?;
            process.set(column, word)?;
            rest = after.trim_ascii_start();
        }
        process.name = rest.trim_ascii().chars().take(64).collect();
        Some(process)
    }

    fn add(&mut self, process: Process) {
        self.count += 1;
        self.rss = self.rss.saturating_add(process.rss);
        self.swap = self.swap.saturating_add(process.swap);
        let size = |process: &Process| process.rss.saturating_add(process.swap);
        let at = self
            .largest
            .partition_point(|other| size(other) >= size(&process));
        if at < LARGEST {
            self.largest.insert(at, process);
            self.largest.truncate(LARGEST);
        }
    }
}

/// The columns of a row whose heading is lost, by their number.
fn columns_of(row: &str) -> &'static [&'static str] {
    let number = |word: &&str| word.parse::<i64>().is_ok();
    let words = row.split_ascii_whitespace().take_while(number).count();
    match words {
        10.. => &[
            "uid",
            "tgid",
            "total_vm",
            "rss",
            "rss_anon",
            "rss_file",
            "rss_shmem",
            "pgtables_bytes",
            "swapents",
            "oom_score_adj",
            "name",
        ],
        8.. => &[
            "uid",
            "tgid",
            "total_vm",
            "rss",
            "nr_ptes",
            "nr_pmds",
            "swapents",
            "oom_score_adj",
            "name",
        ],
        _ => &[
            "uid",
            "tgid",
            "total_vm",
            "rss",
            "nr_ptes",
            "swapents",
            "oom_score_adj",
            "name",
        ],
    }
}

impl Process {
    fn set(&mut self, column: &str, word: &str) -> Option<()> {
        let signed: i64 = word.parse().ok()?;
        let amount = u64::try_from(signed)
            .unwrap_or(0)
            .min(crate::text::LARGEST_AMOUNT);
        match column {
            "uid" => self.uid = amount,
            "total_vm" => self.total_vm = Pages(amount),
            "rss" => self.rss = Pages(amount),
            "swapents" => self.swap = Pages(amount),
            "nr_ptes" | "pgtables_bytes" => self.tables = amount,
            "oom_score_adj" => self.adjustment = signed,
            "oom_adj" if self.adjustment == 0 => self.adjustment = signed,
            _ => {}
        }
        Some(())
    }
}

/// The process that was killed, as the kernel says it at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Killed {
    /// Process id; 0 where the message has none (2.4).
    pub pid: u64,
    /// Name of the command.
    pub name: String,
    /// Its anonymous pages in kB, where printed.
    pub anon: Option<u64>,
    /// Its file pages in kB.
    pub file: Option<u64>,
    /// Its shared pages in kB, since 4.5.
    pub shmem: Option<u64>,
    /// The badness, before 5.1.
    pub score: Option<u64>,
    /// `oom_score_adj`, since 5.4.
    pub adjustment: Option<i64>,
}

impl Killed {
    /// What was resident of it; `None` where the log has the choice alone.
    #[must_use]
    pub fn resident(&self) -> Option<Kib> {
        let parts = [self.anon, self.file, self.shmem];
        let sum = parts.into_iter().flatten().reduce(u64::saturating_add);
        sum.map(Kib)
    }

    /// Reads "…Killed process 12 (x) total-vm:…", "Kill process 12 (x) score 900 or …" and their
    /// older forms.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(name) = super::linux_2_4::victim(text) {
            let name = name.chars().take(64).collect();
            return Some(Self {
                name,
                ..Self::default()
            });
        }
        let words = ["Killed process ", "Kill process ", "kill process "];
        let rest = words
            .iter()
            .find_map(|words| super::text::after(text, words))?;
        let (pid, rest) = leading_number(rest)?;
        let numbers = || {
            let ends = [") total-vm", ") vsz", "), UID", ") score", "), now"];
            ends.iter().filter_map(|end| rest.find(end)).min()
        };
        let name = rest.split_once('(').map_or("", |(_, rest)| rest);
        let start = rest.len() - name.len();
        let end = numbers().filter(|&end| end >= start).map(|end| end - start);
        let end = end.or_else(|| name.find(')')).unwrap_or(name.len());
        let value = |key| super::text::number_after(rest, key);
        let adjustment = super::text::after(rest, "oom_score_adj:");
        Some(Self {
            pid,
            name: name[..end].chars().take(64).collect(),
            anon: value("anon-rss:"),
            file: value("file-rss:"),
            shmem: value("shmem-rss:"),
            score: value("score "),
            adjustment: adjustment.and_then(|text| text.split(' ').next()?.parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(lines: &[&str]) -> Processes {
        let mut processes = Processes::default();
        for line in lines {
            assert!(processes.line(line), "{line}");
        }
        processes
    }

    #[test]
    fn every_kernels_columns_are_found_by_name() {
        for (heading, row, swap) in [
            (
                "[ pid ]   uid  tgid total_vm      rss cpu oom_adj oom_score_adj name",
                "[ 1234]     7  1234    20000      678   1     -17         -1000 my prog",
                0,
            ),
            (
                "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name",
                "[ 1234]     7  1234    20000      678      40       55         -1000 my prog",
                55,
            ),
            (
                "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem \
                 pgtables_bytes swapents oom_score_adj name",
                "[   1234]     7  1234    20000      678      600      78         0   163840  55 \
                 -1000 my prog",
                55,
            ),
        ] {
            let processes = table(&[heading, row]);
            let process = &processes.largest[0];
            assert_eq!(
                (process.pid, process.uid, process.name.as_str()),
                (1234, 7, "my prog")
            );
            assert_eq!((process.rss, process.swap), (Pages(678), Pages(swap)));
            assert!(process.adjustment < 0);
        }
    }

    #[test]
    fn a_lost_heading_is_made_up_for() {
        let row = "[ 1234]     7  1234    20000      678    40960       55             0 x";
        let processes = table(&[row]);
        assert_eq!((processes.rss, processes.swap), (Pages(678), Pages(55)));
        assert!(!Processes::default().line("[ x ] 1"));
    }

    #[test]
    fn the_killed_process_is_read_in_all_forms() {
        for text in [
            "Out of memory: Killed process 12 (a b) total-vm:8kB, anon-rss:4kB, file-rss:2kB, \
             shmem-rss:1kB, UID:0 pgtables:4kB oom_score_adj:-5",
            "Killed process 12 (a b), UID 0, total-vm:8kB, anon-rss:4kB, file-rss:2kB",
            "Killed process 12, UID 0, (a b) total-vm:8kB, anon-rss:4kB, file-rss:2kB",
            "Killed process 12 (a b) vsz:8kB, anon-rss:4kB, file-rss:2kB",
        ] {
            let killed = Killed::parse(text).expect("a kill");
            assert_eq!((killed.pid, killed.name.as_str()), (12, "a b"), "{text}");
            assert_eq!((killed.anon, killed.file), (Some(4), Some(2)));
        }
        let chosen = Killed::parse("Out of memory: Kill process 12 (a) score 900 or sacrifice");
        assert_eq!(chosen.expect("a choice").score, Some(900));
        assert_eq!(Killed::parse("Killed process x"), None);
        assert!(Killed::parse("Killed process 1 (").is_some());
    }
}
