//! The section as text, from recordings.

use super::*;
use crate::page::{Canvas, Charset};
use expect_test::{Expect, expect};

/// A recording of `fixtures/series`.
macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../fixtures/series/", $name))
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
    crate::style::plain(&page.into_text())
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
    check(
        &timeline,
        Charset::Unicode,
        &expect![[r#"

            Timeline: vmstat, 4 rows
              No swapping: nothing went in or out in 3 rows.
              Tasks were blocked, mostly for a disk, in 1 of 4 rows: up to 7 in row 3.
              From first to last row: free 11.4 GiB to 11.1 GiB, page cache 80.3 GiB to 80.4
              GiB.
              Swap used stays at 4.4 MiB.
                                        first       last      worst  at
              free                   11.4 GiB   11.1 GiB   11.1 GiB             ████
              page cache             80.3 GiB   80.4 GiB   80.3 GiB             ████
              buffers                 188 MiB    188 MiB    188 MiB             ████
              swap used               4.4 MiB    4.4 MiB    4.4 MiB             ████
              read from disks       369 KiB/s  339 KiB/s  369 KiB/s              ███
              written to disks      157 MiB/s  125 MiB/s  157 MiB/s              █▇▇
              blocked tasks                 0          0          7             ▁▁█▁
              CPU, waits for I/O        1.0 %      1.0 %      1.0 %              ███
              The first row is an average since boot: it is left out of the rates.
              The command line says a row every 5 s.
              vmstat has no watermarks, zones, limits, MemAvailable or scans, so it does not
              tell why memory was reclaimed. Send /proc/zoneinfo and /proc/meminfo, and
              /proc/vmstat twice, 10 s apart.
        "#]],
    );
}

#[test]
fn sar_of_a_machine_that_thrashes() {
    let timeline = timeline(series::SAR, recording!("sar.txt"));
    check(
        &timeline,
        Charset::Ascii,
        &expect![[r#"

            Timeline: sar, 59 rows, 16:43:58 to 16:45:17, Linux 6.1.0-56-cloud-amd64
              Swap moves both ways, too little or for too short a time to be called
              thrashing: out up to 13.7 MiB/s at 16:44:22, in up to 1.8 MiB/s at 16:44:25.
              (thrashing: at least 1 MiB/s both ways in 3 rows together)
              Tasks had to reclaim for themselves in 11 of 59 rows: 58 % of the scanning was
              direct. Of what was scanned 15 % was freed: most of it was in use, dirty or
              locked. The most was scanned at 16:44:15. (poor below 50 %)
              Major faults, each a wait for a read: 30/s on average, up to 465/s at
              16:44:25.
              From first to last row: MemAvailable 273 MiB to 287 MiB (least 5.2 MiB at
              16:44:18), page cache 27.3 MiB to 19.7 MiB (least 19.3 MiB at 16:44:15): the
              page cache shrinks.
              Free memory and page cache were 22.6 MiB at 16:44:18, 7 % of what is free or
              on a list. (with reclaimable slab they are all that can be had without
              swapping)
              Swap used grows from 0 B to 11.4 MiB.
                                        first       last      worst  at
              MemAvailable            273 MiB    287 MiB    5.2 MiB  16:44:18   +._____#####
              free                    272 MiB    151 MiB    3.3 MiB  16:44:18   +._____#*+==
              page cache             27.3 MiB   19.7 MiB   19.3 MiB  16:44:15   ###+++++++++
              buffers                   4 KiB    137 MiB        0 B  16:44:15   ________.-+#
              active lists            5.4 MiB   17.2 MiB   19.3 MiB  16:44:15   :::#*####*##
              inactive lists         38.1 MiB    146 MiB    305 MiB  16:44:13   :*#####_.:--
              anonymous              16.1 MiB    6.5 MiB    291 MiB  16:44:15   :*#####_____
              slab                   16.5 MiB   17.3 MiB   17.3 MiB  16:45:17   ############
              dirty                       0 B        0 B        0 B  16:43:58   ____________
              swap used                   0 B   11.4 MiB   70.4 MiB  16:44:28   ___:*##.....
              swap-ins                  0 B/s      0 B/s  1.8 MiB/s  16:44:25   _____#______
              swap-outs                 0 B/s      0 B/s 13.7 MiB/s  16:44:22   ___-#+______
              scanned by kswapd         0.0/s      0.0/s    13394/s  16:44:15   ___#::______
              scanned directly          0.0/s      0.0/s    40576/s  16:44:15   ___#________
              stolen                    0.0/s      0.0/s     3143/s  16:44:22   ___=#+______
              major faults              0.0/s      0.0/s      465/s  16:44:25   _____#______
              read from disks           0 B/s  6.9 MiB/s 24.5 MiB/s  16:45:03   ________.#::
              written to disks          0 B/s      0 B/s 13.7 MiB/s  16:44:22   ___=#+______
              Swapped pages are taken as 4 KiB: the amounts are whole pages.
              pgsteal/s is halved: it exceeds the scans, since this sysstat adds up
              pgsteal_anon and pgsteal_file, which are the same pages again (its issue 415);
              %vmeff likewise.
              sar has no watermarks, zones or limits of control groups, so it does not tell
              why memory was reclaimed. Send /proc/zoneinfo and /proc/meminfo, and
              /proc/vmstat twice, 10 s apart.
        "#]],
    );
}

#[test]
fn vmstat_whose_amounts_stand_still() {
    let timeline = timeline(series::VMSTAT, recording!("vmstat-t.txt"));
    check(
        &timeline,
        Charset::Unicode,
        &expect![[r#"

            Timeline: vmstat, 60 rows, 2026-11-25 16:43:56 to 2026-11-25 16:45:00
              Swap moves both ways, too little or for too short a time to be called
              thrashing: out up to 14.1 MiB/s at 16:44:22, in up to 1.9 MiB/s at 16:44:25.
              (thrashing: at least 1 MiB/s both ways in 3 rows together)
              Tasks were blocked, mostly for a disk, in 11 of 60 rows: up to 1 at 16:44:24.
              CPUs were idle for a disk 5 % of the time, up to 38.0 % at 16:44:47.
                                        first       last      worst  at
              free                    283 MiB    283 MiB    283 MiB  16:43:56   █
              page cache             36.5 MiB   36.5 MiB   36.5 MiB  16:43:56   █
              buffers                   4 KiB      4 KiB      4 KiB  16:43:56   █
              swap used                   0 B        0 B        0 B  16:43:56   ▁
              swap-ins                  0 B/s  132 KiB/s  1.9 MiB/s  16:44:25   ▁▁▁▁▁█▂▁▁▁▁▂
              swap-outs                 0 B/s      0 B/s 14.1 MiB/s  16:44:22   ▁▁▁▃▆█▁▁▁▁▁▁
              read from disks           0 B/s  2.1 MiB/s  5.2 MiB/s  16:44:59   ▁▁▁▁▁▄▁▇▇▄▄█
              written to disks          0 B/s      0 B/s 14.1 MiB/s  16:44:22   ▁▁▁▃▆█▁▁▁▁▁▁
              blocked tasks                 0          1          1  16:44:24   ▁▁▁▁▁███████
              CPU, waits for I/O        0.0 %      0.0 %     38.0 %  16:44:47   ▁▁▁▁▂██▁▄█▂▁
              The first row is an average since boot: it is left out of the rates.
              swpd, free and the rest of memory are the same in all rows while pages move:
              procps 4.0.2 reads them once. They are left out after the first row; take
              /proc/meminfo.
              vmstat has no watermarks, zones, limits, MemAvailable or scans, so it does not
              tell why memory was reclaimed. Send /proc/zoneinfo and /proc/meminfo, and
              /proc/vmstat twice, 10 s apart.
        "#]],
    );
}

#[test]
fn the_frames_of_a_capture() {
    let capture = Capture::parse(recording!("captures.txt")).expect("a capture");
    let last = capture.frames.last().expect("frames");
    let timeline = Timeline::of(&capture, last).expect("a series");
    check(
        &timeline,
        Charset::Unicode,
        &expect![[r#"

            Timeline: frames of the capture, 16 rows, 45.5 s to 200.6 s
              Swap moves both ways, too little or for too short a time to be called
              thrashing: out up to 5.2 MiB/s at 74.6 s, in up to 1 MiB/s at 80.4 s.
              (thrashing: at least 1 MiB/s both ways in 3 rows together)
              Tasks had to reclaim for themselves in 3 of 16 rows: 43 % of the scanning was
              direct. Of what was scanned 38 % was freed: most of it was in use, dirty or
              locked. The most was scanned at 74.6 s. (poor below 50 %)
              Some task waited for memory up to 74.4 % at 74.6 s, all tasks up to 56.6 %.
              Major faults, each a wait for a read: 20/s on average, up to 251/s at 80.4 s.
              From first to last row: MemAvailable 285 MiB to 289 MiB (least 7.8 MiB at 74.6
              s), page cache 27.3 MiB to 19.8 MiB (least 19.4 MiB at 74.6 s): the page cache
              shrinks.
              Free memory and page cache were 25.3 MiB at 74.6 s, 8 % of what is free or on
              a list. (with reclaimable slab they are all that can be had without swapping)
              Swap used grows from 0 B to 11.1 MiB.
                                        first       last      worst  at
              MemAvailable            285 MiB    289 MiB    7.8 MiB  74.6 s     ▃▁▁▁████████
              free                    284 MiB    7.6 MiB    5.9 MiB  74.6 s     ▃▁▁▁█▆▄▂▁▁▁▁
              page cache             27.3 MiB   19.8 MiB   19.4 MiB  74.6 s     ██▆▆▆▆▆▆▆▆▆▆
              buffers                   4 KiB    281 MiB        0 B  74.6 s     ▁▁▁▁▁▃▄▇████
              active lists            5.3 MiB   13.1 MiB   18.4 MiB  80.4 s     ▃▃███████▆▆▆
              inactive lists         26.2 MiB    294 MiB    301 MiB  66.1 s     ▇███▁▃▅▇▇███
              anonymous               4.3 MiB    5.3 MiB    287 MiB  74.6 s     ▆███▁▁▁▁▁▁▁▁
              dirty                       0 B        0 B        0 B  45.5 s     ▁▁▁▁▁▁▁▁▁▁▁▁
              swap used                   0 B   11.1 MiB   69.9 MiB  80.4 s     ▁▁▅█▂▂▂▂▂▂▂▂
              swap-ins                  0 B/s      0 B/s    1 MiB/s  80.4 s     ▁▁▁█▁▁▁▁▁▁▁▁
              swap-outs                 0 B/s      0 B/s  5.2 MiB/s  74.6 s     ▁▁█▇▁▁▁▁▁▁▁▁
              memory PSI, some          0.0 %      0.0 %     74.4 %  74.6 s     ▁▁█▂▁▁▁▁▁▂▁▁
              memory PSI, full          0.0 %      0.0 %     56.6 %  74.6 s     ▁▁█▂▁▁▁▁▁▂▁▁
              I/O PSI, some             0.0 %      0.0 %     40.8 %  80.4 s     ▁▁▁█▄▂▁▁▁▁▁▁
              scanned by kswapd         0.0/s      0.0/s     4535/s  74.6 s     ▁▁█▃▁▁▁▁▁▇▂▁
              scanned directly          0.0/s      0.0/s     7224/s  74.6 s     ▁▁█▁▁▁▁▁▁▁▁▁
              stolen                    0.0/s      0.0/s     3872/s  184.5 s    ▁▁▃▃▁▁▁▁▁█▂▁
              direct reclaims           0.0/s      0.0/s      9.1/s  74.6 s     ▁▁██▁▁▁▁▁▂▁▁
              refaults                  0.0/s      0.0/s      258/s  80.4 s     ▁▁▁█▁▁▁▁▁▁▁▁
              major faults              0.0/s      0.0/s      251/s  80.4 s     ▁▁▁█▁▁▁▁▁▁▁▁
        "#]],
    );
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

#[test]
fn a_number_that_no_machine_has_stays_in_its_column() {
    let said = |item| [12_345_678.0, 123_456_789.0, 1e30].map(|value| amount(item, value));
    assert_eq!(said(Item::Blocked), ["12345678", "1.2e8", "1.0e30"]);
    assert_eq!(said(Item::Steal), ["12345678/s", "1.2e8/s", "1.0e30/s"]);
    assert_eq!(said(Item::IoWait), ["1.2e7 %", "1.2e8 %", "1.0e30 %"]);
    let longest = Item::ALL
        .into_iter()
        .flat_map(said)
        .map(|it| it.len())
        .max();
    assert!(longest <= Some(11), "{longest:?}");
}
