//! How large the page cache may become: the limit that mainline lacks.
//!
//! The cache is sampled the more often the faster it grows, so that it is caught on its way to the
//! ceiling. What is reclaimed makes room for twice what comes until the next sample, and for a
//! twentieth of the ceiling at least: each page that goes was the coldest, and no more than that
//! goes.

use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};

use crate::action::{Action, Decision, MOST_RECLAIMED, Policy, Scope, Why};
use crate::config::{self, Amount};
use crate::sample::{AMPLE, LONGEST, SHORTEST, Sample, TICK};

/// The policy, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Ceiling {
    scopes: Vec<Limited>,
}

/// A scope with a limit.
#[derive(Clone, Debug)]
struct Limited {
    scope: Scope,
    limit: Amount,
    /// When it was last looked at, and its size after what was then asked for.
    before: Option<(Nanos, Bytes)>,
    /// How fast it grows, in bytes a second: the fastest of late, which fades within seconds.
    rate: u64,
}

impl Ceiling {
    pub(crate) fn new(config: config::Ceiling) -> Self {
        let total = config.total.map(|limit| (Scope::Machine, limit));
        let groups = config.groups.into_iter().enumerate();
        let groups = groups.map(|(index, (_, limit))| (Scope::Group(index), limit));
        let limited = |(scope, limit)| Limited {
            scope,
            limit,
            before: None,
            rate: 0,
        };
        Self {
            scopes: total.into_iter().chain(groups).map(limited).collect(),
        }
    }

    pub(crate) fn decide(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) -> Nanos {
        let scopes = self.scopes.iter_mut();
        let next = scopes.map(|limited| limited.decide(sample, to));
        next.min().unwrap_or(LONGEST)
    }
}

impl Limited {
    fn decide(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) -> Nanos {
        let Some((size, dirty)) = self.cache(sample) else {
            self.before = None;
            return sample.memory.tick();
        };
        self.measure_rate(sample.at, size);
        let ceiling = self.limit.of(sample.memory.total);
        let aim = ceiling.saturating_sub(self.room(ceiling));
        let over = size.saturating_sub(aim);
        // What is dirty cannot be dropped, and is not to be written out for this.
        let clean = size.saturating_sub(dirty);
        let amount = over.min(clean).min(MOST_RECLAIMED);
        let wanted = size.saturating_add(self.grows_in(SHORTEST)) >= ceiling;
        if !wanted || amount == Bytes::ZERO {
            self.before = Some((sample.at, size));
            return self.until(ceiling.saturating_sub(size));
        }
        let action = Action::Reclaim {
            scope: self.scope,
            amount,
        };
        to.push(Decision {
            policy: Policy::Ceiling,
            action,
            why: Why::Cache { size, ceiling },
        });
        let size = size.saturating_sub(amount);
        self.before = Some((sample.at, size));
        self.until(ceiling.saturating_sub(size))
    }

    /// The file pages of the scope, and what of them is dirty; `None` while it does not exist.
    fn cache(&self, sample: &Sample<'_>) -> Option<(Bytes, Bytes)> {
        match self.scope {
            Scope::Machine => Some((sample.memory.file, sample.memory.dirty)),
            Scope::Group(index) => {
                let group = sample.groups.get(index).copied().flatten()?;
                Some((group.file, group.dirty))
            }
        }
    }

    /// The growth since the last sample; one that is smaller than the last is half believed.
    fn measure_rate(&mut self, at: Nanos, size: Bytes) {
        let Some((then, before)) = self.before else {
            return;
        };
        let span = at.saturating_sub(then).max(Nanos::MILLI);
        let grown = u128::from(size.saturating_sub(before).0);
        let rate = grown * u128::from(Nanos::SECOND.0) / u128::from(span.0);
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        let fades = self.rate.saturating_sub(part(self.rate / 2, span));
        self.rate = rate.max(fades);
    }

