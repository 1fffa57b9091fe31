//! Why the kernel panicked.

/// Why the kernel panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panic {
    /// `vm.panic_on_oom` = 1: the machine as a whole was out of memory.
    SystemWide,
    /// `vm.panic_on_oom` = 2: any OOM kill, also one within a group or a node.
    Compulsory,
    /// Nothing was left that may be killed.
    NoneLeft,
    /// Not for memory.
    Other,
}

impl Panic {
    /// Why the kernel panics, by the line that says so.
    pub(super) fn of(text: &str) -> Option<Self> {
        let why = text.strip_prefix("Kernel panic - not syncing: ")?;
        Some(match why {
            _ if why.contains("compulsory panic_on_oom") => Self::Compulsory,
            _ if why.contains("panic_on_oom") => Self::SystemWide,
            _ if why.contains("deadlocked on memory") || why.contains("no killable process") => {
                Self::NoneLeft
            }
            _ => Self::Other,
        })
    }
}
