//! The first line: the value, and whether it is the kernel's own.

use crate::fact::or_unsaid;
use mm::catalogue::{Of, Scope, Standing};

use super::default::{Default, partner_rules};
use super::looked::Looked;
use super::value::{Values, words};

/// The value here and what there is to say of it, in one sentence without its period.
pub(crate) fn answer(looked: Looked<'_>, values: &Values, default: &Default) -> String {
    let named = looked.named;
    match &values.value {
        Some(value) => one(looked, value, default),
        None if named.of == Of::Each && values.is_there() => each(looked, values, default),
        None => absent(looked),
    }
}

fn one(looked: Looked<'_>, value: &str, default: &Default) -> String {
    let (named, tunable) = (looked.named, looked.named.tunable);
    let shown = words(tunable, value);
    let standing = tunable.kernels.standing(looked.snapshot.span());
    let about = match (default.differs, default.shown(looked)) {
        _ if standing == Standing::Ignores => "this kernel ignores what is written".to_owned(),
        _ if partner_rules(looked, value) => {
            let partner = tunable.partner.and_then(|partner| {
                Some(format!(
                    ", {partner} = {} rules",
                    looked.snapshot.tunable(partner)?
                ))
            });
            format!("off{}", or_unsaid(partner))
        }
        (Some(true), Some(own)) => format!("set; the kernel chooses {own}"),
        (Some(false), _) => "the kernel's own choice".to_owned(),
        _ => "whether it was set cannot be told".to_owned(),
    };
    format!("{named} = {shown}: {about}")
}

/// "bdi.DEVICE.max_ratio: 100 on all 10 devices".
fn each(looked: Looked<'_>, values: &Values, default: &Default) -> String {
    let named = looked.named;
    let (all, differing) = (values.values.len(), default.differing.len());
    let what = match (named.tunable.scope(), all) {
        (Scope::Device, 1) => "device",
        (Scope::Device, _) => "devices",
        (Scope::PageSize, 1) => "size of huge pages",
        (Scope::PageSize, _) => "sizes of huge pages",
        (_, 1) => "control group",
        (_, _) => "control groups",
    };
    let about = match (differing, &default.value) {
        (0, Some(own)) => {
            let own = words(named.tunable, own);
            format!("{own}, the kernel's own choice, on {all} {what}")
        }
        (_, Some(own)) => {
            let own = words(named.tunable, own);
            format!("set on {differing} of {all} {what}; the kernel chooses {own}")
        }
        (0, None) => format!("on {all} {what}, none of them known to be set"),
        (_, None) => format!("set on {differing} of {all} {what}"),
    };
    format!("{named}: {about}")
}

/// Why there is no value.
fn absent(looked: Looked<'_>) -> String {
    let (named, snapshot) = (looked.named, looked.snapshot);
    let kernels = named.tunable.kernels;
    let release = snapshot.release.as_deref().unwrap_or("of unknown release");
    let about = match kernels.standing(snapshot.span()) {
        _ if named.tunable.is_action() => "an action; it has no value".to_owned(),
        Standing::NotYet | Standing::NoLonger => {
            format!("this kernel ({release}) does not have it: {kernels}")
        }
        Standing::ByPatch => format!("this kernel ({release}) does not show it: {kernels}"),
        _ => match unread(looked) {
            Some(reason) => format!("not read: {reason}"),
            None if named.tunable.scope() == Scope::Group => {
                "no control group here shows it: its hierarchy is not cgroup v2, or is hidden"
                    .to_owned()
            }
            None if snapshot.is_live => {
                format!("not there; this kernel ({release}) was built without it, or hides it")
            }
            None => "this evidence does not have its file".to_owned(),
        },
    };
    format!("{named}: {about}")
}

/// What the reader noted about its file.
fn unread(looked: Looked<'_>) -> Option<String> {
    let (note, path) = (
        looked.frame.file(mm::notes::UNREADABLE)?,
        looked.named.path(),
    );
    let mut lines = note.lines().filter_map(|line| line.split_once('\t'));
    lines
        .find(|(file, _)| *file == path)
        .map(|(_, reason)| reason.to_owned())
}
