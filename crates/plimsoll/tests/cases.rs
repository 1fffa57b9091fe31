//! Published evidence (`fixtures/cases`): what `inspect` says of each is what is right, and it says
//! nothing that its input does not hold.

use std::path::Path;
use std::process::Command;

/// What `inspect` shows of a case, each run of white space as one blank, and its exit code with
/// `--check`.
fn inspect(case: &str) -> (String, Option<i32>) {
    let run = |arguments: &[&str]| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases");
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(["inspect", "--charset", "ascii", "--from"])
            .arg(folder.join(case).join("capture.txt"))
            .args(arguments)
            .env("COLUMNS", "80");
        command.output().expect("the binary runs")
    };
    let text = String::from_utf8(run(&[]).stdout).expect("UTF-8");
    let words: Vec<&str> = text.split_whitespace().collect();
    (words.join(" "), run(&["--check"]).status.code())
}

fn assert_says(text: &str, sentences: &[&str]) {
    for sentence in sentences {
        assert!(text.contains(sentence), "no \"{sentence}\" in:\n{text}");
    }
}

fn assert_never_says(text: &str, sentences: &[&str]) {
    for sentence in sentences {
        assert!(!text.contains(sentence), "\"{sentence}\" in:\n{text}");
    }
}

#[test]
fn c01_the_item_without_a_name_is_a_term_and_four_pages_moved() {
    let (text, _) = inspect("01-nameless-node-stat");
    let said = [
        "Normal (node 0): free",
        "DMA32 (node 0): free",
        "+ reclaimed indirectly 524",
        "MemAvailable 487524 487520",
        "Memory moved while the files were read",
        "dirty threshold 99303 99302",
    ];
    assert_says(&text, &said);
    assert_never_says(&text, &["not understood"]);
}

#[test]
fn c02_without_managed_every_number_is_equal_and_available_is_our_estimate() {
    let (text, code) = inspect("02-zoneinfo-3.2-no-managed");
    let said = [
        "14 of 14 numbers equal the kernel's to the page",
        "Available memory by our own estimate",
        "This kernel prints no MemAvailable, which came with Linux 3.14.",
        "classic: the multi-generation LRU came with Linux 6.1",
    ];
    assert_says(&text, &said);
    assert_eq!(code, Some(0));
}

#[test]
fn c03_high_memory_has_its_load_line() {
    let (text, code) = inspect("03-zoneinfo-3.4-highmem");
    let said = [
        "HighMem (node 0): free 52.5 MiB of 504 MiB, above high",
        "Normal (node 0): free 149 MiB of 474 MiB, above high",
        "To requests that can use a higher zone each mark is 15.7 MiB higher.",
        "2 of 2 numbers equal the kernel's to the page",
        "node 0: every zone is above high; kswapd sleeps",
    ];
    assert_says(&text, &said);
    assert_eq!(code, Some(0));
}

#[test]
fn c04_nothing_moved_on_4_1() {
    let (text, code) = inspect("04-available-by-low-marks-4.1");
    let said = [
        "7 of 7 numbers equal the kernel's to the page",
        "- low marks 1528",
        "= available 40016",
    ];
    assert_says(&text, &said);
    assert_never_says(&text, &["Memory moved"]);
    assert_eq!(code, Some(0));
}

#[test]
fn c05_the_boost_is_named() {
    let (text, _) = inspect("05-hidden-boost");
    let said = [
        "The marks are boosted by 13312 pages (52 MiB), which this kernel does not print. Without \
         the boost they are 6198, 7747 and 9296 pages.",
        "boosted by 512 pages (2 MiB), which this kernel does not print. Without the boost they are \
         10664, 13330 and 15996 pages.",
        "when, by the lowmem reserves, DMA32 (node 0) managed about 6200 pages and Normal (node 0) \
         about 1600 pages less, as at boot",
        "the min marks add up to vm.min_free_kbytes all the same",
    ];
    assert_says(&text, &said);
    assert_never_says(&text, &["patch", "anew"]);
}

#[test]
fn c06_cma_does_not_stand_against_the_marks_and_the_node_is_balanced() {
    let (text, code) = inspect("06-free-pages-are-cma");
    let said = [
        "HighMem (node 0): free 246 MiB of 1.4 GiB, of it 243 MiB CMA: 2.6 MiB against the marks, \
         below low",
        "node 0: balanced by DMA; kswapd sleeps",
        "the watermarks: equal with vm.extra_free_kbytes = 23912 of Android",
        "vm.min_free_kbytes 16384 spread over the zones",
    ];
    assert_says(&text, &said);
    assert_never_says(&text, &["kswapd reclaims"]);
    assert_eq!(code, Some(0));
}

#[test]
fn c07_the_reserve_of_5_10_17_is_equal_by_its_own_rule() {
    let (text, code) = inspect("07-lowmem-reserve-5.10");
    assert_says(&text, &["8 of 8 numbers equal the kernel's to the page"]);
    assert_never_says(&text, &["managed other pages"]);
    assert_eq!(code, Some(0));
}

#[test]
fn c08_reading_the_ratios_is_said_to_make_the_reserves_again() {
    let (text, _) = inspect("08-reading-remakes-the-reserve");
    let said = [
        "lowmem reserve of DMA (node 0) 2962 2874",
        "Writing vm.lowmem_reserve_ratio to itself makes them again; reading it, as sysctl -a does, \
         is enough.",
        "when DMA32 (node 0) managed 22394 pages (87.4 MiB) less, as at boot",
    ];
    assert_says(&text, &said);
    assert_never_says(&text, &["anew"]);
}

#[test]
fn c09_the_pool_of_huge_pages_is_not_a_driver_s() {
    let (text, _) = inspect("09-other-is-the-hugetlb-pool");
    let said = [
        "hugetlb pools 39 GiB",
        "reserved, of it 8.7 GiB idle",
        "other 515 MiB",
    ];
    assert_says(&text, &said);
}

#[test]
fn c12_khugepaged_chose_the_value() {
    let (text, code) = inspect("12-khugepaged-and-its-cap");
    assert_says(
        &text,
        &["vm.min_free_kbytes 23596 what khugepaged asks for"],
    );
    assert_eq!(code, Some(0));
}

#[test]
fn c13_a_zone_below_low_in_a_balanced_node_wakes_nobody() {
    let (text, _) = inspect("13-kswapd-is-per-node");
    let said = [
        "Normal (node 0): free 34.5 MiB of 2.1 GiB, below low",
        "node 0: balanced by DMA32; kswapd sleeps",
    ];
    assert_says(&text, &said);
    assert_never_says(&text, &["kswapd reclaims", "Linux (unknown),"]);
}

#[test]
fn c14_from_a_part_only_what_it_holds_is_concluded() {
    let (text, _) = inspect("14-partial-pastes");
    let said = [
        "4 KiB pages, assumed",
        "the rest 5.7 GiB",
        "not told: AnonPages, Slab, SReclaimable, PageTables are missing",
        "Normal (node 0): free 83.3 MiB of 6.8 GiB, below high",
        "node 0: not all of its zones are here, so what kswapd does is not known",
        "not in this capture: nothing below /sys/kernel/mm was given",
    ];
    assert_says(&text, &said);
    let never = [
        "drivers",
        "in no zone yet",
        "classic",
        "goes to swap",
        "kswapd reclaims",
        "goes on",
    ];
    assert_never_says(&text, &never);
}
