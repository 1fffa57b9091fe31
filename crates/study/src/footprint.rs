//! What a recording shows of a load: who read and wrote how much, how many different bytes that
//! were, and how often each size of the page cache would miss.
//!
//! Streams are put in order by the times that were recorded. Where they touch more than a million
//! pages, one page of each aligned block of a power of two stands for all of it. A page of a
//! sampled recording stands for its scale.

mod level;
mod looking;
mod owners;

use mm::units::{Bytes, Nanos};

use self::looking::Looking;
use crate::{Seen, Study};

/// Parts of the time for which amounts are told.
pub const PARTS: usize = 10;

/// The most touches of pages that are looked at one by one.
const MOST: u64 = 1 << 20;

const PAGE: u64 = 4096;

/// What a recording shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Footprint {
    /// All tasks.
    pub all: Figures,
    /// How often the page cache would miss, shared by all of them.
    pub curve: Curve,
    /// By control group, those with the most bytes first.
    pub groups: Vec<Group>,
    /// Of this many pages one was looked at.
    pub scale: u64,
    /// When the last run began.
    pub lasted: Nanos,
    /// Whether what was cached before is in it.
    pub has_cached: bool,
}

/// What the tasks of a control group did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Its path, empty for the root, and for tasks of which it is not known.
    pub path: String,
    /// All of its tasks.
    pub all: Figures,
    /// How often the page cache would miss if the group had it for itself.
    pub curve: Curve,
    /// Its programs, those with the most bytes first.
    pub programs: Vec<Program>,
}

/// What the tasks of a program did in a control group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// All of its tasks.
    pub all: Figures,
}

/// Amounts. Different bytes are in whole pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Reads.
    pub reads: u64,
    /// What they asked for.
    pub read: Bytes,
    /// What of that began where the task's last read of the file had ended, or at its begin.
    pub in_order: Bytes,
    /// Writes.
    pub writes: u64,
    /// What they wrote.
    pub written: Bytes,
    /// Different bytes that were read or written.
    pub distinct: Bytes,
    /// Those of them that were cached before.
    pub cached: Bytes,
    /// The same over time.
    pub parts: [Part; PARTS],
}

/// Amounts of a part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What reads asked for.
    pub read: Bytes,
    /// What was written.
    pub written: Bytes,
    /// Different bytes that were read or written.
    pub distinct: Bytes,
}

/// What is read from disks with any size of the page cache, by LRU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Bytes that a page stands for.
    page: u64,
    /// What reads touched, in whole pages: counted where a sample was looked at, as a hot page may
    /// be in it or not.
    touched: u64,
    /// Touches by reads that were looked at.
    reads: u64,
    /// At each number of other pages since a page's last use, how many of the reads had fewer.
    hits: Vec<u64>,
}

impl Curve {
    /// What reads touched, in whole pages.
    #[must_use]
    pub fn touched(&self) -> Bytes {
        Bytes(self.touched)
    }

    /// What is read from disks with this much memory.
    #[must_use]
    pub fn missed(&self, memory: Bytes) -> Bytes {
        let pages = memory.0.checked_div(self.page).unwrap_or(0);
        let last = self.hits.len().saturating_sub(1);
        let place = usize::try_from(pages).map_or(last, |pages| pages.min(last));
        let hits = self.hits.get(place).copied().unwrap_or(0);
        Bytes((self.reads - hits) * self.page)
    }

    /// The part of what reads touch that is read from disks with this much memory: 0 to 1.
    #[must_use]
    pub fn miss_ratio(&self, memory: Bytes) -> f64 {
        (self.missed(memory).0 as f64 / self.touched.max(1) as f64).min(1.0)
    }

    /// What is read from disks with all the memory that there may be.
    #[must_use]
    pub fn least(&self) -> Bytes {
        self.missed(Bytes(u64::MAX))
    }

    /// The memory that saves this share of what memory can save; `None` where nothing is read
    /// twice.
    #[must_use]
    pub fn saves(&self, percent: u64) -> Option<Bytes> {
        let all = self.hits.last().copied().filter(|&hits| hits > 0)?;
        let wanted = all - all * (100 - percent.min(100)) / 100;
        let pages = self.hits.partition_point(|&hits| hits < wanted);
        Some(Bytes(pages as u64 * self.page))
    }
}

impl Footprint {
    /// Looks at the recording of a study; of one that has none it is empty.
    #[must_use]
    pub fn of(study: &Study) -> Self {
        Self::looking_at(study, MOST)
    }

    /// Takes what was counted of all tasks in place of what the sample comes to.
    fn counts(&mut self, seen: &Seen) {
        let of_sample = u128::from(self.all.read.0.max(1));
        let touched = u128::from(self.curve.touched) * u128::from(seen.read.0) / of_sample;
        self.curve.touched = u64::try_from(touched).unwrap_or(u64::MAX);
        (self.all.reads, self.all.read) = (seen.reads, seen.read);
        (self.all.writes, self.all.written) = (seen.writes, seen.written);
    }

    fn looking_at(study: &Study, most: u64) -> Self {
        let mut looking = Looking::new(study, most);
        looking.cached();
        looking.runs();
        looking.footprint()
    }
}

impl Figures {
    /// Of a recording in which one page of `scale` is.
    fn times(&self, scale: u64) -> Self {
        let times = |bytes: Bytes| Bytes(bytes.0 * scale);
        Self {
            reads: self.reads * scale,
            read: times(self.read),
            in_order: times(self.in_order),
            writes: self.writes * scale,
            written: times(self.written),
            distinct: times(self.distinct),
            cached: times(self.cached),
            parts: self.parts.map(|part| Part {
                read: times(part.read),
                written: times(part.written),
                distinct: times(part.distinct),
            }),
        }
    }

    /// All that was read and written.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.read.0.saturating_add(self.written.0))
    }
}

#[cfg(test)]
mod tests;
