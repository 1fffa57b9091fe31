//! What is recorded of samepage merging, where the workload offers pages to it: the counters that
//! move, with every sample, and what the kernel says of each process, with every snapshot.

use host::Root;
use mm::ksm;

/// The files of a sample. The rest of the folder does not move, and is in the snapshots.
const COUNTERS: [&str; 12] = [
    "pages_shared",
    "pages_sharing",
    "pages_unshared",
    "pages_volatile",
    "pages_skipped",
    "pages_scanned",
    "pages_to_scan",
    "ksm_zero_pages",
    "stable_node_chains",
    "stable_node_dups",
    "full_scans",
    "general_profit",
];

/// The counters that this kernel has, by path.
pub(crate) fn counters(root: &Root) -> Vec<String> {
    let paths = COUNTERS.iter().map(|name| ksm::path(name));
    paths.filter(|path| root.is_file(path)).collect()
}

/// What the kernel says of a process: path to read, path to note, which does not depend on its
/// number.
pub(crate) fn of_process(name: &str, pid: u32) -> impl Iterator<Item = (String, String)> {
    let path = move |file| {
        (
            format!("proc/{pid}/{file}"),
            ksm::path_of_process(name, file),
        )
    };
    ksm::PROCESS_FILES.into_iter().map(path)
}
