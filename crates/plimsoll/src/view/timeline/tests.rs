//! The section as text, from recordings.

use super::*;
use crate::term::{Canvas, Charset};
use expect_test::{Expect, expect};

/// A recording of `fixtures/series`.
macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../../fixtures/series/", $name))
    };
}

fn timeline(path: &str, text: &str) -> Timeline {
    let mut frame = Frame::default();
    frame.files.insert(path.to_owned(), text.to_owned());
    let capture = Capture {
        frames: vec![frame.clone()],
    };
    Timeline::of(&capture, &frame).expect("a series")
}

fn text(timeline: &Timeline, charset: Charset) -> String {
    let mut page = Page::new(Canvas { width: 80, charset });
    timeline.write(&mut page);
    let text = page.into_text();
    text.replace("\x1b[0m", "").replace("\x1b[1m", "")
}

fn check(timeline: &Timeline, charset: Charset, expected: &Expect) {
    let text = text(timeline, charset);
    assert!(
        text.lines().skip(2).all(|line| line.chars().count() <= 80),
        "{text}"
    );
    expected.assert_eq(&text);
}

#[test]
fn case_15_is_rates_without_swapping_and_what_to_send() {
    let timeline = timeline(series::VMSTAT, recording!("vmstat-5.txt"));
    check(&timeline, Charset::Unicode, &expect![[r#""#]]);
}

#[test]
fn sar_of_a_machine_that_thrashes() {
    let timeline = timeline(series::SAR, recording!("sar.txt"));
    check(&timeline, Charset::Ascii, &expect![[r#""#]]);
}

#[test]
fn vmstat_whose_amounts_stand_still() {
    let timeline = timeline(series::VMSTAT, recording!("vmstat-t.txt"));
    check(&timeline, Charset::Unicode, &expect![[r#""#]]);
}

#[test]
fn the_frames_of_a_capture() {
    let capture = Capture::parse(recording!("captures.txt")).expect("a capture");
    let last = capture.frames.last().expect("frames");
    let timeline = Timeline::of(&capture, last).expect("a series");
    check(&timeline, Charset::Unicode, &expect![[r#""#]]);
}

#[test]
fn sadf_says_what_sar_says() {
    let sadf = timeline(series::SADF, recording!("sadf.json"));
    let sar = timeline(series::SAR, recording!("sar.txt"));
    let said = |timeline: &Timeline| timeline.says.iter().map(Said::line).collect::<Vec<_>>();
    let (sadf, sar) = (said(&sadf), said(&sar));
    assert!(sar[..2].iter().all(|said| sadf.contains(said)), "{sadf:?}");
}

/// A table of swap-ins and swap-outs.
fn swaps(rows: &[(f64, f64)]) -> Timeline {
    let mut text = String::from("10:00:00 pswpin/s pswpout/s\n");
    for (at, (read, written)) in rows.iter().enumerate() {
        text += &format!("10:00:{at:02} {read} {written}\n");
    }
    timeline(series::SAR, &text)
}

#[test]
fn thrashing_takes_both_ways_and_three_rows_together() {
    let begins = |rows: &[(f64, f64)]| {
        swaps(rows).says[0]
            .what
            .chars()
            .take(18)
            .collect::<String>()
    };
    let (both, out) = ((500.0, 500.0), (0.0, 500.0));
    assert_eq!(begins(&[both; 3]), "Thrashing: swap mo");
    assert_eq!(begins(&[both, both, out, both]), "Swap moves both wa");
    assert_eq!(begins(&[(1.0, 500.0); 9]), "Swap moves both wa");
    assert_eq!(begins(&[out; 9]), "Swap is written an");
    assert_eq!(begins(&[(500.0, 0.0); 9]), "Swap is read and n");
    assert_eq!(begins(&[(0.0, 0.0); 9]), "No swapping: nothi");
}

#[test]
fn two_frames_have_an_interval_and_no_timeline() {
    let mut capture = Capture::parse(recording!("captures.txt")).expect("a capture");
    capture.frames.truncate(2);
    assert!(Timeline::of(&capture, &capture.frames[1]).is_none());
}
