//! The limit of a control group that refused, and what the group holds.

use mm::kernel_log::{Counter, Group};
use mm::units::{Bytes, Kib};

/// Which counter stands at its limit, what the group holds, and whether it may swap.
pub(super) fn of_group(group: &Group) -> Vec<String> {
    let mut sentences = Vec::new();
    let counters = [
        ("memory", group.memory),
        ("memory and swap together", group.memory_and_swap),
        ("kernel memory", group.kernel),
    ];
    let told = counters.iter().find_map(|(name, counter)| {
        let counter = (*counter)?;
        counter.is_full().then_some((*name, counter))
    });
    match (told, group.memory) {
        (Some((name, counter)), _) => sentences.extend(at_limit(name, counter)),
        (None, Some(memory)) => sentences.push(below_limit(memory)),
        (None, None) => sentences.push(
            "The lines with its usage and limit are not in this \
            log."
                .to_owned(),
        ),
    }
    sentences.extend(content(group));
    sentences.extend(group_swap(group));
    sentences
}

fn at_limit(name: &str, counter: Counter) -> Option<String> {
    let limit = counter.limit?;
    Some(format!(
        "Its {name} stands at {} kB of {} kB ({limit}), refused {} times.",
        counter.usage.0, limit.0, counter.failures
    ))
}

fn below_limit(memory: Counter) -> String {
    match memory.limit {
        Some(limit) => format!(
            "Its memory stands at {} kB of {} kB: {} below the limit when this \
            was printed, so the request was larger than that, or some was freed since.",
            memory.usage.0,
            limit.0,
            limit.saturating_sub(memory.usage)
        ),
        None => format!(
            "Its memory has no limit ({} kB used): a group above it has one.",
            memory.usage.0
        ),
    }
}

/// What is in the group.
fn content(group: &Group) -> Option<String> {
    let parts = [
        ("anonymous", group.anon()),
        ("tmpfs and shared", group.shmem()),
        ("page cache", group.file()),
        ("the kernel's", group.kernel_bytes()),
    ];
    let mut parts: Vec<_> = parts
        .iter()
        .filter_map(|(name, bytes)| Some((name, (*bytes).filter(|&bytes| bytes > Bytes::ZERO)?)))
        .collect();
    parts.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
    let words: Vec<String> = parts
        .iter()
        .map(|(name, bytes)| format!("{bytes} {name}"))
        .collect();
    (!words.is_empty()).then(|| format!("It holds {}.", words.join(", ")))
}

fn group_swap(group: &Group) -> Option<String> {
    if let Some(swap) = group.swap {
        return match swap.limit {
            Some(Kib::ZERO) => Some(
                "It may not swap (memory.swap.max is 0), so anonymous memory \
                had nowhere to go."
                    .to_owned(),
            ),
            Some(limit) if swap.is_full() => Some(format!("Its swap is full ({limit}).")),
            _ => None,
        };
    }
    let both = group.memory_and_swap?;
    let memory = group.memory?;
    (both.limit.is_some() && both.limit == memory.limit).then(|| {
        "Memory and swap together have the same limit, so swapping would free nothing.".to_owned()
    })
}
