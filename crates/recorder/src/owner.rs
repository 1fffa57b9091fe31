//! Whose a stream is: which program, begun by whom, in which control group.

/// The longest path of a control group, in bytes.
const LONGEST: usize = 1000;

/// The process that begins the kernel's own; below it is the first one.
pub(crate) const KTHREADD: u32 = 2;

/// How long the joined names of programs may be.
const LONGEST_NAME: usize = 40;

/// Which program did a stream, and in which control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The program; programs that a process began one after the other are joined: "tar+gzip".
    pub program: String,
    /// The process that began it, where that may wait for it: not the first one, nor the kernel's.
    pub parent: Option<u32>,
    /// The group's path, without the leading slash, empty for the root; `None` where it is not
    /// known.
    pub group: Option<String>,
}

impl Owner {
    /// Whether a stream of this owner may go on as one of another's.
    pub(crate) fn goes_before(&self, next: &Self) -> bool {
        let same_parent = self.parent.is_some() && self.parent == next.parent;
        self.group == next.group && (same_parent || self.program == next.program)
    }

    /// The owner of a stream that another's task goes on with.
    pub(crate) fn followed_by(&self, next: Self) -> Self {
        let has = |program: &str| self.program.split('+').any(|it| it == program);
        let program = match has(&next.program) {
            true => self.program.clone(),
            false if self.program.len() + next.program.len() < LONGEST_NAME => {
                format!("{}+{}", self.program, next.program)
            }
            false => self.program.clone(),
        };
        Self { program, ..next }
    }
}

/// Whether a study takes a path of a control group.
pub(crate) fn is_path(path: &str) -> bool {
    let is_name =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(char::is_control);
    path.is_empty() || (path.len() <= LONGEST && path.split('/').all(is_name))
}

/// The group that both are in or below; not known where one of them is not.
pub(crate) fn above_both(one: &Owner, other: &Owner) -> Option<String> {
    let (one, other) = (one.group.as_ref()?, other.group.as_ref()?);
    let parts = one.split('/').zip(other.split('/'));
    let same: Vec<&str> = parts
        .take_while(|(one, other)| one == other)
        .map(|(one, _)| one)
        .collect();
    Some(same.join("/"))
}
