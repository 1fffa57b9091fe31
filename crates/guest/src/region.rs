//! The anonymous regions of a process: made of the pages asked for, filled with the contents asked
//! for.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mm::prng::Prng;
use mm::units::{Bytes, Nanos};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags};
use scenario::contents::Contents;
use scenario::workload::{Huge, Map};

use crate::mapping::Mapping;

/// The default huge page of x86-64 and of arm64 with 4 KiB pages.
const HUGE_PAGE: usize = 2 << 20;
/// A rewriter needs little stack.
const REWRITER_STACK: usize = 64 << 10;

/// The regions of one process, by name.
#[derive(Debug, Default)]
pub(crate) struct Regions(BTreeMap<String, Region>);

/// An anonymous region.
#[derive(Debug)]
pub(crate) struct Region {
    pages: Arc<PagesOf>,
    size: Bytes,
    rewriters: Vec<Rewriter>,
}

/// A region's pages and what they hold.
#[derive(Debug)]
struct PagesOf {
    mapping: Mapping,
    page: usize,
    contents: Contents,
    /// One bit a page: it was written. Kept where it matters only.
    written: Vec<AtomicU64>,
    /// Bytes of each page that are filled with noise when it is first written.
    noise: usize,
}

/// A thread that rewrites volatile pages.
#[derive(Debug)]
struct Rewriter {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Regions {
    /// Maps a region; one of the same name is unmapped first.
    pub(crate) fn map(
        &mut self,
        map: &Map,
        size: Bytes,
        instance: &str,
        noise: usize,
    ) -> Result<(), Errno> {
        self.0.remove(&map.region);
        let region = Region::map(map, size, instance, noise)?;
        self.0.insert(map.region.clone(), region);
        Ok(())
    }

    /// Unmaps a region.
    pub(crate) fn unmap(&mut self, name: &str) -> Result<(), Errno> {
        self.0.remove(name).map(drop).ok_or(Errno::NOENT)
    }

    /// A region that is mapped.
    pub(crate) fn get(&self, name: &str) -> Result<&Region, Errno> {
        self.0.get(name).ok_or(Errno::NOENT)
    }
}

impl Region {
    fn map(map: &Map, size: Bytes, instance: &str, noise: usize) -> Result<Self, Errno> {
        let page = rustix::param::page_size();
        let length = usize::try_from(size.0).map_err(|_| Errno::NOMEM)?;
        // A region costs nothing until it is touched, so one larger than the machine may be mapped.
        // Pages of the hugetlb pool are reserved: a touch that found none would kill the process.
        let (length, flags) = match map.huge {
            Huge::Hugetlb => (length.next_multiple_of(HUGE_PAGE), MapFlags::HUGETLB),
            _ => (length.next_multiple_of(page), MapFlags::NORESERVE),
        };
        let flags = match map.populate {
            true => flags | MapFlags::POPULATE,
            false => flags,
        };
        let mapping = Mapping::anonymous(length.max(page), MapFlags::PRIVATE | flags)?;
        advise(&mapping, map)?;
        let contents = Contents::new(map, instance, (length / page) as u64);
        let watched = noise > 0 || contents.volatile().next().is_some();
        let words = if watched {
            (length / page).div_ceil(64)
        } else {
            0
        };
        let pages = Arc::new(PagesOf {
            mapping,
            page,
            contents,
            written: (0..words).map(|_| AtomicU64::new(0)).collect(),
            noise: noise.min(page),
        });
        let rewriters = Rewriter::start_all(&pages)?;
        Ok(Self {
            pages,
            size,
            rewriters,
        })
    }

    /// Its size as the study says it.
    pub(crate) fn size(&self) -> Bytes {
        self.size
    }

    /// Its memory.
    pub(crate) fn mapping(&self) -> &Mapping {
        &self.pages.mapping
    }

    /// Reads or writes one word of each page of `length` bytes from `offset`.
    pub(crate) fn touch(&self, write: bool, offset: u64, length: u64) {
        let page = self.pages.page as u64;
        for index in offset / page..(offset + length).div_ceil(page) {
            if write {
                self.pages.write(index as usize, 0);
            } else {
                black_box(self.pages.mapping.load(index as usize * self.pages.page));
            }
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.rewriters.clear();
    }
}

/// Says what pages the region wants.
fn advise(mapping: &Mapping, map: &Map) -> Result<(), Errno> {
    match map.huge {
        Huge::Advise => mapping.advise(Advice::LinuxHugepage)?,
        Huge::Never => match mapping.advise(Advice::LinuxNoHugepage) {
            // A kernel that was built without huge pages knows no advice on them.
            Err(Errno::INVAL) => {}
            advised => advised?,
        },
        Huge::System | Huge::Hugetlb => {}
    }
    if map.mergeable {
        mapping.advise(Advice::LinuxMergeable)?;
    }
    Ok(())
}

impl PagesOf {
    fn write(&self, index: usize, changes: u64) {
        let word = self.contents.word(index as u64, changes);
        let start = index * self.page;
        if !self.written.is_empty() {
            let bit = 1 << (index % 64);
            let before = self.written[index / 64].fetch_or(bit, Ordering::Relaxed);
            if before & bit == 0 && word != 0 {
                self.fill(start, word);
            }
        }
        self.mapping.store(start, word);
    }

    /// Fills the page's beginning with noise that its word fixes: as much of it as will not
    /// compress.
    fn fill(&self, start: usize, word: u64) {
        let mut noise = Prng::new(word);
        for offset in (0..self.noise & !7).step_by(8) {
            self.mapping.store(start + offset, noise.next_u64());
        }
    }

    fn is_written(&self, index: usize) -> bool {
        self.written[index / 64].load(Ordering::Relaxed) >> (index % 64) & 1 == 1
    }
}

impl Rewriter {
    fn start_all(pages: &Arc<PagesOf>) -> Result<Vec<Self>, Errno> {
        let parts: Vec<_> = pages.contents.volatile().collect();
        let start = |(range, every)| Self::start(Arc::clone(pages), range, every);
        parts.into_iter().map(start).collect()
    }

    /// Rewrites those of the pages in `range` that were written before, all of them each `every`.
    fn start(
        pages: Arc<PagesOf>,
        range: std::ops::Range<u64>,
        every: Nanos,
    ) -> Result<Self, Errno> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let every = Duration::from_nanos(every.0.max(Nanos::MILLI.0));
        let is_told = move || told.load(Ordering::Relaxed);
        let rewrite = move || {
            let mut next = Instant::now() + every;
            for changes in 1.. {
                if !sleeps_until(next, &is_told) {
                    return;
                }
                next += every;
                let range = range.start as usize..range.end as usize;
                let written = range.filter(|&index| pages.is_written(index));
                written.for_each(|index| pages.write(index, changes));
                if is_told() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new()
            .stack_size(REWRITER_STACK)
            .spawn(rewrite);
        let thread =
            thread.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

/// Sleeps; false where it is told to stop meanwhile.
fn sleeps_until(moment: Instant, is_told: &impl Fn() -> bool) -> bool {
    while let Some(left) = moment.checked_duration_since(Instant::now()) {
        if is_told() {
            return false;
        }
        thread::park_timeout(left);
    }
    true
}

impl Drop for Rewriter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A rewriter that panicked has nothing left to give back.
            let _ = thread.join();
        }
    }
}
