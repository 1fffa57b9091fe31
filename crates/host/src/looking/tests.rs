//! Tests of the list itself, and of what a reading opens on a machine that has every file.

use std::collections::BTreeSet;

use mm::units::Nanos;

use super::*;
use crate::read::{full, sample};
use crate::root::testing::{opened, root};
use mm::notes::UNREADABLE;

/// Everything that a kernel from 2.6.32 to 7.x, or a vendor's, has in `/proc/sys/vm` and is not on
/// the list: what acts when it is read, what cannot be read, what logs, what says nothing of
/// memory.
const OTHER_SYSCTLS: &[&str] = &[
    "block_dump",
    "compact_memory",
    "drop_caches",
    "enable_soft_offline",
    "hugepages_treat_as_movable",
    "hugetlb_shm_group",
    "legacy_va_layout",
    "lowmem_reserve_ratio",
    "mem_profiling",
    "memfd_noexec",
    "memory_failure_early_kill",
    "memory_failure_recovery",
    "min_slab_ratio",
    "min_unmapped_ratio",
    "mmap_min_addr",
    "mmap_rnd_bits",
    "mmap_rnd_compat_bits",
    "movable_gigantic_pages",
    "nr_pdflush_threads",
    "nr_trim_pages",
    "numa_stat",
    "numa_zonelist_order",
    "of_the_future",
    "page_lock_unfairness",
    "panic_on_unrecoverable_memory_failure",
    "scan_unevictable_pages",
    "stat_refresh",
    "swap_token_timeout",
    "unprivileged_userfaultfd",
    "vdso_enabled",
];

/// Files elsewhere that act when they are read, are opened to act, hold a lock for long, or may
/// hold a secret.
const OTHERS: &[&str] = &[
    "proc/1/clear_refs",
    "proc/1/cmdline",
    "proc/1/environ",
    "proc/1/maps",
    "proc/1/pagemap",
    "proc/1/smaps",
    "proc/1/smaps_rollup",
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/kcore",
    "proc/kmsg",
    "proc/kpagecgroup",
    "proc/kpagecount",
    "proc/kpageflags",
    "proc/pagetypeinfo",
    "proc/slabinfo",
    "proc/sysrq-trigger",
    "proc/sys/fs/binfmt_misc/status",
    "proc/timer_list",
    "proc/vmallocinfo",
    "sys/block/sda/queue/io_timeout",
    "sys/block/sda/queue/wbt_lat_usec",
    "sys/block/zram0/compact",
    "sys/block/zram0/mem_used_max",
    "sys/block/zram0/reset",
    "sys/devices/system/node/node0/compact",
    "sys/devices/system/node/node0/reclaim",
    "sys/devices/system/node/node0/scan_unevictable_pages",
    "sys/fs/cgroup/a/memory.force_empty",
    "sys/fs/cgroup/a/memory.numa_stat",
    "sys/fs/cgroup/a/memory.pressure_level",
    "sys/fs/cgroup/a/memory.reclaim",
    "sys/kernel/debug/bdi/8:0/wb_stats",
    "sys/kernel/debug/extfrag/unusable_index",
    "sys/kernel/debug/lru_gen_full",
    "sys/kernel/debug/page_owner",
    "sys/kernel/debug/tracing/trace_pipe",
    "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds",
    "sys/kernel/mm/hugepages/hugepages-2048kB/demote",
    "sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_alloc",
    "sys/kernel/slab/kmalloc-64/shrink",
    "sys/kernel/slab/kmalloc-64/validate",
];

/// What stands for `*` in a row.
fn example(row: &Readable) -> String {
    let name = match row.folder {
        folder if folder.starts_with("sys/block") => "sda",
        folder if folder.starts_with("sys/class/bdi") => "btrfs-1",
        folder if folder.starts_with("sys/kernel/debug/bdi") => "btrfs-1",
        folder if folder.ends_with("transparent_hugepage/*") => "hugepages-64kB",
        _ => "hugepages-2048kB",
    };
    row.folder.replace("/**", "/a").replace('*', name)
}

/// A text that each reader of ours makes sense of.
fn text(path: &str) -> &'static str {
    match path {
        "proc/self/cgroup" => "4:memory:/a\n0::/a\n",
        "sys/kernel/mm/lru_gen/enabled" => "0x0007\n",
        _ if path.ends_with("cgroup.controllers") => "memory\n",
        _ if path.ends_with("/dev") => "8:0\n",
        _ => "1\n",
    }
}

/// A machine that has every file, of the release that is given.
fn everything(release: &str) -> (tempfile::TempDir, crate::Root) {
    let rows = READABLE.iter();
    let listed = rows.flat_map(|row| {
        let files = row.names.iter();
        files.map(|name| format!("{}/{name}", example(row)))
    });
    let listed = listed.filter(|path| path != "sys/kernel/debug/bdi");
    let sysctls = OTHER_SYSCTLS.iter();
    let sysctls = sysctls.map(|name| format!("proc/sys/vm/{name}"));
    let mut paths: BTreeSet<String> = listed.chain(sysctls).collect();
    paths.extend(OTHERS.iter().map(|&path| path.to_owned()));
    paths.insert("sys/fs/cgroup/cgroup.controllers".to_owned());
    let mut files: Vec<(&str, &str)> = Vec::new();
    for path in &paths {
        files.push((path, text(path)));
    }
    files.push(("proc/sys/kernel/osrelease", release));
    root(&files)
}

