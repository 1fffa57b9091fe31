//! One pass over the runs of a recording.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use mm::units::Nanos;
use scenario::recording::{Cursor, Recorded, Run, Stream};

use super::level::{BEFORE, Level, Touched};
use super::owners::Owners;
use super::{Footprint, Group, PAGE, PARTS, Program};
use crate::{Seen, Study};

/// Bits for the number of a page in its file; the reader of recordings holds that they suffice.
const PAGE_BITS: u32 = 40;

/// A stream on its way.
struct Feed<'a> {
    stream: &'a Stream,
    number: u32,
    program: usize,
    cursor: Cursor,
    /// When its next run begins.
    at: Nanos,
    run: Run,
}

impl<'a> Feed<'a> {
    fn new(recorded: &'a Recorded, number: u32, program: usize) -> Option<Self> {
        let stream = recorded.stream(number)?;
        let mut cursor = Cursor::default();
        let run = stream.next(&mut cursor)?;
        Some(Self {
            stream,
            number,
            program,
            cursor,
            at: Nanos(since_last(&run)),
            run,
        })
    }

    /// Goes on to the next run, and says when that begins.
    fn go_on(&mut self) -> Option<Nanos> {
        self.run = self.stream.next(&mut self.cursor)?;
        self.at = Nanos(self.at.0.saturating_add(since_last(&self.run)));
        Some(self.at)
    }
}

/// How long after the beginning of its last run a run begins.
fn since_last(run: &Run) -> u64 {
    run.took.0 + run.compute.0 + run.sleep.0
}

/// A recording that is being looked at.
pub(super) struct Looking<'a> {
    recorded: &'a Recorded,
    owners: Owners,
    all: Level,
    groups: Vec<Level>,
    programs: Vec<Level>,
    /// Whether a page was cached before, by its number among all.
    was_cached: Vec<bool>,
    /// Where the last read of a file ended, by stream and file.
    ends: BTreeMap<(u32, u32), u64>,
    /// Pages are in blocks of two to the power of this, of which one page is looked at.
    bits: u32,
    time: Nanos,
    lasted: Nanos,
    /// What was counted of all tasks, where it was.
    seen: Option<Seen>,
}

impl<'a> Looking<'a> {
    pub(super) fn new(study: &'a Study, most: u64) -> Self {
        let recorded = &*study.recorded.recorded;
        let processes = study.arms.first().map(|arm| &arm.workload.processes[..]);
        let owners = Owners::of(processes.unwrap_or_default());
        let time = study.observed.as_ref().map_or(Nanos::ZERO, |it| it.time);
        let runs = recorded.streams.iter().flat_map(Stream::iter);
        let touches = runs.filter(|run| run.kind.copies());
        let touches = touches.map(|run| pages_of(recorded, &run));
        let touches: u64 = touches.map(|pages| pages.end - pages.start).sum();
        let levels = |count| (0..count).map(|_| Level::default()).collect();
        Self {
            recorded,
            all: Level::default(),
            groups: levels(owners.groups.len()),
            programs: levels(owners.names.len()),
            owners,
            was_cached: Vec::new(),
            ends: BTreeMap::new(),
            bits: touches.div_ceil(most).max(1).next_power_of_two().ilog2(),
            time,
            lasted: Nanos::ZERO,
            seen: study.observed.as_ref().and_then(|it| it.seen),
        }
    }

    /// Uses what was cached before, in the order in which the recording has it: which of it was
    /// used last is not known.
    pub(super) fn cached(&mut self) {
        for (group, stream, skip, count) in std::mem::take(&mut self.owners.cached) {
            let Some(stream) = self.recorded.stream(stream) else {
                continue;
            };
            let mut cursor = stream.behind(skip);
            let end = skip.saturating_add(count);
            while cursor.passed() < end
                && let Some(run) = stream.next(&mut cursor)
            {
                let pages = self.sampled(&run);
                let touched = self.touched(&pages, &run, BEFORE);
                self.all.touch(&touched, |_, _| true);
                self.groups[group].touch(&touched, |_, _| true);
            }
        }
        self.was_cached = vec![true; self.all.pages()];
    }

