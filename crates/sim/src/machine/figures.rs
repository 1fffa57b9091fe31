//! What a labelled step with operations has counted.

use alloc::string::String;
use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};
use scenario::latency;
use scenario::outcome::{Status, StepOutcome};

/// Operations, their bytes and how long they took.
#[derive(Clone, Debug)]
pub(crate) struct Figures<'a> {
    label: Option<&'a str>,
    pub(crate) began: Nanos,
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    latencies: Vec<u32>,
    longest: Nanos,
}

impl<'a> Figures<'a> {
    /// None yet, of a step that begins now.
    pub(crate) fn new(label: Option<&'a str>, began: Nanos) -> Self {
        Self {
            label,
            began,
            operations: 0,
            bytes: 0,
            latencies: Vec::new(),
            longest: Nanos::ZERO,
        }
    }

    /// Counts operations, and their bytes.
    #[inline]
    pub(crate) fn count(&mut self, operations: u64, bytes: u64) {
        self.operations += operations;
        self.bytes += bytes;
    }

    /// Counts the latency of an operation.
    #[inline]
    pub(crate) fn count_latency(&mut self, latency: Nanos) {
        self.longest = self.longest.max(latency);
        if self.latencies.is_empty() {
            self.latencies.resize(latency::BUCKETS, 0);
        }
        self.latencies[latency::bucket(latency)] += 1;
    }

    /// They as they are handed back, if the step has a label.
    pub(crate) fn outcome(&self, task: &str, now: Nanos, status: Status) -> Option<StepOutcome> {
        Some(StepOutcome {
            process: String::from(task),
            label: String::from(self.label?),
            start: self.began,
            end: now,
            operations: self.operations,
            bytes: Bytes(self.bytes),
            status,
            latency: latency::quantiles(self.latencies.iter().copied(), self.longest),
        })
    }
}
