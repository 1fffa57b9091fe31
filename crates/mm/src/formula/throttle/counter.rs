//! A count that each CPU keeps for itself and adds to the whole in batches (`percpu_counter`): who
//! reads it does not see what is still with the CPUs.

/// Such a count, with what all CPUs hold back as one: on a machine with one CPU it is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// What has been added to the whole.
    whole: i64,
    /// What has not; less than a batch, in both directions.
    rest: i64,
}

impl Counter {
    /// One that reads so, with nothing held back.
    #[must_use]
    pub fn of(events: u64) -> Self {
        let whole = i64::try_from(events).unwrap_or(i64::MAX);
        Self { whole, rest: 0 }
    }

    /// Adds, or takes off. What is held back joins the whole once it comes to a batch.
    pub fn add(&mut self, events: i64, batch: u64) {
        self.rest = self.rest.saturating_add(events);
        if self.rest.unsigned_abs() >= batch {
            self.whole = self.sum();
            self.rest = 0;
        }
    }

    /// What a reader sees: less than nothing counts as nothing.
    #[must_use]
    pub fn read(&self) -> u64 {
        u64::try_from(self.whole).unwrap_or(0)
    }

    /// What it comes to when all CPUs are asked.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.whole.saturating_add(self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_does_not_see_less_than_a_batch() {
        let mut counter = Counter::default();
        counter.add(7, 8);
        assert_eq!((counter.read(), counter.sum()), (0, 7));
        counter.add(1, 8);
        assert_eq!((counter.read(), counter.sum()), (8, 8));
        counter.add(-4, 8);
        assert_eq!(
            (counter.read(), counter.sum()),
            (8, 4),
            "nor that less is left"
        );
        counter.add(-4, 8);
        assert_eq!((counter.read(), counter.sum()), (0, 0));
    }

    #[test]
    fn less_than_nothing_reads_as_nothing() {
        let mut counter = Counter::of(3);
        counter.add(-8, 8);
        assert_eq!((counter.read(), counter.sum()), (0, -5));
    }
}
