//! Requests on their way through a disk.

use super::*;

fn disk(queue_depth: u32) -> Disk {
    let spec = machine::Disk {
        name: "disk".into(),
        size: Bytes::GIB,
        read_bandwidth: Bytes(1 << 20),
        write_bandwidth: Bytes(1 << 20),
        latency: Nanos(1000),
        seek: Nanos(8_000_000),
        channels: 1,
        queue_depth,
        rotational: true,
    };
    Disk::new(&spec, Clock::default(), 1)
}

fn request(direction: Direction, offset: u64, length: u64) -> Request {
    let pages = vec![offset as u32 / 4096..(offset + length) as u32 / 4096];
    Request {
        pages,
        ..Request::new(direction, offset, length)
    }
}

#[test]
fn a_request_that_follows_the_last_one_needs_no_seek() {
    let mut disk = disk(2);
    let read = |offset, length| request(Direction::Read, offset, length);
    let first = disk.submit(Nanos(0), 0, read(0, 1 << 20)).expect("at once");
    assert_eq!(first, Nanos(1_000_000_000 + 8_001_000));
    let second = disk.submit(Nanos(0), 0, read(1 << 20, 1 << 20));
    let second = second.expect("the device takes two");
    let streams = first + Nanos(1_000_001_000);
    assert_eq!(second, streams, "it waits for the channel, then streams");
    disk.complete(first).expect("the first");
    disk.complete(second).expect("the second");
    let third = disk.submit(Nanos(5_000_000_000), 0, read(0, 0));
    let expected = Some(Nanos(5_008_001_000));
    assert_eq!(third, expected, "an idle disk starts at once, with a seek");
}

#[test]
fn what_the_device_cannot_take_waits_and_is_merged_with_what_it_continues() {
    let mut disk = disk(1);
    let write = |offset| request(Direction::Write, offset, 4096);
    let done = disk.submit(Nanos(0), 0, write(0)).expect("at once");
    assert_eq!(disk.submit(Nanos(0), 0, write(4096)), None);
    assert_eq!(disk.submit(Nanos(0), 0, write(8192)), None);
    let (first, next) = disk.complete(done).expect("the first");
    assert_eq!(first.length, 4096);
    let (merged, none) = disk.complete(next.expect("another")).expect("the rest");
    assert_eq!((merged.length, merged.pages), (8192, vec![1..3]));
    assert_eq!(none, None);
}

#[test]
fn a_request_grows_to_1280_kib_or_256_pieces_of_memory() {
    let grown = |length: u64| {
        let mut grown = request(Direction::Write, 0, length);
        while grown.merge(&request(Direction::Write, grown.length, length)) {}
        grown.length >> 10
    };
    assert_eq!([128 << 10, 1 << 20, 4096].map(grown), [1280, 1024, 1024]);
}

#[test]
fn reads_overtake_writes_that_wait_but_do_not_starve_them() {
    let mut disk = disk(64);
    let far = |index: u64| index << 24;
    for index in 0..64 {
        disk.submit(Nanos(0), 0, request(Direction::Write, far(index), 4096));
    }
    for index in 64..128 {
        let direction = match index % 3 {
            0 => Direction::Write,
            _ => Direction::Read,
        };
        disk.submit(Nanos(0), 0, request(direction, far(index), 4096));
    }
    let order = order(&mut disk);
    let first_write = order[64..].iter().position(|d| *d == Direction::Write);
    assert_eq!(first_write, Some(32), "two batches of reads go before");
    assert_eq!(order.len(), 128);
}

/// Has a disk serve all that it has.
fn order(disk: &mut Disk) -> Vec<Direction> {
    let mut order = Vec::new();
    while let Some((at, _)) = disk.serving.front() {
        let (request, _) = disk.complete(*at).expect("one is served");
        order.push(request.direction);
    }
    order
}

#[test]
fn what_lies_next_is_served_next_and_what_has_waited_too_long_before_it() {
    for (at, expected) in [
        (Nanos(0), [300, 500, 100]),
        (Nanos(9_000_000_000), [100, 300, 500]),
    ] {
        let mut disk = disk(8);
        disk.latest = [200 << 20; 2];
        disk.batch = (Direction::Read, BATCH);
        for mib in [100_u64, 500, 300] {
            let request = request(Direction::Write, mib << 20, 4096);
            disk.writes.push_back(request);
        }
        let order = [(); 3].map(|()| disk.dispatch(at).map(|request| request.offset >> 20));
        assert_eq!(order, expected.map(Some));
    }
}

