//! What the usual tools print of kernel files.

use mm::capture::Frame;
use mm::meminfo::Meminfo;

/// kB of an item of meminfo.
pub(super) fn kib(frame: &Frame, item: &str) -> u64 {
    let meminfo = Meminfo::parse(frame.file("proc/meminfo").unwrap_or_default());
    let value = meminfo.ok().and_then(|meminfo| meminfo.get(item));
    value.map_or(0, |kib| kib.0)
}

/// `uname -a`.
pub(super) fn uname(frame: &Frame) -> String {
    let version = frame.file("proc/version").unwrap_or_default();
    let release = version.split_whitespace().nth(2).unwrap_or_default();
    let build = version
        .find("#1")
        .map_or("#1 SMP", |at| version[at..].trim_end());
    format!("Linux web-1 {release} {build} x86_64 GNU/Linux\n")
}

/// `free` of procps 4, in kB or (`-m`) in MiB.
pub(super) fn free(frame: &Frame, unit: &str) -> String {
    let amount = |kib: u64| match unit {
        "-m" => kib / 1024,
        _ => kib,
    };
    let item = |name| kib(frame, name);
    let cache = item("Buffers") + item("Cached") + item("SReclaimable");
    let used = item("MemTotal").saturating_sub(item("MemAvailable"));
    let row = |name: &str, values: &[u64]| {
        let cells = values.iter().map(|&kib| format!("{:>12}", amount(kib)));
        format!("{name:<8}{}\n", cells.collect::<String>())
    };
    let head = "               total        used        free      shared  buff/cache   available\n";
    let (swap, left) = (item("SwapTotal"), item("SwapFree"));
    let memory = [
        item("MemTotal"),
        used,
        item("MemFree"),
        item("Shmem"),
        cache,
        item("MemAvailable"),
    ];
    head.to_owned()
        + &row("Mem:", &memory)
        + &row("Swap:", &[swap, swap.saturating_sub(left), left])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_is_as_procps_prints_it() {
        let mut frame = Frame::default();
        let meminfo = "MemTotal: 2048 kB\nMemFree: 1024 kB\nMemAvailable: 1024 kB\nBuffers: 0 kB\n\
                       Cached: 512 kB\nSReclaimable: 512 kB\nShmem: 0 kB\nSwapTotal: 0 kB\n\
                       SwapFree: 0 kB\n";
        frame.files.insert("proc/meminfo".into(), meminfo.into());
        let text = free(&frame, "-m");
        let rows: Vec<&str> = text.lines().collect();
        let cells = |row: &str| {
            row.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(cells(rows[1]), ["Mem:", "2", "1", "1", "0", "1", "1"]);
        assert_eq!(rows[0].len(), rows[1].len());
    }
}
