//! The parser of every kernel file: the first byte chooses the file, the rest is its text.

use crate::take::take;
use mm::capture::Frame;
use mm::notes::FACTS;
use mm::snapshot::Snapshot;

const PATHS: [&str; 25] = [
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
    "proc/sys/vm/lowmem_reserve_ratio",
    "sys/kernel/mm/lru_gen/enabled",
    "sys/kernel/mm/lru_gen/min_ttl_ms",
    "sys/kernel/debug/lru_gen",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan",
    "sys/kernel/mm/ksm/general_profit",
    "sys/kernel/mm/ksm/pages_sharing",
    "sys/fs/cgroup/a/memory.stat",
    "sys/fs/cgroup/a/memory.max",
    "sys/fs/cgroup/a/memory.events",
    "sys/fs/cgroup/a/memory.pressure",
    "sys/block/vda/bdi/max_bytes",
    "sys/kernel/debug/bdi/254:0/stats",
    FACTS,
];

pub(crate) fn target(bytes: &[u8]) {
    let Some(data) = take::<(u8, &str)>(bytes) else {
        return;
    };
    let (choice, text) = data;
    let path = PATHS[usize::from(choice) % PATHS.len()];
    let frame = Frame {
        files: [(path.to_owned(), text.to_owned())].into(),
        ..Frame::default()
    };
    for error in Snapshot::parse(&frame).errors {
        assert_eq!(error.file, path);
        assert!(!error.to_string().contains('\n'));
    }
}
