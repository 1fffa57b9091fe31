//! What a recording leaves open, by recordings that are small enough to know the answer.

use mm::units::Nanos;
use scenario::recording::{Kind, Part, Run as Did, Writer};
use study::recording::{pack, read};

use crate::machine::Memory;
use crate::question::Question;

/// Two reads of 8 MiB, 2 MiB of which were cached before, by a task that sleeps so long before each.
fn asked(sleep: Nanos, memory: Option<u64>) -> Vec<String> {
    asked_after("", sleep, memory)
}

/// The same on a machine of which this is said of what was reclaimed before.
fn asked_after(reclaimed: &str, sleep: Nanos, memory: Option<u64>) -> Vec<String> {
    let text = "name = \"a\"\ntitle = \"A\"\nquestion = \"Q?\"\n[recorded]\nkernel = \"6.12\"\n\
                for = \"1 s\"\nby = \"x\"\nread-in = \"6144 KiB\"\n[machine]\n\
                memory = \"256 MiB\"\navailable = \"160 MiB\"\nrecorded-files = \"disk\"\n\
                [[machine.disk]]\nname = \"disk\"\nsize = \"2 GiB\"\nbandwidth = \"150 MB/s\"\n\
                latency = \"100 us\"\n[[arm]]\nname = \"as recorded\"\n\
                [[process]]\nname = \"all\"\nsteps = [{ start = \"0 cached before\" }, \
                { wait = \"0 cached before\" }, { snapshot = \"begin\" }, { start = \"1 cp\" }, \
                { wait = \"1 cp\" }, { snapshot = \"end\" }]\n\
                [[process]]\nname = \"0 cached before\"\nstart = \"on demand\"\n\
                steps = [{ label = \"0\", access = { recorded = 0 } }]\n\
                [[process]]\nname = \"1 cp\"\nstart = \"on demand\"\n\
                steps = [{ label = \"1 cp\", access = { recorded = 1 } }]\n\
                [[measure]]\nname = \"read from disk\"\nbetween = [\"begin\", \"end\"]\n\
                vmstat = \"pgpgin\"\nunit = \"kB\"\nbetter = \"lower\"\n\
                [[measure]]\nname = \"time of 1 cp\"\nstep = \"1 cp\"\ntake = \"duration\"\n";
    let run = |offset: u64, length: u64, sleep| Did {
        compute: Nanos(1000),
        sleep,
        took: Nanos(100_000_000),
        kind: Kind::Read,
        file: 0,
        offset,
        length,
    };
    let read_in = "read-in = \"6144 KiB\"\n";
    let text = text.replacen(read_in, &format!("{read_in}{reclaimed}"), 1);
    let mut writer = Writer::new(&text, &pack);
    writer.file(mm::units::Bytes(8 << 20));
    writer.run(0, &run(0, 2 << 20, Nanos::ZERO));
    for part in [0, 1, 2, 3, 0, 1, 2, 3] {
        writer.run(1, &run(part << 21, 2 << 20, sleep));
    }
    let (text, recording) = read(&writer.take(Part::All)).expect("a recording");
    let study = study::Study::parse_with(&text, "a.rec", recording).expect("a study");
    let mut question = Question::new(study);
    question.machine.memory = memory.map(|mib| Memory::Size(mm::units::Bytes(mib << 20)));
    let asked = question.asked().expect("it can be asked");
    let ran = asked.run(&asked.bench()).expect("it runs");
    assert_eq!(ran.failures, []);
    asked.report(ran, None).expect("a report").notes
}

fn has(notes: &[String], what: &str) -> bool {
    notes.iter().any(|note| note.contains(what))
}

#[test]
fn a_task_that_never_sleeps_has_one_pace() {
    let notes = asked(Nanos::ZERO, None);
    assert!(has(&notes, "as recorded: read from disk "), "{notes:?}");
    assert!(!has(&notes, "both paces"), "{notes:?}");
    assert!(!has(&notes, "cached before"), "{notes:?}");
}

#[test]
fn a_task_that_sleeps_has_two_and_the_clock_waits_for_the_recorded_time() {
    let time = |notes: &[String]| -> f64 {
        let line = notes.iter().find(|note| note.starts_with("as recorded: "));
        let line = line.expect("a range");
        let most = line
            .rsplit(" to ")
            .next()
            .and_then(|it| it.strip_suffix(" s"));
        most.and_then(|it| it.parse().ok()).expect("seconds")
    };
    let [one, two] = [Nanos::ZERO, Nanos(10_000_000)].map(|sleep| asked(sleep, None));
    assert!(has(&two, "both paces"), "{two:?}");
    // Each run took 100 ms then, and takes 15 ms at most in the model.
    assert!(time(&two) > 0.7 && time(&one) < 0.5, "{one:?} {two:?}");
}

#[test]
fn more_memory_than_was_recorded_is_a_range_down_to_what_may_have_been_cached() {
    let notes = asked(Nanos::ZERO, Some(512));
    assert!(has(&notes, "none to 6 MiB of what is read"), "{notes:?}");
    let line = notes.iter().find(|note| note.starts_with("as recorded: "));
    assert!(
        line.is_some_and(|it| it.contains("read from disk 0 B to ")),
        "{notes:?}"
    );
}

#[test]
fn no_more_can_have_been_cached_than_was_reclaimed() {
    let with = |reclaimed| asked_after(reclaimed, Nanos::ZERO, Some(512));
    let notes = with("reclaimed = \"2 MiB\"\n");
    assert!(has(&notes, "none to 2 MiB of what is read"), "{notes:?}");
    let notes = with("reclaimed = \"0 KiB\"\n");
    assert!(!has(&notes, "what else was cached"), "{notes:?}");
    let notes = with("reclaimed = \"1 GiB\"\n");
    assert!(has(&notes, "none to 6 MiB of what is read"), "{notes:?}");
}
