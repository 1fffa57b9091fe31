//! What the kernel makes of a spelling is what the catalogue says: each is written into each file,
//! and the file read back.

use std::fs::{self, File};
use std::io::Write as _;

use mm::catalogue::{Named, Tunable, Values};

use crate::values::BOUNDS;

/// Spellings of yes and no.
const TRUTHS: [&str; 8] = ["on", "OFF", "y", "No", "t", "01", " 1", "maybe"];

/// What is wrong, a line each; and how many were written.
pub(crate) fn wrong(tunables: &[Named<'static>]) -> (Vec<String>, u32) {
    let (mut wrong, mut written) = (vec![], 0);
    for named in tunables.iter().filter(|named| is_fit(named)) {
        let path = format!("/{}", named.path());
        let before = fs::read_to_string(&path).expect("it was read");
        if !write(&path, before.trim()) {
            continue; // what it shows is all it takes
        }
        for text in spellings(named, before.trim()) {
            let done = write(&path, &text);
            let held = fs::read_to_string(&path).expect("it was read");
            if !is_as_said(named.tunable, &text, done, [&before, &held]) {
                let taken = named.tunable.taken(&text);
                let held = held.trim();
                wrong.push(format!(
                    "{named}: {text:?} is {taken:?}; the kernel holds {held}"
                ));
            }
            write(&path, before.trim());
            written += 1;
        }
        if fs::read_to_string(&path).is_ok_and(|after| after != before) {
            wrong.push(format!("{named} is not {before} again"));
        }
    }
    (wrong, written)
}

/// Whether the catalogue says what the kernel did. Its range may be narrower, and that of this
/// machine may be.
fn is_as_said(tunable: &Tunable, text: &str, done: bool, [before, held]: [&str; 2]) -> bool {
    let taken = tunable.taken(text);
    let number = tunable.number(text).map(|number| number.to_string());
    let read = taken.clone().or(number.filter(|_| tunable.is_number()));
    match done {
        true => read.is_some_and(|read| tunable.means_same(held, &read)),
        false => held == before && taken.is_none_or(|taken| !tunable.means_same(&taken, before)),
    }
}

/// A number or a switch that can be any of these for a moment: nothing else moves with it, and the
/// kernel does not round it.
fn is_fit(named: &Named<'_>) -> bool {
    let tunable = named.tunable;
    let has_spellings = tunable.is_number() || matches!(tunable.values, Values::Truth(_));
    let is_alone = tunable.partner.is_none() && tunable.views.is_empty();
    let is_alone = is_alone && tunable.touches.is_empty() && !tunable.is_adjusted;
    let name = named.to_string();
    let is_bounded = BOUNDS.iter().any(|(bounded, ..)| *bounded == name);
    has_spellings && is_alone && !is_bounded
}

fn spellings(named: &Named<'_>, now: &str) -> Vec<String> {
    let Ok(number) = now.parse::<u64>().map_err(drop).and_then(|number| {
        let is_number = named.tunable.is_number();
        is_number.then_some(number).ok_or(())
    }) else {
        return TRUTHS.map(str::to_owned).to_vec();
    };
    vec![
        format!("0{number:o}"),
        format!("{number:#x}"),
        format!("{number:#X}"),
        format!("+{number}"),
        format!(" {number}"),
        format!("{number} "),
        format!("{number}\n"),
        format!("{number} x"),
        format!("{number}x"),
        format!("{number}\t7"),
        format!("{number:024}"),
        "18446744073709551616".to_owned(),
        "0x".to_owned(),
    ]
}

/// One write, as the kernel's handlers want it; whether it was taken.
fn write(path: &str, text: &str) -> bool {
    let file = File::options().write(true).open(path);
    file.is_ok_and(|mut file| file.write(text.as_bytes()).is_ok())
}
