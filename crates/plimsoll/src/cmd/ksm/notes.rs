//! What has to be known beside the figures, a sentence each.

use mm::notes::Place;
use mm::units::Bytes;

use super::figures::Looked;

/// The notes that apply, the gravest first.
pub(super) fn of(looked: &Looked<'_>) -> Vec<String> {
    let notes = [
        Some(trust()),
        no_ksm(looked),
        ended(looked),
        limit(looked),
        once(looked),
        huge(looked),
        state(looked),
        advisor(looked),
        nodes(looked),
        swapped(looked),
        container(looked),
    ];
    notes.into_iter().flatten().collect()
}

fn trust() -> String {
    "Merge only among processes that trust each other: whoever can write a page and time the write \
     learns whether another process holds the same, and so can find keys, versions and addresses."
        .to_owned()
}

fn no_ksm(looked: &Looked<'_>) -> Option<String> {
    looked.ksm.is_none().then(|| {
        "This kernel has no KSM (it was built without CONFIG_KSM): the figures are what another \
         one would do with its defaults."
            .to_owned()
    })
}

fn ended(looked: &Looked<'_>) -> Option<String> {
    let lost = &looked.reading.lost;
    let names = lost.iter().take(5).map(|&index| {
        let process = &looked.processes[index as usize];
        format!("{} ({})", process.pid, process.name)
    });
    let names: Vec<String> = names.collect();
    let more = match lost.len() {
        0 => return None,
        1..=5 => String::new(),
        count => format!(" and {} more", count - 5),
    };
    Some(format!(
        "Ended while they were read, and counted as far as they were: {}{more}.",
        names.join(", ")
    ))
}

fn limit(looked: &Looked<'_>) -> Option<String> {
    let (read, all) = (looked.reading.read.0, looked.reading.all.0);
    let percent = read.saturating_mul(100).checked_div(all)?;
    // From nothing nothing follows; that nothing could be read is said elsewhere.
    (0 < read && read < all).then(|| {
        let limit = looked.limit.as_secs_f64();
        let enough = (limit * all as f64 / read as f64 * 1.2).ceil();
        format!(
            "Within {limit} s of CPU time {percent} % of the memory could be read; the interval \
             allows for the rest. --cpu-limit {enough} is enough for all."
        )
    })
}

fn once(looked: &Looked<'_>) -> Option<String> {
    (!looked.reading.twice).then(|| {
        "The time did not do for a second look at every page: some that keep changing may count \
         as still."
            .to_owned()
    })
}

/// Splitting is what merging in huge pages costs.
fn huge(looked: &Looked<'_>) -> Option<String> {
    let huge = looked.reading.huge;
    let zeros = match looked.numbers().use_zero_pages {
        Some(1) => "",
        _ => {
            " Zeros in huge pages need use_zero_pages = 1 to go in two scans; without it ksmd \
             finds about one such huge page a scan."
        }
    };
    (huge > Bytes::ZERO).then(|| {
        format!(
            "{huge} of it is in huge pages. ksmd splits a huge page where a page of it merges, \
             and the process loses what it was huge for.{zeros}"
        )
    })
}

fn state(looked: &Looked<'_>) -> Option<String> {
    match looked.numbers().run? {
        0 => None,
        1 => Some(
            "KSM is running: what becomes free comes on top of what is merged already.".to_owned(),
        ),
        _ => Some("KSM is set to unmerge (run is 2).".to_owned()),
    }
}

fn advisor(looked: &Looked<'_>) -> Option<String> {
    looked.advisor().then(|| {
        "The scan-time advisor is on and sets pages_to_scan itself; the kernel refuses other \
         values until advisor_mode is none."
            .to_owned()
    })
}

fn nodes(looked: &Looked<'_>) -> Option<String> {
    (looked.numbers().merge_across_nodes == Some(0)).then(|| {
        "merge_across_nodes is 0: pages of different NUMA nodes are not merged, which this \
         estimate does not know. With more than one node it is an upper bound."
            .to_owned()
    })
}

fn swapped(looked: &Looked<'_>) -> Option<String> {
    let swapped = looked.reading.swapped.bytes(looked.page);
    (swapped > Bytes::ZERO).then(|| {
        format!("{swapped} of theirs is in swap, where nothing merges; it was not looked at.")
    })
}

fn container(looked: &Looked<'_>) -> Option<String> {
    (looked.place == Place::Container).then(|| {
        "This is a container: only its own processes can be seen, and KSM is switched on for the \
         whole machine."
            .to_owned()
    })
}
