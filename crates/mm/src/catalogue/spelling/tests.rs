//! Each spelling with what it means, then what means nothing.

use super::*;
use alloc::format;
use alloc::string::ToString;

fn said(key: &str) -> String {
    match resolve(key) {
        Ok(named) => format!("{named} /{}", named.path()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_row_is_found_by_its_name_and_by_its_path() {
    for tunable in whole() {
        let of_name = resolve(tunable.name).map(|named| named.tunable.name);
        assert_eq!(of_name, Ok(tunable.name));
        for path in [format!("/{}", tunable.path), tunable.path.to_string()] {
            let of_path = resolve(&path).map(|named| named.tunable.name);
            assert_eq!(of_path, Ok(tunable.name), "{path}");
        }
    }
}

#[test]
fn every_spelling_that_people_use_means_its_tunable() {
    for (keys, name) in [
        (
            "vm.swappiness vm/swappiness /proc/sys/vm/swappiness proc/sys/vm/swappiness \
             swappiness sysctl.vm.swappiness sysctl.vm/swappiness sys/vm/swappiness",
            "vm.swappiness",
        ),
        (
            "thp.enabled transparent_hugepage/enabled transparent_hugepage.enabled thp \
             /sys/kernel/mm/transparent_hugepage/enabled transparent_hugepage hugepage.enabled",
            "thp.enabled",
        ),
        (
            "khugepaged.max_ptes_none khugepaged/max_ptes_none max_ptes_none \
             transparent_hugepage/khugepaged/max_ptes_none",
            "khugepaged.max_ptes_none",
        ),
        (
            "ksm.run ksm/run /sys/kernel/mm/ksm/run ksm mm/ksm/run",
            "ksm.run",
        ),
        (
            "lru_gen.enabled lru_gen/enabled lru_gen mglru mglru.enabled",
            "lru_gen.enabled",
        ),
        (
            "/sys/kernel/mm/lru_gen/min_ttl_ms mglru.min_ttl_ms min_ttl_ms lru_gen/min_ttl_ms",
            "lru_gen.min_ttl_ms",
        ),
        (
            "zswap.enabled /sys/module/zswap/parameters/enabled zswap zswap/parameters/enabled",
            "zswap.enabled",
        ),
        ("page-cluster vm.page-cluster", "vm.page-cluster"),
    ] {
        for key in keys.split_whitespace() {
            let found = resolve(key).map(|named| named.tunable.name);
            assert_eq!(found, Ok(name), "{key}");
        }
    }
}

#[test]
fn a_device_is_named_by_its_name_or_by_its_numbers() {
    let sda = "bdi.sda.max_ratio /sys/block/sda/bdi/max_ratio";
    for key in [
        "bdi.sda.max_ratio",
        "/sys/block/sda/bdi/max_ratio",
        "block/sda/bdi/max_ratio",
    ] {
        assert_eq!(said(key), sda);
    }
    let numbers = "bdi.8:0.max_ratio /sys/class/bdi/8:0/max_ratio";
    for key in [
        "/sys/class/bdi/8:0/max_ratio",
        "bdi/8:0/max_ratio",
        "bdi.8:0.max_ratio",
        "/sys/devices/virtual/bdi/8:0/max_ratio",
    ] {
        assert_eq!(said(key), numbers);
    }
    for key in [
        "max_ratio",
        "bdi.max_ratio",
        "bdi/max_ratio",
        "bdi.DEVICE.max_ratio",
    ] {
        assert_eq!(
            said(key),
            "bdi.DEVICE.max_ratio /sys/block/DEVICE/bdi/max_ratio"
        );
    }
    assert_eq!(
        said("bdi.sda.max_ration"),
        "bdi.sda.max_ration: no such tunable; did you mean bdi.sda.max_ratio?"
    );
}

#[test]
fn a_size_of_huge_pages_is_named_as_its_folder_is() {
    let size = "thp.hugepages-64kB.enabled \
                /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
    for key in [
        "thp.hugepages-64kB.enabled",
        "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
        "transparent_hugepage/hugepages-64kB/enabled",
    ] {
        assert_eq!(said(key), size);
    }
    assert_eq!(
        said("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"),
        "hugetlb.hugepages-2048kB.nr_hugepages \
         /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
    );
    assert_eq!(
        said("nr_hugepages"),
        "vm.nr_hugepages /proc/sys/vm/nr_hugepages"
    );
}

#[test]
fn a_file_of_a_control_group_is_known_with_its_group() {
    let file = "a.slice/b.service/memory.high /sys/fs/cgroup/a.slice/b.service/memory.high";
    for key in [
        "a.slice/b.service/memory.high",
        "/sys/fs/cgroup/a.slice/b.service/memory.high",
    ] {
        assert_eq!(said(key), file);
    }
    for key in ["memory.high", "MemoryHigh"] {
        assert_eq!(said(key), "memory.high /sys/fs/cgroup/GROUP/memory.high");
    }
    let named = resolve("a.slice/memory.swap.max").expect("a file");
    assert_eq!(
        (named.control_group(), named.device()),
        (Some("a.slice"), None)
    );
    for none in ["../memory.high", "/a/memory.high", "a//memory.high"] {
        assert!(resolve(none).is_err(), "{none}");
    }
}

#[test]
fn a_name_that_several_have_lists_them() {
    assert_eq!(
        said("enabled"),
        "enabled: several tunables have this name; say thp.enabled, lru_gen.enabled or \
         zswap.enabled"
    );
    assert_eq!(
        said("pages_to_scan"),
        "pages_to_scan: several tunables have this name; say khugepaged.pages_to_scan or \
         ksm.pages_to_scan"
    );
}

#[test]
fn a_near_miss_gets_a_suggestion_and_a_counter_is_told_from_a_tunable() {
    for (key, name) in [
        ("vm.swapiness", "vm.swappiness"),
        ("swapiness", "vm.swappiness"),
        ("/proc/sys/vm/swapiness", "vm.swappiness"),
        ("vm.page_cluster", "vm.page-cluster"),
        ("min_free", "vm.min_free_kbytes"),
        ("vm.dirty-ratio", "vm.dirty_ratio"),
        ("DirtyRatio", "vm.dirty_ratio"),
        ("memory.hihg", "memory.high"),
    ] {
        assert_eq!(
            said(key),
            format!("{key}: no such tunable; did you mean {name}?")
        );
    }
    for key in ["teapot.lid", "/", ".", "vm.", "*"] {
        assert_eq!(said(key), format!("{key}: no such tunable"));
    }
    let counter = "shows what the kernel did; it cannot be set";
    for key in [
        "ksm.pages_shared",
        "/sys/kernel/mm/ksm/full_scans",
        "a/memory.current",
    ] {
        assert_eq!(said(key), format!("{key}: {counter}"));
    }
}
