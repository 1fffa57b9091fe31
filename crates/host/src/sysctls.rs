//! Which tunable of `/proc/sys/vm` a file is, by its inode: who sees a write to it knows no more.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;

use mm::catalogue::folder::VM;

use crate::Root;

/// The files of tunables, held open: an inode of `/proc` keeps its number only as long as that.
/// Nothing is read from them.
#[derive(Debug)]
pub struct Sysctls {
    by_inode: BTreeMap<u64, (String, File)>,
}

impl Sysctls {
    /// Opens them; what cannot be opened is left out.
    #[must_use]
    pub fn open(root: &Root) -> Self {
        let folder = root.folder().and_then(|it| it.folder(VM));
        let opened = |name: String| {
            let file = folder.as_ref().ok()?.find(&name).ok()?.open().ok()?;
            let inode = file.metadata().ok()?.ino();
            Some((inode, (format!("vm.{name}"), file)))
        };
        let names = root.names(VM).into_iter();
        Self {
            by_inode: names.filter_map(opened).collect(),
        }
    }

    /// The tunable with this inode: "vm.swappiness".
    #[must_use]
    pub fn name(&self, inode: u64) -> Option<&str> {
        let (name, _) = self.by_inode.get(&inode)?;
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_this_machine_is_known_by_its_inode() {
        let sysctls = Sysctls::open(&Root::default());
        let inode = std::fs::metadata("/proc/sys/vm/swappiness").map(|it| it.ino());
        let inode = inode.expect("every Linux has it");
        assert_eq!(sysctls.name(inode), Some("vm.swappiness"));
        assert_eq!(sysctls.name(0), None);
    }
}
