//! Whatever the text, no parser panics; what was written is read back as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

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
use testkit::damage::Examples;
use testkit::words::texts;

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
static REAL: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut capture = testkit::capture("fixtures/hosts/vm-24gib-6.18/capture.txt");
    capture.frames.swap_remove(0).files
});

/// A real kernel's trace of dirty throttling, to be damaged.
static TRACE: LazyLock<String> =
    LazyLock::new(|| testkit::text("fixtures/throttle/vm-512mib-6.12/group-updates.txt"));

/// The lines in which a text differs from what it was: the first and the last of them.
fn changed_lines(was: &str, text: &str) -> std::ops::RangeInclusive<usize> {
    let same = |(one, other): &(&str, &str)| one == other;
    let first = was.lines().zip(text.lines()).take_while(same).count() + 1;
    let ends = was.lines().rev().zip(text.lines().rev());
    let last = text.lines().count() - ends.take_while(same).count();
    first..=last.max(first)
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

/// A path or label of somebody who knows how a capture is written.
fn name() -> impl Strategy<Value = String> {
    texts("captures")
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
    fn no_parser_panics(text in texts("kernel files")) {
        let files = PATHS.map(|path| (path.to_owned(), text.clone()));
        let snapshot = parse_all(files.into());
        for error in snapshot.errors {
            let message = error.to_string();
            prop_assert!(!message.contains('\n'), "{message:?} is one line");
            prop_assert!(message.starts_with(&error.file));
        }
    }

    #[test]
    fn files_of_a_process_are_read_or_refused_with_their_line(text in texts("files of a process")) {
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
        damaged in Examples::of("kernel files", REAL.values().map(String::as_str)).damaged(),
    ) {
        let mut files = REAL.clone();
        let text = files.values_mut().nth(damaged.example).expect("a file");
        *text = damaged.text();
        let snapshot = parse_all(files);
        prop_assert!(snapshot.errors.len() <= MOST_ERRORS, "of one damaged file a few lines");
        let files: BTreeSet<_> = snapshot.errors.iter().map(|error| &error.file).collect();
        prop_assert!(files.len() <= 1, "no other file is lost");
    }

    #[test]
    fn a_damaged_trace_is_read_or_refused_with_its_line(
        damaged in Examples::of("kernel files", [TRACE.as_str()]).damaged(),
    ) {
        let text = damaged.text();
        if let Err(error) = trace::parse("trace", &text) {
            prop_assert!(changed_lines(&TRACE, &text).contains(&error.line), "{error}");
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
        let at = text.floor_char_boundary(cut.index(text.len() + 1));
        if let Ok(read) = Capture::parse(&text[..at]) {
            prop_assert!(read.frames.len() <= frames.len());
        }
    }

    #[test]
    fn a_damaged_capture_is_read_or_refused_in_one_line(
        damaged in frames().prop_flat_map(|frames| {
            Examples::of("captures", [Capture { frames }.to_text()]).damaged()
        }),
    ) {
        let text = damaged.text();
        if let Err(error) = Capture::parse(&text) {
            prop_assert!(!error.to_string().contains('\n'));
        }
        let faults = Capture::recover(&text).map(|it| it.faults).unwrap_or_default();
        prop_assert!(faults.iter().all(|fault| !fault.to_string().contains('\n')), "{faults:?}");
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