#[test]
fn what_has_no_tag_waits_in_line_be_it_a_read_or_a_write() {
    let mut disk = disk(1);
    let [read, write] = [Direction::Read, Direction::Write];
    for (entity, direction) in [write, write, write, read, write, read].iter().enumerate() {
        let offset = (entity as u64) << 24;
        disk.submit(Nanos(0), entity, request(*direction, offset, 4096));
    }
    let waits = |disk: &Disk| (0..6).filter(|&of| disk.holds_up(of)).collect::<Vec<_>>();
    assert_eq!(waits(&disk), [2, 3, 4, 5], "there are two tags");
    let done = disk.serving[0].0;
    disk.complete(done).expect("it is due");
    assert_eq!((disk.take_tagged(), waits(&disk)), (vec![2], vec![3, 4, 5]));
    let done = disk.serving[0].0;
    disk.complete(done).expect("it is due");
    assert_eq!(order(&mut disk), [write, read, write, read]);
    assert_eq!(disk.writing, [0, 0]);
}

#[test]
fn a_write_becomes_part_of_one_that_waits_and_ends_or_begins_where_it_does() {
    let mut disk = disk(1);
    let write = |page: u64| request(Direction::Write, page << 12, 4096);
    disk.submit(Nanos(0), 0, write(99));
    assert!(!disk.merge_bio(Nanos(0), &write(100)), "the device has it");
    disk.submit(Nanos(0), 0, write(50));
    let merged = [51, 49, 53].map(|page| disk.merge_bio(Nanos(0), &write(page)));
    assert_eq!(merged, [true, true, false]);
    assert_eq!(
        (disk.writes[0].offset, disk.writes[0].length),
        (49 << 12, 3 << 12)
    );
}

#[test]
fn what_goes_to_swap_is_throttled_apart_from_what_goes_to_files() {
    let mut disk = disk(64);
    for index in 0..9_u64 {
        let is_swap = index == 0;
        let request = request(Direction::Write, index << 24, 4096);
        disk.submit(Nanos(0), 0, Request { is_swap, ..request });
    }
    assert!(disk.is_congested(Nanos(0), Writer::Task, 0));
    assert!(!disk.is_congested(Nanos(0), Writer::Swap, 14));
    assert!(disk.is_congested(Nanos(0), Writer::Swap, 15));
}

#[test]
fn who_waits_to_write_is_woken_when_there_is_room_and_not_at_each_request() {
    let mut disk = disk(64);
    let write = |index: u64| request(Direction::Write, index << 12, 4096);
    let done = [(); 16].map(|()| disk.submit(Nanos(0), 0, write(disk.serving.len() as u64)));
    let (mut done, mut left) = (done[0], 16);
    while let Some(at) = done.filter(|_| !disk.wakes_writers()) {
        disk.complete(at).expect("it is due");
        left -= 1;
        done = disk.serving.front().map(|(done, _)| *done);
    }
    assert_eq!(
        left, 6,
        "of 8 for tasks, half of 4 for the background are free"
    );
}

#[test]
fn a_window_after_which_more_may_be_written_wakes_who_waits() {
    let mut disk = disk(64);
    disk.submit(Nanos(0), 0, request(Direction::Write, 0, 4 << 20));
    let ends = disk.take_window().expect("the first write begins one");
    assert_eq!(disk.take_window(), None, "it is known now");
    assert!(!disk.end_window(Nanos(ends.0 - 1)), "it is not over");
    assert!(disk.end_window(ends) && !disk.end_window(ends));
    assert!(disk.take_window() > Some(ends), "the next one");
}

#[test]
fn tasks_may_write_half_as_much_at_a_time_as_is_waited_for() {
    let mut disk = disk(64);
    for index in 0..6_u64 {
        disk.submit(Nanos(0), 0, request(Direction::Write, index << 24, 4096));
    }
    assert!(!disk.is_congested(Nanos(0), Writer::Task, 1));
    assert!(disk.is_congested(Nanos(0), Writer::Task, 2));
    assert!(!disk.is_congested(Nanos(0), Writer::Sync, 9));
    assert!(disk.is_congested(Nanos(0), Writer::Sync, 10));
}

#[test]
fn beside_reads_half_as_much_is_written_and_what_is_marked_never_more() {
    let mut disk = disk(64);
    let flusher = |marked| Writer::Flusher {
        waited_for: false,
        marked,
    };
    disk.submit(Nanos(0), 0, request(Direction::Write, 0, 4096));
    let may = |disk: &Disk, now, writer| {
        let held = (0..99).find(|&held| disk.is_congested(now, writer, held));
        held.map(|held| held + 1)
    };
    assert_eq!(may(&disk, Nanos(0), flusher(false)), Some(8));
    assert_eq!(may(&disk, Nanos(0), flusher(true)), Some(4));
    disk.submit(Nanos(0), 0, request(Direction::Read, 1 << 24, 4096));
    assert_eq!(may(&disk, Nanos(99_000_000), flusher(false)), Some(4));
    assert_eq!(may(&disk, Nanos(99_000_000), Writer::Task), Some(4));
    assert_eq!(may(&disk, Nanos(100_000_000), Writer::Task), Some(8));
}
