//! What the formulas say of values that would kill the machine.
//!
//! Each rule compares the machine now with the machine right after the settings are written
//! ([`Snapshot::after`]), so it speaks of all of them together.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::settings::Setting;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, Pages};

/// A reason not to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The tunable that is to blame.
    pub tunable: &'static str,
    /// What would happen, with the numbers of this machine.
    pub what: String,
}

/// The machine before and after.
struct Both<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
}

/// Every reason not to write these settings on this machine.
#[must_use]
pub fn dangers(machine: &Snapshot, settings: &[Setting]) -> Vec<Danger> {
    let after = machine.after(settings);
    let both = Both {
        before: machine,
        after: &after,
    };
    let rules = [
        reserve,
        tiny_reserve,
        commit,
        huge_pages,
        dirty,
        unmerge,
        maps,
    ];
    rules.into_iter().filter_map(|rule| rule(&both)).collect()
}

impl Both<'_> {
    /// A tunable that changes: its new number.
    fn changed(&self, name: &str) -> Option<u64> {
        let new = self.after.number(name)?;
        (self.before.number(name) != Some(new)).then_some(new)
    }

    fn available(of: &Snapshot) -> Option<Kib> {
        of.available().map(|terms| terms.total.kib(of.page))
    }
}

/// Watermarks and reserves that leave next to nothing: less than 64 MiB or a fiftieth of memory.
fn reserve(both: &Both<'_>) -> Option<Danger> {
    const NAMES: [&str; 3] = [
        "vm.min_free_kbytes",
        "vm.watermark_scale_factor",
        "vm.lowmem_reserve_ratio",
    ];
    let changed = |name: &&&str| both.before.tunable(name) != both.after.tunable(name);
    let tunable = NAMES.iter().find(changed)?;
    let total = both.before.meminfo.as_ref()?.mem_total?;
    let now = Both::available(both.before)?;
    let then = Both::available(both.after)?;
    let least = Kib((64 << 10).max(total.0 / 50));
    let what = format!(
        "MemAvailable falls from {now} to {then} of {total}: what runs here needs the rest, and \
         processes will be killed"
    );
    (then < now && then < least).then_some(Danger { tunable, what })
}

/// `Documentation/admin-guide/sysctl/vm.rst`: below 1024 kB the system is prone to deadlock.
fn tiny_reserve(both: &Both<'_>) -> Option<Danger> {
    let tunable = "vm.min_free_kbytes";
    let new = both.changed(tunable).filter(|new| *new < 1024)?;
    let what = format!(
        "{new} kB is less than reclaim itself needs: below 1024 kB the machine may deadlock under \
         load"
    );
    Some(Danger { tunable, what })
}

/// Strict accounting with less than is promised already.
fn commit(both: &Both<'_>) -> Option<Danger> {
    const NAMES: [&str; 3] = [
        "vm.overcommit_memory",
        "vm.overcommit_ratio",
        "vm.overcommit_kbytes",
    ];
    let changed = |name: &&&str| both.before.tunable(name) != both.after.tunable(name);
    let tunable = NAMES.iter().find(changed)?;
    if both.after.number("vm.overcommit_memory") != Some(2) {
        return None;
    }
    let promised = both.before.meminfo.as_ref()?.committed_as?;
    let limit = both.after.commit_limit()?;
    let what = format!(
        "{promised} are promised and the limit will be {limit}: under vm.overcommit_memory 2 the \
         next allocation fails, in every process"
    );
    (promised.0 > limit.0 / 20 * 19).then_some(Danger { tunable, what })
}

/// A pool of huge pages that takes what runs here needs.
fn huge_pages(both: &Both<'_>) -> Option<Danger> {
    let tunable = "vm.nr_hugepages";
    let new = both.changed(tunable)?;
    let more = new.saturating_sub(both.before.number(tunable).unwrap_or(0));
    let size = both.before.meminfo.as_ref()?.hugepagesize?;
    let takes = Kib(size.0.saturating_mul(more));
    let available = Both::available(both.before)?;
    let what = format!(
        "{more} more huge pages take {takes}, and {available} are available: what runs here is \
         swapped out or killed"
    );
    (takes.0 > available.0 / 10 * 9).then_some(Danger { tunable, what })
}

