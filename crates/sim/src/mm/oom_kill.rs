//! Which process has to go when the machine or a group is out of memory (`mm/oom_kill.c`).

/// The `oom_score_adj` of a process that is never killed.
pub(crate) const EXEMPT: i16 = -1000;

/// What decides which process is killed, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) rss: u64,
    pub(crate) page_tables: u64,
    /// `/proc/PID/oom_score_adj`; -1000 exempts.
    pub(crate) score_adj: i16,
}

/// The index of the candidate to kill: the highest badness, the youngest of equals; `None` when all
/// are exempt (`select_bad_process`). `total` is RAM and swap in pages.
pub(crate) fn select_bad_process(
    candidates: impl Iterator<Item = (usize, Candidate)>,
    total: u64,
) -> Option<usize> {
    let eligible = candidates.filter(|(_, candidate)| candidate.score_adj > EXEMPT);
    eligible
        .max_by_key(|(_, candidate)| badness(*candidate, total))
        .map(|(index, _)| index)
}

/// `oom_badness`.
fn badness(candidate: Candidate, total: u64) -> i64 {
    let pages = i64::try_from(candidate.rss + candidate.page_tables).unwrap_or(i64::MAX / 2);
    pages + i64::from(candidate.score_adj) * i64::try_from(total / 1000).unwrap_or(i64::MAX / 2000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(rss: u64, score_adj: i16) -> Candidate {
        Candidate {
            rss,
            page_tables: 0,
            score_adj,
        }
    }

    #[test]
    fn the_largest_is_killed_unless_exempt() {
        let of = |list: &[Candidate]| select_bad_process(list.iter().copied().enumerate(), 100_000);
        assert_eq!(
            of(&[candidate(10, 0), candidate(30, 0), candidate(20, 0)]),
            Some(1)
        );
        assert_eq!(of(&[candidate(10, 0), candidate(30, -1000)]), Some(0));
        assert_eq!(
            of(&[candidate(10, 500), candidate(30_000, 0)]),
            Some(0),
            "500 is half of RAM"
        );
        assert_eq!(
            of(&[candidate(10, 0), candidate(10, 0)]),
            Some(1),
            "the youngest of equals"
        );
        assert_eq!(of(&[candidate(10, -1000)]), None);
    }
}
