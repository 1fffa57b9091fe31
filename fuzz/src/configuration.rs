//! Whole configurations: each byte chooses a place that a host hands over, each text is what lies
//! there. So every writer of a boot is fed.

use crate::take::take;
use conf::places::{Take, WHERE};
use conf::{Entry, Kind, Live, Next, Tree, winning_name};

const NAMES: &[&str] = &[
    "a.conf",
    "a.rules",
    "x/tuned.conf",
    "x.service",
    "x.slice.d/a.conf",
    "x",
];

pub(crate) fn target(bytes: &[u8]) {
    let Some(data) = take::<Vec<(u8, u8, &str)>>(bytes) else {
        return;
    };
    let entry = |(place, name, text): (u8, u8, &str)| {
        let place = &WHERE[usize::from(place) % WHERE.len()];
        let path = match place.take {
            Take::File | Take::Presence => place.path.to_owned(),
            _ => format!("{}/{}", place.path, NAMES[usize::from(name) % NAMES.len()]),
        };
        let entry = match name {
            0xff => Entry::Link(text.to_owned()),
            _ => Entry::File(text.to_owned()),
        };
        (path, entry)
    };
    let tree: Tree = data.into_iter().take(16).map(entry).collect();
    let next = Next::of(&tree, &Live::default());
    for path in ["proc/sys/vm/swappiness", "sys/kernel/mm/ksm/run"] {
        let answer = next.who(path);
        assert!(answer.winner().is_none() || answer.partner.is_none());
    }
    let _ = winning_name(&tree, Kind::Sysctl, &[("proc/sys/vm/swappiness", "1")]);
}
