//! A recording that a stock kernel does again, by the command, beside the model's prediction.

use std::process::Command;

use mm::units::{Bytes, Nanos};
use scenario::recording::{Kind, Part, Run, Writer};
use study::recording::pack;

use crate::{bench, machine, stock};

/// Regions, classes and all that a recording can hold, on a machine that holds what is beyond.
const TEXT: &str = r#"
name = "tiny"
title = "A tiny recording"
question = "Does a VM do again what was recorded?"

[machine]
memory = "384 MiB"
available = "200 MiB"
recorded-files = "disk"

[[machine.disk]]
name = "disk"
size = "256 MiB"
bandwidth = "100000 KiB/s"
latency = "100 us"
iops = 5000

[[arm]]
name = "default"

[[process]]
name = "server"
steps = [
  { map = { region = "heap", size = "16 MiB", populate = true, huge = "never" } },
  { label = "touch", touch = { region = "heap", classes = [[50, 100], [1, 3000]], compute = "20 us", amount = "4 MiB" } },
  { snapshot = "idle" },
  { label = "replay", access = { recorded = 0 } },
  { snapshot = "replayed" },
  { label = "clock", access = { recorded = 1, pace = "clock", for = "1 s" } },
]

[[measure]]
name = "operations"
step = "replay"
take = "operations"

[[measure]]
name = "read"
step = "replay"
take = "bytes"
unit = "kB"

[[measure]]
name = "read in"
between = ["idle", "replayed"]
vmstat = "pgpgin"
unit = "kB"

[[measure]]
name = "requests"
between = ["idle", "replayed"]
diskstats = "disk.reads"
unit = "count"

[[measure]]
name = "time"
step = "replay"
take = "duration"

[[measure]]
name = "by the clock"
step = "clock"
take = "duration"
"#;

/// Random reads of one file, loads and a few stores through a mapping of another, and a third that
/// is written from nothing, made durable, shortened and read.
fn recording() -> Vec<u8> {
    let of = |kind, file, offset, length| Run {
        compute: Nanos(8600),
        sleep: Nanos::ZERO,
        took: Nanos::ZERO,
        kind,
        file,
        offset,
        length,
    };
    let mut writer = Writer::new(TEXT, &pack);
    for size in [32 << 20, 4 << 20, 0] {
        writer.file(Bytes(size));
    }
    let page = |n: u64, pages: u64| n * 7919 % pages * 4096;
    for n in 0..3000 {
        writer.run(0, &of(Kind::Read, 0, page(n, 8192), 4096));
    }
    for n in 0..300 {
        let kind = if n % 10 == 0 { Kind::Store } else { Kind::Load };
        writer.run(0, &of(kind, 1, page(n, 1024), 4096));
    }
    for n in 0..1000 {
        writer.run(0, &of(Kind::Write, 2, n * 3000, 3000));
    }
    for run in [
        of(Kind::Sync, 2, 0, 0),
        of(Kind::Truncate, 2, 1 << 20, 0),
        of(Kind::DontNeed, 2, 0, 0),
        of(Kind::Open, 2, 0, 0),
        of(Kind::Read, 2, 0, 2 << 20),
    ] {
        writer.run(0, &run);
    }
    for n in 0..100 {
        let run = of(Kind::Read, 0, page(n, 8192), 4096);
        let took = Nanos(20_000_000);
        writer.run(1, &Run { took, ..run });
    }
    writer.take(Part::All)
}

/// The figure of a measure that was measured, and that was predicted.
fn figures(data: &serde_json::Value, measure: &str) -> [f64; 2] {
    let rows = data["kernels"][0]["figures"].as_array().expect("figures");
    let row = rows
        .iter()
        .find(|row| row["measure"] == measure)
        .expect(measure);
    ["measured", "predicted"].map(|of| row[of]["median"].as_f64().expect("a figure"))
}

/// Counts are equal, and what the disk and the clock say is near.
fn does_it_again(name: &str) {
    if bench(stock(name)).is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("tiny.rec"), recording()).unwrap();
    let output = Command::new(machine::plimsoll())
        .args(["prove", "./tiny.rec", "--kernel", name, "--json"])
        .current_dir(place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let data = serde_json::from_slice(&output.stdout);
    let data = data.unwrap_or_else(|error| panic!("{error}: {said}"));
    let of = |measure| figures(&data, measure);
    assert_eq!(of("operations"), [4305.0; 2]);
    let [measured, predicted] = of("read");
    assert!(
        measured > 0.0 && measured == predicted,
        "{measured}, {predicted}"
    );
    for (measure, most) in [
        ("read in", 0.02),
        ("requests", 0.02),
        ("time", 0.05),
        ("by the clock", 0.01),
    ] {
        let [measured, predicted] = of(measure);
        let gap = predicted / measured - 1.0;
        assert!(
            gap.abs() <= most,
            "{measure}: {measured} measured, {predicted} predicted"
        );
    }
}

#[test]
fn linux_6_1_does_a_recording_again() {
    does_it_again("6.1");
}

#[test]
fn linux_6_12_does_a_recording_again() {
    does_it_again("6.12");
}
