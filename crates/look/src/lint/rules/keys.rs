//! Keys that a kernel does not have: loaders pass over most of them in silence.

use mm::catalogue::{self, Kernels};
use mm::release::{Release, Vendor};

use crate::fact::Missing;
use crate::lint::fix::Fix;
use crate::lint::known;
use crate::lint::rule::{Answer, Said};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

/// Kernels before this one are taken to run nowhere.
const OLDEST: (u32, u32) = (3, 0);

/// Tunables that came before this release are taken to be everywhere.
const EVERYWHERE: (u32, u32) = (3, 10);

/// A key that kernels had once.
pub(in crate::lint) fn gone(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let gone = known::gone_key(&setting.name).filter(|_| setting.by != Writer::Live);
    let Some(gone) = gone else {
        return Ok(None);
    };
    let (major, minor) = gone.since;
    if gone.since > OLDEST && !scope.machine.release()?.is_since(major, minor) {
        return Ok(None);
    }
    let why = gone.why.trim_end_matches('.');
    let said = Said::from(format!("no kernel since {major}.{minor} takes it: {why}"));
    Ok(Some(said.fixed(Fix::Remove { line: setting.line })))
}

/// The line with another key.
fn renamed(said: Said, setting: &Setting, scope: &Scope<'_>, name: &str) -> Said {
    let name = match setting.key.contains('/') {
        true => name.replace('.', "/"),
        false => name.to_owned(),
    };
    let with = scope.line_of(setting).replacen(&setting.key, &name, 1);
    said.fixed(Fix::Replace {
        line: setting.line,
        with,
    })
}

/// A key that is nearly one that there is.
pub(in crate::lint) fn misspelt(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let found = scope.meant(&setting.name).flatten().map(|(name, edits)| {
        let said = Said::from(format!("no kernel has {}; {name} is meant?", setting.name));
        match edits {
            1 if !scope.sets_beside(setting, name) => renamed(said, setting, scope, name),
            _ => said,
        }
    });
    Ok(found)
}

/// A key that is like none that there is.
pub(in crate::lint) fn unknown(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let strange = scope.meant(&setting.name) == Some(None);
    Ok(strange.then(|| format!("{} is in no kernel that is known here", setting.name).into()))
}

/// A key that came after this kernel.
pub(in crate::lint) fn too_new(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let named = catalogue::named(&setting.name).filter(|_| setting.by != Writer::Live);
    let kernels = named.map(|named| named.tunable.kernels);
    let Some(Kernels::Mainline { since, .. }) = kernels else {
        return Ok(None);
    };
    let snapshot = scope.machine.snapshot();
    let has = snapshot.is_some_and(|it| it.tunable(&setting.name).is_some());
    if since <= EVERYWHERE || has {
        return Ok(None);
    }
    let (release, (major, minor)) = (scope.machine.release()?, since);
    if !release.is_before(major, minor) {
        return Ok(None);
    }
    let text = snapshot
        .and_then(|it| it.release.as_deref())
        .unwrap_or_default();
    if takes_newer(text) && !snapshot.is_some_and(|it| it.is_live) {
        return Err(Missing("whether this vendor's kernel has it"));
    }
    let what = format!(
        "{} came in {major}.{minor}; this is Linux {release}",
        setting.name
    );
    Ok(Some(what.into()))
}

/// Whether a release is of a vendor that takes newer changes into old kernels.
fn takes_newer(release: &str) -> bool {
    let vendor = Release::parse(release).and_then(|release| release.vendor);
    matches!(
        vendor,
        Some(Vendor::RedHat | Vendor::Oracle | Vendor::Android | Vendor::Suse | Vendor::Amazon)
    )
}

/// A key that only patched kernels have.
pub(in crate::lint) fn of_patch(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let named = catalogue::named(&setting.name).map(|named| named.tunable.kernels);
    let Some(Kernels::Patched(patch)) = named else {
        return Ok(None);
    };
    let has = scope
        .machine
        .snapshot()
        .is_some_and(|it| it.tunable(&setting.name).is_some());
    let said =
        || format!("only kernels with the {patch} patch have it; others pass over the line").into();
    Ok((!has).then(said))
}

/// A file of `/sys` where only `/proc/sys` can be written.
pub(in crate::lint) fn sysfs_in_sysctl(setting: &Setting, _: &Scope<'_>) -> Answer {
    if let Some(switch) = catalogue::below_sys(&setting.name) {
        let (name, path) = (&setting.name, switch.path);
        let what = format!("there is no {name}: sysctl sets nothing; the switch is /{path}");
        return Ok(Some(what.into()));
    }
    let below = |root: &str| setting.name.starts_with(root);
    let sysfs = below("kernel.mm.") || below("sys.") || below("/sys") || below(".sys.");
    if setting.by != Writer::Sysctl || !sysfs {
        return Ok(None);
    }
    let path = setting.key.trim_start_matches('/').replace('.', "/");
    let path = path.strip_prefix("sys/").unwrap_or(&path);
    let what = format!("sysctl writes below /proc/sys alone: /sys/{path} is not set");
    Ok(Some(what.into()))
}

/// A command in a file that holds keys alone.
pub(in crate::lint) fn with_command(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let (command, key) = match setting.key.trim().rsplit_once(char::is_whitespace) {
        Some(parts) if setting.by == Writer::Sysctl => parts,
        _ => return Ok(None),
    };
    let is_sysctl = command
        .split_whitespace()
        .any(|word| word.ends_with("sysctl"));
    let said = || {
        let what = format!(
            "\"{}\" is taken for a part of the key: the loader finds no such file and sets nothing",
            mm::text::shown(command)
        );
        let with = scope.line_of(setting).replacen(&setting.key, key, 1);
        Said::from(what).fixed(Fix::Replace {
            line: setting.line,
            with,
        })
    };
    Ok(is_sysctl.then(said))
}
