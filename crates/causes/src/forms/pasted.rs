//! What people paste: commands with their prompts, a mail of that, a group's files.

use std::fmt::Write as _;

use mm::capture::Frame;

use super::form::{Form, Holds};
use super::{logs, tools};
use crate::recipe::Label;
use crate::run::Run;

/// Lines of `dmesg | tail -n 60`.
const TAIL: usize = 60;

/// Columns at which a mailer breaks a line of quoted-printable.
const WIDTH: usize = 75;

pub(super) fn forms(run: &Run, label: &Label) -> Vec<Form> {
    let Some(frame) = run.shots().next_back() else {
        return Vec::new();
    };
    let tail = tail(run.log());
    let report = logs::report(run);
    let seen = Holds::words(&["meminfo", "pressure"]);
    let mut forms = vec![Form::text(
        "paste",
        "paste.txt",
        paste(frame, &tail),
        seen.clone().log(&tail),
    )];
    let mailed = paste(frame, &report);
    forms.push(Form::text(
        "mail",
        "mail.eml",
        mail(&mailed),
        seen.log(&report),
    ));
    if let Some(group) = &label.group {
        forms.push(group_files(frame, group));
    }
    forms
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let tail = &lines[lines.len().saturating_sub(TAIL)..];
    tail.iter().map(|line| format!("{line}\n")).collect()
}

/// Five commands of a root shell.
fn paste(frame: &Frame, log: &str) -> String {
    let file = |path: &str| frame.file(path).unwrap_or_default().to_owned();
    let commands = [
        ("uname -a", tools::uname(frame)),
        ("free -m", tools::free(frame, "-m")),
        ("cat /proc/meminfo", file("proc/meminfo")),
        ("cat /proc/pressure/memory", file("proc/pressure/memory")),
        ("dmesg | tail -n 60", log.to_owned()),
    ];
    let mut text = String::new();
    for (command, output) in commands {
        let _ = write!(text, "root@web-1:~# {command}\n{output}");
    }
    text + LAST
}

/// The prompt behind the last command.
const LAST: &str = "root@web-1:~# \n";

/// How much of a log is left whole at the end of a mail that lost that many bytes.
pub(super) fn kept_of_mailed(lost: usize, log: &str) -> usize {
    let mailed = |line: &str| printable(&format!("> {line}")).len() + 1;
    let (mut kept, mut gone) = (log.len(), mailed(LAST.trim_end_matches('\n')));
    for line in log.split_inclusive('\n').rev() {
        if gone >= lost {
            break;
        }
        gone += mailed(line.trim_end_matches('\n'));
        kept -= line.len();
    }
    kept
}

/// An answer to a mail that has it all quoted, in quoted-printable.
fn mail(text: &str) -> String {
    let mut mail = String::from(
        "From: Ann Example <ann@example.org>\n\
         To: linux-mm@example.org\n\
         Subject: Re: out of memory\n\
         Date: Wed, 1 Jan 2025 12:10:00 +0000\n\
         Content-Type: text/plain; charset=utf-8\n\
         Content-Transfer-Encoding: quoted-printable\n\n\
         On Wed, Jan 1, 2025, Bob Example wrote:\n",
    );
    for line in text.lines() {
        mail += &printable(&format!("> {line}"));
        mail.push('\n');
    }
    mail
}

/// A line in quoted-printable: `=` and what is not plain is encoded, and long lines are broken.
fn printable(line: &str) -> String {
    let (mut broken, mut column) = (String::new(), 0);
    let last = line.len().saturating_sub(1);
    for (at, byte) in line.bytes().enumerate() {
        let blank_at_end = at == last && matches!(byte, b' ' | b'\t');
        let part = match byte {
            b' '..=b'~' if byte != b'=' && !blank_at_end => char::from(byte).to_string(),
            byte => format!("={byte:02X}"),
        };
        if column + part.len() > WIDTH {
            broken += "=\n";
            column = 0;
        }
        column += part.len();
        broken += &part;
    }
    broken
}

/// The files of a control group by `cat`, each by its name alone.
fn group_files(frame: &Frame, group: &str) -> Form {
    let folder = format!("sys/fs/cgroup/{group}");
    let prompt = format!("root@web-1:/{folder}# ");
    let mut text = String::new();
    let mut paths = Vec::new();
    for name in [
        "memory.current",
        "memory.max",
        "memory.high",
        "memory.swap.max",
        "memory.events",
        "memory.stat",
        "memory.pressure",
        "pids.current",
        "pids.max",
        "pids.events",
    ] {
        let path = format!("{folder}/{name}");
        if let Some(content) = frame.file(&path) {
            let _ = write!(text, "{prompt}cat {name}\n{content}");
            paths.push(path);
        }
    }
    let holds = Holds::paths(paths.iter().map(String::as_str));
    Form::text("group files", "group.txt", text, holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_mail_lost_is_of_its_end() {
        let (line, end) = ("[1] a=b\n", mail(LAST).len() - mail("").len());
        let log = line.repeat(3);
        let mailed = mail(line).len() - mail("").len();
        assert_eq!(mailed, "> [1] a=3Db\n".len());
        assert_eq!(kept_of_mailed(end, &log), log.len());
        assert_eq!(kept_of_mailed(end + 1, &log), 2 * line.len());
        assert_eq!(kept_of_mailed(end + mailed, &log), 2 * line.len());
        assert_eq!(kept_of_mailed(end + 9 * mailed, &log), 0);
    }

    #[test]
    fn a_mail_quotes_and_breaks_as_mailers_do() {
        let line = format!("> total=1 {}", "x".repeat(80));
        let broken = printable(&line);
        assert!(broken.starts_with("> total=3D1 xxx"));
        assert!(broken.lines().all(|line| line.len() <= 76));
        assert_eq!(broken.replace("=\n", "").replace("=3D", "="), line);
        assert_eq!(printable("> "), ">=20");
    }
}
