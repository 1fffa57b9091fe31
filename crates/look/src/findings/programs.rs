//! What programs say of memory that they were refused: which limits it can be by the numbers of the
//! evidence, and which it is not.

use crate::fact::or_unsaid;
use mm::programs::{self, Says, Sentence};
use mm::units::{Bytes, Kib};

use super::facts::Looked;
use super::finding::{Said, Severity, Sure};

/// What shows which limit refused memory.
const COLLECT: &str = "grep -iE 'commit|mem|swap|huge' /proc/meminfo; sysctl vm.overcommit_memory \
                       vm.max_map_count; cat /proc/PID/limits; wc -l /proc/PID/maps";

/// The same of tasks.
const COLLECT_TASKS: &str = "cat /sys/fs/cgroup$(cut -d: -f3 /proc/PID/cgroup)/pids.{max,current}; \
                             ulimit -u; sysctl kernel.threads-max kernel.pid_max; ps -eLf | wc -l";

/// What the evidence says of one limit.
enum Verdict {
    /// It refused, as far as the numbers tell.
    Refused(String),
    /// It can be this one.
    Possible(String),
    /// It is not this one.
    Not(String),
}
use Verdict::{Not, Possible, Refused};

/// What programs said of one kind.
struct Heard<'a> {
    sentence: &'static Sentence,
    line: &'a str,
    /// What was asked for, in bytes.
    asked: Option<u64>,
}

/// The findings that the sentences of a text make beside the state of a machine.
pub(crate) fn said(text: &str, looked: &Looked<'_>) -> Vec<(&'static str, Said)> {
    let mut found: Vec<(&'static str, Said)> = Vec::new();
    for heard in heard(text) {
        let (name, said) = match heard.sentence.says {
            Says::Mapping | Says::Fork | Says::Segment => (
                "program-memory-refused",
                memory_refused(&heard, text, looked),
            ),
            Says::Tasks | Says::Thread => ("program-tasks-refused", tasks_refused(&heard, looked)),
            Says::OwnLimit => ("program-own-limit", own_limit(&heard, looked)),
            Says::Advice => ("program-advice", advice(&heard)),
            Says::Size => continue,
        };
        if found.iter().all(|(known, _)| *known != name) {
            found.push((name, said));
        }
    }
    found
}

/// The first sentence of each kind, with the size that it or the next of its refusal tells.
fn heard(text: &str) -> Vec<Heard<'_>> {
    let mut heard: Vec<Heard<'_>> = Vec::new();
    let told = text
        .lines()
        .filter_map(|line| Some((line, programs::of(line)?)));
    for (line, sentence) in told {
        let asked = programs::asked(line);
        let size = sentence.says == Says::Size;
        let same = |it: &&mut Heard<'_>| size || it.sentence.says == sentence.says;
        match heard.iter_mut().rev().find(same) {
            Some(known) => known.asked = known.asked.or(asked),
            None => heard.push(Heard {
                sentence,
                line,
                asked,
            }),
        }
    }
    heard
}

/// What refused, and in a sentence what else it can be and what it is not.
fn weighed(verdicts: Vec<Verdict>) -> (Option<String>, String) {
    let (mut refused, mut possible, mut not) = (None, Vec::new(), Vec::new());
    for verdict in verdicts {
        match verdict {
            Refused(why) => refused = refused.or(Some(why)),
            Possible(why) => possible.push(why),
            Not(why) => not.push(why),
        }
    }
    let head = refused.as_ref().map_or("It can be", |_| "Else it can be");
    let lists = [(head, possible), ("It is not", not)];
    let told = lists.iter().filter(|(_, parts)| !parts.is_empty());
    let told = told.map(|(head, parts)| format!("{head}: {}", parts.join("; ")));
    (refused, told.collect::<Vec<_>>().join(". "))
}

