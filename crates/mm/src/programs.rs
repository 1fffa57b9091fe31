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
    /// A System V segment was refused for its size: EINVAL of shmget.
    Segment,
    /// A fork was refused for memory: ENOMEM.
    Fork,
    /// A fork was refused for a number of tasks: EAGAIN.
    Tasks,
    /// A thread could not be made: its stack's mapping or a number of tasks.
    Thread,
    /// A heap's own limit, which the program set itself: the kernel refused nothing.
    OwnLimit,
    /// Advice at the start: nothing was refused.
    Advice,
    /// How much the sentence before it asked for.
    Size,
}

/// A sentence.
#[derive(Debug)]
pub struct Sentence {
    /// What it says.
    pub says: Says,
    /// Who says it.
    pub who: &'static str,
    /// The words that its line has, parted by `*`.
    words: &'static str,
}

macro_rules! sentences {
    ($($says:ident, $who:literal: $words:literal;)*) => {
        &[$(Sentence { says: Says::$says, who: $who, words: $words }),*]
    };
}

/// The sentences, the more telling first.
pub const SENTENCES: &[Sentence] = sentences! {
    OwnLimit, "Java (-Xmx)": "OutOfMemoryError: Java heap space";
    OwnLimit, "Java (-Xmx)": "OutOfMemoryError: GC overhead limit";
    OwnLimit, "Java (-XX:MaxMetaspaceSize)": "OutOfMemoryError: Metaspace";
    OwnLimit, "V8 (node --max-old-space-size)": "JavaScript heap out of memory";
    Thread, "Java": "unable to create* native thread";
    Tasks, "A program": "fork*Resource temporarily unavailable";
    Tasks, "A program": "fork: retry: ";
    Fork, "Redis": "save in background: fork: Cannot allocate memory";
    Fork, "A program": "fork*annot allocate memory";
    Mapping, "Java": "memory allocation (mmap) failed to map ";
    Mapping, "Java": "os::commit_memory(*errno=12";
    Mapping, "Java": "insufficient memory for the Java Runtime";
    Mapping, "PostgreSQL": "could not map anonymous shared memory: Cannot allocate";
    Mapping, "PostgreSQL": "ERROR:  out of memory";
    Mapping, "InnoDB": "InnoDB: mmap(*errno 12";
    Mapping, "InnoDB": "annot allocate memory for the buffer pool";
    Mapping, "Go": "runtime: out of memory";
    Mapping, "Go": "runtime: cannot allocate memory";
    Mapping, "C++": "std::bad_alloc";
    Segment, "PostgreSQL": "could not create shared memory segment: Invalid argument";
    Advice, "Redis": "WARNING overcommit_memory is set to 0";
    Advice, "Redis": "WARNING Memory overcommit must be enabled";
    Advice, "Redis": "WARNING you have Transparent Huge Pages";
    Size, "PostgreSQL": "To reduce the request size (currently ";
    Size, "PostgreSQL": "Failed on request of size ";
    Size, "PostgreSQL": "Failed system call was shmget(";
};

/// Words of which each sentence has one: most lines of a log have none.
const ONE_OF: [&str; 8] = [
    "emory", "fork", "thread", "alloc", "mmap(", "Huge", "request", "shmget",
];

/// The sentence that a line has. A kernel's own message is none.
#[must_use]
pub fn of(line: &str) -> Option<&'static Sentence> {
    ONE_OF.iter().find(|words| line.contains(**words))?;
    let has = |sentence: &&Sentence| sentence.words.split('*').all(|words| line.contains(words));
    SENTENCES.iter().find(has)
}

/// The bytes that a line says were asked for.
#[must_use]
pub fn asked(line: &str) -> Option<u64> {
    const BEFORE: &str = "failed to map |(currently |request of size |size=|mmap(|cannot allocate |\
                          commit_memory(0x";
    BEFORE.split('|').find_map(|words| {
        let rest = line.split_once(words)?.1;
        let rest = if words.ends_with("(0x") {
            rest.split_once(", ")?.1
        } else {
            rest
        };
        let end = rest.find(|c: char| !c.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse().ok()
    })
}

/// The bytes that a program says it has already: `(3379036160 in use)`.
#[must_use]
pub fn in_use(line: &str) -> Option<u64> {
    let (before, _) = line.split_once(" in use)")?;
    before.rsplit_once('(')?.1.parse().ok()
}

/// Whether a line is one of what `ulimit -a` or `/proc/PID/limits` prints.
#[must_use]
pub fn is_limit(line: &str) -> bool {
    limit_of(line).is_some() || line.starts_with("Limit ") && line.contains("Soft Limit")
}

/// A soft limit of such a text, in the text's unit, by the option of `ulimit` or its name in the
/// file; `u64::MAX` where it is unlimited.
#[must_use]
pub fn limit(text: &str, name: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(limit_of);
    let (_, value) = rows.find(|row| row.0 == name)?;
    match value {
        "unlimited" => Some(u64::MAX),
        value => value.parse().ok(),
    }
}

/// The option and the value of `max user processes (-u) 127855`, or the name and the soft limit of
/// `Max processes 61166 61166 processes`.
fn limit_of(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (name, rest) = match line.rsplit_once(") ") {
        Some((before, value)) => (before.rsplit([' ', '(']).next()?, value),
        None => line.split_once("  ")?,
    };
    let value = rest.split_ascii_whitespace().next()?;
    let is_value = value == "unlimited" || value.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = name.starts_with("Max ") || name.len() == 2 && name.starts_with('-');
    (is_name && is_value).then_some((name, value))
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
    fn each_sentence_has_a_word_by_which_it_is_looked_for() {
        for sentence in SENTENCES {
            let line = sentence.words.replace('*', " ");
            assert!(of(&line).is_some(), "{line}");
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

    #[test]
    fn the_limits_of_a_shell_and_of_a_process_are_read() {
        let shell = "core file size          (blocks, -c) 0\n\
                     max user processes                  (-u) 127855\n\
                     virtual memory              (kbytes, -v) unlimited\n";
        assert!(shell.lines().all(is_limit));
        assert_eq!(limit(shell, "-u"), Some(127_855));
        assert_eq!(limit(shell, "-v"), Some(u64::MAX));
        let process = "Limit                     Soft Limit           Hard Limit           Units\n\
                       Max processes             9                    99                   processes\n";
        assert!(process.lines().all(is_limit));
        assert_eq!(limit(process, "Max processes"), Some(9));
        assert!(!is_limit("a sentence (of somebody) about 12 limits"));
    }
}
