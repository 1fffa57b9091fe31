//! What is not in the evidence is not shown as nothing.

use super::*;
use mm::capture::Capture;

fn frames(path: &str) -> Vec<Frame> {
    let text = std::fs::read_to_string(testkit::checkout(path)).expect("a fixture");
    Capture::parse(&text).expect("a capture").frames
}

fn moment(before: Option<&Frame>, frame: &Frame) -> Moment {
    let (now, before) = (Snapshot::parse(frame), before.map(Snapshot::parse));
    Moment::of(before.as_ref(), (frame, &now), Arc::default())
}

#[test]
fn a_frame_of_which_nothing_is_known_has_no_figure() {
    let nothing = moment(None, &Frame::default());
    assert!(nothing.zones.is_empty() && nothing.dirty.is_empty() && nothing.pressure.is_empty());
    assert_eq!((nothing.moving, nothing.processes), (None, None));
    assert_eq!((nothing.groups, nothing.refaults), (None, None));
    assert!(Diagnosis::default().findings.is_empty());
}

#[test]
fn a_whole_frame_has_its_lines_and_rates_need_two() {
    let frames = frames("fixtures/hosts/vm-24gib-6.18/capture.txt");
    let [first, .., last] = frames.as_slice() else {
        panic!("two moments");
    };
    let (alone, both) = (moment(None, last), moment(Some(first), last));
    assert!(alone.moving.is_none() && both.moving.is_some());
    let now = |moment: &Moment| moment.pressure.iter().map(|it| it.shares[0]).next();
    assert_eq!(now(&alone), Some(None));
    assert!(now(&both).flatten().is_some());
    assert!(
        both.zones
            .iter()
            .all(|zone| zone.says.contains("above high"))
    );
}

#[test]
fn what_is_found_is_what_inspect_finds() {
    let frames = frames("fixtures/hosts/vm-24gib-6.18/capture.txt");
    let capture = Capture { frames };
    let shown = crate::view::View::frame(&capture, None).expect("a moment");
    let first = Snapshot::parse(&capture.frames[0]);
    let told = Diagnosis::of(Some(&first), (shown, &Snapshot::parse(shown)));
    let view = crate::view::View::of(&capture, None).expect("a view");
    let names: Vec<&str> = told.findings.iter().map(|it| it.name).collect();
    assert_eq!(names, view.findings.names());
}