/// What was refused and by what, as a finding.
fn refusal(what: &str, verdicts: Vec<Verdict>, collect: &str) -> Said {
    let (refused, rest) = weighed(verdicts);
    let sure = refused.as_ref().map_or(Sure::Open, |_| Sure::Likely);
    let lead = refused.unwrap_or_else(|| "by which limit is not told".into());
    let next = "Compare each limit with what was asked; the program does not say which refused.";
    Said::new(Severity::Warning, format!("{what}: {lead}."), rest, next).unsure(sure, collect)
}

/// mmap, brk, shmget or fork failed.
fn memory_refused(heard: &Heard<'_>, text: &str, looked: &Looked<'_>) -> Said {
    let (what, mut verdicts) = match heard.sentence.says {
        Says::Segment => ("a System V segment", vec![shmmax(heard, looked)]),
        Says::Fork => ("a fork, ENOMEM", of_fork(heard, text, looked)),
        _ => ("memory", of_mapping(heard, text, looked)),
    };
    let size = or_unsaid(heard.asked.map(|asked| format!(" ({})", Bytes(asked))));
    verdicts.extend(machine(heard, looked));
    refusal(
        &format!("{} was refused {what}{size}", heard.sentence.who),
        verdicts,
        COLLECT,
    )
    .not("looking for an OOM kill: a request was refused, and nothing was killed for it")
}

/// `kernel.shmmax`.
fn shmmax(heard: &Heard<'_>, looked: &Looked<'_>) -> Verdict {
    let most = looked.file("proc/sys/kernel/shmmax");
    let most: Option<u64> = most.and_then(|text| text.trim().parse().ok());
    match most.filter(|most| heard.asked.is_some_and(|asked| asked > *most)) {
        Some(most) => Refused(format!("kernel.shmmax is {}", Bytes(most))),
        None => Possible("kernel.shmmax, or a smaller segment with this key".into()),
    }
}

/// What refuses a fork with ENOMEM.
fn of_fork(heard: &Heard<'_>, text: &str, looked: &Looked<'_>) -> Vec<Verdict> {
    let group = "a control group at its limit, to which stack and page tables are charged";
    let mut verdicts = vec![overcommit(heard, text, looked), Possible(group.into())];
    if !looked.snapshot().span().is_since(4, 1) {
        let pids = "before Linux 4.1, every PID in use (kernel.pid_max)";
        verdicts.push(Possible(pids.into()));
    }
    verdicts
}

/// What refuses a mapping.
fn of_mapping(heard: &Heard<'_>, text: &str, looked: &Looked<'_>) -> Vec<Verdict> {
    let most = looked.setting("vm.max_map_count").ok();
    let most = most.map_or("65530 unless it is set".to_owned(), |most| most.to_string());
    let maps = format!("vm.max_map_count ({most}), against the lines of /proc/PID/maps");
    let mut verdicts = vec![overcommit(heard, text, looked), Possible(maps)];
    verdicts.push(match limit(looked, ["-v", "Max address space"]) {
        Some(u64::MAX) => Not("ulimit -v, which is unlimited".into()),
        Some(most) => Possible(format!("ulimit -v, which is {most} (ulimit: KiB)")),
        None => Possible("ulimit -v of the process".into()),
    });
    verdicts.extend(pool(heard, looked));
    let used = programs::in_use(heard.line).zip(heard.asked);
    let reached = used.map(|(used, asked)| used.saturating_add(asked));
    if let Some(reached) = reached.filter(|reached| (5 << 29..9 << 29).contains(reached)) {
        let end = "the addresses of a 32-bit program, which end at 3 to 4 GiB";
        verdicts.push(Possible(format!(
            "{end}: with this it would have {}",
            Bytes(reached)
        )));
    }
    if heard.sentence.who == "C++" {
        verdicts.push(Possible(
            "a size that a bug computed: bad_alloc does not tell it".into(),
        ));
    }
    verdicts
}

/// A limit of a process that the evidence has.
fn limit(looked: &Looked<'_>, names: [&str; 2]) -> Option<u64> {
    let text = looked.tool("limits")?;
    names.iter().find_map(|name| programs::limit(text, name))
}

