//! `tmpfiles.d`: two files, and a line of our own for the texts given.

use crate::take::take;
use conf::{Entry, Kind, Live, Tree, tmpfiles};

pub(crate) fn target(bytes: &[u8]) {
    let Some(data) = take::<(&str, &str)>(bytes) else {
        return;
    };
    let own = Kind::Tmpfiles.line(data.0, data.1);
    let files = [
        ("etc/tmpfiles.d/a.conf", data.0),
        ("etc/tmpfiles.d/b.conf", data.1),
        ("etc/tmpfiles.d/c.conf", own.as_str()),
    ];
    let file = |(path, text): (&'static str, &str)| (path, Entry::File(text.to_owned()));
    let tree: Tree = files.into_iter().map(file).collect();
    let mut live = Live::default();
    live.know("sys/kernel/mm/ksm/run");
    let load = tmpfiles::load(&tree, &live);
    assert!(load.writes.iter().all(|write| !write.path.starts_with('/')));
}
