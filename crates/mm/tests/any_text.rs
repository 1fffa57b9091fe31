//! Whatever the text, no parser panics; what was written is read back as it was.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_mm::capture::{Capture, Frame};
use plimsoll_mm::catalogue;
use plimsoll_mm::choice::Choice;
use plimsoll_mm::formula::throttle::{HZ, Outlook, Writer, position};
use plimsoll_mm::hierarchy::Protection;
use plimsoll_mm::maps;
use plimsoll_mm::notes::FACTS;
use plimsoll_mm::pagemap;
use plimsoll_mm::process::{self, KsmStat};
use plimsoll_mm::settings::Setting;
use plimsoll_mm::snapshot::Snapshot;
use plimsoll_mm::suggest;
use plimsoll_mm::trace::{self, Event};
use plimsoll_mm::units::{Bytes, Nanos};
use plimsoll_mm::zoneinfo::MOST_ERRORS;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Every path that a snapshot gives to a parser of its own.
const PATHS: [&str; 37] = [
    "proc/meminfo",
    "proc/vmstat",
    "proc/zoneinfo",
    "proc/buddyinfo",
    "proc/pagetypeinfo",
    "proc/swaps",
    "proc/sys/fs/inode-nr",
    "proc/diskstats",
    "proc/stat",
    "proc/pressure/memory",
    "proc/sys/kernel/osrelease",
    "proc/sys/vm/min_free_kbytes",
    "proc/sys/vm/watermark_scale_factor",
    "proc/sys/vm/lowmem_reserve_ratio",
    "proc/sys/vm/dirty_ratio",
    "proc/sys/vm/dirty_background_bytes",
    "sys/kernel/mm/lru_gen/enabled",
    "sys/kernel/mm/lru_gen/min_ttl_ms",
    "sys/kernel/debug/lru_gen",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan",
    "sys/kernel/mm/ksm/general_profit",
    "sys/kernel/mm/ksm/pages_sharing",
    "proc/guest.1/ksm_stat",
    "proc/guest.1/ksm_merging_pages",
    "sys/fs/cgroup/a/memory.stat",
    "sys/fs/cgroup/a/memory.max",
    "sys/fs/cgroup/a/memory.low",
    "sys/fs/cgroup/a/b/memory.low",
    "sys/fs/cgroup/a/b/memory.current",
    "sys/fs/cgroup/memory/a/memory.oom_control",
    "sys/block/zram0/mm_stat",
    "sys/block/vda/bdi/max_ratio",
    "sys/class/bdi/0:52/max_bytes",
    "sys/kernel/debug/bdi/254:0/stats",
    "dev/kmsg",
    FACTS,
];

/// The files of a real machine, to be damaged.
fn real_files() -> Vec<(String, String)> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/hosts/vm-24gib-6.18/capture.txt"
    );
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    let capture = Capture::parse(&text).expect("a capture");
    capture.frames[0].files.clone().into_iter().collect()
}

/// A real kernel's trace of dirty throttling, to be damaged.
fn real_trace() -> String {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/throttle/vm-512mib-6.12/group-updates.txt"
    );
    std::fs::read_to_string(path).expect("the fixture is there")
}

/// The line of a trace that says most of the throttling controller, with these numbers.
fn update_line(numbers: &[u64; 29]) -> String {
    let names = "ratelimit dirty thresh bg_thresh wb_dirty wb_thresh wb_bg_thresh limit awrite_bw \
                 pos_ratio now stamp dirtied_stamp written_stamp dirtied written write_bw \
                 dirty_ratelimit balanced limit_stamp g_dirty g_thresh g_bg_thresh g_wb_dirty \
                 g_wb_thresh g_wb_bg_thresh g_pos_ratio g_limit g_limit_stamp";
    let words = names.split(' ').zip(numbers);
    let fields = words.map(|(name, number)| format!(" {name}={number}"));
    "a-1 [000] 1.000000: update: (f)".to_owned() + &fields.collect::<String>()
}

/// Words that kernel files are made of, and some that they never hold.
fn kernel_like() -> impl Strategy<Value = String> {
    let words = [
        "Node 0, zone DMA",
        "Node 1, zone Normal\n",
        "per-node stats",
        "pages free",
        "managed",
        "protection: (0, 1)",
        "pagesets",
        "cpu: 0",
        "count:",
        "MemTotal:",
        "kB",
        "some avg10=1.00 avg60=0.00 avg300=0.00 total=5",
        "memcg 1 /",
        "BdiWriteBandwidth:",
        "kBps\n",
        "node 0",
        "[always] never",
        "cpu",
        "0",
        "18446744073709551615",
        "18446744073709551616",
        "-1",
        "max",
        "0x0007",
        "é",
        "\r",
        "\n",
        "\n",
        " ",
        ":",
    ];
    let word = prop_oneof![select(words.to_vec()).prop_map(String::from), ".{0,6}"];
    vec((word, select(vec![" ", "\n", "", "\t"])), 0..60)
        .prop_map(|parts| parts.into_iter().map(|(word, gap)| word + gap).collect())
}

