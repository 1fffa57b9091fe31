//! Streams that wait for each other.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Cursor, Kind, Recorded, Run};

impl Recorded {
    /// Looks whether all streams come to their ends when each waits for the wakes that it names. In
    /// what was recorded they do, as a task is woken before it goes on. A stream that ended, or is
    /// not there, counts as past all.
    pub(super) fn look_for_circles(&mut self) {
        self.is_circular = self.streams.iter().any(|it| it.waits) && !self.all_end();
    }

    fn all_end(&self) -> bool {
        let mut wakes = alloc::vec![0_u64; self.streams.len()];
        let mut cursors = alloc::vec![Cursor::default(); self.streams.len()];
        let mut ended = 0;
        // By the stream that is waited for: who waits, and for how many wakes.
        let mut waiting: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
        let mut ready: Vec<u32> = (0..self.streams.len() as u32).collect();
        while let Some(number) = ready.pop() {
            let cursor = &mut cursors[number as usize];
            let waits_for = self.go_on(number, cursor, &mut wakes);
            ended += usize::from(waits_for.is_none());
            if let Some(run) = waits_for {
                waiting
                    .entry(run.file)
                    .or_default()
                    .push((run.offset, number));
            }
            let had = wakes[number as usize];
            if let Some(all) = waiting.get_mut(&number) {
                ready.extend(all.iter().filter(|it| it.0 <= had).map(|it| it.1));
                all.retain(|it| it.0 > had);
            }
        }
        ended == self.streams.len()
    }

    /// Takes a stream to its end, or to what it has to wait for.
    fn go_on(&self, number: u32, cursor: &mut Cursor, wakes: &mut [u64]) -> Option<Run> {
        while let Some(run) = self.streams[number as usize].next(cursor) {
            let had = wakes.get(run.file as usize).copied();
            match run.kind {
                Kind::Wake => wakes[number as usize] += 1,
                Kind::Wait if had.is_some_and(|had| had < run.offset) => return Some(run),
                _ => {}
            }
        }
        wakes[number as usize] = u64::MAX;
        None
    }
}
