//! udev rules.

use crate::take::take;
use conf::{Entry, Live, Tree, udev};

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    let rules = ("etc/udev/rules.d/a.rules", Entry::File(text.to_owned()));
    let tree: Tree = [rules].into_iter().collect();
    let mut live = Live::default();
    live.know("sys/block/sda/queue/read_ahead_kb");
    let lines = text.lines().count();
    let load = udev::load(&tree, &live);
    assert!(
        load.writes
            .iter()
            .all(|write| (1..=lines).contains(&write.origin.line))
    );
}
