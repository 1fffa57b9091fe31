//! What texts of configuration and commands set, each with its file and line, against what the
//! kernel has.

use crate::lint::read::{self, Form};
use evidence::{COMMANDS, path};
use mm::capture::Frame;
use mm::catalogue;
use mm::snapshot::Snapshot;

use super::page::Page;

/// Lines that are shown.
const SHOWN: usize = 40;

/// A line that sets a tunable.
#[derive(Debug)]
pub(crate) struct Configured {
    file: String,
    line: usize,
    name: String,
    value: String,
    /// What the kernel has, where the evidence tells and it is another value.
    now: Option<String>,
}

/// The lines of a frame that set tunables.
pub(crate) fn configured(frame: &Frame, snapshot: &Snapshot) -> Vec<Configured> {
    let files = frame.files.iter();
    let told = files.filter_map(|(path, text)| Some((form(path, text)?, path, text)));
    told.flat_map(|(form, path, text)| of_file(form, path, text, snapshot))
        .collect()
}

/// How a file is read; `None` where it holds no settings.
fn form(path: &str, text: &str) -> Option<Form> {
    if path.starts_with(COMMANDS) {
        return read::form(path, text).or_else(|| read::as_commands(text));
    }
    path::is_configuration(path)
        .then(|| read::form(path, text))
        .flatten()
}

fn of_file(form: Form, path: &str, text: &str, snapshot: &Snapshot) -> Vec<Configured> {
    let settings = read::read(form, text, 0).settings.into_iter();
    let known = settings.filter(|setting| catalogue::named(&setting.name).is_some());
    let lines = known.map(|setting| Configured {
        file: path.strip_prefix(COMMANDS).unwrap_or(path).to_owned(),
        line: setting.line,
        now: other(snapshot, &setting.name, &setting.value),
        name: setting.name,
        value: setting.value,
    });
    lines.collect()
}

/// What the kernel has, where that is not this value as it reads it.
fn other(snapshot: &Snapshot, name: &str, value: &str) -> Option<String> {
    let now = snapshot.tunable(name)?;
    let number = |text: &str| catalogue::named(name)?.tunable.number(text);
    let is_same = match (number(value), number(now)) {
        (Some(value), Some(now)) => value == now,
        _ => value.trim() == now,
    };
    (!is_same).then(|| now.to_owned())
}

/// Writes the section.
pub(crate) fn write(lines: &[Configured], page: &mut Page) {
    if lines.is_empty() {
        return;
    }
    page.heading("What these texts set");
    for line in lines.iter().take(SHOWN) {
        let Configured {
            file,
            line,
            name,
            value,
            now,
        } = line;
        let now = now.as_ref().map(|now| format!(" (the kernel has {now})"));
        let now = crate::fact::or_unsaid(now);
        page.item(
            2,
            &format!("{file}:{line}  "),
            &format!("{name} = {value}{now}"),
        );
    }
    if lines.len() > SHOWN {
        page.paragraph(2, &format!("and {} more", lines.len() - SHOWN));
    }
    page.paragraph(
        2,
        "plimsoll lint judges them; explain KEY --of says what wins at boot.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of a text under this path.
    fn shown(path: &str, text: &str) -> Vec<String> {
        let now = ("proc/sys/vm/swappiness", "10\n");
        let files = [(path, text), now].map(|(path, text)| (path.to_owned(), text.to_owned()));
        let frame = Frame {
            files: files.into(),
            ..Frame::default()
        };
        let lines = configured(&frame, &Snapshot::parse(&frame)).into_iter();
        let shown = lines.map(|it| {
            let now = crate::fact::or_unsaid(it.now.map(|now| format!(", now {now}")));
            format!("{}:{} {} = {}{now}", it.file, it.line, it.name, it.value)
        });
        shown.collect()
    }

    #[test]
    fn a_script_a_recipe_and_a_profile_are_shown_by_their_own_lines() {
        let script = "#!/bin/sh\necho 60 > /proc/sys/vm/swappiness # more\n";
        let recipe = "FROM debian\nRUN sysctl -w vm.swappiness=10\n";
        let profile = "[sysctl]\n# c\nvm.swappiness = 30\nnet.core.somaxconn = 9\n";
        for (path, text, expected) in [
            (
                "plimsoll/tools/commands/tune.sh",
                script,
                "tune.sh:2 vm.swappiness = 60, now 10",
            ),
            (
                "plimsoll/tools/commands/Dockerfile",
                recipe,
                "Dockerfile:2 vm.swappiness = 10",
            ),
            (
                "etc/tuned/db/tuned.conf",
                profile,
                "etc/tuned/db/tuned.conf:3 vm.swappiness = 30, now 10",
            ),
        ] {
            assert_eq!(shown(path, text), [expected], "{path}");
        }
    }
}
