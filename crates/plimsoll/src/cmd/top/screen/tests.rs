//! Whole screens, as a terminal of a size has them.

use std::sync::Arc;

use expect_test::expect_file;
use look::moment::{Diagnosis, Moment};
use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::live::draw;
use super::super::reel::Reel;
use super::*;

const LOADED: &str = "fixtures/series/captures.txt";
const WRITES: &str = "fixtures/writeback/vm-512mib-6.12/capture.txt";
const LARGE: &str = "fixtures/hosts/vm-24gib-6.18/capture.txt";

fn reel(path: &str) -> Reel {
    let (_, name) = path.rsplit_once('/').expect("a folder");
    Reel::of(name.to_owned(), testkit::capture(path)).expect("it tells of memory")
}

/// What a terminal of these columns and rows shows.
fn screen(shown: &Shown, (width, height): (u16, u16), charset: Charset) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    let drawn = terminal.draw(|frame| draw(shown, frame, charset));
    drawn.expect("it is drawn");
    let cells = terminal.backend().buffer().content().chunks(width.into());
    let row = |cells: &[ratatui::buffer::Cell]| {
        let row: String = cells.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", row.trim_end())
    };
    cells.map(row).collect()
}

macro_rules! golden {
    ($name:literal) => {
        expect_file![concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/top/",
            $name
        )]
    };
}

#[test]
fn screens_of_all_sizes_are_as_they_were() {
    let of = |path, size, charset| screen(&reel(path).shown(), size, charset);
    golden!("loaded-80x24.txt").assert_eq(&of(LOADED, (80, 24), Charset::Unicode));
    golden!("writes-40x12.txt").assert_eq(&of(WRITES, (40, 12), Charset::Unicode));
    golden!("writes-200x60.txt").assert_eq(&of(WRITES, (200, 60), Charset::Unicode));
    golden!("writes-80x24-ascii.txt").assert_eq(&of(WRITES, (80, 24), Charset::Ascii));
    golden!("large-80x24.txt").assert_eq(&of(LARGE, (80, 24), Charset::Unicode));
}

#[test]
fn no_size_is_too_small_or_too_large() {
    let shown = reel(LOADED).shown();
    for size in [
        (1, 1),
        (1, 40),
        (2, 2),
        (7, 3),
        (20, 5),
        (77, 9),
        (78, 9),
        (400, 3),
        (3, 400),
    ] {
        let drawn = screen(&shown, size, Charset::Unicode);
        assert_eq!(drawn.lines().count(), usize::from(size.1), "{size:?}");
    }
}

#[test]
fn seven_bits_are_enough() {
    let hostile = hostile("caf\u{e9}\x1b[2J\u{202e}\n\t\u{4e2d}");
    for path in [LOADED, WRITES, LARGE] {
        let drawn = screen(&reel(path).shown(), (80, 24), Charset::Ascii);
        assert!(drawn.is_ascii(), "{drawn}");
    }
    assert!(screen(&hostile, (80, 24), Charset::Ascii).is_ascii());
}

/// A look at a machine with a process and a group of this name.
fn hostile(name: &str) -> Shown {
    let Capture { mut frames } = testkit::capture(LARGE);
    let mut frame: Frame = frames.pop().expect("a moment");
    let group = format!("sys/fs/cgroup/{name}/memory.current");
    let ps = format!("PID RSS COMMAND\n7 70000 {name}\n");
    frame.files.insert(group, "7340032\n".to_owned());
    frame.files.insert("plimsoll/tools/ps".to_owned(), ps);
    let now = Snapshot::parse(&frame);
    let mut moment = Moment::of(None, (&frame, &now), Arc::new(Diagnosis::default()));
    moment.machine = name.to_owned();
    let guard = Some(Arc::new(vec![name.to_owned()]));
    Shown {
        look: Some(Look { moment, guard }),
        place: name.to_owned(),
        keys: "",
    }
}

#[test]
fn a_name_is_a_text() {
    let shown = hostile("a\x1b[2J\u{9b}31m\u{202e}b\x07");
    let drawn = screen(&shown, (120, 40), Charset::Unicode);
    let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!drawn.contains(acts), "{drawn}");
    assert!(drawn.contains(r"a\u001b[2J"), "{drawn}");
}

#[test]
fn what_nobody_told_is_not_zero() {
    let diagnosis = Arc::new(Diagnosis::default());
    let nothing = Moment::of(None, (&Frame::default(), &Snapshot::default()), diagnosis);
    let shown = Shown {
        look: Some(Look {
            moment: nothing,
            guard: None,
        }),
        place: String::new(),
        keys: "",
    };
    let drawn = screen(&shown, (80, 24), Charset::Ascii);
    let (_, below) = drawn.split_once('\n').expect("a title");
    for zero in ["0.0", " 0 ", "0 B", "0/s"] {
        assert!(!below.contains(zero), "{drawn}");
    }
    for said in [
        "/proc/zoneinfo is not there",
        "/proc/pressure is not there",
        "not told",
    ] {
        assert!(drawn.contains(said), "{said}: {drawn}");
    }
}
