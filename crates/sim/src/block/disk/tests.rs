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

/// Submits a bio, and lets the disk take what it can: when that will be done, if it takes it.
fn submit(disk: &mut Disk, now: Nanos, entity: usize, bio: Request) -> Option<Nanos> {
    if disk.merge_bio(&bio) {
        return None;
    }
    disk.begin(now, entity, &bio);
    disk.submit(now, entity, bio);
    disk.run(now);
    disk.taken.pop()
}

/// Ends a request: when what the disk takes then will be done.
fn complete(disk: &mut Disk, now: Nanos) -> (Request, Option<Nanos>) {
    let request = disk.complete(now).expect("it is due");
    (request, disk.taken.pop())
}

/// Whether a writer has to wait once this many more requests of its own have begun.
fn is_congested(disk: &Disk, now: Nanos, writer: Writer, more: u64) -> bool {
    let mut disk = disk.clone();
    let is_swap = writer == Writer::Swap;
    for _ in 0..more {
        let write = Request::new(Direction::Write, 0, 4096);
        disk.begin(now, 0, &Request { is_swap, ..write });
    }
    !disk.may_write(now, 99, writer)
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
    let first = submit(&mut disk, Nanos(0), 0, read(0, 1 << 20)).expect("at once");
    assert_eq!(first, Nanos(1_000_000_000 + 8_001_000));
    let second = submit(&mut disk, Nanos(0), 0, read(1 << 20, 1 << 20));
    let second = second.expect("the device takes two");
    let streams = first + Nanos(1_000_001_000);
    assert_eq!(second, streams, "it waits for the channel, then streams");
    disk.complete(first).expect("the first");
    disk.complete(second).expect("the second");
    let third = submit(&mut disk, Nanos(5_000_000_000), 0, read(0, 0));
    let expected = Some(Nanos(5_008_001_000));
    assert_eq!(third, expected, "an idle disk starts at once, with a seek");
}

#[test]
fn what_the_device_cannot_take_waits_and_is_merged_with_what_it_continues() {
    let mut disk = disk(2);
    let write = |page: u64| request(Direction::Write, page << 12, 4096);
    let done = [100, 200].map(|page| submit(&mut disk, Nanos(0), 0, write(page)));
    assert!(done.iter().all(Option::is_some), "the device takes two");
    let waits = [300, 400, 401].map(|page| submit(&mut disk, Nanos(0), 0, write(page)));
    assert_eq!(waits, [None; 3]);
    let mut pages = Vec::new();
    while let Some(at) = disk.serving.front().map(|(at, _)| *at) {
        let (request, _) = complete(&mut disk, at);
        pages.extend(request.pages);
    }
    assert_eq!(pages, [100..101, 200..201, 300..301, 400..402]);
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
        submit(
            &mut disk,
            Nanos(0),
            0,
            request(Direction::Write, far(index), 4096),
        );
    }
    for index in 64..128 {
        let direction = match index % 3 {
            0 => Direction::Write,
            _ => Direction::Read,
        };
        let bio = request(direction, far(index), 4096);
        disk.begin(Nanos(0), 0, &bio);
        disk.insert(Nanos(0), bio);
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
        let request = disk.complete(*at).expect("one is served");
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
        submit(
            &mut disk,
            Nanos(0),
            entity,
            request(*direction, offset, 4096),
        );
    }
    let waits = |disk: &Disk| (0..6).filter(|&of| disk.holds_up(of)).collect::<Vec<_>>();
    assert_eq!(waits(&disk), [2, 3, 4, 5], "there are two tags");
    let done = disk.serving[0].0;
    disk.complete(done).expect("it is due");
    assert_eq!((disk.take_woken(), waits(&disk)), (vec![2], vec![3, 4, 5]));
    let done = disk.serving[0].0;
    disk.complete(done).expect("it is due");
    assert_eq!(order(&mut disk), [write, read, write, read]);
    assert_eq!(disk.writing, [0, 0]);
}

#[test]
fn a_write_becomes_part_of_one_that_waits_and_ends_or_begins_where_it_does() {
    let mut disk = disk(2);
    let write = |page: u64| request(Direction::Write, page << 12, 4096);
    for page in [99, 1000, 2000, 50] {
        submit(&mut disk, Nanos(0), 0, write(page));
    }
    assert!(!disk.merge_bio(&write(100)), "the device has it");
    let merged = [51, 49, 53].map(|page| disk.merge_bio(&write(page)));
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
        submit(&mut disk, Nanos(0), 0, Request { is_swap, ..request });
    }
    assert!(is_congested(&disk, Nanos(0), Writer::Task, 0));
    assert!(!is_congested(&disk, Nanos(0), Writer::Swap, 14));
    assert!(is_congested(&disk, Nanos(0), Writer::Swap, 15));
}

#[test]
fn who_waits_to_write_gets_room_when_there_is_enough_and_not_at_each_request() {
    let mut disk = disk(64);
    let write = |index: u64| request(Direction::Write, index << 12, 4096);
    for index in 0..16 {
        submit(&mut disk, Nanos(0), 0, write(index));
    }
    let may_write = |disk: &mut Disk, entity| disk.may_write(Nanos(0), entity, Writer::Task);
    assert!(!(1..=9).any(|entity| may_write(&mut disk, entity)));
    let mut left = 16;
    while disk.woken.is_empty() {
        let (at, _) = disk.serving[0];
        disk.complete(at).expect("it is due");
        left -= 1;
    }
    assert_eq!(
        left, 6,
        "of 8 for tasks, half of 4 for the background are free"
    );
    assert_eq!(disk.take_woken(), [1, 2], "those that came first");
    assert!(!may_write(&mut disk, 10), "nobody overtakes the others");
    assert!(may_write(&mut disk, 1), "its room counts already");
    assert_eq!(disk.writing, [8, 0]);
    disk.begin(Nanos(0), 1, &write(99));
    disk.forget(Nanos(0), 2);
    assert_eq!(disk.writing, [7, 0], "what it was given is free again");
}

