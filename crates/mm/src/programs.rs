//! What programs say of memory that they were refused: one table of their sentences.
//!
//! A program sees an error's number and says it in its own words. Which limit refused is not in
//! them; what the number leaves possible is.

/// Path of the lines in a frame.
pub const PATH: &str = "plimsoll/tools/programs";

/// What a sentence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// A mapping, or what malloc takes from one, was refused: ENOMEM of mmap or brk.
    Mapping,
    /// A fork was refused for memory: ENOMEM.
    Fork,
    /// A fork was refused for a number of tasks: EAGAIN.
    Tasks,
    /// A thread could not be made: its stack's mapping or a number of tasks.
    Thread,
    /// A heap's own limit, which the program set itself: the kernel refused nothing.
    OwnLimit,
    /// A System V segment larger than `kernel.shmmax`: EINVAL of shmget.
    Segment,
    /// Advice at the start: nothing was refused.
    Advice,
    /// How much the sentence before it asked for.
    Size,
}

/// A sentence: the words that a line has, all of them, and what they say.
#[derive(Debug)]
pub struct Sentence {
    words: &'static [&'static str],
    /// What it says.
    pub says: Says,
    /// Who says it; empty where several programs do.
    pub who: &'static str,
}

const fn row(words: &'static [&'static str], says: Says, who: &'static str) -> Sentence {
    Sentence { words, says, who }
}

/// The sentences, the more telling first.
pub const SENTENCES: &[Sentence] = &[
    row(
        &["OutOfMemoryError: Java heap space"],
        Says::OwnLimit,
        "Java (-Xmx)",
    ),
    row(
        &["OutOfMemoryError: GC overhead limit"],
        Says::OwnLimit,
        "Java (-Xmx)",
    ),
    row(
        &["OutOfMemoryError: Metaspace"],
        Says::OwnLimit,
        "Java (-XX:MaxMetaspaceSize)",
    ),
    row(
        &["OutOfMemoryError: PermGen space"],
        Says::OwnLimit,
        "Java (-XX:MaxPermSize)",
    ),
    row(
        &["OutOfMemoryError: Direct buffer memory"],
        Says::OwnLimit,
        "Java (-XX:MaxDirectMemorySize)",
    ),
    row(
        &["JavaScript heap out of memory"],
        Says::OwnLimit,
        "V8 (node --max-old-space-size)",
    ),
    row(
        &["Allowed memory size of ", " bytes exhausted"],
        Says::OwnLimit,
        "PHP (memory_limit)",
    ),
    row(&["unable to create", "native thread"], Says::Thread, "Java"),
    row(&["pthread_create failed (EAGAIN)"], Says::Thread, ""),
    row(
        &["fork", "Resource temporarily unavailable"],
        Says::Tasks,
        "",
    ),
    row(&["fork: retry: "], Says::Tasks, ""),
    row(&["fork", "annot allocate memory"], Says::Fork, ""),
    row(
        &["memory allocation (mmap) failed to map "],
        Says::Mapping,
        "Java",
    ),
    row(&["os::commit_memory(", "errno=12"], Says::Mapping, "Java"),
    row(
        &["insufficient memory for the Java Runtime"],
        Says::Mapping,
        "Java",
    ),
    row(
        &["could not map anonymous shared memory: Cannot allocate"],
        Says::Mapping,
        "PostgreSQL",
    ),
    row(&["ERROR:  out of memory"], Says::Mapping, "PostgreSQL"),
    row(&["InnoDB: mmap(", "errno 12"], Says::Mapping, "InnoDB"),
    row(
        &["annot allocate memory for the buffer pool"],
        Says::Mapping,
        "InnoDB",
    ),
    row(&["runtime: out of memory"], Says::Mapping, "Go"),
    row(&["runtime: cannot allocate memory"], Says::Mapping, "Go"),
    row(&["std::bad_alloc"], Says::Mapping, "C++"),
    row(
        &["could not create shared memory segment: Invalid argument"],
        Says::Segment,
        "PostgreSQL",
    ),
    row(
        &["WARNING overcommit_memory is set to 0"],
        Says::Advice,
        "Redis",
    ),
    row(
        &["WARNING Memory overcommit must be enabled"],
        Says::Advice,
        "Redis",
    ),
    row(
        &["WARNING you have Transparent Huge Pages"],
        Says::Advice,
        "Redis",
    ),
    row(&["To reduce the request size (currently "], Says::Size, ""),
    row(&["Failed on request of size "], Says::Size, ""),
    row(&["Failed system call was shmget("], Says::Size, ""),
];

/// The sentence that a line has. A kernel's own message is none.
#[must_use]
pub fn of(line: &str) -> Option<&'static Sentence> {
    let has = |sentence: &&Sentence| sentence.words.iter().all(|words| line.contains(words));
    SENTENCES.iter().find(has)
}

/// The bytes that a line says were asked for.
#[must_use]
pub fn asked(line: &str) -> Option<u64> {
    const BEFORE: [&str; 8] = [
        "failed to map ",
        "request size (currently ",
        "request of size ",
        "size=",
        "mmap(",
        "cannot allocate ",
        "commit_memory(",
        "Allowed memory size of ",
    ];
    let number = |words: &str| {
        let (_, rest) = line.split_once(words)?;
        let rest = match words {
            "commit_memory(" => rest.split_once(", ")?.1,
            _ => rest,
        };
        let end = rest.find(|c: char| !c.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse().ok()
    };
    BEFORE.into_iter().find_map(number)
}

/// The bytes that a program says it has already: `(3379036160 in use)`.
#[must_use]
pub fn in_use(line: &str) -> Option<u64> {
    let (before, _) = line.split_once(" in use)")?;
    before.rsplit_once('(')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(line: &str) -> Option<Says> {
        of(line).map(|sentence| sentence.says)
    }

    #[test]
    fn a_sentence_is_told_by_all_of_its_words() {
        for (line, expected) in [
            (
                "java.lang.OutOfMemoryError: Java heap space",
                Some(Says::OwnLimit),
            ),
            (
                "java.lang.OutOfMemoryError: unable to create new native thread",
                Some(Says::Thread),
            ),
            ("-bash: fork: retry: No child processes", Some(Says::Tasks)),
            (
                "could not fork new process: Cannot allocate memory",
                Some(Says::Fork),
            ),
            (
                "1:M # Can't save in background: fork: Cannot allocate memory",
                Some(Says::Fork),
            ),
            ("InnoDB: mmap(137363456 bytes) failed; errno 13", None),
            ("Out of memory: Killed process 1 (fork)", None),
            ("cgroup: fork rejected by pids controller in /a", None),
        ] {
            assert_eq!(says(line), expected, "{line}");
        }
    }

    #[test]
    fn what_was_asked_for_is_in_bytes() {
        let map = "# Native memory allocation (mmap) failed to map 262144 bytes for committing";
        assert_eq!(asked(map), Some(262_144));
        let commit = "INFO: os::commit_memory(0x00007fc1, 262144, 0) failed; errno=12";
        assert_eq!(asked(commit), Some(262_144));
        let segment = "DETAIL:  Failed system call was shmget(key=5, size=61816832, 03600).";
        assert_eq!(asked(segment), Some(61_816_832));
        let go = "runtime: out of memory: cannot allocate 597164032-byte block (3379036160 in use)";
        assert_eq!(asked(go), Some(597_164_032));
        assert_eq!(asked("fork: Cannot allocate memory"), None);
    }
}