/// `vm.overcommit_memory` against what was asked.
fn overcommit(heard: &Heard<'_>, text: &str, looked: &Looked<'_>) -> Verdict {
    const GUESS: &str = "vm.overcommit_memory = 0 refuses one request larger than RAM and swap \
                         together, and before Linux 5.2 one larger than what is free, cached or \
                         in free swap";
    let told = text.contains("overcommit_memory is set to 0").then_some(0);
    let mode = looked.setting("vm.overcommit_memory").ok().or(told);
    let is_fork = heard.sentence.says == Says::Fork;
    let amount = |item| looked.amount(item).ok().map(Kib::bytes);
    let all = amount("MemTotal").zip(amount("SwapTotal"));
    let larger = heard
        .asked
        .zip(all)
        .map(|(asked, (ram, swap))| asked > ram.0 + swap.0);
    let or_strict = match mode {
        Some(_) => "",
        None => "; 2 refuses what goes beyond CommitLimit; which is set is not told",
    };
    match mode {
        Some(1) => Not("overcommit: vm.overcommit_memory = 1 refuses nothing".into()),
        Some(2) => {
            let both = amount("CommitLimit").zip(amount("Committed_AS"));
            let both = both.map(|(limit, promised)| {
                format!(": CommitLimit is {limit}, and {promised} was promised when it was read")
            });
            let rule = "vm.overcommit_memory = 2 refuses what goes beyond CommitLimit, whatever \
                        is free";
            Refused(format!("{rule}{}", or_unsaid(both)))
        }
        _ if larger == Some(true) => Refused(format!(
            "it is more than RAM and swap together: {GUESS}{or_strict}"
        )),
        Some(0) if larger == Some(false) && looked.snapshot().span().is_since(5, 2) => {
            Not("overcommit: vm.overcommit_memory = 0, and RAM and swap together are more".into())
        }
        _ if is_fork => Possible(format!(
            "overcommit, which counts each private mapping of the program again at a fork: \
             {GUESS}{or_strict}"
        )),
        _ => Possible(format!("overcommit: {GUESS}{or_strict}")),
    }
}

/// A pool of huge pages, which PostgreSQL asks for.
fn pool(heard: &Heard<'_>, looked: &Looked<'_>) -> Option<Verdict> {
    let asked = heard.asked.filter(|_| heard.sentence.who == "PostgreSQL")?;
    let size = looked
        .amount("Hugepagesize")
        .ok()
        .filter(|size| *size > Kib::ZERO);
    let Some((free, size)) = looked.count("HugePages_Free").ok().zip(size) else {
        let text = "the pool of huge pages with huge_pages = on (HugePages_Free is not told)";
        return Some(Possible(text.into()));
    };
    let needed = asked.div_ceil(size.bytes().0);
    let pool = format!(
        "the pool of huge pages: it needs {needed} of {}, {free} are free",
        size.bytes()
    );
    Some(match needed > free {
        true => Possible(format!(
            "{pool}; huge_pages = on is refused then, try goes on without"
        )),
        false => Not(pool),
    })
}

/// What was left of the machine's memory when it was read.
fn machine(heard: &Heard<'_>, looked: &Looked<'_>) -> Option<Verdict> {
    if heard.sentence.says == Says::Segment {
        return Some(Not("a lack of memory, which is ENOMEM".into()));
    }
    let amount = |item| looked.amount(item).ok().map(Kib::bytes);
    let left = amount("MemAvailable").or_else(|| amount("MemFree"))?;
    let total = amount("MemTotal")?;
    let enough = heard
        .asked
        .map_or(left.0 >= total.0 / 10, |asked| left.0 >= asked);
    let when = "where that was read at the time";
    enough.then(|| {
        Not(format!(
            "RAM that is full: {left} of {total} could be had, {when}"
        ))
    })
}