/// A dirty threshold of a few pages: each writer waits for the disk.
fn dirty(both: &Both<'_>) -> Option<Danger> {
    let bytes = both.changed("vm.dirty_bytes").filter(|bytes| *bytes > 0);
    let ratio = both.changed("vm.dirty_ratio").filter(|_| bytes.is_none());
    let (tunable, limit) = match (bytes, ratio) {
        (Some(bytes), _) => ("vm.dirty_bytes", Bytes(bytes)),
        (None, Some(_)) if both.after.number("vm.dirty_bytes") == Some(0) => {
            let limit = both.after.thresholds()?.dirty;
            ("vm.dirty_ratio", limit.bytes(both.after.page))
        }
        _ => return None,
    };
    let what = format!(
        "{limit} may be dirty on the whole machine: every process that writes waits for the disk \
         after a few pages"
    );
    (limit.0 < 1 << 20).then_some(Danger { tunable, what })
}

/// Unmerging needs the memory that merging saved.
fn unmerge(both: &Both<'_>) -> Option<Danger> {
    let tunable = "ksm.run";
    both.changed(tunable).filter(|run| *run == 2)?;
    let shared = both.before.ksm.as_ref()?.numbers.pages_sharing?;
    let needs = Pages(shared).kib(both.before.page);
    let available = Both::available(both.before)?;
    let what =
        format!("unmerging needs {needs}, and {available} are available: processes are killed");
    (needs.0 > available.0 / 10 * 9).then_some(Danger { tunable, what })
}

/// Mappings that every larger program needs.
fn maps(both: &Both<'_>) -> Option<Danger> {
    let tunable = "vm.max_map_count";
    let new = both.changed(tunable).filter(|new| *new < 4096)?;
    let what = format!(
        "{new} mappings are too few for a larger program (65530 is the default): its next mmap \
         fails"
    );
    Some(Danger { tunable, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use mm::capture::Capture;

    const CAPTURE: &str = include_str!("../../../fixtures/kernels/vm-5gib-7.2/capture.txt");

    fn of(settings: &[(&str, &str)]) -> Vec<&'static str> {
        let capture = Capture::parse(CAPTURE).expect("a capture");
        let machine = Snapshot::parse(&capture.frames[0]);
        let setting = |&(tunable, value): &(&str, &str)| Setting {
            tunable: tunable.to_owned(),
            value: value.to_owned(),
        };
        let settings: Vec<Setting> = settings.iter().map(setting).collect();
        let found = dangers(&machine, &settings);
        found.into_iter().map(|danger| danger.tunable).collect()
    }

    #[test]
    fn values_that_machines_run_with_are_no_danger() {
        for settings in [
            [("vm.min_free_kbytes", "1000000")],
            [("vm.watermark_scale_factor", "1000")],
            [("vm.dirty_bytes", "67108864")],
            [("vm.overcommit_memory", "1")],
            [("vm.nr_hugepages", "512")],
            [("vm.max_map_count", "262144")],
            [("ksm.run", "2")],
        ] {
            assert!(of(&settings).is_empty(), "{settings:?}");
        }
    }

    #[test]
    fn values_that_kill_this_machine_are_found() {
        for settings in [
            [("vm.min_free_kbytes", "3500000")],
            [("vm.min_free_kbytes", "512")],
            [("vm.nr_hugepages", "2500")],
            [("vm.dirty_ratio", "0")],
            [("vm.dirty_bytes", "8192")],
            [("vm.max_map_count", "100")],
        ] {
            assert_eq!(of(&settings), [settings[0].0], "{settings:?}");
        }
        let strict = [
            ("vm.overcommit_memory", "2"),
            ("vm.overcommit_kbytes", "1000"),
        ];
        assert_eq!(of(&strict), ["vm.overcommit_memory"]);
    }
}
