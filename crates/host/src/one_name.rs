//! Values that have two names on this machine: a block device goes by its name and by its numbers,
//! and the pool of huge pages of the default size is also that of the machine.

use std::fs;

use mm::meminfo::Meminfo;
use mm::settings::Setting;

use crate::Root;

/// The setting under the one name of its value here. Changes are told apart by it.
#[must_use]
pub fn of(root: &Root, setting: Setting) -> Setting {
    let by_number = |number: &str| {
        let link = fs::read_link(root.join(&format!("sys/dev/block/{number}"))).ok()?;
        Some(link.file_name()?.to_str()?.to_owned())
    };
    setting.by_one_name(by_number, default_huge_page(root))
}

fn default_huge_page(root: &Root) -> Option<mm::units::Kib> {
    let (meminfo, _) = Meminfo::read(&root.look("proc/meminfo").ok()?);
    meminfo?.hugepagesize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::root;

    #[test]
    fn a_value_has_one_name() {
        let (_directory, root) = root(&[("proc/meminfo", "Hugepagesize:       2048 kB\n")]);
        fs::create_dir_all(root.join("sys/dev/block")).expect("a folder");
        let link = root.join("sys/dev/block/8:0");
        std::os::unix::fs::symlink("../../devices/block/sda", link).expect("a link");
        for (given, known) in [
            ("bdi.8:0.max_ratio", "bdi.sda.max_ratio"),
            ("bdi.8:16.max_ratio", "bdi.8:16.max_ratio"),
            ("bdi.sdb.max_ratio", "bdi.sdb.max_ratio"),
            ("hugetlb.hugepages-2048kB.nr_hugepages", "vm.nr_hugepages"),
            (
                "hugetlb.hugepages-1048576kB.nr_hugepages",
                "hugetlb.hugepages-1048576kB.nr_hugepages",
            ),
            (
                "thp.hugepages-2048kB.enabled",
                "thp.hugepages-2048kB.enabled",
            ),
            ("vm.swappiness", "vm.swappiness"),
        ] {
            let (tunable, value) = (given.to_owned(), "1".to_owned());
            assert_eq!(of(&root, Setting { tunable, value }).tunable, known);
        }
    }
}