#[test]
fn who_gets_room_for_a_write_takes_the_tag_before_who_waits_for_one() {
    let mut disk = disk(1);
    let bio = |direction, page: u64| request(direction, page << 12, 4096);
    submit(&mut disk, Nanos(0), 0, bio(Direction::Write, 100));
    submit(&mut disk, Nanos(0), 1, bio(Direction::Write, 200));
    submit(&mut disk, Nanos(0), 2, bio(Direction::Read, 300));
    assert!(!disk.may_write(Nanos(0), 3, Writer::Sync));
    let (done, _) = disk.serving[0];
    disk.complete(done).expect("it is due");
    assert_eq!((disk.take_woken(), disk.holds_up(2)), (vec![3], true));
    assert!(disk.get_tag(3));
}

#[test]
fn a_window_after_which_more_may_be_written_wakes_who_waits() {
    let mut disk = disk(64);
    let write = |index: u64| request(Direction::Write, index << 24, 4 << 20);
    for index in 0..8 {
        submit(&mut disk, Nanos(0), 0, write(index));
    }
    assert!(!disk.may_write(Nanos(0), 1, Writer::Task));
    let ends = disk.take_window().expect("the first write begins one");
    assert_eq!(disk.take_window(), None, "it is known now");
    disk.end_window(Nanos(ends.0 - 1));
    assert_eq!(disk.take_woken(), [], "it is not over");
    disk.end_window(ends);
    assert_eq!(disk.take_woken(), [1]);
    assert!(disk.take_window() > Some(ends), "the next one");
}

#[test]
fn what_was_taken_out_for_the_device_grows_no_longer_and_is_not_overtaken() {
    let mut disk = disk(2);
    let write = |page: u64| request(Direction::Write, page << 12, 4096);
    for page in [100, 200, 300, 400] {
        submit(&mut disk, Nanos(0), 0, write(page));
    }
    assert_eq!(disk.parked.as_ref().map(|it| it.offset), Some(300 << 12));
    assert!(!disk.merge_bio(&write(301)), "it was taken out");
    assert!(disk.merge_bio(&write(401)), "it waits in the scheduler");
    let (first, _) = disk.serving[0];
    disk.complete(first).expect("it is due");
    let served: Vec<u64> = disk.serving.iter().map(|(_, it)| it.offset >> 12).collect();
    assert_eq!(served, [200, 300]);
}

#[test]
fn a_task_that_finds_no_tag_goes_on_with_the_one_that_it_is_given() {
    let mut disk = disk(1);
    let write = |page: u64| request(Direction::Write, page << 12, 4096);
    for page in [100, 200] {
        submit(&mut disk, Nanos(0), 0, write(page));
    }
    assert!(!disk.get_tag(7) && disk.holds_up(7));
    let (done, _) = disk.serving[0];
    disk.complete(done).expect("it is due");
    assert_eq!((disk.take_woken(), disk.holds_up(7)), (vec![7], false));
    assert!(!disk.get_tag(8), "it is the other's, used or not");
    assert!(disk.get_tag(7));
    disk.begin(done, 7, &write(300));
    disk.insert_plugged(done, write(300));
    disk.run(done);
    assert_eq!(disk.parked.as_ref().map(|it| it.offset), Some(300 << 12));
}

#[test]
fn a_task_that_waits_for_a_tag_that_nobody_has_is_noticed() {
    let mut disk = disk(1);
    assert_eq!([1, 2, 3].map(|of| disk.get_tag(of)), [true, true, false]);
    let wrong = |disk: &Disk| disk.lost_wakeup(|of| of == 3);
    assert_eq!(wrong(&disk), None);
    disk.tags.plugged = 0;
    assert_eq!(wrong(&disk), Some("tasks wait and nothing is under way"));
}

#[test]
fn tasks_may_write_half_as_much_at_a_time_as_is_waited_for() {
    let mut disk = disk(64);
    for index in 0..6_u64 {
        submit(
            &mut disk,
            Nanos(0),
            0,
            request(Direction::Write, index << 24, 4096),
        );
    }
    assert!(!is_congested(&disk, Nanos(0), Writer::Task, 1));
    assert!(is_congested(&disk, Nanos(0), Writer::Task, 2));
    assert!(!is_congested(&disk, Nanos(0), Writer::Sync, 9));
    assert!(is_congested(&disk, Nanos(0), Writer::Sync, 10));
}

#[test]
fn beside_reads_half_as_much_is_written_and_what_is_marked_never_more() {
    let mut disk = disk(64);
    let flusher = |marked| Writer::Flusher {
        waited_for: false,
        marked,
    };
    submit(&mut disk, Nanos(0), 0, request(Direction::Write, 0, 4096));
    let may = |disk: &Disk, now, writer| {
        let held = (0..99).find(|&held| is_congested(disk, now, writer, held));
        held.map(|held| held + 1)
    };
    assert_eq!(may(&disk, Nanos(0), flusher(false)), Some(8));
    assert_eq!(may(&disk, Nanos(0), flusher(true)), Some(4));
    submit(
        &mut disk,
        Nanos(0),
        0,
        request(Direction::Read, 1 << 24, 4096),
    );
    assert_eq!(may(&disk, Nanos(99_000_000), flusher(false)), Some(4));
    assert_eq!(may(&disk, Nanos(99_000_000), Writer::Task), Some(4));
    assert_eq!(may(&disk, Nanos(100_000_000), Writer::Task), Some(8));
}
