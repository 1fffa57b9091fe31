//! Which processes are looked at.

use anyhow::{Context as _, bail};
use host::Root;
use host::processes::{self, Process};
use mm::units::Bytes;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which<'a> {
    /// Every process that can be seen.
    All,
    /// These.
    Pids(&'a [u32]),
    /// Those of a control group.
    Group(&'a str),
}

/// The processes, without ourselves. One that is named must be there; of the others those that
/// have no memory, or end just now, are passed over.
pub(super) fn processes(root: &Root, which: Which<'_>) -> anyhow::Result<Vec<Process>> {
    let ourselves = std::process::id();
    let pids = match which {
        Which::All => processes::all(root),
        Which::Pids(pids) => return named(root, pids, ourselves),
        Which::Group(group) => {
            processes::of_group(root, group).with_context(|| format!("--cgroup {group}"))?
        }
    };
    let others = pids.into_iter().filter(|&pid| pid != ourselves);
    let found = others.filter_map(|pid| Process::read(root, pid).ok());
    let found: Vec<Process> = found
        .filter(|process| process.rss_anon > Bytes::ZERO)
        .collect();
    match which {
        _ if !found.is_empty() => Ok(found),
        Which::Group(group) => bail!("--cgroup {group}: no process in it has anonymous memory"),
        _ => bail!("no process that can be seen has anonymous memory"),
    }
}

fn named(root: &Root, pids: &[u32], ourselves: u32) -> anyhow::Result<Vec<Process>> {
    let mut pids = pids.to_vec();
    pids.sort_unstable();
    pids.dedup();
    let read = |pid| {
        if pid == ourselves {
            bail!("--pid {pid}: it is this very process; name others");
        }
        Process::read(root, pid).with_context(|| format!("--pid {pid}"))
    };
    pids.into_iter().map(read).collect()
}
