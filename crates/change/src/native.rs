//! The native configuration files that keep a change over a reboot: `sysctl.d` for `/proc/sys`,
//! `tmpfiles.d` for `/sys`. They outlive this tool: a reader needs nothing else to understand them.
//!
//! Each change has a block of its own between two comment lines. In `sysctl.d` the last assignment
//! wins, so the blocks stand in the order of the changes; in `tmpfiles.d` the first line for a path
//! does, so there the latest change stands first.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use conf::Kind;

use crate::machine::Value;

const HEADER: &str = "\
# Written by plimsoll. `plimsoll history` says when and why; `plimsoll undo N` takes change N back.
";

/// The kind of file that can keep a tunable; `None` where none can: a device comes and goes, and
/// what is written at boot does not reach one that comes later.
#[must_use]
pub fn kind_for(path: &str) -> Option<Kind> {
    let is_devices = path.starts_with("sys/block/") || path.starts_with("sys/class/");
    match path {
        _ if path.starts_with("proc/sys/") => Some(Kind::Sysctl),
        _ if path.starts_with("sys/") && !is_devices => Some(Kind::Tmpfiles),
        _ => None,
    }
}

/// The kind of a native file, by its directory.
#[must_use]
pub fn kind_of(file: &str) -> Kind {
    match file.starts_with(Kind::Tmpfiles.directory()) {
        true => Kind::Tmpfiles,
        false => Kind::Sysctl,
    }
}

/// The line that sets a value.
#[must_use]
pub fn line(kind: Kind, value: &Value) -> String {
    kind.line(&value.path, &value.text)
}

/// Whether what follows is the block of a change that comes after this one.
fn comes_after(kind: Kind, text: &str, id: u32) -> bool {
    let rest = text.strip_prefix("# plimsoll change ");
    let number = rest.and_then(|rest| rest.split([':', '\n']).next()?.parse::<u32>().ok());
    number.is_some_and(|other| match kind {
        Kind::Sysctl => other > id,
        Kind::Tmpfiles => other < id,
    })
}

fn start(id: u32) -> String {
    format!("# plimsoll change {id}")
}

fn end(id: u32) -> String {
    format!("# plimsoll end {id}")
}

/// Whether a file has the whole block of a change.
#[must_use]
pub fn has(text: &str, id: u32) -> bool {
    let start = text.lines().position(|line| is_start(line, id));
    let last = end(id);
    start.is_some_and(|at| text.lines().skip(at).any(|line| line == last))
}

