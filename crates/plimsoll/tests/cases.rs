//! Published evidence (`fixtures/cases`): what `inspect` says of each is what is right, and it says
//! nothing that its input does not hold.

use std::process::Command;

/// What `inspect` shows of a case, each run of white space as one blank, and its exit code with
/// `--check`.
fn inspect(case: &str) -> (String, Option<i32>) {
    let run = |arguments: &[&str]| {
        let folder = testkit::checkout("fixtures/cases");
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(["inspect", "--all", "--charset", "ascii", "--from"])
            .arg(folder.join(case).join("capture.txt"))
            .args(arguments)
            .env("COLUMNS", "80");
        command.output().expect("the binary runs")
    };
    let text = String::from_utf8(run(&[]).stdout).expect("UTF-8");
    let words: Vec<&str> = text.split_whitespace().collect();
    (words.join(" "), run(&["--check"]).status.code())
}

/// What `inspect` shows of these files.
fn inspect_files(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.txt");
    let mut capture = "plimsoll-capture 1\n@ 0\n".to_owned();
    for (file, text) in files {
        capture.push_str(&format!("= {file} {}\n{text}\n", text.len()));
    }
    std::fs::write(&path, capture).expect("a capture");
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["inspect", "--all", "--charset", "ascii", "--from"]);
    let output = command.arg(&path).env("COLUMNS", "120").output();
    let text = String::from_utf8(output.expect("the binary runs").stdout).expect("UTF-8");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// 8 GiB of which 4 GiB are free and 3 GiB in no part.
const MEMINFO: &str = "MemTotal: 8388608 kB\nMemFree: 4194304 kB\nBuffers: 0 kB\nCached: 524288 kB\n\
    SwapCached: 0 kB\nActive(anon): 524288 kB\nInactive(anon): 0 kB\nActive(file): 262144 kB\n\
    Inactive(file): 262144 kB\nAnonPages: 524288 kB\nShmem: 0 kB\nSlab: 0 kB\n\
    SReclaimable: 0 kB\nSUnreclaim: 0 kB\nPageTables: 0 kB\nSwapTotal: 0 kB\n\
    VmallocUsed: 1 kB\n";

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
        "other 21.6 MiB",
        "drivers, vmalloc (told as address space) and the rest",
    ];
    assert_says(&text, &said);
    assert_never_says(&text, &["Memory moved", "vmalloc, at most"]);
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
        "when DMA32 (node 0) managed about 6300 pages and Normal (node 0) about 1600 pages less, as \
         at boot",
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
        "So they stay until vm.lowmem_reserve_ratio is read, as by sysctl -a, or written; inspect \
         does not read it.",
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
        "vmalloc, at most 501 MiB",
        "address space, devices among it",
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

#[test]
fn what_no_line_of_meminfo_has_is_looked_for_before_drivers_are_blamed() {
    let plain = inspect_files(&[("proc/meminfo", MEMINFO)]);
    assert_says(&plain, &["other 2.9 GiB", "drivers and the rest"]);
    let zspages = inspect_files(&[
        ("proc/meminfo", MEMINFO),
        ("proc/vmstat", "nr_zspages 524288\n"),
    ]);
    assert_says(
        &zspages,
        &["zsmalloc 2 GiB", "zram and zswap", "other 1023 MiB"],
    );
    let more = MEMINFO.replace("Active(anon): 524288", "Active(anon): 2621440");
    let unmapped = inspect_files(&[("proc/meminfo", &more)]);
    let said = [
        "anonymous, not mapped 2 GiB",
        "on the lists, nothing maps it",
    ];
    assert_says(&unmapped, &said);
    let cma = MEMINFO.to_owned() + "CmaTotal: 1048576 kB\nCmaFree: 524288 kB\n";
    let cma = inspect_files(&[("proc/meminfo", &cma)]);
    let said = [
        "of it 512 MiB CMA, for movable pages only",
        "drivers, CMA in use by devices and the rest",
    ];
    assert_says(&cma, &said);
    let old = MEMINFO.replace("VmallocUsed: 1 kB", "VmallocUsed: 0 kB");
    let release = ("proc/sys/kernel/osrelease", "4.19.0-27-amd64\n");
    let old = inspect_files(&[("proc/meminfo", &old), release]);
    assert_says(&old, &["drivers, vmalloc (told as 0) and the rest"]);
}

