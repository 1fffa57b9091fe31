//! A trace against memory sizes: each size is a replay of its own, all fed from one reading.

use mm::units::{PageSize, Pages};
use rayon::prelude::*;
use sim::replay::{Counters, Lru, Replay, ReplayOptions};

use super::{Trace, TraceError};

/// What one memory size made of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissRatio {
    /// Memory for the trace's pages.
    pub memory: Pages,
    /// What was counted.
    pub counters: Counters,
}

impl MissRatio {
    /// Misses per access.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.counters.misses as f64 / self.counters.accesses as f64
    }
}

/// Replays the trace on these lists at each memory size, as many at once as there are CPUs.
///
/// # Errors
/// The trace cannot be read again.
pub fn miss_ratios(
    trace: &mut Trace,
    lru: Lru,
    page_size: PageSize,
    memories: &[Pages],
) -> Result<Vec<MissRatio>, TraceError> {
    let replay = |&memory| {
        Replay::new(ReplayOptions {
            pages: trace.pages(),
            memory,
            page_size,
            lru,
        })
    };
    let mut replays: Vec<Replay> = memories.iter().map(replay).collect();
    trace.replay(|pages| match replays.as_mut_slice() {
        [single] => single.read(pages),
        several => several.par_iter_mut().for_each(|replay| replay.read(pages)),
    })?;
    let results = memories.iter().zip(&replays);
    Ok(results
        .map(|(&memory, replay)| MissRatio {
            memory,
            counters: replay.counters(),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Format, write_oracle_general};
    use super::*;
    use std::io::Write;

    #[test]
    fn every_size_sees_the_whole_trace() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = Vec::new();
        write_oracle_general(&mut bytes, (0..200_000).map(|n| n % 1000)).unwrap();
        file.write_all(&bytes).unwrap();
        let mut trace = Trace::open(file.path(), Format::OracleGeneral).unwrap();
        let memories = [Pages(500), Pages(1000), Pages(2000)];
        let results = miss_ratios(&mut trace, Lru::Classic, PageSize::FOUR_KIB, &memories).unwrap();
        let misses: Vec<u64> = results
            .iter()
            .map(|result| result.counters.misses)
            .collect();
        assert_eq!(misses, [200_000, 1000, 1000]);
        assert_eq!(results[1].ratio(), 0.005);
        assert_eq!(results[0].memory, Pages(500));
    }
}