/// A fork got EAGAIN, or a thread could not be made.
fn tasks_refused(heard: &Heard<'_>, looked: &Looked<'_>) -> Said {
    let mut verdicts = vec![group_of_tasks(looked)];
    verdicts.push(match limit(looked, ["-u", "Max processes"]) {
        Some(u64::MAX) => Not("ulimit -u, which is unlimited".into()),
        Some(most) => Possible(format!("ulimit -u, {most} tasks of the user")),
        None => Possible("ulimit -u, all tasks of the user".into()),
    });
    verdicts.push(Possible("kernel.threads-max and kernel.pid_max".into()));
    let what = match heard.sentence.says {
        Says::Thread => {
            let stack = "for a thread also the mapping of its stack: vm.max_map_count, ulimit -v";
            verdicts.push(Possible(stack.into()));
            "a thread"
        }
        _ => {
            verdicts.push(Not("a lack of memory, of which a fork says ENOMEM".into()));
            "a fork, EAGAIN"
        }
    };
    let what = format!("{} was refused {what}", heard.sentence.who);
    refusal(&what, verdicts, COLLECT_TASKS)
        .not("more memory, a larger heap: threads live outside the heap")
}

/// `pids.max` of the groups in the evidence.
fn group_of_tasks(looked: &Looked<'_>) -> Verdict {
    let groups = looked.groups().into_iter().flatten();
    let mut full = groups.filter_map(|(name, group)| {
        let current = looked.file(&format!("sys/fs/cgroup/{name}/pids.current"))?;
        let current: u64 = current.trim().parse().ok()?;
        let most = group.pids_max.filter(|most| current >= *most)?;
        Some(format!(
            "its control group has {current} tasks, and pids.max is {most}"
        ))
    });
    let any = || Possible("pids.max of its control group (TasksMax=, --pids-limit)".into());
    full.next().map_or_else(any, Refused)
}

/// A heap reached what its program set.
fn own_limit(heard: &Heard<'_>, looked: &Looked<'_>) -> Said {
    let left = looked.amount("MemAvailable").ok();
    let left = left.map(|left| format!("; {} was available on the machine", left.bytes()));
    let rule = "the runtime counts its heap against a limit that was set or chosen at its start";
    Said::new(
        Severity::Warning,
        format!(
            "{} reached a limit of its own: not the machine's memory, and the kernel refused \
             nothing.",
            heard.sentence.who
        ),
        format!("{rule}{}", or_unsaid(left)),
        "Raise that limit if the machine has the room, or look for what fills the heap.",
    )
    .not("vm.* settings, swap, an OOM kill: the kernel has no part in it")
}