fn is_start(line: &str, id: u32) -> bool {
    let rest = line.strip_prefix(start(id).as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// The file with the block of a change, in the place of one that it has.
#[must_use]
pub fn with(text: Option<&str>, kind: Kind, id: u32, why: &str, values: &[&Value]) -> String {
    let kept = text.map(|text| without(text, id, &[]).0.unwrap_or_default());
    let kept = kept.unwrap_or_default();
    let kept = kept.strip_prefix(HEADER).unwrap_or(&kept);
    let why: Vec<&str> = why.split_whitespace().collect();
    let start = match why.as_slice() {
        [] => start(id),
        words => format!("{}: {}", start(id), words.join(" ")),
    };
    let lines: String = values.iter().map(|v| line(kind, v) + "\n").collect();
    let block = format!("{start}\n{lines}{}\n", end(id));
    let at = kept.match_indices('\n').map(|(at, _)| at + 1);
    let mut at = core::iter::once(0).chain(at);
    let at = at.find(|at| comes_after(kind, &kept[*at..], id));
    let (before, after) = kept.split_at(at.unwrap_or(kept.len()));
    format!("{HEADER}{before}{block}{after}")
}

/// The file without the block of a change, and the lines of the block that are not those of
/// `values`: somebody wrote them, so they stay in the file. `None`: nothing is left of the file but
/// its header.
#[must_use]
pub fn without(text: &str, id: u32, ours: &[String]) -> (Option<String>, Vec<String>) {
    let last = end(id);
    let (mut kept, mut left, mut is_inside) = (String::new(), Vec::new(), false);
    for line in text.lines() {
        let is_foreign = !ours.is_empty()
            && !line.trim().is_empty()
            && !line.starts_with('#')
            && !ours.iter().any(|own| own == line);
        if is_start(line, id) {
            is_inside = true;
        } else if is_inside && line == last {
            is_inside = false;
        } else if !is_inside || is_foreign {
            if is_inside {
                left.push(line.to_string());
            }
            kept.push_str(line);
            kept.push('\n');
        }
    }
    let is_empty = kept.trim().is_empty() || kept == HEADER;
    ((!is_empty).then_some(kept), left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(path: &str, text: &str) -> Value {
        Value {
            path: path.into(),
            text: text.into(),
        }
    }

    #[test]
    fn a_block_comes_and_goes_and_leaves_the_file_as_it_was() {
        let swappiness = value("proc/sys/vm/swappiness", "10");
        let ratio = value("proc/sys/vm/dirty_ratio", "5");
        let one = with(None, Kind::Sysctl, 1, "a\nreason", &[&swappiness]);
        assert_eq!(
            one,
            format!(
                "{HEADER}# plimsoll change 1: a reason\nvm.swappiness = 10\n# plimsoll end 1\n"
            )
        );
        let both = with(Some(&one), Kind::Sysctl, 12, "", &[&ratio]);
        assert!(has(&both, 1) && has(&both, 12) && !has(&both, 2));
        assert_eq!(
            with(Some(&both), Kind::Sysctl, 1, "a reason", &[&swappiness]),
            both
        );
        let ours = [line(Kind::Sysctl, &ratio)];
        assert_eq!(without(&both, 12, &ours), (Some(one.clone()), [].into()));
        let ours = [line(Kind::Sysctl, &swappiness)];
        assert_eq!(without(&one, 1, &ours), (None, [].into()));
        assert_eq!(
            with(Some(&one), Kind::Sysctl, 1, "a reason", &[&swappiness]),
            one
        );
    }

    #[test]
    fn in_tmpfiles_the_newest_comes_first() {
        let run = |text| value("sys/kernel/mm/ksm/run", text);
        let one = with(None, Kind::Tmpfiles, 1, "", &[&run("1")]);
        let two = with(Some(&one), Kind::Tmpfiles, 2, "", &[&run("2")]);
        let at = |line: &str| two.find(line).expect("a line");
        assert!(
            at("w /sys/kernel/mm/ksm/run - - - - 2") < at("w /sys/kernel/mm/ksm/run - - - - 1")
        );
        let again = with(Some(&two), Kind::Tmpfiles, 1, "", &[&run("1")]);
        assert_eq!(again, two);
    }

    #[test]
    fn what_somebody_else_wrote_stays() {
        let swappiness = value("proc/sys/vm/swappiness", "10");
        let text = with(None, Kind::Sysctl, 1, "", &[&swappiness]);
        let edited = text.replace("= 10", "= 20") + "vm.laptop_mode = 1\n";
        let (kept, left) = without(&edited, 1, &[line(Kind::Sysctl, &swappiness)]);
        assert_eq!(left, ["vm.swappiness = 20"]);
        let kept = kept.expect("a file");
        assert!(kept.contains("vm.swappiness = 20\n") && kept.contains("vm.laptop_mode = 1\n"));
    }

    #[test]
    fn half_a_block_is_none() {
        assert!(!has("# plimsoll change 1\nvm.swappiness = 10\n", 1));
        assert!(!has("# plimsoll end 1\n# plimsoll change 1\n", 1));
        assert!(!has("# plimsoll change 1x\n# plimsoll end 1\n", 1));
    }

    #[test]
    fn only_what_is_there_at_boot_can_be_kept_by_a_file() {
        assert_eq!(kind_for("proc/sys/vm/swappiness"), Some(Kind::Sysctl));
        assert_eq!(kind_for("sys/kernel/mm/ksm/run"), Some(Kind::Tmpfiles));
        assert_eq!(kind_for("sys/block/sda/bdi/max_ratio"), None);
        assert_eq!(kind_for("unit/user.slice/MemoryHigh"), None);
    }
}
