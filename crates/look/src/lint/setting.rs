//! A setting as it stands in a text: which tunable, which value, on which line, and who writes it.

use conf::load::Write;
use mm::catalogue;

use super::read::name;

/// Who writes a setting into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    /// The kernel, from its command line.
    CommandLine,
    /// systemd-sysctl or procps, from sysctl.d and sysctl.conf.
    Sysctl,
    /// systemd-tmpfiles.
    Tmpfiles,
    /// udev, at a device's event.
    Udev,
    /// TuneD, from a profile.
    Tuned,
    /// saptune, from its notes.
    Saptune,
    /// Commands in services, start scripts, cloud-init and cron.
    Script,
    /// A tool that reads YAML: Ansible, Helm, Kubernetes.
    Yaml,
    /// Plimsoll, once the plan is carried out.
    Plan,
    /// Nobody knows who: the kernel has the value now.
    Live,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The catalogue's name where it has one (`vm.swappiness`, `ksm.run`, `bdi.sda.max_ratio`),
    /// else the key with dots.
    pub name: String,
    /// The key as it is written.
    pub key: String,
    /// The value as the writer passes it on.
    pub value: String,
    /// Which text of the scope.
    pub text: usize,
    /// The line, from 1; 0 for the text as a whole.
    pub line: usize,
    /// Who writes it.
    pub by: Writer,
    /// Whether no other setting of the scope takes its place.
    pub stands: bool,
}

impl Setting {
    /// What another reader told of a text, as the first of a scope.
    pub fn of(write: Write, by: Writer) -> Self {
        Self {
            name: name::of_path(&write.path),
            key: write.path,
            value: write.value,
            text: 0,
            line: write.origin.line,
            by,
            stands: false,
        }
    }

    /// Whether the kernel reads 0: a comment behind it is no part of the number.
    pub fn is_zero(&self) -> bool {
        self.number() == Some(0)
    }

    /// Its value as a number, as the kernel reads it; `None` below 0. Every key that the catalogue
    /// does not know is taken for a sysctl.
    pub fn number(&self) -> Option<u64> {
        let number = match catalogue::named(&self.name) {
            Some(named) => named.tunable.number(&self.value),
            None => catalogue::sysctl_number(&self.value),
        };
        number?.try_into().ok()
    }

    /// The setting as the kernel takes it; `None` where it does not.
    pub fn taken(&self) -> Option<mm::settings::Setting> {
        let value = catalogue::named(&self.name)?.tunable.taken(&self.value)?;
        let tunable = self.name.clone();
        Some(mm::settings::Setting { tunable, value })
    }

    /// Whether some kernel takes the value; one that is not in the catalogue is taken to be.
    pub fn is_taken(&self) -> bool {
        let named = catalogue::named(&self.name);
        named.is_none_or(|named| named.tunable.taken(&self.value).is_some())
    }
}
