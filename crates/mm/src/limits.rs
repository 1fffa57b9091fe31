//! The limits of a process, as `ulimit -a` or `/proc/PID/limits` prints them: those that refuse
//! memory or tasks.

/// Path of the text in a frame.
pub const PATH: &str = "plimsoll/tools/limits";

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing is refused for it.
    Unlimited,
    /// The most; tasks, or bytes.
    At(u64),
}

/// What a text tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `RLIMIT_NPROC`: tasks of the user (`ulimit -u`).
    pub tasks: Option<Limit>,
    /// `RLIMIT_AS`: bytes of address space (`ulimit -v`).
    pub address_space: Option<Limit>,
}

impl Limits {
    /// Reads a text; the soft limits count.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut limits = Self::default();
        for (name, value) in text.lines().filter_map(row) {
            let limit = |unit: u64| match value {
                "unlimited" => Some(Limit::Unlimited),
                number => Some(Limit::At(number.parse::<u64>().ok()?.checked_mul(unit)?)),
            };
            match name {
                "-u" | "Max processes" => limits.tasks = limit(1),
                "-v" => limits.address_space = limit(1024),
                "Max address space" => limits.address_space = limit(1),
                _ => {}
            }
        }
        limits
    }
}

/// Whether a line is one of such a text.
#[must_use]
pub fn is_row(line: &str) -> bool {
    let head = line.starts_with("Limit ") && line.contains("Soft Limit");
    head || row(line).is_some()
}

/// The option and the value of `max user processes (-u) 127855`, or the name and the soft limit of
/// `Max processes 61166 61166 processes`.
fn row(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let is_value = |word: &str| word == "unlimited" || word.bytes().all(|b| b.is_ascii_digit());
    if let Some((before, value)) = line.rsplit_once(") ") {
        let option = before.rsplit([' ', '(']).next()?;
        let value = value.trim();
        let is_option = option.len() == 2 && option.starts_with('-');
        return (is_option && !value.is_empty() && is_value(value)).then_some((option, value));
    }
    let (name, rest) = line.split_once("  ")?;
    let value = rest.split_ascii_whitespace().next()?;
    (name.starts_with("Max ") && is_value(value)).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_a_shell_and_of_a_process_are_read() {
        let shell = "core file size          (blocks, -c) 0\n\
                     max user processes                  (-u) 127855\n\
                     virtual memory              (kbytes, -v) 2048\n";
        assert!(shell.lines().all(is_row));
        let limits = Limits::parse(shell);
        assert_eq!(limits.tasks, Some(Limit::At(127_855)));
        assert_eq!(limits.address_space, Some(Limit::At(2 << 20)));
        let process = "Limit                     Soft Limit           Hard Limit           Units\n\
                       Max processes             9                    99                   processes\n\
                       Max address space         unlimited            unlimited            bytes\n";
        assert!(process.lines().all(is_row));
        let limits = Limits::parse(process);
        assert_eq!(limits.tasks, Some(Limit::At(9)));
        assert_eq!(limits.address_space, Some(Limit::Unlimited));
        assert!(!is_row("a sentence (of somebody) about 12 limits"));
    }
}
