//! What of a machine is its configuration: the places that a host hands over as a [`Tree`].
//!
//! [`Tree`]: crate::Tree

/// A place where something may be set, or which says which program sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From `/`, without the leading slash.
    pub path: &'static str,
    /// How much of it counts.
    pub take: Take,
}

/// How much of a place is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// The file itself.
    File,
    /// Whether it is there: an empty file in its place.
    Presence,
    /// Every file of a directory, those in directories below left out.
    Files,
    /// Every file of a directory and of directories below it, four levels deep.
    All,
}

const fn files(path: &'static str) -> Place {
    let take = Take::Files;
    Place { path, take }
}

const fn file(path: &'static str) -> Place {
    let take = Take::File;
    Place { path, take }
}

const fn presence(path: &'static str) -> Place {
    let take = Take::Presence;
    Place { path, take }
}

const fn all(path: &'static str) -> Place {
    let take = Take::All;
    Place { path, take }
}

/// The places. Nothing else of a machine is needed, and nothing else is to be read.
pub const WHERE: &[Place] = &[
    // The loader of sysctl.d.
    files("etc/sysctl.d"),
    files("run/sysctl.d"),
    files("usr/local/lib/sysctl.d"),
    files("usr/lib/sysctl.d"),
    files("lib/sysctl.d"),
    file("etc/sysctl.conf"),
    presence("usr/lib/systemd/systemd-sysctl"),
    presence("lib/systemd/systemd-sysctl"),
    presence("etc/alpine-release"),
    presence("etc/init.d/sysctl"),
    presence("etc/init.d/procps"),
    presence("etc/runit/core-services/08-sysctl.sh"),
    // systemd-tmpfiles, and what its specifiers stand for.
    files("etc/tmpfiles.d"),
    files("run/tmpfiles.d"),
    files("usr/local/lib/tmpfiles.d"),
    files("usr/lib/tmpfiles.d"),
    files("lib/tmpfiles.d"),
    file("etc/machine-id"),
    file("etc/hostname"),
    file("etc/os-release"),
    // The kernel's command line.
    file("proc/cmdline"),
    // udev and systemd's units.
    files("etc/udev/rules.d"),
    files("run/udev/rules.d"),
    files("usr/local/lib/udev/rules.d"),
    files("usr/lib/udev/rules.d"),
    files("lib/udev/rules.d"),
    all("etc/systemd/system"),
    all("etc/systemd/system.control"),
    all("run/systemd/system"),
    all("run/systemd/system.control"),
    all("usr/local/lib/systemd/system"),
    all("usr/lib/systemd/system"),
    all("lib/systemd/system"),
    // Zram.
    file("etc/systemd/zram-generator.conf"),
    file("run/systemd/zram-generator.conf"),
    file("usr/local/lib/systemd/zram-generator.conf"),
    file("usr/lib/systemd/zram-generator.conf"),
    files("etc/systemd/zram-generator.conf.d"),
    files("run/systemd/zram-generator.conf.d"),
    files("usr/local/lib/systemd/zram-generator.conf.d"),
    files("usr/lib/systemd/zram-generator.conf.d"),
    file("etc/default/zramswap"),
    // TuneD, saptune, ksmtuned.
    all("etc/tuned"),
    all("usr/lib/tuned"),
    file("etc/sysconfig/saptune"),
    files("etc/saptune/override"),
    files("etc/saptune/extra"),
    files("var/lib/saptune/working/notes"),
    files("usr/share/saptune/notes"),
    file("etc/ksmtuned.conf"),
    // Scripts, cloud-init and cron.
    file("var/lib/cloud/instance/cloud-config.txt"),
    file("etc/cloud/cloud.cfg"),
    files("etc/cloud/cloud.cfg.d"),
    file("etc/rc.local"),
    file("etc/rc.d/rc.local"),
    file("etc/init.d/boot.local"),
    files("etc/local.d"),
    file("etc/crontab"),
    files("etc/cron.d"),
    files("etc/cron.hourly"),
    files("etc/cron.daily"),
    files("etc/cron.weekly"),
    files("etc/cron.monthly"),
    // Those of others run as others, and set nothing.
    file("var/spool/cron/root"),
    file("var/spool/cron/crontabs/root"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ksmtuned, saptune, sysctl_d, tmpfiles, tuned, udev, units, zram};
    use alloc::vec::Vec;

    #[test]
    fn every_directory_that_is_read_is_handed_over() {
        let mut read: Vec<&str> = Vec::new();
        read.extend(sysctl_d::files::DIRECTORIES);
        read.extend(tmpfiles::DIRECTORIES);
        read.extend(udev::DIRECTORIES);
        read.extend(units::DIRECTORIES);
        read.extend(zram::GENERATOR);
        read.extend(zram::GENERATOR_D);
        read.extend(saptune::NOTES.map(|(directory, _)| directory));
        read.extend([
            saptune::CONFIGURATION,
            ksmtuned::CONFIGURATION,
            zram::ZRAMSWAP,
        ]);
        read.extend([tuned::MAIN, tuned::ACTIVE, crate::command_line::PATH]);
        read.extend(tuned::PROFILES);
        read.extend(crate::scripts::PLACES);
        let within = |place: &Place, path: &str| {
            let below = path.strip_prefix(place.path);
            below.is_some_and(|rest| {
                rest.is_empty() || (place.take == Take::All && rest.starts_with('/'))
            })
        };
        for path in read {
            assert!(WHERE.iter().any(|place| within(place, path)), "{path}");
        }
    }
}