/// Words that the files of a process are made of.
fn process_like() -> impl Strategy<Value = String> {
    let words = [
        "7f0000000000-7f0040000000",
        "1-2",
        "-",
        "rw-p",
        "rw-s",
        "00000000",
        "00:00",
        "[heap]",
        "/dev/hugepages/a",
        "hugetlbfs",
        "Name:",
        "State:",
        "RssAnon:",
        "kB",
        "ksm_merging_pages",
        "ksm_merge_any:",
        "yes",
        "18446744073709551616",
        "-1",
        "0",
        "é",
    ];
    let word = prop_oneof![select(words.to_vec()).prop_map(String::from), ".{0,6}"];
    vec((word, select(vec![" ", " ", "\n", "", "\t"])), 0..40)
        .prop_map(|parts| parts.into_iter().map(|(word, gap)| word + gap).collect())
}

fn parse_all(files: BTreeMap<String, String>) -> Snapshot {
    let frame = Frame {
        files,
        ..Frame::default()
    };
    let snapshot = Snapshot::parse(&frame);
    let _ = snapshot.watermarks();
    let _ = snapshot.protection();
    let _ = snapshot.available();
    let _ = snapshot.thresholds();
    let _ = snapshot.contradictions();
    let _ = snapshot.nodes();
    let _ = snapshot.min_free_chooser();
    let _ = snapshot.scan_inputs(0, 12).map(|pass| pass.balance());
    let tree = snapshot.hierarchy();
    for group in snapshot.memcgs.keys() {
        for protection in Protection::ALL {
            let held = tree.held(group, protection);
            assert!(held.is_none_or(|held| held.setting > Bytes::ZERO));
        }
        let _ = tree.tighter_max(group);
    }
    snapshot
}

/// A label or a name: one line without tabs, as the formats demand.
/// A path or label of somebody who knows how a capture is written.
fn name() -> impl Strategy<Value = String> {
    let words = [
        "\n",
        "\r\n",
        "\0",
        "\\",
        "\\u000a",
        "\\u005c",
        "u000a",
        "000a",
        "= ",
        "\n= proc/meminfo 3\n",
        "@ 5",
        "\n@ 5 x\n",
        " 12",
        " ",
        "/",
        "proc/meminfo",
        "\u{85}",
        "\u{2028}",
        "é",
    ];
    let word = prop_oneof![select(words.to_vec()).prop_map(String::from), ".{0,3}"];
    vec(word, 0..8).prop_map(|words| words.concat())
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let files = btree_map(name(), any::<String>(), 0..4);
    let label = option::of(name().prop_filter("none", |label| !label.is_empty()));
    let frame = (any::<u64>(), label, files).prop_map(|(at, label, files)| Frame {
        at: Nanos(at),
        label,
        files,
    });
    vec(frame, 0..4)
}

