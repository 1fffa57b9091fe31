//! The catalogue's name of a key or a path, whichever way it is written.

use mm::catalogue;

/// The name of a key of sysctl: with dots, as its first separator says what the others mean.
/// `vm/swappiness` is `vm.swappiness`, and `net/ipv4/conf/eth0.1/x` is `net.ipv4.conf.eth0/1.x`.
pub(super) fn of_key(key: &str) -> String {
    let separator = key.find(['.', '/']).map(|at| &key[at..=at]);
    let swapped = |c| match c {
        '/' => '.',
        '.' => '/',
        c => c,
    };
    match separator {
        Some("/") => key.chars().map(swapped).collect(),
        _ => key.to_owned(),
    }
}

/// The name of a file of `/proc/sys` or `/sys`: the catalogue's, or the path with dots below
/// `/proc/sys`, or the path itself.
pub fn of_path(path: &str) -> String {
    let bare = path.trim_start_matches('/');
    if let Some(key) = bare.strip_prefix("proc/sys/") {
        return key.replace('/', ".");
    }
    if let Some(tunable) = catalogue::all().find(|tunable| tunable.path == bare) {
        return tunable.name.to_owned();
    }
    match mm::bdi::device_of(bare) {
        Some((device, file)) => format!("bdi.{device}.{file}"),
        None => format!("/{bare}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_has_one_name() {
        assert_eq!(of_key("vm.swappiness"), "vm.swappiness");
        assert_eq!(of_key("vm/swappiness"), "vm.swappiness");
        assert_eq!(of_key("net/ipv4/conf/eth0.1/x"), "net.ipv4.conf.eth0/1.x");
        assert_eq!(of_path("/proc/sys/vm/swappiness"), "vm.swappiness");
        assert_eq!(of_path("/sys/kernel/mm/ksm/run"), "ksm.run");
        let device = "/sys/block/sda/bdi/max_ratio";
        assert_eq!(of_path(device), "bdi.sda.max_ratio");
        assert_eq!(of_path("/sys/power/state"), "/sys/power/state");
    }
}
