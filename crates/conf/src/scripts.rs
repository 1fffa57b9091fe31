//! Commands that set tunables, wherever they stand: start scripts, cron, cloud-init, services.
//!
//! Two forms are known: `sysctl -w KEY=VALUE` with or without `-w`, and a word that `echo` or
//! `printf` writes into a file of `/proc/sys` or `/sys`, by `>` or through `tee`. Of a script by
//! itself the lines count too that it puts into files of sysctl.d, by `echo` or as a here-document.
//! Conditions around them are not looked at.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::load::{Fate, Load, Source, Write};
use crate::origin::Origin;
use crate::sysctl_d::{self, Loader, Says};
use crate::tree::{Found, Tree};

/// Files, and directories of which every file counts, in the order in which they come.
pub const PLACES: &[&str] = &[
    "etc/systemd/system",
    "var/lib/cloud/instance/cloud-config.txt",
    "etc/cloud/cloud.cfg",
    "etc/cloud/cloud.cfg.d",
    "etc/rc.local",
    "etc/rc.d/rc.local",
    "etc/init.d/boot.local",
    "etc/local.d",
    "etc/crontab",
    "etc/cron.d",
    "etc/cron.hourly",
    "etc/cron.daily",
    "etc/cron.weekly",
    "etc/cron.monthly",
    "var/spool/cron/crontabs",
    "var/spool/cron",
];

/// Words of one line that are looked at.
const MOST_WORDS: usize = 4096;

/// What the commands in services, cloud-init's configuration, start scripts and cron set.
#[must_use]
pub fn load(tree: &Tree) -> Load {
    let mut load = Load::default();
    let files = PLACES.iter().flat_map(|place| {
        let names = tree.list(place).into_iter();
        let below = names.map(move |name| [place, "/", name].concat());
        below.chain([(*place).to_owned()])
    });
    for path in files {
        if let Found::File { text, .. } = tree.find(&path) {
            let before = load.writes.len();
            load.writes.extend(of_file(text, &path));
            if load.writes.len() > before {
                let fate = Fate::Read(None);
                load.sources.push(Source { path, fate });
            }
        }
    }
    load
}

/// What a script sets: by its commands now, and at the next boot by lines that it puts into files
/// of sysctl.d.
#[must_use]
pub fn of_script(text: &str, path: &str) -> Vec<Write> {
    let mut writes = Vec::new();
    let mut document: Option<Document<'_>> = None;
    for (at, line) in text.lines().enumerate() {
        let origin = Origin::new(path, at + 1);
        match &document {
            Some(open) if open.ends_at(line) => document = None,
            Some(open) if open.is_sysctl => writes.extend(assigned(line, &origin)),
            _ if line.trim_start().starts_with(['#', ';']) => {}
            _ => {
                writes.extend(said(line, &origin, Into::Any));
                document = document.or_else(|| Document::opened_by(line));
            }
        }
    }
    writes
}

/// Whether a shell or systemd puts in what a script writes when it runs.
#[must_use]
pub fn is_filled_in(value: &str) -> bool {
    value.is_empty() || value.contains(['$', '`', '%', '*', '?', '('])
}

/// A here-document that is open.
struct Document<'a> {
    /// The word that ends it.
    end: &'a str,
    /// Whether it goes into a file of sysctl.d.
    is_sysctl: bool,
}

impl<'a> Document<'a> {
    /// The one that a command opens: `<<EOF`, `<<-'EOF'`.
    fn opened_by(line: &'a str) -> Option<Self> {
        let (_, rest) = line
            .split_once("<<")
            .filter(|(_, rest)| !rest.starts_with('<'))?;
        let rest = rest.trim_start_matches(['-', ' ', '\'', '"', '\\']);
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let end = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let is_sysctl = words(line).iter().any(|word| is_sysctl_file(word));
        (!end.is_empty()).then_some(Self { end, is_sysctl })
    }

