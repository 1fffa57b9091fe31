//! `plimsoll record` on stock kernels: its programs load, what they count is what was done, and
//! nothing is left of them.

use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, First};
use scenario::recording::{Kind, Run};
use study::{Study, recording};

use super::{boot, debian, disk};

/// 1000 reads of 8 KiB and 200 writes of 4 KiB with an `fsync`, of files that nothing else uses;
/// one of them is cut, another removed. A tunable is written once, and once the kernel refuses that.
const RECORD: &str = "\
mkdir -p /data; mount /dev/pda /data || exit 1
head -c 8192000 /dev/urandom > /data/read; echo > /data/gone; sync
plimsoll record --for 1h -o /plimsoll/load.rec > /plimsoll/said 2>&1 & recorder=$!
until grep -qs '^recording' /plimsoll/said; do sleep 0.1; done
dd if=/data/read of=/dev/null bs=8192 status=none
dd if=/dev/zero of=/data/written bs=4096 count=200 conv=fsync status=none
truncate -s 4096 /data/written; cat /data/gone; rm /data/gone
echo 55 > /proc/sys/vm/swappiness; echo 300 2> /dev/null > /proc/sys/vm/swappiness; sleep 1
kill -INT $recorder; wait $recorder; echo ended by $?; cat /plimsoll/said
";

/// A recorder that is killed leaves no program behind, and a file that is whole. The kernel frees
/// those of the first one some time after it ended.
const KILLED: &str = "\
programs() { grep -c bpf_prog_alloc /proc/vmallocinfo; }
sleep 5; echo $(programs) programs
plimsoll record --for 1h -o /plimsoll/killed.rec > /plimsoll/says 2>&1 & recorder=$!
until grep -qs '^recording' /plimsoll/says; do sleep 0.1; done
echo $(programs) programs; dd if=/data/read of=/dev/null bs=8192 status=none; sleep 11
kill -9 $recorder; wait $recorder 2> /dev/null; sleep 1; echo $(programs) programs
plimsoll predict /plimsoll/killed.rec --arm none 2>&1 | head -1
plimsoll record -o /plimsoll/killed.rec 2>&1
setpriv --reuid=65534 --regid=65534 --clear-groups plimsoll record -o /tmp/x.rec 2>&1
";

#[test]
fn a_recording_on_a_stock_kernel_has_what_tasks_did() {
    for release in [Release::Debian12, Release::Debian13] {
        let Some(machine) = debian(release) else {
            return;
        };
        let directory = tempfile::tempdir().unwrap();
        let disk = disk(&machine, directory.path());
        let order = Boot::new(First::Shell)
            .scratch_disk(&disk)
            .command(RECORD)
            .command("base64 /plimsoll/load.rec")
            .command(KILLED);
        let answers = boot(&machine, &order).answers;
        let [said, file, killed] = &answers[..] else {
            panic!("three commands answer");
        };
        check(&said.output, &decoded(&file.output));
        println!("{}", killed.output);
        let lines: Vec<&str> = killed.output.lines().collect();
        assert!(lines[0] != lines[1], "its programs are there: {lines:?}");
        assert_eq!(lines[2], lines[0], "and gone");
        assert!(lines[3].contains("has no arm `none`"), "{lines:?}");
        assert!(lines[4].contains("is there already"), "{lines:?}");
        assert!(lines[5].contains("root only"), "{lines:?}");
    }
}

fn check(said: &str, file: &[u8]) {
    println!("{said}");
    assert!(said.contains("ended by 0"), "{said}");
    assert!(said.contains("filemap_read, "), "{said}");
    assert!(said.contains(" 0 lost, 0 passed over"), "{said}");
    let (text, recording) = recording::read(file).expect("a recording");
    let study = Study::parse_with(&text, "load.rec", recording).expect("a study");
    let writers = &study
        .observed
        .as_ref()
        .expect("how it was recorded")
        .writers;
    let written = writers.iter().map(|it| (it.tunable.as_str(), it.times));
    let written: Vec<(&str, u64)> = written.collect();
    assert_eq!(
        written,
        [("vm.swappiness", 1)],
        "300 is refused: {writers:?}"
    );
    assert!(said.contains("vm.swappiness was written by "), "{said}");
    let streams = &study.recorded.recorded.streams;
    let runs: Vec<Run> = streams.iter().flat_map(|stream| stream.iter()).collect();
    // It was written before the recording began, and is cached since.
    let mut cached = streams[0].iter();
    assert!(
        cached.any(|run| (run.offset, run.length) == (0, 8_192_000)),
        "the file was cached"
    );
    let of = |kind, length| {
        let these = runs
            .iter()
            .filter(|run| run.kind == kind && run.length == length);
        these.count()
    };
    assert_eq!(of(Kind::Read, 8192), 1000);
    assert_eq!(of(Kind::Write, 4096), 200);
    let has = |kind, offset| {
        runs.iter()
            .any(|run| run.kind == kind && run.offset == offset)
    };
    assert!(has(Kind::Sync, 0), "fsync");
    assert!(has(Kind::Truncate, 4096), "it is cut");
    assert!(has(Kind::Truncate, 0), "it is removed");
}

/// Base64, as the command of that name writes it.
pub(super) fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |byte: &u8| LETTERS.iter().position(|letter| letter == byte);
    let bits: Vec<u32> = text
        .bytes()
        .filter_map(|byte| Some(value(&byte)? as u32))
        .collect();
    let groups = bits.chunks(4).flat_map(|group| {
        let whole = group.iter().fold(0, |sum, six| sum << 6 | six) << (6 * (4 - group.len()));
        let bytes = [whole >> 16, whole >> 8, whole].map(|byte| byte as u8);
        bytes
            .into_iter()
            .take(group.len() * 3 / 4)
            .collect::<Vec<u8>>()
    });
    groups.collect()
}
