//! From a text to its settings, each with its line.
//!
//! One form a file. A reader never fails: lines that it does not understand are strays, and whether
//! they matter is for the rules to say.

mod line;
pub mod name;
mod script;
mod sysctl;
mod tmpfiles;
mod tuned;
mod udev;
mod yaml;

pub use line::{Line, Read};
pub use script::is_image;

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// sysctl.d and sysctl.conf.
    Sysctl,
    /// tmpfiles.d.
    Tmpfiles,
    /// Rules of udev.
    Udev,
    /// A profile of TuneD.
    Tuned,
    /// YAML with keys that stand literally.
    Yaml,
    /// Commands of a shell.
    Script,
    /// An image's recipe: what it sets is set in no machine.
    Image,
    /// What another reader told of it.
    Told,
    /// A kernel file as it is now.
    Live,
}

/// Reads a text; `index` is its number in the scope.
pub fn read(form: Form, text: &str, index: usize) -> Read {
    match form {
        Form::Sysctl => sysctl::read(text, index),
        Form::Tmpfiles => tmpfiles::read(text, index),
        Form::Udev => udev::read(text, index),
        Form::Tuned => tuned::read(text, index),
        Form::Yaml => with_commands(yaml::read(text, index), text, index),
        Form::Script | Form::Image => script::read(text, index),
        Form::Told | Form::Live => Read::default(),
    }
}

/// With what the commands of a YAML set, as cloud-init's `runcmd` does.
fn with_commands(mut read: Read, text: &str, index: usize) -> Read {
    let told = |line| read.settings.iter().any(|setting| setting.line == line);
    let mut commands = script::read(text, index).settings;
    commands.retain(|command| !told(command.line));
    read.settings.extend(commands);
    read
}

/// A text of which neither name nor first line says what it is, read as commands; `None` where it
/// has none that sets anything.
pub fn as_commands(text: &str) -> Option<Form> {
    script::is_script(text).then_some(Form::Script)
}

/// How a file of this name is read, and where the name does not say, by its text; `None` where it
/// holds no settings.
pub fn form(path: &str, text: &str) -> Option<Form> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let within = folder.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match (within, name, extension) {
        _ if script::is_image(name) => as_commands(text).map(|_| Form::Image),
        (_, _, "sh" | "bash" | "ksh" | "zsh") => as_commands(text),
        _ if text.starts_with("#!") => as_commands(text),
        ("sysctl.d", _, "conf") | (_, "sysctl.conf", _) => Some(Form::Sysctl),
        ("tmpfiles.d", _, "conf") => Some(Form::Tmpfiles),
        (_, _, "rules") => Some(Form::Udev),
        (_, "tuned.conf", _) => Some(Form::Tuned),
        // Most YAML is of something else, and parsing is dear.
        (_, _, "yml" | "yaml") if text.contains("vm.") || text.contains("vm/") => Some(Form::Yaml),
        (_, _, "conf" | "" | "txt" | "sysctl") => sniffed(text),
        _ => None,
    }
}

/// The form that the first line of a text says that is no comment.
pub(super) fn sniffed(text: &str) -> Option<Form> {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']))?;
    match first {
        _ if sysctl::is_setting(first) => Some(Form::Sysctl),
        _ if tmpfiles::is_setting(first) => Some(Form::Tmpfiles),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_a_file_is_read_and_else_its_lines_do() {
        let of = |path| form(path, "");
        assert_eq!(of("etc/sysctl.d/a.conf"), Some(Form::Sysctl));
        assert_eq!(of("etc/sysctl.d/a.conf.bak"), None);
        assert_eq!(of("files/sysctl.conf"), Some(Form::Sysctl));
        assert_eq!(of("usr/lib/tmpfiles.d/a.conf"), Some(Form::Tmpfiles));
        assert_eq!(of("60-a.rules"), Some(Form::Udev));
        assert_eq!(of("x/tuned.conf"), Some(Form::Tuned));
        assert_eq!(form("values.yaml", "vm.x: 1\n"), Some(Form::Yaml));
        assert_eq!(of("values.yaml"), None);
        assert_eq!(of("nginx.conf"), None);
        let commands = |path| form(path, "# c\nsysctl -w vm.swappiness=1\n");
        assert_eq!(commands("a.sh"), Some(Form::Script));
        assert_eq!(commands("x/Dockerfile"), Some(Form::Image));
        assert_eq!(commands("db.Dockerfile"), Some(Form::Image));
        assert_eq!(
            form("start", "#!/bin/sh\necho 1 > /proc/sys/vm/swappiness"),
            Some(Form::Script)
        );
        assert_eq!(of("a.sh"), None);
        let sniffed = |text| form("a.conf", text);
        assert_eq!(sniffed("# c\nvm.swappiness=1\n"), Some(Form::Sysctl));
        assert_eq!(sniffed("w /sys/a - - - - 1\n"), Some(Form::Tmpfiles));
        assert_eq!(sniffed("listen = 80\nvm.swappiness=1\n"), None);
    }
}
