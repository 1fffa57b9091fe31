//! A limit or protection of control groups: where it is set, and what the groups hold.

use crate::fact::or_unsaid;
use mm::capture::Frame;
use mm::units::Bytes;

use super::super::value::Values;
use super::row::Row;
use crate::explain::looked::Looked;

/// Groups that are shown.
const SHOWN: usize = 12;

/// The group that was named, or those whose value is not the usual one.
pub(super) fn groups(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let (tunable, frame) = (looked.named.tunable, looked.frame);
    let row = |group: &str, value: &str| {
        let held = current(frame, group);
        let about = or_unsaid(held.map(|held| format!("holds {held}")));
        match value.parse() {
            Ok(bytes) if bytes > 1 => Row::amount(group, Bytes(bytes), about),
            _ => Row::word(group, value, about),
        }
    };
    if let (Some(group), Some(value)) = (looked.named.control_group(), &values.value) {
        return vec![row(group, value)];
    }
    let usual = |value: &str| {
        let named = tunable.of_this("a");
        named.and_then(|named| looked.snapshot.differs(named, value)) != Some(true)
    };
    let set = values.values.iter().filter(|value| !usual(&value.value));
    set.take(SHOWN)
        .map(|value| row(&value.of, &value.value))
        .collect()
}

/// What a group holds.
fn current(frame: &Frame, group: &str) -> Option<Bytes> {
    let text = frame.file(&format!("sys/fs/cgroup/{group}/memory.current"))?;
    text.trim().parse().ok().map(Bytes)
}
