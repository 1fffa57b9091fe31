//! Room for what a bench's own kernel takes: a recorded machine may have more available than a
//! bench of its size has when it has booted.

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

#[cfg(test)]
mod tests {
    use scenario::recording::{Part, Writer};
    use study::recording::{pack, read};

    use super::*;

    /// A recording of a machine of 256 MiB with so much available.
    fn study(available: u64) -> Study {
        let text = format!(
            "name = \"a\"\ntitle = \"A\"\nquestion = \"Q?\"\n[recorded]\nkernel = \"6.12\"\n\
             for = \"1 s\"\nby = \"x\"\nread-in = \"0 KiB\"\n[machine]\nmemory = \"256 MiB\"\n\
             available = \"{available} MiB\"\nrecorded-files = \"disk\"\n[[machine.disk]]\n\
             name = \"disk\"\nsize = \"2 GiB\"\nbandwidth = \"150 MB/s\"\nlatency = \"100 us\"\n\
             [[arm]]\nname = \"as recorded\"\n[[process]]\nname = \"all\"\n\
             steps = [{{ snapshot = \"begin\" }}]\n"
        );
        let (text, recording) = read(&Writer::new(&text, &pack).take(Part::All)).expect("read");
        Study::parse_with(&text, "a.rec", recording).expect("a study")
    }

    #[test]
    fn a_bench_gets_the_memory_that_its_kernel_takes_more() {
        let bench = ModelBench::of_kernel("6.12").expect("it is built in");
        let of = |available| {
            let (study, said) = with_room(study(available), &bench).expect("it has a memory");
            let machine = &study.arms[0].machine;
            assert_eq!(machine.available, Some(Bytes(available << 20)));
            assert_eq!(lacks(&study, &bench).expect("it has an arm"), Bytes::ZERO);
            (machine.memory.0 >> 20, said)
        };
        assert_eq!(of(100), (256, None));
        let (memory, said) = of(250);
        assert!((280..400).contains(&memory), "{memory} MiB");
        assert!(said.is_some_and(|it| it.starts_with(&format!("memory: {} MiB", memory - 256))));
    }
}
