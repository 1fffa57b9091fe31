//! What the daemons of the machine look at: the kernel's files. What each decides is the crate
//! `guard`'s.

use guard::daemons::Host;
use host::Root;
use mm::catalogue::path_of;
use mm::meminfo::{self, Meminfo};
use mm::text::{self, ParseError};
use mm::units::{Kib, Nanos, PageSize};
use mm::vmstat::{self, Vmstat};
use mm::zoneinfo::{self, Zoneinfo};
use rustix::io::Errno;

use crate::error::Why;

const SCALE_FACTOR: &str = path_of("vm.watermark_scale_factor");

/// The machine as a daemon sees it; `guests` are the numbers of the processes that offer pages to
/// be merged.
pub(crate) fn host(root: &Root, at: Nanos, guests: impl Iterator<Item = u32>) -> Result<Host, Why> {
    Ok(Host {
        at,
        meminfo: read(root, meminfo::PATH, Meminfo::parse)?,
        vmstat: read(root, vmstat::PATH, Vmstat::parse)?,
        zoneinfo: read(root, zoneinfo::PATH, Zoneinfo::parse)?,
        scale_factor: read(root, SCALE_FACTOR, |text| text::number(SCALE_FACTOR, text))?,
        guests: Kib(guests.filter_map(|pid| resident(root, pid)).sum()),
    })
}

fn read<T>(
    root: &Root,
    path: &str,
    parse: impl Fn(&str) -> Result<T, ParseError>,
) -> Result<T, Why> {
    let text = root.read(path).map_err(|error| Why::of(path, &error))?;
    parse(&text).map_err(|error| Why {
        errno: Errno::INVAL,
        text: error.to_string(),
    })
}

/// A process's resident memory in KiB, as `ps` prints it; `None` where it has just ended.
fn resident(root: &Root, pid: u32) -> Option<u64> {
    let text = root.read(&format!("proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    PageSize::new(rustix::param::page_size() as u64).map(|page| pages * page.kib())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_as_a_daemon_reads_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let put = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            std::fs::write(path, text).expect("a file");
        };
        let zone = "Node 0, zone Normal\n  pages free 9\n min 1\n low 2\n high 3\n present 90\n";
        for (path, text) in [
            ("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\n"),
            ("proc/vmstat", "pgsteal_kswapd 5\n"),
            ("proc/zoneinfo", zone),
            (SCALE_FACTOR, "10\n"),
            ("proc/7/statm", "900 25 3 1 0 80 0\n"),
        ] {
            put(path, text);
        }
        let root = Root::new(directory.path());
        let page = rustix::param::page_size() as u64 / 1024;
        let found = host(&root, Nanos(3), [7, 8].into_iter()).expect("a host");
        assert_eq!(found.guests, Kib(25 * page), "8 has ended");
        assert_eq!(found.meminfo.mem_free, Some(Kib(100)));
        assert_eq!(found.vmstat.get("pgsteal_kswapd"), Some(5));
        assert_eq!(found.zoneinfo.zones.len(), 1);
        assert_eq!((found.at, found.scale_factor), (Nanos(3), 10));
    }
}
