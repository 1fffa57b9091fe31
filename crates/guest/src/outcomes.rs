//! The outcomes of the labelled steps, collected from what the processes leave in shared memory.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use mm::units::{Bytes, Nanos};
use scenario::outcome::{Latency, Status, StepOutcome};

use crate::meter;
use crate::plan::Plan;
use crate::shared::{RECORDS, Shared};

/// The labelled steps that have ended.
#[derive(Debug, Default)]
pub(crate) struct Outcomes(Vec<StepOutcome>);

impl Outcomes {
    /// Takes the steps that an instance has ended since the last look.
    pub(crate) fn take(&mut self, plan: &Plan<'_>, shared: &Shared, instance: usize) {
        let desk = &shared.desks[instance];
        let written = desk.written.load(Acquire);
        let taken = desk.taken.load(Relaxed);
        debug_assert!(written.wrapping_sub(taken) as usize <= RECORDS);
        for number in 0..written.wrapping_sub(taken) {
            let record = meter::record(shared, instance, taken.wrapping_add(number));
            let figure = |index: usize| record.figures[index].load(Relaxed);
            let status = match record.errno.load(Relaxed) {
                0 => Status::Done,
                errno => Status::Failed(errno),
            };
            self.0.push(StepOutcome {
                process: plan.instances[instance].name.clone(),
                label: plan.label(record.step.load(Relaxed)).to_owned(),
                start: Nanos(figure(0)),
                end: Nanos(figure(1)),
                operations: figure(2),
                bytes: Bytes(figure(3)),
                status,
                latency: Latency {
                    p50: Nanos(figure(4)),
                    p90: Nanos(figure(5)),
                    p99: Nanos(figure(6)),
                    max: Nanos(figure(7)),
                },
            });
        }
        desk.taken.store(written, Release);
    }

    /// Ends the steps that were running when their process was killed, innermost first.
    pub(crate) fn cut_short(
        &mut self,
        plan: &Plan<'_>,
        shared: &Shared,
        instance: usize,
        (end, status): (Nanos, &Status),
    ) {
        let desk = &shared.desks[instance];
        let depth = desk.depth.load(Acquire) as usize;
        let levels = &meter::levels(shared, instance)[..depth];
        let process = &plan.instances[instance].name;
        let mut ended = Vec::new();
        for (level, running) in levels.iter().enumerate().rev() {
            if level > 0 {
                levels[level - 1].add(running);
            }
            ended.push(StepOutcome {
                process: process.clone(),
                label: plan.label(running.step.load(Relaxed)).to_owned(),
                start: Nanos(running.start.load(Relaxed)),
                end,
                operations: desk.operations.load(Relaxed) - running.operations.load(Relaxed),
                bytes: Bytes(desk.bytes.load(Relaxed) - running.bytes.load(Relaxed)),
                status: status.clone(),
                latency: running.quantiles(),
            });
        }
        // A step that was recorded and not yet left when its process died has ended already.
        let known = |step: &StepOutcome| {
            let same = |other: &&StepOutcome| other.process == step.process;
            let last = self.0.iter().rev().find(same);
            last.is_some_and(|last| last.label == step.label && last.start == step.start)
        };
        ended.retain(|step| !known(step));
        self.0.extend(ended);
    }

    /// The text of the note, in order of their end.
    pub(crate) fn note(&mut self) -> String {
        self.0.sort_by_key(|step| step.end);
        let mut text = String::new();
        self.0.iter().for_each(|step| step.write(&mut text));
        text
    }
}
