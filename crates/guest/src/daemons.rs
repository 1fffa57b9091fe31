//! Daemons that an administrator runs: each decides by the kernel's files, as the crate `guard`
//! says.

use guard::ksmtuned::{Host, Ksmtuned};
use host::Root;
use mm::meminfo::{self, Meminfo};
use mm::units::{Kib, PageSize};
use mm::workload::Daemon;
use rustix::io::Errno;

use crate::error::Why;
use crate::place::Place;
use crate::settings;

/// The daemons of the machine, with what they remember.
#[derive(Debug, Default)]
pub(crate) struct Daemons {
    ksmtuned: Ksmtuned,
}

impl Daemons {
    /// Lets a daemon decide and writes what it decides; `guests` are the numbers of the processes
    /// that offer pages to be merged.
    pub(crate) fn decide(
        &mut self,
        daemon: Daemon,
        place: &Place,
        guests: impl Iterator<Item = u32>,
    ) -> Result<(), Why> {
        let decided = match daemon {
            Daemon::Ksmtuned => self.ksmtuned.decide(host(&place.root, guests)?),
        };
        settings::apply(place, &decided)
    }
}

/// The machine as ksmtuned sees it.
fn host(root: &Root, guests: impl Iterator<Item = u32>) -> Result<Host, Why> {
    let text = root.read(meminfo::PATH);
    let text = text.map_err(|error| Why::of(meminfo::PATH, &error))?;
    let meminfo = Meminfo::parse(&text).map_err(|error| Why {
        errno: Errno::INVAL,
        text: error.to_string(),
    })?;
    let committed = guests.filter_map(|pid| resident(root, pid)).sum();
    Ok(Host::of(&meminfo, Kib(committed)))
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
    fn a_host_is_read_as_ksmtuned_reads_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let put = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            std::fs::write(path, text).expect("a file");
        };
        put(
            "proc/meminfo",
            "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 10 kB\nCached: 5 kB\nSwapCached: 3 kB\n",
        );
        put("proc/7/statm", "900 25 3 1 0 80 0\n");
        let root = Root::new(directory.path());
        let page = rustix::param::page_size() as u64 / 1024;
        let expected = Host {
            total: Kib(1000),
            free: Kib(115),
            committed: Kib(25 * page),
        };
        let found = host(&root, [7, 8].into_iter());
        assert_eq!(found.expect("a host"), expected, "8 has ended");
    }
}
