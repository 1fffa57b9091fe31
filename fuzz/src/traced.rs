//! The trace of a run, counted by task, and compared with its second half.

use std::sync::OnceLock;

use crate::take::take;
use mm::capture::{Capture, Frame};
use mm::units::Nanos;
use scenario::Scenario;
use scenario::outcome::{BOOT, Outcome};
use scenario::traced::{TRACE, TRACED, Traced};
use study::Study;
use study::traced::parting::{Windows, rows};
use study::traced::read;

fn scenario() -> &'static Scenario {
    static SCENARIO: OnceLock<Scenario> = OnceLock::new();
    SCENARIO.get_or_init(|| {
        let study = Study::built_in("memory-hogs-writing").expect("it is built in");
        study.scenario("limit, mlock", 1).expect("its arm")
    })
}

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    let files = [(TRACE, text), (TRACED, text), (BOOT, "ready 0\n")];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let frame = Frame {
        files: files.into(),
        ..Frame::default()
    };
    let outcome = Outcome {
        capture: Capture {
            frames: vec![frame],
        },
        ..Outcome::default()
    };
    let traced = match read(scenario(), &outcome) {
        Ok((traced, _)) => traced,
        Err(error) => {
            assert!(error.line > 0 && !error.to_string().contains('\n'));
            return;
        }
    };
    let half = Traced {
        counts: traced.counts[traced.counts.len() / 2..].to_vec(),
        ..traced.clone()
    };
    let windows = Windows {
        length: Nanos(10 * Nanos::MILLI.0),
        from: [Nanos::ZERO; 2],
        span: Nanos(10 * Nanos::SECOND.0),
    };
    for row in rows(&traced, &half, windows) {
        let [all, part] = row.before(row.counts.len());
        assert!(part <= all && row.parts.is_none_or(|at| at < row.counts.len()));
    }
    assert!(
        rows(&traced, &traced, windows)
            .iter()
            .all(|row| row.parts.is_none())
    );
}