proptest! {
    #[test]
    fn no_parser_panics(text in kernel_like()) {
        let files = PATHS.map(|path| (path.to_owned(), text.clone()));
        let snapshot = parse_all(files.into());
        for error in snapshot.errors {
            let message = error.to_string();
            prop_assert!(!message.contains('\n'), "{message:?} is one line");
            prop_assert!(message.starts_with(&error.file));
        }
    }

    #[test]
    fn files_of_a_process_are_read_or_refused_with_their_line(text in process_like()) {
        let errors = [
            maps::parse("f", &text).err(),
            process::Status::parse("f", &text).err(),
            KsmStat::parse("f", &text).err(),
        ];
        for error in errors.into_iter().flatten() {
            prop_assert!(!error.to_string().contains('\n'), "{error}");
            prop_assert!(text.lines().count() >= error.line, "{error}");
        }
        for mapping in maps::parse("f", &text).into_iter().flatten() {
            prop_assert!(mapping.start < mapping.end);
            let _ = mapping.may_merge(&maps::hugetlb_mounts(&text));
        }
    }

    #[test]
    fn a_page_is_anonymous_or_swapped_or_neither(bytes in vec(any::<u8>(), 0..64)) {
        let entries: Vec<pagemap::Entry> = pagemap::entries(&bytes).collect();
        prop_assert_eq!(entries.len(), bytes.len() / pagemap::ENTRY);
        for entry in entries {
            prop_assert!(!(entry.is_anonymous() && entry.is_swapped()));
            prop_assert!(entry.frame() != Some(0));
        }
    }

    #[test]
    fn damaged_files_of_a_real_machine_are_read_or_refused(
        file in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        insert in kernel_like(),
    ) {
        let mut files = real_files();
        let (_, text) = file.get_mut(&mut files);
        let cut = text.char_indices().nth(cut.index(text.chars().count().max(1)));
        let at = cut.map_or(0, |(at, _)| at);
        text.insert_str(at, &insert);
        let snapshot = parse_all(files.into_iter().collect());
        prop_assert!(snapshot.errors.len() <= MOST_ERRORS, "of one damaged file a few lines");
        let files: BTreeSet<_> = snapshot.errors.iter().map(|error| &error.file).collect();
        prop_assert!(files.len() <= 1, "no other file is lost");
    }

    #[test]
    fn a_damaged_trace_is_read_or_refused_with_its_line(
        cut in any::<prop::sample::Index>(),
        insert in kernel_like(),
    ) {
        let mut text = real_trace();
        let at = cut.index(text.len());
        text.insert_str(at, &insert);
        let line = text[..at].matches('\n').count() + 1;
        let last = line + insert.matches('\n').count();
        if let Err(error) = trace::parse("trace", &text) {
            prop_assert!((line..=last).contains(&error.line), "{error}");
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn the_throttling_controller_takes_any_numbers(numbers in any::<[u64; 29]>(), small in 0..64_u32) {
        let text = update_line(&numbers.map(|number| number >> small));
        let entries = trace::parse("trace", &text).expect("numbers");
        let Event::Update(update) = &entries[0].event else {
            panic!("{text}");
        };
        for view in [Some(update.machine), update.group].into_iter().flatten() {
            let position = position::ratio(&view.domain, &view.device);
            let mut pace = update.pace;
            pace.balance(update.now, update.counts, &view.domain, &view.device, position);
            prop_assert!(pace.ratelimit.base > 0 && pace.bandwidth.average > 0);
            let outlook = Outlook { ratelimit: pace.ratelimit, position, device: view.device };
            let pause = Writer::default().throttle(update.now, view.domain.dirty, &outlook);
            prop_assert!(pause.sleep <= HZ / 5, "{pause:?}");
        }
    }

    #[test]
    fn the_capture_reader_takes_any_text(text in any::<String>(), head in any::<bool>()) {
        let magic = if head { "plimsoll-capture 1\n" } else { "" };
        if let Err(error) = Capture::parse(&format!("{magic}{text}")) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn a_capture_is_read_as_it_was_written(frames in frames()) {
        let capture = Capture { frames };
        prop_assert_eq!(Capture::parse(&capture.to_text()), Ok(capture));
    }

    #[test]
    fn no_name_adds_a_frame_or_a_file(path in name(), label in name()) {
        let meminfo = ("proc/meminfo".to_owned(), "MemTotal: 80 kB\n".to_owned());
        let files = [(format!("a/{path}"), "text\n".to_owned()), meminfo].into();
        let label = Some(format!("a{label}"));
        let capture = Capture { frames: vec![Frame { files, label, ..Frame::default() }] };
        let recovered = Capture::recover(&capture.to_text()).expect("a capture");
        prop_assert_eq!(recovered.faults, vec![]);
        prop_assert_eq!(recovered.capture, capture);
    }

    #[test]
    fn a_capture_that_was_cut_off_is_refused_or_a_beginning(frames in frames(), cut in any::<prop::sample::Index>()) {
        let text = Capture { frames: frames.clone() }.to_text();
        let mut at = cut.index(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        if let Ok(read) = Capture::parse(&text[..at]) {
            prop_assert!(read.frames.len() <= frames.len());
        }
    }

    #[test]
    fn any_setting_is_taken_or_refused_in_one_line(tunable in any::<String>(), value in any::<String>()) {
        let setting = Setting { tunable, value };
        if let Err(error) = catalogue::check(&setting) {
            prop_assert!(!error.to_string().contains(['\n', '\r']));
        }
        for tunable in catalogue::all() {
            let read = tunable.value_in(&setting.value);
            prop_assert!(tunable.means_same(&read, &read));
        }
    }

    #[test]
    fn a_distance_is_a_distance(a in "[ab]{0,6}", b in "[ab]{0,6}") {
        prop_assert_eq!(suggest::distance(&a, &b), suggest::distance(&b, &a));
        prop_assert_eq!(suggest::distance(&a, &b) == 0, a == b);
        prop_assert!(suggest::distance(&a, &b) <= a.len().max(b.len()));
    }

    #[test]
    fn any_choice_is_read_or_refused(text in "[a\\[\\] ]{0,12}") {
        if let Ok(choice) = Choice::parse("f", &text) {
            prop_assert_eq!(choice.options().filter(|option| *option == choice.chosen()).count() >= 1, true);
        }
    }
}
