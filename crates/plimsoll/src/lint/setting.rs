//! A setting as it stands in a text: which tunable, which value, on which line, and who writes it.

use conf::value;
use mm::catalogue;

/// Who writes a setting into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Writer {
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
    /// Nobody knows who: the kernel has the value now.
    Live,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The catalogue's name where it has one (`vm.swappiness`, `ksm.run`, `bdi.sda.max_ratio`),
    /// else the key with dots.
    pub(crate) name: String,
    /// The key as it is written.
    pub(crate) key: String,
    /// The value as the writer passes it on.
    pub(crate) value: String,
    /// Which text of the scope.
    pub(crate) text: usize,
    /// The line, from 1; 0 for the text as a whole.
    pub(crate) line: usize,
    /// Who writes it.
    pub(crate) by: Writer,
    /// Whether no other setting of the scope takes its place.
    pub(crate) stands: bool,
}

impl Setting {
    /// Its value as the kernel reads the first number of it: decimal, octal with a leading 0, or
    /// hexadecimal with 0x; what follows a blank is passed over (`proc_get_long`).
    pub(crate) fn number(&self) -> Option<u64> {
        number(self.value.split_ascii_whitespace().next()?)
    }

    /// Whether some kernel takes the value; one that is not in the catalogue is taken to be.
    pub(crate) fn is_taken(&self) -> bool {
        let Some(named) = catalogue::named(&self.name) else {
            return true;
        };
        match named.tunable.path.starts_with("proc/sys/") {
            true => value::is_taken(named.tunable, &self.value),
            // A file of /sys takes nothing behind a number.
            false => named.tunable.values.contain(&self.value),
        }
    }
}

/// A number in the kernel's notation, not below 0.
pub(crate) fn number(word: &str) -> Option<u64> {
    value::integer(word)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_below_0_is_none() {
        assert_eq!(number("074"), Some(60), "a leading zero is octal");
        assert_eq!(number("0"), Some(0));
        assert_eq!(number("-1"), None);
    }
}