    /// Whether it ends here; the quote around a command may end with it.
    fn ends_at(&self, line: &str) -> bool {
        line.trim().trim_end_matches(['\'', '"']) == self.end
    }
}

/// What a line of a file of sysctl.d sets.
fn assigned(line: &str, origin: &Origin) -> Vec<Write> {
    let set = sysctl_d::lines(line, Loader::Procps).into_iter();
    let write = |line: sysctl_d::Line<'_>| match line.says {
        Says::Sets { key, value, .. } => {
            let path = sysctl_d::path_of(key, Loader::Procps);
            Some(Write::new(path, value, origin.clone()))
        }
        _ => None,
    };
    set.filter_map(write).collect()
}

fn is_sysctl_file(word: &str) -> bool {
    word.contains("sysctl.d/") || word.ends_with("sysctl.conf")
}

fn of_file(text: &str, path: &str) -> Vec<Write> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_start().starts_with(['#', ';']));
    let writes = lines.flat_map(|(at, line)| writes(line, &Origin::new(path, at + 1)));
    writes.collect()
}

/// What the commands in one line set.
pub(crate) fn writes(line: &str, origin: &Origin) -> Vec<Write> {
    said(line, origin, Into::Kernel)
}

/// Which files count that a command writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Into {
    /// The kernel's own.
    Kernel,
    /// Those of sysctl.d too.
    Any,
}

fn said(line: &str, origin: &Origin, into: Into) -> Vec<Write> {
    let mut words = words(line);
    words.truncate(MOST_WORDS);
    let mut writes = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let rest = &words[at + 1..];
        match word.rsplit('/').next() {
            Some("sysctl") => writes.extend(by_sysctl(rest, origin)),
            Some("echo" | "printf") => writes.extend(by_echo(rest, origin, into)),
            _ => {}
        }
    }
    writes
}

/// The assignments after `sysctl`, up to the end of the command.
fn by_sysctl(words: &[String], origin: &Origin) -> Vec<Write> {
    let own = words.iter().take_while(|word| !is_end(word));
    let write = |word: &String| {
        let (key, value) = word.split_once('=')?;
        let is_key = !key.is_empty() && !key.starts_with('-');
        let path = sysctl_d::path_of(key, Loader::Procps);
        is_key.then(|| Write::new(path, value.trim(), origin.clone()))
    };
    own.filter_map(write).collect()
}

/// The word after `echo` and the file that it goes into.
fn by_echo(words: &[String], origin: &Origin, into: Into) -> Vec<Write> {
    let is_last = |word: &String| is_end(word) || word.starts_with('>');
    let Some(said) = words.iter().position(is_last) else {
        return Vec::new();
    };
    let flags = |word: &&String| matches!(word.as_str(), "-n" | "-e" | "-ne" | "-en" | "--");
    let value = words[..said].iter().filter(|it| !flags(it));
    let value = value.map(String::as_str).collect::<Vec<_>>().join(" ");
    let rest = words[said..].iter();
    let mut rest = rest.take_while(|word| !matches!(word.as_str(), ";" | "&&"));
    let is_kernel = |word: &str| word.starts_with("/proc/sys/") || word.starts_with("/sys/");
    let is_file = |word: &&String| is_kernel(word) || (into == Into::Any && is_sysctl_file(word));
    match rest.find(is_file) {
        Some(path) if is_kernel(path) => {
            let (path, value) = (path.trim_start_matches('/'), value.trim_end_matches("\\n"));
            let write = Write::new(path, value, origin.clone());
            (!value.is_empty()).then_some(write).into_iter().collect()
        }
        Some(_) => {
            let lines = value.split("\\n");
            lines.flat_map(|line| assigned(line, origin)).collect()
        }
        None => Vec::new(),
    }
}

fn is_end(word: &str) -> bool {
    matches!(word, ";" | "&&" | "||" | "|" | "&")
}

