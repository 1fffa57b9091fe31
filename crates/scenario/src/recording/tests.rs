//! What is written comes back; what is cut off or damaged is used up to there.

use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn stored(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

fn read(bytes: &[u8]) -> Recording {
    Recording::read(bytes, &|_, _| None).expect("a recording")
}

fn run(kind: Kind, file: u32, offset: u64, length: u64) -> Run {
    Run {
        compute: Nanos(8600),
        sleep: Nanos::ZERO,
        took: Nanos::ZERO,
        kind,
        file,
        offset,
        length,
    }
}

fn written(sizes: &[u64], runs: &[(u32, Run)]) -> Vec<u8> {
    let mut writer = Writer::new("name = \"a\"\n", &stored);
    sizes.iter().for_each(|&size| _ = writer.file(Bytes(size)));
    runs.iter()
        .for_each(|(stream, run)| writer.run(*stream, run));
    writer.take(Part::All)
}

#[test]
fn what_is_written_comes_back_by_stream_and_files_are_as_large_as_they_grow() {
    let runs = [
        (0, run(Kind::Read, 0, 4096, 4096)),
        (2, run(Kind::Write, 1, 1000, 24)),
        (0, run(Kind::Read, 0, 8192, 4096)),
        (0, run(Kind::Open, 1, 0, 0)),
        (0, run(Kind::Read, 1, 0, 10)),
    ];
    let recording = read(&written(&[1 << 20, 512], &runs));
    assert_eq!(
        (recording.text.as_str(), recording.cut),
        ("name = \"a\"\n", None)
    );
    let recorded = recording.recorded;
    let of = |stream: u32| -> Vec<Run> { recorded.streams[stream as usize].iter().collect() };
    let expected = |stream| runs.iter().filter(move |it| it.0 == stream).map(|it| it.1);
    assert!((0..3).all(|stream| expected(stream).eq(of(stream))));
    assert_eq!(recorded.files[1].largest, Bytes(1024));
    assert_eq!(recorded.streams[0].longest(), Bytes(4096));
    assert_eq!(recorded.streams[0].behind(3).passed(), 3);
}

#[test]
fn cpu_time_below_a_step_is_not_lost() {
    let each = Run {
        compute: Nanos(130),
        ..run(Kind::Read, 0, 0, 1)
    };
    let recording = read(&written(&[1], &vec![(0, each); 1000]));
    let all: u64 = recording.recorded.streams[0]
        .iter()
        .map(|run| run.compute.0)
        .sum();
    assert_eq!(all, 130_000);
}

#[test]
fn a_random_read_of_a_page_takes_five_bytes_at_most() {
    let page = |n: u64| n * 7919 % 100_000 * 4096;
    let runs: Vec<_> = (0..1000)
        .map(|n| (0, run(Kind::Read, 0, page(n), 4096)))
        .collect();
    let recorded = read(&written(&[1 << 30], &runs)).recorded;
    assert!(recorded.size().0 < 5100, "{}", recorded.size());
}

#[test]
fn a_recording_is_used_up_to_where_it_is_cut_or_damaged() {
    let runs: Vec<_> = (0..40_000)
        .map(|n| (0, run(Kind::Read, 0, n * 9000, 100)))
        .collect();
    let whole = written(&[1 << 30], &runs);
    let all = read(&whole).recorded.streams[0].len();
    for at in (40..whole.len()).step_by(997) {
        let cut = read(&whole[..at]);
        let streams = &cut.recorded.streams;
        let used = streams.first().map_or(0, Stream::len);
        assert!(cut.cut.is_some_and(|cut| cut.at <= at) && used < all);
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let damaged = read(&damaged);
        assert_eq!(damaged.recorded.streams, *streams, "{at}");
        let said = damaged.cut.expect("it is damaged").to_string();
        assert!(said.ends_with("; the rest is left out"), "{said}");
    }
}

#[test]
fn what_is_no_recording_says_so() {
    let why = |bytes: &[u8]| Recording::read(bytes, &|_, _| None).unwrap_err();
    assert_eq!(why(b""), RecordingError::Magic);
    assert_eq!(why(b"# plimsoll recording 12\n\0"), RecordingError::Magic);
    assert_eq!(why(b"# plimsoll recording 1\nname"), RecordingError::Text);
    assert_eq!(why(b"# plimsoll recording 1\n\xff\0"), RecordingError::Text);
}

/// Streams of wakes and waits, each wait for a wake of another stream.
fn waiting(streams: &[&[Option<(u32, u64)>]]) -> Recorded {
    let mut runs = Vec::new();
    for (number, stream) in (0..).zip(streams) {
        let of = |it: &Option<(u32, u64)>| match *it {
            Some((stream, wakes)) => run(Kind::Wait, stream, wakes, 0),
            None => run(Kind::Wake, 0, 0, 0),
        };
        runs.extend(stream.iter().map(|it| (number, of(it))));
    }
    read(&written(&[], &runs)).recorded
}

#[test]
fn streams_that_wait_in_a_circle_do_not_wait() {
    let wake = None;
    let in_turn: [&[_]; 3] = [
        &[wake, Some((1, 1)), wake, wake],
        &[Some((0, 1)), wake, Some((0, 3)), wake],
        // One that is not there, and one that ended.
        &[Some((7, 1)), Some((1, 99))],
    ];
    assert!(!waiting(&in_turn).is_circular);
    assert!(waiting(&[&[Some((1, 1)), wake], &[Some((0, 1)), wake]]).is_circular);
    assert!(waiting(&[&[Some((0, 1)), wake]]).is_circular, "for itself");
}

#[test]
fn a_wake_takes_two_bytes_and_a_wait_four() {
    let wakes: Vec<_> = (0..1000).map(|_| (0, run(Kind::Wake, 0, 0, 0))).collect();
    let waits = (1..1001).map(|n| (1, run(Kind::Wait, 0, n, 0)));
    let both: Vec<_> = wakes.iter().copied().chain(waits).collect();
    let [one, two] = [&wakes, &both].map(|runs| read(&written(&[], runs)).recorded.size().0);
    assert_eq!([one, two - one], [2000, 4000]);
}

#[test]
fn a_run_on_a_file_that_nobody_named_ends_the_recording() {
    let bytes = written(&[1], &[(0, run(Kind::Read, 1, 0, 1))]);
    let recording = read(&bytes);
    assert_eq!(
        recording.cut.map(|cut| cut.why),
        Some("the runs are damaged")
    );
    assert_eq!(recording.recorded.streams, []);
}

prop_compose! {
    fn any_run()(
        steps in (0_u64..1 << 30, 0_u64..1 << 30, 0_u64..1 << 30),
        kind in 0_usize..10,
        file in 0_u32..3,
        range in (0_u64..1 << 50, 0_u64..=1 << 30),
        aligned in any::<bool>(),
    ) -> Run {
        let kinds = Kind::ALL.into_iter().chain([Kind::Wake, Kind::Wait]);
        let kind = kinds.clone().nth(kind).expect("ten");
        let whole = |n: u64| if aligned { n & !4095 } else { n };
        let (file, offset, length) = match kind {
            Kind::Wake => (0, 0, 0),
            Kind::Wait => (file, range.0, 0),
            kind if kind.has_range() => (file, whole(range.0), whole(range.1)),
            _ => (file, 0, 0),
        };
        Run {
            compute: Nanos(steps.0 * 100),
            sleep: Nanos(steps.1 * 1000),
            took: Nanos(steps.2 * 1000),
            kind,
            file,
            offset,
            length,
        }
    }
}

proptest! {
    #[test]
    fn any_runs_come_back(runs in proptest::collection::vec(any_run(), 0..200)) {
        let numbered: Vec<_> = runs.iter().map(|run| (0, *run)).collect();
        let recorded = read(&written(&[0, 1, 2], &numbered)).recorded;
        let back: Vec<Run> = recorded.streams.iter().flat_map(Stream::iter).collect();
        prop_assert_eq!(back, runs);
    }

    #[test]
    fn no_bytes_are_too_much(mut bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut head = b"# plimsoll recording 1\n\0".to_vec();
        head.append(&mut bytes);
        let unpack = |bytes: &[u8], length: usize| Some(bytes.iter().copied().cycle().take(length).collect());
        let recording = Recording::read(&head, &unpack).expect("a recording");
        prop_assert!(recording.recorded.streams.iter().all(|it| it.iter().count() as u64 == it.len()));
    }
}
