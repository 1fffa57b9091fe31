//! ksmtuned: it switches KSM on and off by free memory.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use mm::catalogue::path_of;

use crate::drop_ins::opened;
use crate::load::{Load, Lost, Why};
use crate::origin::Origin;
use crate::tree::{Found, Tree};

/// ksmtuned's configuration.
pub const CONFIGURATION: &str = "etc/ksmtuned.conf";

/// The files that ksmtuned writes.
const WRITTEN: [&str; 3] = [
    path_of("ksm.run"),
    path_of("ksm.pages_to_scan"),
    path_of("ksm.sleep_millisecs"),
];

/// What ksmtuned does: it writes by itself while the machine runs; the file sets nothing at boot.
#[must_use]
pub fn load(tree: &Tree) -> Load {
    let Found::File { .. } = tree.find(CONFIGURATION) else {
        return Load::default();
    };
    let lost = |path: &str| Lost {
        origin: Origin::new(CONFIGURATION, 0),
        path: path.to_owned(),
        value: None,
        why: Why::AtRunTime("ksmtuned sets it by free memory"),
    };
    Load {
        writes: Vec::new(),
        lost: WRITTEN.map(lost).into(),
        sources: [opened(tree, CONFIGURATION.to_owned())].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;

    #[test]
    fn ksmtuned_is_named_as_a_writer_at_run_time() {
        let load = load(&tree_of(&[(CONFIGURATION, "KSM_SLEEP_MSEC=10\n")]));
        assert_eq!(load.lost.len(), 3);
        assert!(super::load(&Tree::default()).lost.is_empty());
    }
}
