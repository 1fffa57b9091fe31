//! What was reclaimed at each ceiling, and what was read in again: a ceiling that is too low shows
//! by the second growing as fast as the first.

use std::collections::BTreeMap;
use std::path::Path;

use guard::{Config, Figures, Scope};
use host::Root;
use mm::memcg::MemoryStat;
use mm::units::Bytes;

/// The kernel's count of file pages that came back soon after they were reclaimed (5.9).
const COUNTER: &str = "workingset_refault_file";

/// The counts, as of the last reclaim of each scope: they go on growing on a machine where the
/// guard does nothing, and are no news then.
#[derive(Debug, Default)]
pub(crate) struct Refaults(BTreeMap<Scope, (Bytes, Option<u64>)>);

impl Refaults {
    /// Tells of each scope of which something was reclaimed.
    pub(crate) fn tell(
        &mut self,
        reclaimed: &BTreeMap<Scope, Bytes>,
        config: &Config,
        cgroup2: Option<&Path>,
        to: &mut Figures,
    ) {
        for (scope, bytes) in reclaimed {
            let group = match scope {
                Scope::Machine => Some(""),
                Scope::Group(index) => config.groups().nth(*index),
            };
            let Some(group) = group else { continue };
            let before = self.0.get(scope).filter(|(then, _)| then == bytes);
            let refaulted = match before {
                Some((_, refaulted)) => *refaulted,
                None => count(group, cgroup2),
            };
            self.0.insert(*scope, (*bytes, refaulted));
            to.add("reclaimed_bytes_total", &[("group", group)], bytes.0);
            if let Some(pages) = refaulted {
                let bytes = pages.saturating_mul(rustix::param::page_size() as u64);
                to.add("refaulted_bytes_total", &[("group", group)], bytes);
            }
        }
    }
}

/// The pages of a group that came back since it was made, of the machine's since boot.
fn count(group: &str, cgroup2: Option<&Path>) -> Option<u64> {
    if group.is_empty() {
        return of_machine(&Root::default().look("proc/vmstat").ok()?);
    }
    let folder = cgroup2?.join(group.trim_matches('/'));
    let text = std::fs::read_to_string(folder.join("memory.stat")).ok()?;
    MemoryStat::parse("memory.stat", &text)
        .ok()?
        .workingset_refault_file
}

fn of_machine(vmstat: &str) -> Option<u64> {
    let mut lines = vmstat.lines().filter_map(|line| line.split_once(' '));
    let (_, pages) = lines.find(|(name, _)| *name == COUNTER)?;
    pages.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_taken_again_only_after_a_reclaim() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |pages: u64| {
            let text = format!("anon 1\nworkingset_refault_file {pages}\n");
            std::fs::create_dir_all(folder.path().join("a")).expect("a folder");
            std::fs::write(folder.path().join("a/memory.stat"), text).expect("a file");
        };
        let config = Config::read([("ceiling.groups.a", "1 MiB")]).expect("a configuration");
        let mut refaults = Refaults::default();
        let mut tell = |reclaimed: u64| {
            let mut figures = Figures::default();
            let reclaimed = BTreeMap::from([(Scope::Group(0), Bytes(reclaimed))]);
            refaults.tell(&reclaimed, &config, Some(folder.path()), &mut figures);
            let page = rustix::param::page_size() as u64;
            (
                figures.value("reclaimed_bytes_total"),
                figures.value("refaulted_bytes_total") / page,
            )
        };
        write(3);
        assert_eq!(tell(100), (100, 3));
        write(5);
        assert_eq!(tell(100), (100, 3));
        assert_eq!(tell(200), (200, 5));
    }

    #[test]
    fn the_machines_count_is_a_line_of_vmstat() {
        let text = "nr_free_pages 1\nworkingset_refault_anon 2\nworkingset_refault_file 3\n";
        assert_eq!(of_machine(text), Some(3));
        assert_eq!(of_machine("workingset_refault 3\n"), None);
        assert!(count("", None).is_some(), "this machine has it");
    }
}
