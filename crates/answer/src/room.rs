//! Room for what a bench's own kernel takes: a recorded machine may have more available than a bench
//! of its size has when it has booted.

use mm::units::Bytes;
use study::Study;

use crate::model_bench::ModelBench;
use crate::refused::Refused;

/// How often more is given: each time less is lacking.
const TIMES: u32 = 8;

/// Memory is given in whole MiB.
const STEP: u64 = 1 << 20;

/// The study of a recording on a machine on which as much is available as it says, and a line where
/// that took more memory. Another study is as it was.
///
/// # Errors
/// The study's text cannot be changed.
pub fn with_room(study: Study, bench: &ModelBench) -> Result<(Study, Option<String>), Refused> {
    let memory = |study: &Study| {
        study
            .arms
            .first()
            .map_or(Bytes::ZERO, |it| it.machine.memory)
    };
    let had = memory(&study);
    let mut roomy = study;
    if roomy.recorded.sha256.is_none() {
        return Ok((roomy, None));
    }
    for _ in 0..TIMES {
        let lacks = lacks(&roomy, bench)?;
        if lacks == Bytes::ZERO {
            break;
        }
        let more = lacks.0.next_multiple_of(STEP);
        roomy = roomy.with_memory(Bytes(memory(&roomy).0.saturating_add(more)))?;
    }
    let more = Bytes(memory(&roomy).0 - had.0);
    let said = (more > Bytes::ZERO).then(|| {
        format!(
            "memory: {more} more than the machine has, as the kernel of the bench takes that much \
             more of it when it boots; what is available is that of the machine"
        )
    });
    Ok((roomy, said))
}

/// How much less is available than the study says.
fn lacks(study: &Study, bench: &ModelBench) -> Result<Bytes, Refused> {
    let Some(arm) = study.arms.first() else {
        return Ok(Bytes::ZERO);
    };
    let scenario = study.scenario(&arm.name, 1)?;
    let (wanted, there) = (scenario.machine.available, bench.available(&scenario));
    let lacks = wanted
        .zip(there)
        .map(|(wanted, there)| wanted.saturating_sub(there));
    Ok(lacks.unwrap_or(Bytes::ZERO))
}
