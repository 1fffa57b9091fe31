//! The state after boot that was made up: the kernel's own texts.

pub(crate) const MEMINFO: &str = "\
MemTotal:          59360 kB
MemFree:           48000 kB
MemAvailable:      46000 kB
Buffers:               0 kB
Cached:                0 kB
SwapCached:            0 kB
Active:                0 kB
Inactive:              0 kB
Active(anon):          0 kB
Inactive(anon):        0 kB
Active(file):          0 kB
Inactive(file):        0 kB
SwapTotal:             0 kB
SwapFree:              0 kB
AnonPages:             0 kB
KReclaimable:          0 kB
Slab:                  0 kB
SReclaimable:          0 kB
PageTables:            0 kB
AnonHugePages:         0 kB
";

pub(crate) const ZONEINFO: &str = "\
Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 0
      nr_active_anon 0
      nr_inactive_file 0
      nr_active_file 0
      nr_file_pages 0
      nr_anon_pages 0
  pages free     3000
        boost    0
        min      20
        low      25
        high     30
        spanned  4095
        present  3998
        managed  3840
        cma      0
        protection: (0, 42, 42, 42)
      nr_free_pages 3000
      nr_zone_inactive_anon 0
      nr_zone_active_anon 0
      nr_zone_inactive_file 0
      nr_zone_active_file 0
  pagesets
    cpu: 0
              count: 0
              high:  28
              batch: 1
  vm stats threshold: 2
  node_unreclaimable:  0
  start_pfn:           1
Node 0, zone    DMA32
  pages free     9000
        boost    0
        min      100
        low      125
        high     150
        spanned  12256
        present  12256
        managed  11000
        cma      0
        protection: (0, 0, 0, 0)
      nr_free_pages 9000
      nr_zone_inactive_anon 0
      nr_zone_active_anon 0
      nr_zone_inactive_file 0
      nr_zone_active_file 0
  pagesets
    cpu: 0
              count: 10
              high:  125
              batch: 7
  vm stats threshold: 2
  node_unreclaimable:  0
  start_pfn:           4096
Node 0, zone   Normal
  pages free     0
        boost    0
        min      0
        low      0
        high     0
        spanned  0
        present  0
        managed  0
        cma      0
        protection: (0, 0, 0, 0)
Node 0, zone  Movable
  pages free     0
        boost    0
        min      0
        low      0
        high     0
        spanned  0
        present  0
        managed  0
        cma      0
        protection: (0, 0, 0, 0)
";

pub(crate) const VMSTAT: &str = "\
nr_free_pages 12000
nr_inactive_anon 0
nr_active_anon 0
nr_inactive_file 0
nr_active_file 0
nr_page_table_pages 0
nr_anon_transparent_hugepages 0
workingset_refault_file 0
workingset_activate_file 0
workingset_restore_file 0
nr_dirty 0
nr_vmscan_immediate_reclaim 0
nr_writeback 0
nr_dirtied 0
nr_written 0
nr_throttled_written 0
nr_dirty_threshold 0
nr_dirty_background_threshold 0
pgpgin 0
pgalloc_dma 0
pgalloc_dma32 0
pgalloc_normal 0
pgfree 0
pgactivate 0
pgdeactivate 0
pgfault 0
pgsteal_kswapd 0
pgsteal_direct 0
pageoutrun 0
allocstall_movable 0
oom_kill 0
thp_fault_alloc 0
thp_fault_fallback 0
pswpin 0
pswpout 0
pgmajfault 0
swap_ra 0
swap_ra_hit 0
pgscan_anon 0
pgsteal_anon 0
workingset_refault_anon 0
";
