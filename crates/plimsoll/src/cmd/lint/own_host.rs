//! The machine whose kernel we are on, as a container sees it: its files lie below `/host`.

use std::path::Path;

use host::{Root, facts};
use mm::notes::Place;

/// Where a container has the root of its host, by the custom of `kubectl debug` and of others.
const HOST: &str = "/host";

/// The root of this machine's files, and what their paths begin with as they are shown.
pub(super) fn root() -> (Root, String) {
    let host = Path::new(HOST);
    match is_its_root(host) && host.is_dir() {
        true => (Root::new(host), format!("{HOST}/")),
        false => (Root::default(), "/".to_owned()),
    }
}

/// Whether a folder is where a container has the root of its host.
pub(super) fn is_its_root(path: &Path) -> bool {
    is_root_for(place(), path)
}

fn is_root_for(place: Place, path: &Path) -> bool {
    place == Place::Container && path.components().eq(Path::new(HOST).components())
}

/// Where this is. A pod of `kubectl debug node` has the host's processes: it is told by a root
/// that no machine has, with the whole of one below it.
fn place() -> Place {
    let has = |path: &str| Path::new(HOST).join(path).is_dir();
    match has("usr/lib") && has("proc/1") {
        true => Place::Container,
        false => facts::place(&Root::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_its_host_is_known_to_a_container_alone() {
        for (place, path, expected) in [
            (Place::Container, "/host", true),
            (Place::Container, "/host/", true),
            (Place::Container, "/host/etc", false),
            (Place::Container, "host", false),
            (Place::Machine, "/host", false),
        ] {
            assert_eq!(is_root_for(place, Path::new(path)), expected, "{path}");
        }
    }
}