#[test]
fn pools_of_other_sizes_count_where_meminfo_has_no_sum() {
    let release = ("proc/sys/kernel/osrelease", "3.10.0-1160.el7.x86_64\n");
    let meminfo =
        MEMINFO.to_owned() + "HugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n";
    let pool = "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages";
    let text = inspect_files(&[("proc/meminfo", &meminfo), (pool, "2\n"), release]);
    assert_says(&text, &["hugetlb pools 2 GiB", "other 1023 MiB"]);
}

#[test]
fn marks_of_two_nodes_are_of_fewer_pages_in_two_zones() {
    let fixtures = testkit::checkout("fixtures/kernels");
    let booted = fixtures.join("vm-2-nodes-5.10/booted.txt");
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = command
        .args(["inspect", "--all", "--charset", "ascii"])
        .arg(booted)
        .output();
    let text = String::from_utf8(output.expect("the binary runs").stdout).expect("UTF-8");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "when DMA32 (node 1) managed about 15100 pages and DMA32 (node 0) about 1900 pages \
                less, as at boot";
    assert_says(&text, &[said]);
    assert_never_says(&text, &["patch"]);
}

#[test]
fn idle_huge_pages_count_in_pools_of_all_sizes_and_without_the_rest_of_meminfo() {
    let grep = "HugePages_Total: 16000\nHugePages_Free: 15000\nHugePages_Rsvd: 2000\n\
                Hugepagesize: 2048 kB\n";
    let text = inspect_files(&[("proc/meminfo", grep)]);
    assert_says(
        &text,
        &["25.3 GiB lies idle in the pool of huge pages: 13000 pages"],
    );
    let meminfo = MEMINFO.to_owned()
        + "HugePages_Total: 0\nHugePages_Free: 0\n\
                                        HugePages_Rsvd: 0\nHugepagesize: 2048 kB\n";
    let pool = |file: &str| format!("sys/kernel/mm/hugepages/hugepages-1048576kB/{file}");
    let (all, free) = (pool("nr_hugepages"), pool("free_hugepages"));
    let files = [
        ("proc/meminfo", meminfo.as_str()),
        (&all, "2\n"),
        (&free, "1\n"),
    ];
    assert_says(
        &inspect_files(&files),
        &["1 GiB (12%) lies idle in the pool of huge pages"],
    );
}

#[test]
fn nothing_is_wrong_is_said_only_of_what_was_looked_at() {
    let wrong = "Nothing was found. Looked for: ";
    let told = MEMINFO.replace("MemFree: 4194304", "MemFree: 7340032") + "SwapFree: 0 kB\n";
    let text = inspect_files(&[("proc/meminfo", &told)]);
    assert_says(&text, &[wrong, "swap-full", "Not in this evidence: "]);
    let text = inspect_files(&[("sys/kernel/mm/lru_gen/enabled", "0x0007\n")]);
    assert_says(&text, &["None of the files that a diagnosis looks at"]);
    assert_never_says(&text, &[wrong]);
    let impossible = MEMINFO.to_owned() + "MemAvailable: 9000000 kB\n";
    let text = inspect_files(&[("proc/meminfo", &impossible)]);
    assert_never_says(&text, &[wrong]);
}

#[test]
fn what_zram_holds_is_zsmalloc_where_vmstat_does_not_say() {
    let stat = (
        "sys/block/zram0/mm_stat",
        "9 8 1073741824 0 1073741824 0 0 0\n",
    );
    let text = inspect_files(&[("proc/meminfo", MEMINFO), stat]);
    assert_says(&text, &["zsmalloc 1 GiB", "zram and zswap"]);
}

#[test]
fn of_files_that_a_paste_leaves_out_nothing_is_concluded() {
    let pool = (
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
        "0\n",
    );
    let text = inspect_files(&[("proc/meminfo", MEMINFO), pool]);
    assert_says(&text, &["nothing below /sys/kernel/mm/lru_gen was given"]);
    assert_never_says(&text, &["this kernel has no multi-generation LRU"]);
}

