//! What an author calls things and how the text is laid out.

use mm::prng::Prng;

use crate::draw::{Sketch, small};
use crate::run::{both, identical, kernel, outcome};

/// Other names for all things: the machine, workload and outcome without names are the same.
pub(crate) fn names(seed: u64) -> Result<(), String> {
    let sketch = small(seed);
    let text = sketch.text();
    let suffix = "x".repeat(1 + Prng::for_part(seed, "names").below(40) as usize);
    let words = [
        "consumer ",
        "file ",
        "disk ",
        "fill ",
        "use ",
        "read ",
        "look up ",
        "write ",
    ];
    let renamed = words.iter().fold(text.clone(), |text, word| {
        (1..=3).fold(text, |text, number| {
            let quoted = format!("\"{word}{number}\"");
            text.replace(&quoted, &format!("\"{suffix}{word}{number}\""))
        })
    });
    let renamed = renamed.replace("\"heap\"", &format!("\"{suffix}\""));
    let of = |text: &str| outcome(text, kernel(seed), 1);
    let (plain, mut other) = (of(&text)?, of(&renamed)?);
    for frame in &mut other.capture.frames {
        let notes = frame.files.iter_mut();
        let notes = notes.filter(|(path, _)| path.starts_with("plimsoll/"));
        notes.for_each(|(_, text)| *text = text.replace(&suffix, ""));
    }
    let capture = other.capture;
    let other = scenario::outcome::Outcome::from_capture(capture).map_err(|why| why.to_string())?;
    identical(&plain, &other)
}

/// Comments, blanks and the title.
pub(crate) fn layout(seed: u64) -> Result<(), String> {
    let text = small(seed).text();
    let worded = text
        .replace('\n', "  # why\n\n")
        .replace("title = \"t\"", "title = \"A title\"");
    let of = |text: &str| outcome(text, kernel(seed), 1);
    identical(&of(&text)?, &of(&worded)?)
}

/// The order of tables of which none comes before another: measures, arms.
pub(crate) fn order(seed: u64) -> Result<(), String> {
    let text = small(seed).text();
    let other = text.replace(
        "[[measure]]",
        "[[measure]]\nname = \"n\"\nduring = \"run\"\n\
                                              meminfo = \"Dirty\"\n\n[[measure]]",
    );
    let second = "[[arm]]\nname = \"default\"\n\n[[arm]]\nname = \"second\"\n\
                  settings = { \"vm.swappiness\" = 1 }\n";
    let other = other.replace("[[arm]]\nname = \"default\"\n", second);
    let of = |text: &str| outcome(text, kernel(seed), 1);
    identical(&of(&text)?, &of(&other)?)
}

/// The same amounts in other units.
pub(crate) fn units(seed: u64) -> Result<(), String> {
    let text = small(seed).text();
    let written = text
        .replace("\"4 GiB\"", "\"4096 MiB\"")
        .replace("\"64 KiB\"", "\"65536 B\"")
        .replace("\"12 s\"", "\"12000 ms\"")
        .replace("\"1 s\"", "\"1000000 us\"")
        .replace("\"20 us\"", "\"0.02 ms\"");
    let memory = small(seed).memory;
    let asked = format!("memory = \"{memory} MiB\"");
    let written = written.replace(&asked, &format!("memory = \"{} KiB\"", memory << 10));
    let of = |text: &str| outcome(text, kernel(seed), 1);
    identical(&of(&text)?, &of(&written)?)
}

/// The same study twice.
pub(crate) fn again(seed: u64) -> Result<(), String> {
    let sketch: Sketch = small(seed);
    let (first, second) = both(&sketch, &sketch, seed)?;
    identical(&first, &second)
}