    fn grows_in(&self, span: Nanos) -> Bytes {
        Bytes(part(self.rate, span))
    }

    fn room(&self, ceiling: Bytes) -> Bytes {
        let twice = self.grows_in(SHORTEST).0.saturating_mul(2);
        Bytes(twice.max(ceiling.0 / 20))
    }

    /// Half the time in which it grows by so much. A stream may begin at any time.
    fn until(&self, room: Bytes) -> Nanos {
        let span = u128::from(room.0) * u128::from(Nanos::SECOND.0);
        let span = span.checked_div(u128::from(self.rate) * 2);
        let span = span.and_then(|span| u64::try_from(span).ok());
        let longest = if room >= AMPLE { LONGEST } else { TICK };
        span.map_or(longest, Nanos).clamp(SHORTEST, longest)
    }
}

/// What of `per_second` falls into a span.
fn part(per_second: u64, span: Nanos) -> u64 {
    let part = u128::from(per_second) * u128::from(span.0) / u128::from(Nanos::SECOND.0);
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Memory;

    const TOTAL: Bytes = Bytes(1 << 30);
    const CEILING: Bytes = Bytes(100 << 20);

    /// A stream at `rate` bytes a second, for ten seconds, under a policy whose wishes come true at
    /// once: the largest page cache after the first second, and how often it was looked at.
    fn stream(rate: u64) -> (Bytes, usize) {
        let mut policy = Ceiling::new(config::Ceiling {
            total: Some(Amount::Bytes(CEILING)),
            groups: Vec::new(),
        });
        let (mut at, mut file, mut largest, mut looks) = (0, 50 << 20, 0, 0);
        let mut decisions = Vec::new();
        while at < 10 * Nanos::SECOND.0 {
            let memory = Memory {
                total: TOTAL,
                file: Bytes(file),
                ..Memory::default()
            };
            if at > Nanos::SECOND.0 {
                largest = largest.max(file);
            }
            let next = policy.decide(&sample(at, memory), &mut decisions);
            for decision in decisions.drain(..) {
                let Action::Reclaim { amount, .. } = decision.action else {
                    panic!("{decision:?}");
                };
                assert!(amount <= MOST_RECLAIMED);
                file -= amount.0;
            }
            at += next.0;
            file += part(rate, next);
            looks += 1;
        }
        (Bytes(largest), looks)
    }

    fn sample(at: u64, memory: Memory) -> Sample<'static> {
        Sample {
            at: Nanos(at),
            memory,
            ..Sample::default()
        }
    }

    #[test]
    fn a_stream_at_any_speed_stays_within_a_twentieth_of_the_ceiling() {
        for rate in [1 << 20, 40 << 20, 200 << 20, 400 << 20] {
            let (largest, looks) = stream(rate);
            assert!(largest.0 <= CEILING.0 / 20 * 21, "{rate}: {largest}");
            assert!(
                largest.0 >= CEILING.0 / 2 || rate < 10 << 20,
                "{rate}: {largest}"
            );
            assert!(looks <= 1000, "{rate}: {looks} looks");
        }
        let (_, looks) = stream(0);
        assert_eq!(looks, 50, "no more than the tick where nothing grows");
    }

    #[test]
    fn dirty_pages_are_left_to_writeback() {
        let mut policy = Ceiling::new(config::Ceiling {
            total: Some(Amount::Bytes(CEILING)),
            groups: Vec::new(),
        });
        let memory = Memory {
            total: TOTAL,
            file: Bytes(200 << 20),
            dirty: Bytes(195 << 20),
            ..Memory::default()
        };
        let mut decisions = Vec::new();
        policy.decide(&sample(0, memory), &mut decisions);
        let [decision] = &decisions[..] else {
            panic!("{decisions:?}");
        };
        let expected = Action::Reclaim {
            scope: Scope::Machine,
            amount: Bytes(5 << 20),
        };
        assert_eq!(decision.action, expected);
    }
}