#[test]
fn memory_of_devices_has_no_load_line_and_a_zone_below_min_is_not_all_of_its_node() {
    let zone = |name: &str, free: u64, managed: u64| {
        format!(
            "Node 0, zone {name}\n  pages free {free}\n        min 100\n        low 125\n        \
             high 150\n        spanned 90000\n        present 90000\n        managed {managed}\n        \
             protection: (0, 0, 0)\n"
        )
    };
    let device = zone("Device", 0, 0);
    let served = zone("DMA32", 50_000, 90_000) + &zone("Normal", 50, 90_000) + &device;
    let text = inspect_files(&[("proc/zoneinfo", &served)]);
    assert_says(
        &text,
        &["Normal (node 0): free 200 KiB of 351 MiB, below min"],
    );
    assert_never_says(&text, &["Device (node 0)", "reclaims"]);
    let short = zone("DMA32", 60, 90_000) + &zone("Normal", 50, 90_000) + &device;
    let text = inspect_files(&[("proc/zoneinfo", &short)]);
    assert_says(
        &text,
        &["kswapd reclaims, and so does what allocates there"],
    );
}

/// One zone of 8 GiB on a kernel of 5.4.
fn zoneinfo(managed: u64) -> String {
    format!(
        "Node 0, zone Normal\n  per-node stats\n      nr_inactive_file 65536\n  pages free 1048576\n        \
         min 11000\n        low 13750\n        high 16500\n        spanned {managed}\n        \
         present {managed}\n        managed {managed}\n        protection: (0, 0)\n"
    )
}

#[test]
fn a_container_s_view_beside_its_host_s_zones_is_said_before_anything_else() {
    let text = inspect_files(&[
        ("proc/meminfo", MEMINFO),
        ("proc/zoneinfo", &zoneinfo(8 << 20)),
    ]);
    let said = "This evidence contradicts itself: what follows may be wrong MemTotal is 8 GiB, but \
                the zones hold 32 GiB";
    assert_says(&text, &[said, "Inside a container lxcfs makes meminfo"]);
    let at = |words: &str| text.find(words).expect("the section");
    assert!(
        at("contradicts itself") < at("Memory at a glance"),
        "{text}"
    );
    let available = MEMINFO.to_owned() + "MemAvailable: 9000000 kB\n";
    let text = inspect_files(&[("proc/meminfo", &available)]);
    assert_says(
        &text,
        &["MemAvailable (8.5 GiB) is more than MemTotal (8 GiB)"],
    );
}

#[test]
fn only_what_is_near_is_called_movement() {
    let release = ("proc/sys/kernel/osrelease", "5.4.17\n");
    let zones = zoneinfo(2 << 20);
    let with = |available: u64| {
        let meminfo = format!("{MEMINFO}MemAvailable: {available} kB\n");
        inspect_files(&[
            ("proc/meminfo", &meminfo),
            ("proc/zoneinfo", &zones),
            release,
        ])
    };
    let exact = 4_194_304 - 66_000 + 524_288 - 55_000;
    assert_says(
        &with(exact),
        &["numbers equal the kernel's to the page", "equal"],
    );
    assert_says(
        &with(exact + 400),
        &["Memory moved while the files were read"],
    );
    let far = with(exact + 400_000);
    assert_says(
        &far,
        &["It does not fit the rules of this kernel that we know"],
    );
    assert_never_says(&far, &["Memory moved"]);
}

#[test]
fn pages_of_64_kib_are_found_by_the_amounts() {
    let vmstat = ("proc/vmstat", "nr_free_pages 65536\nnr_anon_pages 8192\n");
    let text = inspect_files(&[("proc/meminfo", MEMINFO), vmstat]);
    assert_says(&text, &["64 KiB pages, by the amounts"]);
    assert_says(
        &inspect_files(&[("proc/meminfo", MEMINFO)]),
        &["4 KiB pages, assumed"],
    );
}
