//! Which tunables there are, and the names of those that a device, a size of huge page or a control
//! group has for itself.

use alloc::string::String;
use core::fmt;

use super::tunable::Tunable;
use super::{address_space, bdi, cgroup, ksm, lru_gen, migration, removed, thp, vm, zswap};

/// What a tunable is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The machine.
    Machine,
    /// One block device, or what NFS, FUSE or btrfs have in its place.
    Device,
    /// One size of huge pages.
    PageSize,
    /// One control group.
    Group,
}

/// Whose value is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of<'a> {
    /// The machine's, which has one.
    Machine,
    /// This one's: a device, a size of huge pages (`hugepages-64kB`) or a control group.
    One(&'a str),
    /// Each one's: none was named.
    Each,
}

/// A tunable as it was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its row.
    pub tunable: &'static Tunable,
    /// Whose value is meant.
    pub of: Of<'a>,
}

/// The tunables of the machine by group.
pub(super) const GROUPS: [&[Tunable]; 9] = [
    vm::TABLE,
    address_space::TABLE,
    removed::TABLE,
    thp::TABLE,
    thp::KHUGEPAGED,
    lru_gen::TABLE,
    ksm::TABLE,
    zswap::TABLE,
    migration::TABLE,
];

/// Every tunable of the machine, group by group.
pub fn all() -> impl Iterator<Item = &'static Tunable> {
    GROUPS.into_iter().flatten()
}

/// Every tunable that each block device has for itself.
pub fn of_devices() -> impl Iterator<Item = &'static Tunable> {
    bdi::TABLE.iter()
}

/// Every tunable that each size of huge pages has for itself.
pub fn of_page_sizes() -> impl Iterator<Item = &'static Tunable> {
    thp::SIZES.iter()
}

/// Every tunable that each control group has for itself.
pub fn of_groups() -> impl Iterator<Item = &'static Tunable> {
    cgroup::TABLE.iter()
}

/// Every tunable there is.
pub(super) fn whole() -> impl Iterator<Item = &'static Tunable> {
    all()
        .chain(of_devices())
        .chain(of_page_sizes())
        .chain(of_groups())
}

/// The tunable of the machine with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Tunable> {
    all().find(|tunable| tunable.name == name)
}

/// The tunable that a setting names, of the machine, of one device or of one size of huge pages.
/// Those of control groups are set by systemd, so none is found here.
#[must_use]
pub fn named(name: &str) -> Option<Named<'_>> {
    let of = Of::Machine;
    let of_machine = find(name).map(|tunable| Named { tunable, of });
    of_machine.or_else(|| {
        of_devices()
            .chain(of_page_sizes())
            .find_map(|it| it.one(name))
    })
}

impl Scope {
    /// What stands in a name and in a path for the one that is meant; nothing for the machine.
    #[must_use]
    pub const fn placeholder(self) -> &'static str {
        match self {
            Self::Machine => "",
            Self::Device => "DEVICE",
            Self::PageSize => "SIZE",
            Self::Group => "GROUP",
        }
    }

    /// Whether a text can be the name of one: hidden directories and parents cannot.
    pub(super) fn takes(self, one: &str) -> bool {
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        match self {
            Self::Machine => false,
            Self::Device => plain(one) && !one.contains('/'),
            Self::PageSize => {
                one.strip_prefix("hugepages-").is_some_and(plain) && !one.contains('/')
            }
            Self::Group => one.split('/').all(plain),
        }
    }
}

impl Tunable {
    /// What it is set for.
    #[must_use]
    pub fn scope(&self) -> Scope {
        let scopes = [Scope::Device, Scope::PageSize, Scope::Group];
        let of = |scope: &Scope| self.path.contains(scope.placeholder());
        scopes.into_iter().find(of).unwrap_or(Scope::Machine)
    }

    /// The one of its scope that a name means: `sda` of `bdi.sda.max_ratio`.
    fn one<'a>(&'static self, name: &'a str) -> Option<Named<'a>> {
        let (before, after) = self.name.split_once(self.scope().placeholder())?;
        self.of_this(name.strip_prefix(before)?.strip_suffix(after)?)
    }

    /// It, of this device, size or group; of each where the row's own word stands for it. `None`
    /// where none can have this name.
    #[must_use]
    pub fn of_this<'a>(&'static self, one: &'a str) -> Option<Named<'a>> {
        let of = match one == self.scope().placeholder() {
            true => Of::Each,
            false => Of::One(one),
        };
        let (tunable, scope) = (self, self.scope());
        (of == Of::Each || scope.takes(one)).then_some(Named { tunable, of })
    }
}

impl<'a> Named<'a> {
    /// The device, where one is named: a study's disk, or what the kernel calls it.
    #[must_use]
    pub fn device(self) -> Option<&'a str> {
        match (self.tunable.scope(), self.of) {
            (Scope::Device, Of::One(device)) => Some(device),
            _ => None,
        }
    }

    /// The control group, where one is named, without a leading slash.
    #[must_use]
    pub fn control_group(self) -> Option<&'a str> {
        match (self.tunable.scope(), self.of) {
            (Scope::Group, Of::One(group)) => Some(group),
            _ => None,
        }
    }

    /// Its file, without the leading slash, where the device is named as the kernel does. What was
    /// not named stands there as in the row.
    #[must_use]
    pub fn path(self) -> String {
        let scope = self.tunable.scope();
        match self.of {
            Of::One(one) if scope == Scope::Device && is_class_name(one) => {
                alloc::format!("sys/class/bdi/{one}/{}", self.tunable.kernel_name())
            }
            Of::One(one) => self.tunable.path.replacen(scope.placeholder(), one, 1),
            Of::Machine | Of::Each => self.tunable.path.into(),
        }
    }
}

impl fmt::Display for Named<'_> {
    /// As a setting names it; a file of a group as its path below the groups.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = self.tunable.scope();
        match self.of {
            Of::One(group) if scope == Scope::Group => write!(f, "{group}/{}", self.tunable.name),
            Of::One(one) => f.write_str(&self.tunable.name.replacen(scope.placeholder(), one, 1)),
            Of::Machine | Of::Each => f.write_str(self.tunable.name),
        }
    }
}

/// Whether a device is named as in `/sys/class/bdi`: by its numbers, or as btrfs does.
fn is_class_name(device: &str) -> bool {
    device.contains(':') || device.starts_with("btrfs-")
}
