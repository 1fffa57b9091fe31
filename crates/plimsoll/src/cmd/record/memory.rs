//! What of its memory a machine has available when a recording begins.

use anyhow::Context as _;
use host::{Root, facts};
use mm::meminfo::Meminfo;
use mm::units::Bytes;
use mm::vmstat::Vmstat;
use mm::zoneinfo::Zoneinfo;

/// What a study calls available, without looking at anything else: that takes memory itself.
pub(super) fn available(root: &Root) -> anyhow::Result<Bytes> {
    let meminfo = Meminfo::parse(&root.look("proc/meminfo")?).context("/proc/meminfo")?;
    let zoneinfo = Zoneinfo::parse(&root.look("proc/zoneinfo")?).context("/proc/zoneinfo")?;
    let page = facts::read(root).page;
    let available = scenario::machine::available(&meminfo, &zoneinfo, page);
    available.context("no MemAvailable in /proc/meminfo")
}

/// What was reclaimed of the page cache since the machine booted.
pub(super) fn reclaimed(vmstat: &Vmstat) -> Option<Bytes> {
    let pages = vmstat.get("pgsteal_file")?;
    Some(Bytes(
        pages.saturating_mul(rustix::param::page_size() as u64),
    ))
}
