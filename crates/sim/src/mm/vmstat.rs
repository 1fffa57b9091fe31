//! Event counters, under the names of /proc/vmstat. What can be derived from the state (free pages,
//! list lengths) is not counted but read when the file is written.

macro_rules! counters {
    ($($field:ident),* $(,)?) => {
        /// Events since boot, one field per line of /proc/vmstat.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Events {
            $(pub(crate) $field: u64,)*
        }

        impl Events {
            /// Name and count of each.
            pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field)),*].into_iter()
            }
        }
    };
}

counters! {
    allocstall_movable,
    cow_ksm,
    ksm_swpin_copy,
    kswapd_high_wmark_hit_quickly,
    kswapd_low_wmark_hit_quickly,
    nr_dirtied,
    nr_throttled_written,
    nr_vmscan_immediate_reclaim,
    nr_vmscan_write,
    nr_written,
    oom_kill,
    pageoutrun,
    pgactivate,
    pgalloc_dma,
    pgalloc_dma32,
    pgalloc_normal,
    pgdeactivate,
    pgfault,
    pgfree,
    pgmajfault,
    pgpgin,
    pgpgout,
    pgrefill,
    pgrotated,
    pgscan_anon,
    pgscan_direct,
    pgscan_file,
    pgscan_kswapd,
    pgsteal_anon,
    pgsteal_direct,
    pgsteal_file,
    pgsteal_kswapd,
    pswpin,
    pswpout,
    swap_ra,
    swap_ra_hit,
    thp_fault_alloc,
    thp_fault_fallback,
    thp_split_page,
    workingset_activate_anon,
    workingset_activate_file,
    workingset_refault_anon,
    workingset_refault_file,
    workingset_restore_anon,
    workingset_restore_file,
}
