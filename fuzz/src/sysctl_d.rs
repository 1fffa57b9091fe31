//! `sysctl.d`: two files and `/etc/sysctl.conf`, by every loader.

use crate::take::take;
use conf::sysctl_d::{LOADERS, lines, load};
use conf::{Entry, Live, Tree};

pub(crate) fn target(bytes: &[u8]) {
    let Some(data) = take::<(&str, &str, &str)>(bytes) else {
        return;
    };
    let files = [
        ("etc/sysctl.d/a.conf", data.0),
        ("run/sysctl.d/b.conf", data.1),
        ("etc/sysctl.conf", data.2),
    ];
    let file = |(path, text): (&'static str, &str)| (path, Entry::File(text.to_owned()));
    let tree: Tree = files.into_iter().map(file).collect();
    let mut live = Live::default();
    for path in ["proc/sys/vm/swappiness", "proc/sys/vm/dirty_bytes"] {
        live.know(path);
    }
    for loader in LOADERS {
        let count = lines(data.0, loader).len();
        let load = load(&tree, loader, &live);
        let mut writes = load.writes.iter().filter(|it| it.origin.path == files[0].0);
        assert!(writes.all(|it| (1..=count + data.0.len()).contains(&it.origin.line)));
    }
}