#[test]
fn a_reading_opens_nothing_that_is_not_on_the_list() {
    let (_directory, root) = everything("6.12.3-amd64\n");
    opened();
    let _ = full(&root, Nanos::ZERO);
    let _ = sample(&root, Nanos::ZERO);
    let opened = opened();
    let others: Vec<&String> = opened.iter().filter(|path| !may_read(path)).collect();
    assert_eq!(others, Vec::<&String>::new());
    let acting: Vec<&String> = opened
        .iter()
        .filter(|path| acts(path, "6.12").is_some())
        .collect();
    assert_eq!(acting, Vec::<&String>::new());
    assert!(!opened.contains("proc/cpuinfo"), "modalias is there");
}

#[test]
fn every_row_of_the_list_is_one_that_a_reading_opens() {
    let (_directory, root) = everything("6.12.3-amd64\n");
    opened();
    let _ = full(&root, Nanos::ZERO);
    std::fs::remove_file(root.join("sys/devices/system/cpu/modalias")).expect("it is there");
    let _ = crate::facts::read(&root);
    let _ = crate::configuration::read(&root);
    let opened = opened();
    // Groups are of either version, never of both.
    for row in READABLE.iter().filter(|row| !row.folder.ends_with("/**")) {
        for name in row.names {
            let path = format!("{}/{name}", example(row));
            assert!(
                opened.contains(&path),
                "{path} is not read: it need not be listed"
            );
        }
    }
}

#[test]
fn a_setting_that_is_left_out_is_noted_where_the_kernel_has_it() {
    let left_out = |release: &str| {
        let (_directory, root) = everything(release);
        let frame = full(&root, Nanos::ZERO);
        let note = frame.file(UNREADABLE).unwrap_or_default().to_owned();
        assert!(!note.contains("nsupported"), "{note}");
        let lines = note.lines().filter(|line| line.ends_with(READING_ACTS));
        let paths = lines.filter_map(|line| Some(line.split_once('\t')?.0.to_owned()));
        paths.collect::<Vec<String>>()
    };
    let always = [
        "proc/sys/vm/lowmem_reserve_ratio",
        "proc/sys/vm/min_slab_ratio",
        "proc/sys/vm/min_unmapped_ratio",
    ];
    assert_eq!(left_out("7.2.13+deb14-amd64\n"), always);
    assert_eq!(left_out("3.10.0-1160.el7.x86_64\n"), always);
    for old in ["2.6.32-754.el6.x86_64\n", "3.6.11\n", "of the future\n"] {
        let paths = left_out(old);
        assert_eq!(paths[0], "proc/sys/vm/dirty_writeback_centisecs", "{old}");
        assert_eq!(paths[1..], always, "{old}");
    }
}

#[test]
fn of_a_machine_of_its_own_a_reading_holds_what_acts_too() {
    let (_directory, root) = everything("6.12.3-amd64\n");
    let frame = crate::read::full_of_own(&root, Nanos::ZERO);
    for acting in ACTING {
        assert_eq!(frame.file(acting.path), Some("1\n"), "{}", acting.path);
    }
    let note = frame.file(UNREADABLE).unwrap_or_default();
    assert!(!note.contains(READING_ACTS), "{note}");
}

#[test]
fn every_tunable_of_the_catalogue_is_read_or_acts() {
    // Root alone may read the first two, and every other user's reading would note that. The
    // handlers of the others set a limit again at each read, to what it is. None says anything
    // about memory.
    let left_out = [
        "vm.mmap_rnd_bits",
        "vm.mmap_rnd_compat_bits",
        "vm.mmap_min_addr",
        "vm.hugepages_treat_as_movable",
    ];
    for tunable in mm::catalogue::all() {
        let silent = tunable.is_action() || left_out.contains(&tunable.name);
        assert!(is_known(tunable.path) != silent, "{}", tunable.path);
    }
}

#[test]
fn no_file_has_two_rows_and_each_row_has_a_reason() {
    let mut seen = BTreeSet::new();
    for row in READABLE {
        assert!(row.why.len() > 10, "{}", row.folder);
        for name in row.names {
            assert!(seen.insert((row.folder, name)), "{}/{name}", row.folder);
        }
    }
    for acting in ACTING {
        let listed = may_read(acting.path);
        assert_eq!(listed, acting.harmless_from.is_some(), "{}", acting.path);
        assert!(acting.effect.len() > 10);
    }
}

#[test]
fn a_star_is_one_name_and_two_are_any_number() {
    for path in [
        "sys/fs/cgroup/memory.stat",
        "sys/fs/cgroup/a/b/memory.stat",
        "sys/block/sda/size",
    ] {
        assert!(may_read(path), "{path}");
    }
    for path in [
        "sys/fs/cgroups/memory.stat",
        "sys/block/size",
        "sys/block/a/b/size",
        "sys/block/sda/../../proc/kmsg",
        "meminfo",
        "",
    ] {
        assert!(!may_read(path), "{path}");
    }
}