/// A program warns of a setting.
fn advice(heard: &Heard<'_>) -> Said {
    let about = match heard.line.contains("Huge Pages") {
        true => "transparent huge pages are on",
        false => "vm.overcommit_memory is not 1",
    };
    Said::new(
        Severity::Note,
        format!(
            "{} warns at its start that {about}. That is advice: nothing was refused by it.",
            heard.sentence.who
        ),
        "the program reads the setting and prints what it would rather have",
        "Look for the words of a refusal behind it; a failure has its own.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::capture::Frame;
    use mm::snapshot::Snapshot;

    /// Name, what is the case and why, of the first finding.
    fn first(text: &str, files: &[(&str, &str)]) -> (&'static str, String) {
        let files = files.iter();
        let files = files.map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let frame = Frame {
            files: files.collect(),
            ..Frame::default()
        };
        let snapshot = Snapshot::parse(&frame);
        let (name, said) = said(text, &Looked::new(&frame, &snapshot, None)).remove(0);
        (name, format!("{said:?}"))
    }

    const MAP: &str = "# Native memory allocation (mmap) failed to map 1073741824 bytes for x";
    const MEMINFO: &str = "MemTotal: 524288 kB\nMemFree: 400000 kB\nSwapTotal: 0 kB\n\
                           CommitLimit: 262144 kB\nCommitted_AS: 1024 kB\n";

    #[test]
    fn without_figures_no_limit_is_asserted_and_each_is_named() {
        let (name, said) = first(MAP, &[]);
        assert_eq!(name, "program-memory-refused");
        for words in ["1 GiB", "not told", "max_map_count", "ulimit -v", "Open"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("It is not"), "{said}");
    }

    #[test]
    fn what_is_larger_than_ram_and_swap_was_refused_for_that() {
        let (_, said) = first(MAP, &[("proc/meminfo", MEMINFO)]);
        assert!(said.contains("more than RAM and swap together:"), "{said}");
        let small = MAP.replace("1073741824", "4096");
        let (_, said) = first(&small, &[("proc/meminfo", MEMINFO)]);
        assert!(!said.contains("more than RAM and swap together:"), "{said}");
        assert!(said.contains("It is not: RAM that is full"), "{said}");
    }

    #[test]
    fn strict_overcommit_refuses_whatever_is_free_and_1_refuses_nothing() {
        let with = |mode| {
            let files = [
                ("proc/meminfo", MEMINFO),
                ("proc/sys/vm/overcommit_memory", mode),
            ];
            first(&MAP.replace("1073741824", "4096"), &files).1
        };
        assert!(
            with("2\n").contains("CommitLimit is 256 MiB"),
            "{}",
            with("2\n")
        );
        assert!(with("1\n").contains("refuses nothing"), "{}", with("1\n"));
    }

    #[test]
    fn a_fork_without_tasks_left_is_no_lack_of_memory() {
        let retry = "bash: fork: retry: Resource temporarily unavailable";
        let limits = ("plimsoll/tools/limits", "max user processes (-u) 77\n");
        let (name, said) = first(retry, &[limits]);
        assert_eq!(name, "program-tasks-refused");
        assert!(said.contains("ulimit -u, 77 tasks"), "{said}");
        let group = [
            ("sys/fs/cgroup/a/pids.max", "2\n"),
            ("sys/fs/cgroup/a/pids.current", "2\n"),
        ];
        let (_, said) = first(retry, &group);
        assert!(said.contains("has 2 tasks, and pids.max is 2"), "{said}");
        let (_, said) = first(retry, &[group[0], ("sys/fs/cgroup/a/pids.current", "1\n")]);
        assert!(!said.contains("Likely"), "{said}");
    }

    #[test]
    fn a_heap_of_its_own_and_a_warning_are_not_the_kernels_refusal() {
        let (name, said) = first("java.lang.OutOfMemoryError: Java heap space", &[]);
        assert_eq!(name, "program-own-limit");
        assert!(said.contains("not the machine's memory"), "{said}");
        let (name, said) = first("# WARNING overcommit_memory is set to 0! Background", &[]);
        assert_eq!(name, "program-advice");
        assert!(said.contains("nothing was refused"), "{said}");
    }

    #[test]
    fn a_segment_is_refused_for_its_size() {
        let text = "FATAL:  could not create shared memory segment: Invalid argument\n\
                    DETAIL:  Failed system call was shmget(key=1, size=61816832, 03600).";
        let (name, said) = first(text, &[("proc/sys/kernel/shmmax", "33554432\n")]);
        assert_eq!(name, "program-memory-refused");
        assert!(said.contains("kernel.shmmax is 32 MiB"), "{said}");
    }

    #[test]
    fn a_pool_of_huge_pages_that_is_too_small_can_be_the_reason() {
        let text = "FATAL:  could not map anonymous shared memory: Cannot allocate memory\n\
                    HINT:  To reduce the request size (currently 4194304 bytes)";
        let pool =
            |free| format!("HugePages_Total: 9\nHugePages_Free: {free}\nHugepagesize: 2048 kB\n");
        let (_, said) = first(text, &[("proc/meminfo", &pool(1))]);
        assert!(said.contains("it needs 2 of 2 MiB, 1 are free"), "{said}");
        let (_, said) = first(text, &[("proc/meminfo", &pool(2))]);
        assert!(said.contains("It is not: the pool of huge pages"), "{said}");
    }
}
