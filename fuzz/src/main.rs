//! The fuzz targets in one program: `PLIMSOLL_TARGET` names the one that is run.
#![no_main]

mod canary;
mod capture;
mod configuration;
mod events;
mod evidence;
mod fanotify;
mod figures;
mod guard_toml;
mod hold;
mod journal;
mod kernel_file;
mod kernel_log;
mod mountinfo;
mod outcome;
mod plimsoll_toml;
mod process;
mod recording;
mod request;
mod setting;
mod study;
mod sysctl_d;
mod take;
mod tmpfiles_d;
mod trace;
mod traced;
mod udev_rules;
mod zoneinfo;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use look::lint::read::{self, Form};

/// What is fed.
type Target = fn(&[u8]);

const TARGETS: &[(&str, Target)] = &[
    ("canary", canary::target),
    ("capture", capture::target),
    ("configuration", configuration::target),
    ("events", events::target),
    ("evidence", evidence::target),
    ("fanotify", fanotify::target),
    ("figures", figures::target),
    ("guard_toml", guard_toml::target),
    ("hold", hold::target),
    ("journal", journal::target),
    ("kernel_file", kernel_file::target),
    ("kernel_log", kernel_log::target),
    ("lint_file", lint_file),
    ("mountinfo", mountinfo::target),
    ("outcome", outcome::target),
    ("plimsoll_toml", plimsoll_toml::target),
    ("process", process::target),
    ("recording", recording::target),
    ("request", request::target),
    ("setting", setting::target),
    ("study", study::target),
    ("sysctl_d", sysctl_d::target),
    ("tmpfiles_d", tmpfiles_d::target),
    ("trace", trace::target),
    ("traced", traced::target),
    ("udev_rules", udev_rules::target),
    ("zoneinfo", zoneinfo::target),
];

fuzz_target!(|bytes: &[u8]| {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    CHOSEN.get_or_init(chosen)(bytes);
});

fn chosen() -> Target {
    let name = std::env::var("PLIMSOLL_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = found.expect("PLIMSOLL_TARGET names a target");
    *target
}

const FORMS: [Form; 5] = [
    Form::Yaml,
    Form::Tuned,
    Form::Sysctl,
    Form::Tmpfiles,
    Form::Udev,
];

/// A file of any form that lint reads: the first byte chooses, the rest is its text.
fn lint_file(bytes: &[u8]) {
    let Some((choice, text)) = take::take::<(u8, &str)>(bytes) else {
        return;
    };
    let form = FORMS[usize::from(choice) % FORMS.len()];
    // A loader's lines end at these, too.
    let lines = text.split(['\n', '\r', '\0']).count();
    for setting in &read::read(form, text, 0).settings {
        assert!(setting.line <= lines, "line {} of {lines}", setting.line);
    }
}