    /// All streams, by the times at which their runs began.
    pub(super) fn runs(&mut self) {
        let programs = self.owners.programs.iter();
        let mut feeds: Vec<Feed<'_>> = programs
            .filter_map(|(&number, &program)| Feed::new(self.recorded, number, program))
            .collect();
        let begin = feeds
            .iter()
            .zip(0..)
            .map(|(feed, place)| Reverse((feed.at, place)));
        let mut next: BinaryHeap<Reverse<(Nanos, usize)>> = begin.collect();
        while let Some(Reverse((_, place))) = next.pop() {
            self.run(&feeds[place]);
            if let Some(at) = feeds[place].go_on() {
                next.push(Reverse((at, place)));
            }
        }
    }

    fn run(&mut self, feed: &Feed<'_>) {
        let run = &feed.run;
        self.lasted = self.lasted.max(feed.at);
        if !run.kind.copies() {
            return;
        }
        let part = self.part(feed.at);
        let is_in_order = self.is_in_order(feed.number, run);
        let whole = pages_of(self.recorded, run);
        let pages = self.sampled(run);
        let touched = self.touched(&pages, run, part);
        let mut flags = Vec::with_capacity(pages.len());
        let was_cached = &self.was_cached;
        self.all.touch(&touched, |_, number| {
            let flag = was_cached.get(number as usize).copied().unwrap_or(false);
            flags.push(flag);
            flag
        });
        let group = self.owners.names[feed.program].0;
        let (group, program) = (&mut self.groups[group], &mut self.programs[feed.program]);
        for level in [&mut *group, &mut *program] {
            level.touch(&touched, |place, _| flags[place]);
        }
        for level in [&mut self.all, group, program] {
            level.count(run, whole.end - whole.start, part, is_in_order);
        }
    }

    fn part(&self, at: Nanos) -> u8 {
        let parts = PARTS as u64;
        let share = at.0.saturating_mul(parts).checked_div(self.time.0);
        share.unwrap_or(0).min(parts - 1) as u8
    }

    fn is_in_order(&mut self, stream: u32, run: &Run) -> bool {
        let end = run.offset + run.length;
        let before = self.ends.insert((stream, run.file), end);
        run.offset == before.unwrap_or(0)
    }

    /// The pages of a run that are looked at, named by file and block.
    fn sampled(&self, run: &Run) -> Vec<u64> {
        let pages = pages_of(self.recorded, run);
        let blocks = pages.start >> self.bits..=pages.end.saturating_sub(1) >> self.bits;
        let file = u64::from(run.file) << PAGE_BITS;
        let names = blocks.map(|block| file | block);
        names
            .filter(|&name| pages.contains(&self.chosen(name, name ^ file)))
            .collect()
    }

    /// The page of a block that stands for it.
    fn chosen(&self, name: u64, block: u64) -> u64 {
        let mixed = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        block << self.bits | mixed & ((1 << self.bits) - 1)
    }

    fn touched<'p>(&self, pages: &'p [u64], run: &Run, part: u8) -> Touched<'p> {
        Touched {
            pages,
            kind: run.kind,
            part,
            size: PAGE << self.bits,
        }
    }

    pub(super) fn footprint(self) -> Footprint {
        let (page, scale) = (PAGE << self.bits, 1 << self.recorded.level);
        let mut groups: Vec<Group> = (self.owners.groups.into_iter().zip(&self.groups))
            .map(|(path, level)| Group {
                path,
                all: level.figures.times(scale),
                curve: level.curve(page, scale),
                programs: Vec::new(),
            })
            .collect();
        for ((group, name), level) in self.owners.names.into_iter().zip(self.programs) {
            let all = level.figures.times(scale);
            groups[group].programs.push(Program { name, all });
        }
        for group in &mut groups {
            group.programs.sort_by_key(|it| Reverse(it.all.bytes()));
        }
        groups.retain(|group| group.all.reads + group.all.writes > 0);
        groups.sort_by_key(|it| Reverse(it.all.bytes()));
        let mut found = Footprint {
            curve: self.all.curve(page, scale),
            all: self.all.figures.times(scale),
            groups,
            scale: scale << self.bits,
            lasted: self.lasted,
            has_cached: !self.was_cached.is_empty(),
        };
        if let Some(seen) = self.seen {
            found.counts(&seen);
        }
        found
    }
}

/// The pages of a run, up to the end of its file.
fn pages_of(recorded: &Recorded, run: &Run) -> Range<u64> {
    let largest = recorded.files.get(run.file as usize);
    let largest = largest.map_or(0, |file| file.largest.0);
    let first = run.offset / PAGE;
    let end = (run.offset + run.length).min(largest).div_ceil(PAGE);
    first..end.max(first)
}
