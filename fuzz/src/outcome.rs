//! The note of steps that a bench hands back.

use crate::take::take;
use mm::capture::{Capture, Frame};
use scenario::outcome::{Outcome, STEPS};

fn read(note: &str) -> Option<Outcome> {
    let frame = Frame {
        files: [(STEPS.to_owned(), note.to_owned())].into(),
        ..Frame::default()
    };
    let frames = vec![frame];
    Outcome::from_capture(Capture { frames }).ok()
}

pub(crate) fn target(bytes: &[u8]) {
    let Some(note) = take::<&str>(bytes) else {
        return;
    };
    let Some(outcome) = read(note) else { return };
    let mut written = String::new();
    outcome
        .steps
        .iter()
        .for_each(|step| step.write(&mut written));
    assert_eq!(read(&written).map(|again| again.steps), Some(outcome.steps));
}
