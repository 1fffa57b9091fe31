//! Settings: a value for each of some tunables, in the order in which they are written.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::catalogue::{self, Of, Scope};
use crate::units::Kib;

/// One value for one tunable, by the catalogue's name: `vm.min_free_kbytes` = `1500000`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The tunable's name in the catalogue; `bdi.DISK.max_ratio` where each disk has one.
    pub tunable: String,
    /// The text that is written into its file.
    pub value: String,
}

/// A list of settings, written in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(pub Vec<Setting>);

impl Settings {
    /// The value for a tunable; the last one where it is named twice.
    #[must_use]
    pub fn get(&self, tunable: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|s| s.tunable == tunable)
            .map(|s| s.value.as_str())
    }

    /// No settings at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Setting {
    /// The same setting with the device it names under another name: a study names its disks, the
    /// kernel its devices. One of the machine stays as it is.
    #[must_use]
    pub fn renamed(&self, device: impl FnOnce(&str) -> Option<String>) -> Option<Self> {
        let Some((tunable, old)) = catalogue::named(&self.tunable)
            .and_then(|named| Some((named.tunable, named.device()?)))
        else {
            return Some(self.clone());
        };
        let (group, device, file) = (tunable.group(), device(old)?, tunable.kernel_name());
        Some(Self {
            tunable: format!("{group}.{device}.{file}"),
            value: self.value.clone(),
        })
    }

    /// The setting under the one name of its value on a machine: a block device goes by its name
    /// and by its numbers, and the pool of huge pages of the default size is also the machine's.
    /// `device` names a device by its numbers, `huge_page` is the default size.
    #[must_use]
    pub fn by_one_name(
        self,
        device: impl FnOnce(&str) -> Option<String>,
        huge_page: Option<Kib>,
    ) -> Self {
        let setting = self.renamed(device).unwrap_or(self);
        match setting.of_default_pool(huge_page) {
            Some(tunable) => Self { tunable, ..setting },
            None => setting,
        }
    }

    /// The machine's tunable that sets the same pool.
    fn of_default_pool(&self, huge_page: Option<Kib>) -> Option<String> {
        let named = catalogue::named(&self.tunable)?;
        let Of::One(size) = named.of else {
            return None;
        };
        let default = format!("hugepages-{}kB", huge_page?.0);
        let is_default = named.tunable.scope() == Scope::PageSize && size == default;
        let name = format!("vm.{}", named.tunable.kernel_name());
        let same = catalogue::find(&name).filter(|_| is_default);
        let same = same.filter(|_| named.tunable.group() == "hugetlb");
        same.map(|tunable| tunable.name.into())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.tunable, self.value)
    }
}
