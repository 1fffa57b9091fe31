//! Files that are not read, lines that are passed over, and which of two lines wins.

use std::collections::{BTreeMap, BTreeSet};

use conf::sysctl_d::Loader;
use mm::catalogue;

use crate::fact::Missing;
use crate::lint::read::Form;
use crate::lint::rule::{Answer, At};
use crate::lint::scope::{Extent, Scope};
use crate::lint::setting::{Setting, Writer};
use crate::lint::text::Text;

fn at(setting: &Setting, what: String) -> At {
    At {
        text: setting.text,
        line: setting.line,
        said: Ok(what.into()),
    }
}

/// A line that is no setting.
pub(in crate::lint) fn line_ignored(scope: &Scope<'_>) -> Vec<At> {
    let lines = scope.strays.iter().map(|line| At {
        text: line.text,
        line: line.number,
        said: Ok(format!(
            "\"{}\" has no = and sets nothing; systemd-sysctl reads on and fails at the end",
            mm::text::shown(&line.what)
        )
        .into()),
    });
    lines.collect()
}

/// One file sets a tunable to two values.
pub(in crate::lint) fn set_twice(scope: &Scope<'_>) -> Vec<At> {
    let by_file = |setting: &&Setting| matches!(setting.by, Writer::Sysctl | Writer::Tuned);
    let settings: Vec<&Setting> = scope.settings.iter().filter(by_file).collect();
    let mut last = BTreeMap::new();
    for setting in &settings {
        last.insert((setting.text, setting.name.as_str()), *setting);
    }
    let lost = settings.iter().filter_map(|setting| {
        let winner = last.get(&(setting.text, setting.name.as_str()))?;
        let other = winner.line != setting.line && winner.value != setting.value;
        other.then(|| {
            let (line, value) = (winner.line, &winner.value);
            at(
                setting,
                format!(
                    "line {line} sets {} again, to {value}: it wins",
                    setting.name
                ),
            )
        })
    });
    lost.collect()
}

/// A file of a package is read after the administrator's.
pub(in crate::lint) fn vendor_wins(scope: &Scope<'_>) -> Vec<At> {
    let lost = scope.settings.iter().filter_map(|setting| {
        let is_admins = setting.by == Writer::Sysctl && !scope.text_of(setting).is_vendors();
        let winner = scope.standing(&setting.name).filter(|_| is_admins)?;
        let of_vendor = scope.text_of(winner).is_vendors() && winner.by == Writer::Sysctl;
        let other = of_vendor && !setting.stands && winner.value != setting.value;
        other.then(|| {
            let place = scope.place(winner);
            at(
                setting,
                format!(
                    "{place} is read later and sets {} to {}",
                    setting.name, winner.value
                ),
            )
        })
    });
    lost.filter(|_| scope.extent == Extent::Machine).collect()
}

/// systemd does not read `/etc/sysctl.conf`.
pub(in crate::lint) fn sysctl_conf_unread(scope: &Scope<'_>) -> Vec<At> {
    let is_it = |text: &Text| {
        text.path
            .trim_start_matches('/')
            .ends_with("etc/sysctl.conf")
    };
    let first = scope
        .settings
        .iter()
        .find(|setting| is_it(scope.text_of(setting)));
    let Some(first) = first.filter(|_| scope.extent == Extent::Machine) else {
        return Vec::new();
    };
    let unread = !scope.text_of(first).is_read;
    let said = match scope.loader {
        None => Err(Missing("which loader of sysctl.d runs at boot")),
        Some(Loader::Systemd) if unread => Ok(
            "systemd-sysctl does not read this file at boot, and no link in \
                                 /etc/sysctl.d leads to it"
                .to_owned()
                .into(),
        ),
        Some(_) => return Vec::new(),
    };
    vec![At {
        text: first.text,
        line: first.line,
        said,
    }]
}

/// The other loader of sysctl.d ends with another value.
pub(in crate::lint) fn loaders_differ(scope: &Scope<'_>) -> Vec<At> {
    let differ = scope.elsewhere.iter().filter_map(|elsewhere| {
        let setting = scope.settings.get(elsewhere.setting)?;
        let (value, place) = elsewhere.ends.as_ref()?;
        // That has a rule of its own.
        let by_old_file = place.starts_with("/etc/sysctl.conf:");
        let name = match elsewhere.loader {
            Loader::Systemd => "systemd-sysctl",
            Loader::Procps => "sysctl --system",
            Loader::Alpine => "Alpine's service",
        };
        let what = format!("{name} ends with {value}, of {place}; at boot this line stands");
        (!by_old_file).then(|| at(setting, what))
    });
    differ.collect()
}

/// What the kernel has now is not what the files say.
pub(in crate::lint) fn live_differs(scope: &Scope<'_>) -> Vec<At> {
    let Some(snapshot) = scope.machine.snapshot() else {
        return Vec::new();
    };
    let standing = scope
        .settings
        .iter()
        .filter(|it| it.stands && it.by == Writer::Sysctl);
    let differ = standing.filter_map(|setting| {
        let tunable = catalogue::find(&setting.name).filter(|it| !it.is_action())?;
        let live = snapshot.tunable(&setting.name)?;
        let differs = !tunable.means_same(&setting.value, live);
        let what = "something wrote it later, or this line has not been read yet";
        differs.then(|| at(setting, format!("the kernel has {live} now: {what}")))
    });
    differ.filter(|_| scope.extent == Extent::Machine).collect()
}

/// A file of settings that no loader looks at.
pub(in crate::lint) fn name_not_conf(scope: &Scope<'_>) -> Vec<At> {
    let holding: BTreeSet<usize> = scope.settings.iter().map(|it| it.text).collect();
    let texts = scope.texts.iter().enumerate();
    let unread = texts.filter(|(index, text)| {
        let holds = holding.contains(index);
        let named = text.form == Form::Sysctl && !text.path.ends_with(".conf");
        !text.is_read && named && holds
    });
    let found = unread.map(|(index, _)| At {
        text: index,
        line: 0,
        said: Ok("its name does not end in .conf: no loader reads it"
            .to_owned()
            .into()),
    });
    found.collect()
}

/// Of two lines of tmpfiles.d for one file the first wins.
pub(in crate::lint) fn tmpfiles_first_wins(scope: &Scope<'_>) -> Vec<At> {
    let lost = scope.settings.iter().filter_map(|setting| {
        let once =
            setting.by == Writer::Tmpfiles && !scope.line_of(setting).trim().starts_with("w+");
        let winner = scope
            .standing(&setting.name)
            .filter(|winner| once && winner.by == Writer::Tmpfiles)?;
        let other = winner.line != setting.line || winner.text != setting.text;
        other.then(|| {
            let place = scope.place(winner);
            at(
                setting,
                format!("{place} writes the same file and comes first: this line is passed over"),
            )
        })
    });
    lost.collect()
}

/// A file of `/proc/sys`, written beside sysctl.d.
pub(in crate::lint) fn sysctl_in_tmpfiles(setting: &Setting, _: &Scope<'_>) -> Answer {
    let sysctl = setting.by == Writer::Tmpfiles && setting.key.starts_with("/proc/sys/");
    Ok(sysctl.then(|| {
        "systemd-tmpfiles and systemd-sysctl run in no order: what sysctl.d says may come before \
         or \
         after it"
            .to_owned()
            .into()
    }))
}