/// The words of a line, as far as a shell's matter: quotes go, and so do brackets and commas of
/// lists around words; `>`, `|`, `;` and `&` are words of their own.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' | ' ' | '\t' | '[' | ']' | ',' | '(' | ')' | '`' => {
                words.push(core::mem::take(&mut word));
            }
            '>' | '|' | ';' | '&' => {
                words.push(core::mem::take(&mut word));
                let twice = chars.next_if_eq(&c).is_some();
                words.push(if twice {
                    [c, c].iter().collect()
                } else {
                    c.into()
                });
            }
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;
    use alloc::format;

    fn set(line: &str) -> Vec<String> {
        let writes = writes(line, &Origin::new("etc/rc.local", 1));
        let shown = |write: &Write| format!("{}={}", write.path, write.value);
        writes.iter().map(shown).collect()
    }

    #[test]
    fn commands_that_set_tunables_are_found() {
        let swappiness = ["proc/sys/vm/swappiness=10"];
        for line in [
            "sysctl -w vm.swappiness=10",
            "/sbin/sysctl -q vm/swappiness=10 >/dev/null; true",
            "@reboot root sysctl -w \"vm.swappiness=10\"",
            " - [ sysctl, -w, vm.swappiness=10 ]",
            "echo 10 > /proc/sys/vm/swappiness",
            "echo 10 | sudo tee /proc/sys/vm/swappiness",
            "printf '10\\n' >/proc/sys/vm/swappiness",
        ] {
            assert_eq!(set(line), swappiness, "{line}");
        }
        let service =
            "ExecStart=/bin/sh -c \"echo never > /sys/kernel/mm/ksm/x && echo 1 >/sys/y\"";
        assert_eq!(set(service), ["sys/kernel/mm/ksm/x=never", "sys/y=1"]);
        for line in [
            "sysctl -a",
            "echo 10",
            "sysctl vm.swappiness",
            "echo > /sys/x",
            "cat x",
        ] {
            assert!(set(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_script_sets_by_commands_and_by_lines_of_files() {
        let text = "#!/bin/sh\n# sysctl -w vm.a=1\n$ sudo sysctl vm.a=1 > /dev/null\n\
                    RUN echo \"vm.b = 2\" >> /etc/sysctl.conf && \\\n  echo 3 >/proc/sys/vm/c # 4\n\
                    printf 'vm.d=4\\nvm.e=5\\n' | sudo tee /etc/sysctl.d/x.conf\n\
                    sudo sh -c 'cat >> /etc/sysctl.conf << EOF\n# c\nvm.f = 6\nEOF'\n\
                    cat > /etc/motd <<-\"END\"\nvm.g = 7\nEND\nsysctl -w vm.h=8\n";
        let writes = of_script(text, "a.sh");
        let shown = writes.iter();
        let shown = shown.map(|it| format!("{} {}={}", it.origin.line, it.path, it.value));
        let expected = [
            "3 proc/sys/vm/a=1",
            "4 proc/sys/vm/b=2",
            "5 proc/sys/vm/c=3",
            "6 proc/sys/vm/d=4",
            "6 proc/sys/vm/e=5",
            "9 proc/sys/vm/f=6",
            "14 proc/sys/vm/h=8",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_files_with_such_commands_are_named() {
        let tree = tree_of(&[
            (
                "etc/rc.local",
                "#!/bin/sh\n# sysctl -w vm.a=1\nsysctl -w vm.b=2\n",
            ),
            ("etc/crontab", "1 * * * * root true\n"),
            (
                "etc/cron.d/drop",
                "0 3 * * * root echo 3 > /proc/sys/vm/drop_caches\n",
            ),
        ]);
        let load = load(&tree);
        let origins: Vec<String> = load
            .writes
            .iter()
            .map(|it| format!("{}", it.origin))
            .collect();
        assert_eq!(origins, ["/etc/rc.local:3", "/etc/cron.d/drop:1"]);
        assert_eq!(load.sources.len(), 2);
    }
}
