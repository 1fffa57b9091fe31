//! What `numactl --hardware` and `numastat -m` print, as parts of the nodes' `meminfo`.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use mm::text::LARGEST_AMOUNT;

use crate::kind;
use crate::tables::is_number;

/// The head of `numactl --hardware`: `available: 2 nodes (0-1)`.
pub(super) fn numactl(line: &str) -> bool {
    line.starts_with("available: ") && line.contains(" nodes (")
}

/// A line below it: CPUs, sizes and distances.
pub(super) fn numactl_line(line: &str) -> bool {
    let line = line.trim();
    let rest = line.strip_prefix("node ").unwrap_or(line).trim_start();
    let mut words = rest.split_ascii_whitespace();
    let is_row = words.all(|word| is_number(word.trim_end_matches(':')));
    let is_cpus = || rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(" cpus:");
    line == "node distances:" || is_row || is_cpus() || size(rest).is_some()
}

/// `0 size: 1007 MB`: the node, the item of meminfo, and KiB.
fn size(rest: &str) -> Option<(u32, &'static str, u64)> {
    let mut words = rest.split_ascii_whitespace();
    let node = words.next()?.parse().ok()?;
    let item = match words.next()? {
        "size:" => "MemTotal",
        "free:" => "MemFree",
        _ => return None,
    };
    let mib: u64 = words.next()?.parse().ok()?;
    let kib = mib.checked_mul(1024).filter(|&kib| kib < LARGEST_AMOUNT)?;
    (words.next() == Some("MB")).then_some((node, item, kib))
}

/// The heads of `numastat -m`.
pub(super) fn numastat(line: &str) -> bool {
    line.starts_with("Per-node system memory usage")
}

/// A line below it: names of nodes, rules, and an item with its amounts.
pub(super) fn numastat_line(line: &str) -> bool {
    let is_amounts = |line: &str| amounts(line).is_some_and(|(_, amounts)| amounts.len() > 1);
    let is_rule = |line: &str| !line.is_empty() && line.bytes().all(|byte| b"- ".contains(&byte));
    let line = line.trim();
    line.starts_with("Token ") || line.starts_with("Node 0") || is_rule(line) || is_amounts(line)
}

/// An item and its amounts in KiB, printed in MiB, those of the nodes before their sum.
fn amounts(line: &str) -> Option<(&str, Vec<u64>)> {
    let mut words = line.split_ascii_whitespace();
    let item = words
        .next()
        .filter(|item| item.starts_with(|c: char| c.is_ascii_uppercase()))?;
    let kib = |word: &str| {
        let kib = word.parse::<f64>().ok()? * 1024.0;
        (kib >= 0.0 && kib < LARGEST_AMOUNT as f64).then_some(kib as u64)
    };
    Some((item, words.map(kib).collect::<Option<_>>()?))
}

/// The files of the nodes, by path.
pub(super) fn files(text: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut note = |node: u32, item: &str, kib: u64| {
        let path = kind::NODE_MEMINFO.replace("nodeN", &format!("node{node}"));
        let file: &mut String = files.entry(path).or_default();
        let _ = writeln!(file, "Node {node} {item}: {kib} kB");
    };
    for line in text.lines().map(str::trim) {
        let rest = line.strip_prefix("node ").map_or("", str::trim_start);
        if let Some((node, item, kib)) = size(rest) {
            note(node, item, kib);
        } else if let Some((item, amounts)) = amounts(line)
            && let [nodes @ .., _sum] = amounts.as_slice()
            && !item.starts_with("HugePages_")
        {
            for (node, kib) in (0..).zip(nodes) {
                note(node, item, *kib);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_numactl_are_those_of_the_nodes() {
        let text = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 1007 MB\nnode 0 free: \
                    53 MB\nnode 1 cpus: 2\nnode 1 size: 987 MB\nnode 1 free: 900 MB\nnode \
                    distances:\nnode   0   1 \n  0:  10  20 \n  1:  20  10 \n";
        assert!(numactl(text.lines().next().unwrap()));
        let rest = text.lines().skip(1);
        assert_eq!(rest.filter(|line| !numactl_line(line)).count(), 0);
        let files = files(text);
        assert_eq!(
            files["sys/devices/system/node/node0/meminfo"],
            "Node 0 MemTotal: 1031168 kB\nNode 0 MemFree: 54272 kB\n"
        );
        assert_eq!(files.len(), 2);
        assert!(!numactl_line("nodes are here"));
    }

    #[test]
    fn the_columns_of_numastat_are_nodes_and_their_sum() {
        let text = "Per-node system memory usage (in MBs):\nToken Unaccepted not in hash table.\n\
                    \x20   Node 0  Node 1  Total\n    ------ ------ -----\nMemTotal  10.50 20.00 \
                    30.50\nHugePages_Free 2 2 4\n";
        assert!(numastat(text.lines().next().unwrap()));
        let rest = text.lines().skip(1);
        assert_eq!(rest.filter(|line| !numastat_line(line)).count(), 0);
        let files = files(text);
        assert_eq!(
            files["sys/devices/system/node/node0/meminfo"],
            "Node 0 MemTotal: 10752 kB\n"
        );
        assert_eq!(
            files["sys/devices/system/node/node1/meminfo"],
            "Node 1 MemTotal: 20480 kB\n"
        );
        assert_eq!(files.len(), 2, "the sum is no node");
        for amount in ["-1.00", "1e300", "nan"] {
            assert!(
                !numastat_line(&format!("MemFree 1.00 {amount} 1.00")),
                "{amount}"
            );
        }
    }
}
