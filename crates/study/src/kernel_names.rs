//! What the kernel's own files name, so that a slip in a measure is found before anything runs.

use super::node::Node;
use super::source::StudyError;
use mm::suggest;

/// Zones, on any machine.
const ZONES: [&str; 6] = ["DMA", "DMA32", "Normal", "HighMem", "Movable", "Device"];

/// What `/proc/zoneinfo` says of a zone besides counters of `/proc/vmstat`.
const OF_A_ZONE: [&str; 10] = [
    "free", "boost", "min", "low", "high", "promo", "spanned", "present", "managed", "cma",
];

/// Of Linux 5.10, 6.1, 6.12, 7.3 and what other versions and builds have besides.
const MEMINFO: &str = "
    Active Active(anon) Active(file) AnonHugePages AnonPages Balloon Bounce Buffers Cached
    CmaFree CmaTotal CommitLimit Committed_AS DirectMap1G DirectMap2M DirectMap4M DirectMap4k
    Dirty EarlyMemtestBad FileHugePages FilePmdMapped GPUActive GPUReclaim HardwareCorrupted
    HighFree HighTotal HugePages_Free HugePages_Rsvd HugePages_Surp HugePages_Total Hugepagesize
    Hugetlb Inactive Inactive(anon) Inactive(file) KReclaimable KernelStack LowFree LowTotal
    Mapped MemAvailable MemFree MemTotal Mlocked MmapCopy NFS_Unstable PageTables Percpu
    Quicklists SReclaimable SUnreclaim SecPageTables Shmem ShmemHugePages ShmemPmdMapped Slab
    SwapCached SwapFree SwapTotal Unaccepted Unevictable VmallocChunk VmallocTotal VmallocUsed
    Writeback WritebackTmp Zswap Zswapped";

/// As [`MEMINFO`].
const VMSTAT: &str = "
    allocstall_device allocstall_dma allocstall_dma32 allocstall_high allocstall_movable
    allocstall_normal balloon_deflate balloon_inflate balloon_migrate cma_alloc_fail
    cma_alloc_success compact_daemon_free_scanned compact_daemon_migrate_scanned compact_daemon_wake
    compact_fail compact_free_scanned compact_isolated compact_migrate_scanned compact_stall
    compact_success cow_ksm direct_map_level2_collapses direct_map_level2_splits
    direct_map_level3_collapses direct_map_level3_splits drop_pagecache drop_slab
    htlb_buddy_alloc_fail htlb_buddy_alloc_success ksm_swpin_copy kstack_16k kstack_1k kstack_2k
    kstack_4k kstack_8k kswapd_high_wmark_hit_quickly kswapd_inodesteal kswapd_low_wmark_hit_quickly
    nr_active_anon nr_active_file nr_anon_pages nr_anon_transparent_hugepages nr_balloon_pages
    nr_bounce nr_dirtied nr_dirty nr_dirty_background_threshold nr_dirty_threshold nr_file_hugepages
    nr_file_pages nr_file_pmdmapped nr_foll_pin_acquired nr_foll_pin_released nr_free_cma
    nr_free_pages nr_free_pages_blocks nr_gpu_active nr_gpu_reclaim nr_hugetlb nr_inactive_anon
    nr_inactive_file nr_iommu_pages nr_isolated_anon nr_isolated_file nr_kernel_file_pages
    nr_kernel_misc_reclaimable nr_kernel_stack nr_mapped nr_memmap_boot_pages nr_memmap_pages
    nr_mlock nr_page_table_pages nr_sec_page_table_pages nr_shmem nr_shmem_hugepages
    nr_shmem_pmdmapped nr_slab_reclaimable nr_slab_unreclaimable nr_swapcached nr_throttled_written
    nr_tlb_local_flush_all nr_tlb_local_flush_one nr_tlb_remote_flush nr_tlb_remote_flush_received
    nr_unaccepted nr_unevictable nr_unstable nr_vmalloc nr_vmscan_immediate_reclaim nr_vmscan_write
    nr_writeback nr_writeback_temp nr_written nr_zone_active_anon nr_zone_active_file
    nr_zone_inactive_anon nr_zone_inactive_file nr_zone_unevictable nr_zone_write_pending nr_zspages
    nrswpin nrswpout numa_foreign numa_hint_faults numa_hint_faults_local numa_hit
    numa_huge_pte_updates numa_interleave numa_local numa_miss numa_other numa_pages_migrated
    numa_pte_updates numa_task_migrated numa_task_swapped oom_kill pageoutrun pgactivate
    pgalloc_device pgalloc_dma pgalloc_dma32 pgalloc_high pgalloc_movable pgalloc_normal
    pgdeactivate pgdemote_direct pgdemote_khugepaged pgdemote_kswapd pgdemote_proactive pgfault
    pgfree pginodesteal pglazyfree pglazyfreed pgmajfault pgmigrate_fail pgmigrate_success pgpgin
    pgpgout pgpromote_candidate pgpromote_candidate_nrl pgpromote_success pgrefill pgreuse
    pgrotate_anon pgrotate_file pgrotated pgscan_anon pgscan_direct pgscan_direct_throttle
    pgscan_file pgscan_khugepaged pgscan_kswapd pgscan_proactive pgscan_skip_kswapd pgskip_device
    pgskip_dma pgskip_dma32 pgskip_high pgskip_movable pgskip_normal pgsteal_anon pgsteal_direct
    pgsteal_file pgsteal_khugepaged pgsteal_kswapd pgsteal_proactive pswpin pswpout slabs_scanned
    swap_ra swap_ra_hit swpin_zero swpout_zero thp_collapse_alloc thp_collapse_alloc_failed
    thp_deferred_split_page thp_fault_alloc thp_fault_fallback thp_fault_fallback_charge
    thp_file_alloc thp_file_fallback thp_file_fallback_charge thp_file_mapped thp_migration_fail
    thp_migration_split thp_migration_success thp_scan_exceed_none_pte thp_scan_exceed_share_pte
    thp_scan_exceed_swap_pte thp_split_page thp_split_page_failed thp_split_pmd thp_split_pud
    thp_swpin thp_swpout thp_swpout_fallback thp_underused_split_page thp_zero_page_alloc
    thp_zero_page_alloc_failed unevictable_pgs_cleared unevictable_pgs_culled
    unevictable_pgs_mlocked unevictable_pgs_munlocked unevictable_pgs_rescued
    unevictable_pgs_scanned unevictable_pgs_stranded vma_lock_abort vma_lock_miss vma_lock_retry
    vma_lock_success vmacache_find_calls vmacache_find_hits workingset_activate_anon
    workingset_activate_file workingset_nodereclaim workingset_nodes workingset_refault_anon
    workingset_refault_file workingset_restore_anon workingset_restore_file zone_reclaim_failed
    zone_reclaim_success zswpin zswpout zswpwb";

