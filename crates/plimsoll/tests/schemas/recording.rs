//! What `inspect` shows of a recording: as text, as JSON, and of one that is damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use expect_test::expect;
use mm::units::{Bytes, Nanos};
use scenario::recording::{Kind, Part, Run, Writer};
use study::recording::pack;
use study::{AtHand, Load, LoadStream, Observed, Written};

use super::output::assert_is;

/// A database reads 4 MiB twice, of which 1 MiB was cached, another program in its group 1 MiB, and
/// a task in no group writes.
fn recorded() -> Vec<u8> {
    let observed = Observed {
        kernel: "6.12.1".to_owned(),
        time: Nanos(10 * Nanos::SECOND.0),
        by: "filemap_read, generic_write_checks".to_owned(),
        lost: 3,
        of_unknown_groups: 1,
        read_in: Bytes(5 << 20),
        reclaimed: None,
        used: BTreeMap::new(),
        writers: vec![Written {
            tunable: "vm.swappiness".to_owned(),
            program: "tuned".to_owned(),
            times: 2,
        }],
        ..Observed::default()
    };
    let at_hand = AtHand {
        memory: Some(Bytes(1 << 30)),
        ..AtHand::default()
    };
    let stream = |program: &str, group: &str, runs| LoadStream {
        program: program.to_owned(),
        group: group.to_owned(),
        runs,
    };
    let load = Load {
        name: "small",
        at_hand: &at_hand,
        available: Bytes(16 << 20),
        request: None,
        observed: &observed,
        cached_by: &[("system.slice/db.service".to_owned(), 1)],
        streams: &[
            stream("postgres", "system.slice/db.service", 2048),
            stream("cp", "system.slice/db.service", 1),
            stream("dd", "", 1),
        ],
        memory: &[],
        settles: Nanos::ZERO,
        files: Bytes(5 << 20),
        written: Bytes(8192),
    };
    let mut writer = Writer::new(&load.text(), &pack);
    writer.file(Bytes(4 << 20));
    writer.file(Bytes(1 << 20));
    let run = |kind, file, offset, length| Run {
        compute: Nanos(1_000_000),
        sleep: Nanos::ZERO,
        took: Nanos::ZERO,
        kind,
        file,
        offset,
        length,
    };
    for page in 0..2048 {
        writer.run(1, &run(Kind::Read, 0, page % 1024 * 4096, 4096));
    }
    writer.run(2, &run(Kind::Read, 1, 0, 1 << 20));
    writer.run(3, &run(Kind::Write, 1, 0, 8192));
    let mut bytes = writer.take(Part::All);
    // What was cached stands behind all others.
    writer.run(0, &run(Kind::Read, 0, 0, 1 << 20));
    bytes.extend(writer.take(Part::All));
    bytes
}

fn inspected(bytes: &[u8], columns: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("small.rec"), bytes).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(["inspect", "small.rec"])
        .args(arguments)
        .env("COLUMNS", columns)
        .current_dir(folder.path());
    command.output().expect("the binary runs")
}

fn text(bytes: &[u8], columns: &str) -> String {
    let output = inspected(bytes, columns, &[]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_recording_says_who_read_what_and_what_memory_would_save() {
    expect![[r#"
        small.rec: 10 s on Linux 6.12.1
        recorded at filemap_read, generic_write_checks; 1 GiB of memory, 16 MiB
        available when it began, 1 CPU; 5 MiB read from disks

        group, program  reads   read  writes  written  distinct  cached  in order
        db.service       2049  9 MiB       0      0 B     5 MiB     20%       99%
          system.slice/db.service; 95 % saved with 4 MiB
          postgres       2048  8 MiB       0      0 B     4 MiB     25%       99%
          cp                1  1 MiB       0      0 B     1 MiB      0%      100%
        /                   0    0 B       1    8 KiB     8 KiB      0%
          in no group, or in one that is not known: dd; reads nothing twice

        page cache                 read from disk   misses
        2 MiB (1/8 of available)            8 MiB   88.9 %
        4 MiB (1/4 of available)            4 MiB   44.5 %
        8 MiB (1/2 of available)            4 MiB   44.4 %
        16 MiB (1 of available)             4 MiB   44.4 %
        32 MiB (2 of available)             4 MiB   44.4 %
        With 4 MiB of page cache 95 % of what more could save is saved (by LRU).

        KiB, from  0.0 s  1.0 s  2.0 s  3.0 s  4.0 s  5.0 s  6.0 s  7.0 s  8.0 s  9.0 s
        read        5020   4000    196      0      0      0      0      0      0      0
        written        8      0      0      0      0      0      0      0      0      0
        distinct    5020   4000    196      0      0      0      0      0      0      0

        Tunables that were written meanwhile
          vm.swappiness by tuned, 2 times

        Not in it
          3 events: tasks read faster than they were recorded
          the control groups of 1 task, which had ended or were too many
          fsync, truncation, POSIX_FADV_DONTNEED, faults on mapped files, faults on
          pages of mapped files that are cached, writes of tunables: the kernel did not
          let them be seen
          how often anonymous memory is used
          stores to mapped files, direct I/O: they are not recorded
    "#]]
    .assert_eq(&text(&recorded(), "80"));
}

#[test]
fn it_has_room_on_a_narrow_terminal() {
    let text = text(&recorded(), "40");
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(40), "{text}");
}

#[test]
fn a_recording_is_as_its_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("small.rec");
    fs::write(&path, recorded()).expect("a file");
    let document = assert_is(
        "recording",
        &["inspect", "--json", "small.rec"],
        Path::new(folder.path()),
    );
    assert_eq!(document["groups"][0]["all"]["cached_before_bytes"], 1 << 20);
    assert_eq!(document["groups"][0]["programs"][1]["name"], "cp");
}

#[test]
fn a_recording_that_is_damaged_is_shown_up_to_there() {
    let mut bytes = recorded();
    let at = bytes.len() - 3;
    bytes[at] ^= 1;
    let said = text(&bytes, "80");
    assert!(
        said.contains("the file is damaged: the checksum is wrong"),
        "{said}"
    );
    assert!(said.contains("postgres"), "{said}");
    bytes.truncate(at);
    let said = text(&bytes, "80");
    assert!(
        said.contains("the file is damaged: it is cut off"),
        "{said}"
    );
}

#[test]
fn what_only_a_capture_has_is_refused() {
    for argument in ["--check", "--brief", "--section=swap", "--save=x", "--at=x"] {
        let output = inspected(&recorded(), "80", &[argument]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{argument}: {said}");
        assert!(said.contains("it is a recording"), "{argument}: {said}");
    }
}
