//! How large the page cache may become: the limit that mainline lacks.
//!
//! The cache is sampled the more often the faster it grows, so that it is caught on its way to the
//! ceiling. What is reclaimed makes room for twice what comes until the next sample, and for a
//! twentieth of the ceiling at least: each page that goes was the coldest, and no more than that
//! goes. Where the kernel cannot reclaim the machine's file pages by themselves, files that are
//! read once are dropped instead, each from its beginning.

mod streams;

use alloc::vec::Vec;

use mm::formula::mul_div;
use mm::units::{Bytes, Nanos};

use crate::action::{Action, Decision, MOST_RECLAIMED, Policy, Scope, Why};
use crate::config::{self, Amount};
use crate::sample::{AMPLE, File, LONGEST, SHORTEST, Sample, TICK};
use crate::search::Search;
use streams::Streams;

/// The policy, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Ceiling {
    scopes: Vec<Limited>,
    streams: Streams,
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
            streams: Streams::new(),
        }
    }

    /// `keeps` says of which files nothing may go.
    pub(crate) fn decide(
        &mut self,
        sample: &Sample<'_>,
        keeps: impl Fn(File) -> bool,
        to: &mut Vec<Decision>,
    ) -> Nanos {
        if sample.must_drop {
            self.streams.see(sample);
        }
        let ready = |ceiling| self.streams.ready(sample.at, ceiling, &keeps);
        let scopes = self.scopes.iter_mut();
        let next = scopes.map(|limited| {
            let next = limited.decide(sample, ready, to);
            next.unwrap_or_else(|| self.streams.wait(sample.at))
        });
        next.min().unwrap_or(LONGEST)
    }
}

impl Limited {
    /// When the next sample is due; `None` where there is nothing that could go now. `ready` has
    /// the files that may be dropped under a ceiling.
    fn decide(
        &mut self,
        sample: &Sample<'_>,
        ready: impl Fn(Bytes) -> Vec<Search>,
        to: &mut Vec<Decision>,
    ) -> Option<Nanos> {
        let Some((size, dirty)) = self.cache(sample) else {
            self.before = None;
            return Some(sample.memory.tick());
        };
        let drops = sample.must_drop && self.scope == Scope::Machine;
        if let Some((_, before)) = self.before.as_mut().filter(|_| drops) {
            // Files have less to drop than was asked for.
            let dropped = sample.dropped.iter().map(|dropped| dropped.bytes);
            *before = before.saturating_sub(dropped.sum());
        }
        self.measure_rate(sample.at, size);
        let ceiling = self.limit.of(sample.memory.total);
        let aim = ceiling.saturating_sub(self.room(ceiling));
        let over = size.saturating_sub(aim);
        // What is dirty cannot be dropped, and is not to be written out for this.
        let clean = size.saturating_sub(dirty);
        let amount = over.min(clean).min(MOST_RECLAIMED);
        let wanted = size.saturating_add(self.grows_in(SHORTEST)) >= ceiling;
        self.before = Some((sample.at, size));
        if !wanted || amount == Bytes::ZERO {
            return Some(self.until(ceiling.saturating_sub(size)));
        }
        let rest = size.saturating_sub(amount);
        let action = if drops {
            let files = ready(ceiling);
            let most = amount;
            (!files.is_empty()).then_some(Action::Drop { files, most })?
        } else {
            self.before = Some((sample.at, rest));
            let scope = self.scope;
            Action::Reclaim { scope, amount }
        };
        to.push(Decision {
            policy: Policy::Ceiling,
            action,
            why: Why::Cache { size, ceiling },
        });
        Some(self.until(ceiling.saturating_sub(rest)))
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
        let grown = size.saturating_sub(before);
        let rate = mul_div(grown.0, Nanos::SECOND.0, span.0);
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

    /// Half the time in which it grows by that much. A stream may begin at any time.
    fn until(&self, room: Bytes) -> Nanos {
        let longest = if room >= AMPLE { LONGEST } else { TICK };
        match self.rate {
            0 => longest,
            rate => Nanos(mul_div(room.0, Nanos::SECOND.0 / 2, rate)).clamp(SHORTEST, longest),
        }
    }
}

/// What of `per_second` falls into a span.
fn part(per_second: u64, span: Nanos) -> u64 {
    mul_div(per_second, span.0, Nanos::SECOND.0)
}

#[cfg(test)]
mod tests;