/// Refuses what no line of `/proc/meminfo` is called.
pub(super) fn check_meminfo(node: &Node<'_>, name: &str) -> Result<(), StudyError> {
    match words(MEMINFO).any(|known| known == name) {
        true => Ok(()),
        false => Err(unknown(node, "meminfo", name, words(MEMINFO))),
    }
}

/// Refuses what no counter of `/proc/vmstat` is called.
pub(super) fn check_vmstat(node: &Node<'_>, name: &str) -> Result<(), StudyError> {
    match words(VMSTAT).any(|known| known == name) {
        true => Ok(()),
        false => Err(unknown(node, "vmstat", name, words(VMSTAT))),
    }
}

/// Refuses a zone or a field that `/proc/zoneinfo` does not have.
pub(super) fn check_zone(
    node: &Node<'_>,
    zone: Option<&str>,
    field: &str,
) -> Result<(), StudyError> {
    if let Some(zone) = zone.filter(|zone| !ZONES.contains(zone)) {
        let what = format!("unknown zone `{zone}`");
        return Err(node.error(what, suggest::way_out(zone, ZONES)));
    }
    if OF_A_ZONE.contains(&field) || words(VMSTAT).any(|known| known == field) {
        return Ok(());
    }
    let what = format!("a zone has no `{field}`");
    Err(node.error(what, suggest::way_out(field, OF_A_ZONE)))
}

fn words(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split_ascii_whitespace()
}

/// A kernel may have what is not listed here: then the file is named.
fn unknown(
    node: &Node<'_>,
    file: &str,
    name: &str,
    known: impl Iterator<Item = &'static str>,
) -> StudyError {
    let way_out = match suggest::near(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "where a kernel has it, write `file = \"/proc/{file}\"` and `field = \"{name}\"`"
        ),
    };
    node.error(format!("unknown {file} item `{name}`"), way_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;
    use answer::calibration;

    /// The error of a measure that reads `item`.
    fn refused(item: &str) -> String {
        let study = Study::built_in("min-free-kbytes").unwrap();
        let measure = format!("[[measure]]\nname = \"m\"\nsnapshot = \"set\"\n{item}\n");
        let text = format!("{}\n{measure}", study.text);
        Study::parse(&text, item).unwrap_err().to_string()
    }

    #[test]
    fn a_slip_in_what_a_measure_reads_has_its_line() {
        for (item, expected) in [
            (
                "meminfo = \"MemFre\"",
                "item `MemFre`; did you mean `MemFree`?",
            ),
            (
                "vmstat = \"pswpim\"",
                "item `pswpim`; did you mean `pswpin`?",
            ),
            (
                "vmstat = \"nope\"",
                "`file = \"/proc/vmstat\"` and `field = \"nope\"`",
            ),
            (
                "zoneinfo = \"DMA64.low\"",
                "`DMA`, `DMA32`, `Normal`, `HighMem`, `Movable`, `Device`",
            ),
            (
                "zoneinfo = \"DMA32.loww\"",
                "no `loww`; did you mean `low`?",
            ),
        ] {
            let said = refused(item);
            assert!(said.ends_with(expected), "{said}");
            assert!(said.starts_with(&format!("{item}:")), "{said}");
        }
    }

    #[test]
    fn what_the_calibrated_kernels_print_is_known() {
        for kernel in calibration::kernels() {
            let calibration = calibration::built_in(kernel).unwrap();
            let frame = &calibration.boots[0].capture.frames[0];
            for (path, listed) in [("proc/meminfo", MEMINFO), ("proc/vmstat", VMSTAT)] {
                for line in frame.file(path).unwrap().lines() {
                    let name = line.split([':', ' ']).next().unwrap();
                    assert!(words(listed).any(|known| known == name), "{path}: {name}");
                }
            }
        }
    }
}
