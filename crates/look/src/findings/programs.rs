//! What programs say of memory that they were refused: which limits it can be by the numbers of the
//! evidence, and which it is not.

use crate::share::Share;
use mm::limits::{Limit, Limits};
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

/// What programs of one kind said.
struct Heard<'a> {
    sentence: &'static Sentence,
    line: &'a str,
    /// What was asked for, in bytes.
    asked: Option<u64>,
}

/// The findings that the sentences of a text make beside the state of a machine.
pub(crate) fn said(text: &str, looked: &Looked<'_>) -> Vec<(&'static str, Said)> {
    let heard = heard(text);
    let of = |kinds: &[Says]| heard.iter().find(|it| kinds.contains(&it.sentence.says));
    let memory = of(&[Says::Mapping, Says::Fork]);
    let tasks = of(&[Says::Tasks, Says::Thread]);
    let findings = [
        memory.map(|it| ("program-memory-refused", memory_refused(it, text, looked))),
        tasks.map(|it| ("program-tasks-refused", tasks_refused(it, looked))),
        of(&[Says::OwnLimit]).map(|it| ("program-own-limit", own_limit(it, looked))),
        of(&[Says::Segment]).map(|it| ("program-segment-refused", segment(it, looked))),
        of(&[Says::Advice]).map(|it| ("program-advice", advice(it))),
    ];
    findings.into_iter().flatten().collect()
}

/// The first sentence of each kind, with the size that it or the next of its refusal tells.
fn heard(text: &str) -> Vec<Heard<'_>> {
    let mut heard: Vec<Heard<'_>> = Vec::new();
    for line in text.lines() {
        let Some(sentence) = programs::of(line) else {
            continue;
        };
        let asked = programs::asked(line);
        let same =
            |it: &&mut Heard<'_>| sentence.says == Says::Size || it.sentence.says == sentence.says;
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

impl Heard<'_> {
    fn who(&self) -> &'static str {
        match self.sentence.who {
            "" => "A program",
            who => who,
        }
    }

    fn is_fork(&self) -> bool {
        self.sentence.says == Says::Fork
    }
}

/// Why a request may have been refused, in a sentence that leads and one of the rest.
fn weighed(verdicts: Vec<Verdict>) -> (Option<String>, String) {
    let mut refused = None;
    let (mut possible, mut not) = (Vec::new(), Vec::new());
    for verdict in verdicts {
        match verdict {
            Refused(why) => refused = refused.or(Some(why)),
            Possible(why) => possible.push(why),
            Not(why) => not.push(why),
        }
    }
    let list = |head: &str, parts: &[String]| match parts {
        [] => String::new(),
        parts => format!("{head} {}. ", parts.join("; ")),
    };
    let head = match refused {
        Some(_) => "Else it can be:",
        None => "It can be:",
    };
    let rest = list(head, &possible) + &list("It is not:", &not);
    (refused, rest.trim_end_matches([' ', '.']).to_owned())
}

/// mmap, brk or fork got ENOMEM.
fn memory_refused(heard: &Heard<'_>, text: &str, looked: &Looked<'_>) -> Said {
    let mut verdicts = vec![overcommit(heard, text, looked)];
    match heard.is_fork() {
        true => verdicts.extend(of_fork(looked)),
        false => {
            verdicts.extend(address_space(heard, looked));
            verdicts.extend(pool(heard, looked));
            verdicts.push(mappings(looked));
            verdicts.extend(absurd(heard));
        }
    }
    verdicts.extend(machine(heard, looked));
    let (refused, rest) = weighed(verdicts);
    let asked = match (heard.is_fork(), heard.asked) {
        (true, _) => "a fork".to_owned(),
        (_, Some(asked)) => format!("{} of memory", Bytes(asked)),
        (_, None) => "memory, how much is not told".to_owned(),
    };
    let sure = refused.as_ref().map_or(Sure::Open, |_| Sure::Likely);
    let lead = refused.unwrap_or_else(|| "which limit refused is not told".to_owned());
    let error = if absurd(heard).is_some() {
        ""
    } else {
        " (ENOMEM)"
    };
    let what = format!("{} was refused {asked}{error}: {lead}.", heard.who());
    let next = "Compare the limits with what was asked; the program says only that it was refused.";
    Said::new(Severity::Warning, what, rest, next)
        .not("looking for an OOM kill: a request was refused, and nothing was killed for it")
        .unsure(sure, COLLECT)
}

/// `vm.overcommit_memory` against what was asked.
fn overcommit(heard: &Heard<'_>, text: &str, looked: &Looked<'_>) -> Verdict {
    let told = text.contains("overcommit_memory is set to 0").then_some(0);
    let mode = looked.setting("vm.overcommit_memory").ok().or(told);
    let amount = |item| looked.amount(item).ok();
    match mode {
        Some(1) => Not("overcommit: vm.overcommit_memory = 1 refuses nothing".into()),
        Some(2) => {
            let limit = amount("CommitLimit").zip(amount("Committed_AS"));
            let limit = limit.map(|(limit, promised)| {
                let (limit, promised) = (limit.bytes(), promised.bytes());
                format!(": CommitLimit is {limit}, and {promised} of it was promised when read")
            });
            Refused(format!(
                "vm.overcommit_memory = 2 refuses what goes beyond CommitLimit, whatever is \
                 free{}",
                limit.as_deref().unwrap_or("")
            ))
        }
        mode => guessed(heard, mode, looked),
    }
}

/// The kernel's guess of mode 0, or a mode that is not told.
fn guessed(heard: &Heard<'_>, mode: Option<u64>, looked: &Looked<'_>) -> Verdict {
    const GUESS: &str = "vm.overcommit_memory = 0 refuses one request larger than RAM and swap \
                         together, and before Linux 5.2 one larger than what is free, cached or in free swap";
    let is_told = mode.map_or(" (which of them is set is not told)", |_| "");
    if heard.is_fork() {
        let text = "overcommit, which counts each private mapping of the program again at a fork";
        return Possible(format!("{text}: {GUESS}{}", strict(mode)));
    }
    let amount = |item| looked.amount(item).ok().map(Kib::bytes);
    let all = amount("MemTotal").zip(amount("SwapTotal"));
    match (heard.asked, all) {
        (Some(asked), Some((ram, swap))) if asked > ram.0.saturating_add(swap.0) => Refused(
            format!("it is more than RAM ({ram}) and swap ({swap}) together: {GUESS}{is_told}"),
        ),
        (Some(_), Some(_)) if mode == Some(0) && looked.snapshot().span().is_since(5, 2) => {
            Not("overcommit: vm.overcommit_memory = 0, and RAM and swap together are more".into())
        }
        _ => Possible(format!(
            "overcommit: {GUESS}{}{}",
            strict(mode),
            room(mode, looked)
        )),
    }
}

/// What strict overcommit would refuse, where the mode is not told.
fn strict(mode: Option<u64>) -> &'static str {
    match mode {
        None => "; 2 refuses what goes beyond CommitLimit (which is set is not told)",
        Some(_) => "",
    }
}

/// What CommitLimit leaves.
fn room(mode: Option<u64>, looked: &Looked<'_>) -> String {
    let amount = |item| looked.amount(item).ok();
    let both = amount("CommitLimit").zip(amount("Committed_AS"));
    let left = both.filter(|_| mode.is_none()).map(|(limit, promised)| {
        let left = limit.saturating_sub(promised).bytes();
        format!(", of which {left} is left")
    });
    left.unwrap_or_default()
}

/// What else refuses a fork with this error.
fn of_fork(looked: &Looked<'_>) -> Vec<Verdict> {
    let old = Possible("before Linux 4.1, every PID in use (kernel.pid_max)".into());
    let group = Possible(
        "a control group at its limit, to which the stack and the page tables are charged".into(),
    );
    match looked.snapshot().span().is_since(4, 1) {
        true => vec![group],
        false => vec![group, old],
    }
}

/// `ulimit -v`, and the end of a 32-bit program's addresses.
fn address_space(heard: &Heard<'_>, looked: &Looked<'_>) -> Vec<Verdict> {
    const NARROW: core::ops::RangeInclusive<u64> = 5 << 29..=9 << 29;
    let mut verdicts = Vec::new();
    let reached = programs::in_use(heard.line).zip(heard.asked);
    let reached = reached.map(|(used, asked)| used.saturating_add(asked));
    if let Some(reached) = reached.filter(|reached| NARROW.contains(reached)) {
        verdicts.push(Possible(format!(
            "the addresses of a 32-bit program, which end at 3 to 4 GiB: with this it would have \
             {}",
            Bytes(reached)
        )));
    }
    verdicts.push(match limits(looked).address_space {
        Some(Limit::Unlimited) => Not("ulimit -v, which is unlimited".into()),
        Some(Limit::At(most)) if heard.asked.is_some_and(|asked| asked > most) => {
            Refused(format!("ulimit -v allows {} of address space", Bytes(most)))
        }
        Some(Limit::At(most)) => Possible(format!("ulimit -v, which is {}", Bytes(most))),
        None => Possible("ulimit -v of the process".into()),
    });
    verdicts
}

/// The limits of a process that the evidence has.
fn limits(looked: &Looked<'_>) -> Limits {
    looked.tool("limits").map(Limits::parse).unwrap_or_default()
}

/// A pool of huge pages, which PostgreSQL asks for.
fn pool(heard: &Heard<'_>, looked: &Looked<'_>) -> Option<Verdict> {
    let asked = heard.asked.filter(|_| heard.sentence.who == "PostgreSQL")?;
    let free = looked.count("HugePages_Free").ok();
    let size = looked
        .amount("Hugepagesize")
        .ok()
        .filter(|size| *size > Kib::ZERO);
    let Some((free, size)) = free.zip(size) else {
        let text = "the pool of huge pages with huge_pages = on (HugePages_Free is not told)";
        return Some(Possible(text.into()));
    };
    let needed = asked.div_ceil(size.bytes().0);
    Some(match needed > free {
        true => Possible(format!(
            "the pool of huge pages: it needs {needed} of {}, and {free} are free; with \
             huge_pages = on that is refused, with try it goes on without",
            size.bytes()
        )),
        false => Not(format!(
            "the pool of huge pages: {free} are free of {needed} needed"
        )),
    })
}

/// `vm.max_map_count`.
fn mappings(looked: &Looked<'_>) -> Verdict {
    let most = looked.setting("vm.max_map_count").ok();
    let most = most.map_or("65530 unless it is set".to_owned(), |most| most.to_string());
    Possible(format!(
        "vm.max_map_count ({most}), against the lines of /proc/PID/maps"
    ))
}

/// A size that is no size: `std::bad_alloc` does not tell what was asked for.
fn absurd(heard: &Heard<'_>) -> Option<Verdict> {
    let text = "a size that a bug computed, such as -1: bad_alloc does not tell what was asked for";
    (heard.sentence.who == "C++" && heard.asked.is_none()).then(|| Possible(text.into()))
}

/// What was left of the machine's memory when it was read.
fn machine(heard: &Heard<'_>, looked: &Looked<'_>) -> Option<Verdict> {
    let amount = |item| looked.amount(item).ok().map(Kib::bytes);
    let available = amount("MemAvailable").map(|left| (left, "available"));
    let (left, word) = available.or_else(|| Some((amount("MemFree")?, "free")))?;
    let total = amount("MemTotal")?;
    let share = Share::of(left.0, total.0)?;
    let enough = heard
        .asked
        .map_or(share.percent() >= 10, |asked| left.0 >= asked);
    Some(match enough {
        true => Not(format!(
            "RAM that is full: {left} ({share}) was {word}, where that was read at the time"
        )),
        false if word == "free" => return None,
        false => Possible(format!(
            "RAM that is all but full: {left} ({share}) was {word}"
        )),
    })
}

/// fork or clone got EAGAIN.
fn tasks_refused(heard: &Heard<'_>, looked: &Looked<'_>) -> Said {
    let is_thread = heard.sentence.says == Says::Thread;
    let mut verdicts = group_of_tasks(looked);
    verdicts.push(match limits(looked).tasks {
        Some(Limit::Unlimited) => Not("ulimit -u, which is unlimited".into()),
        Some(Limit::At(most)) => Possible(format!("ulimit -u, {most} tasks of the user")),
        None => Possible("ulimit -u, all tasks of the user".into()),
    });
    verdicts.push(Possible("kernel.threads-max and kernel.pid_max".into()));
    match is_thread {
        true => verdicts.push(Possible(
            "for a thread also the mapping of its stack: vm.max_map_count, ulimit -v".into(),
        )),
        false => verdicts.push(Not("a lack of memory, of which a fork says ENOMEM".into())),
    }
    let (refused, rest) = weighed(verdicts);
    let task = if is_thread { "a thread" } else { "a fork" };
    let sure = refused.as_ref().map_or(Sure::Open, |_| Sure::Likely);
    let lead =
        refused.unwrap_or_else(|| "a limit on the number of tasks, which is not told".into());
    let what = format!("{} was refused {task} (EAGAIN): {lead}.", heard.who());
    let next = "Count the tasks, threads too, against each limit on them.";
    Said::new(Severity::Warning, what, rest, next)
        .not("more memory, a larger heap: threads live outside the heap")
        .unsure(sure, COLLECT_TASKS)
}

/// `pids.max` of the groups in the evidence.
fn group_of_tasks(looked: &Looked<'_>) -> Vec<Verdict> {
    let any = || Possible("pids.max of its control group (TasksMax=, --pids-limit)".into());
    let Ok(groups) = looked.groups() else {
        return vec![any()];
    };
    let bounded = groups.filter_map(|(name, group)| Some((name, group.pids_max?)));
    let full = bounded.filter_map(|(name, most)| {
        let current = looked.file(&format!("sys/fs/cgroup/{name}/pids.current"))?;
        let current: u64 = current.trim().parse().ok()?;
        (current >= most).then(|| {
            Refused(format!(
                "its control group has {current} tasks, and pids.max is {most}"
            ))
        })
    });
    let full: Vec<Verdict> = full.collect();
    match full.is_empty() {
        true => vec![any()],
        false => full,
    }
}

/// A heap reached what its program set.
fn own_limit(heard: &Heard<'_>, looked: &Looked<'_>) -> Said {
    let asked = heard.asked.map(|asked| format!(" of {}", Bytes(asked)));
    let left = looked.amount("MemAvailable").ok();
    let left = left.map(|left| format!("; {} was available on the machine", left.bytes()));
    let what = format!(
        "{} reached a limit of its own{}: not the machine's memory, and the kernel refused \
         nothing.",
        heard.who(),
        asked.as_deref().unwrap_or("")
    );
    let why = format!(
        "the runtime counts its heap against a limit that was set or chosen at its start{}",
        left.as_deref().unwrap_or("")
    );
    let next = "Raise that limit if the machine has the room, or look for what fills the heap.";
    Said::new(Severity::Warning, what, why, next)
        .not("vm.* settings, swap, an OOM kill: the kernel has no part in it")
}

/// shmget got EINVAL.
fn segment(heard: &Heard<'_>, looked: &Looked<'_>) -> Said {
    let most = looked.file("proc/sys/kernel/shmmax");
    let most: Option<u64> = most.and_then(|text| text.trim().parse().ok());
    let asked = heard.asked.map(|asked| format!(" of {}", Bytes(asked)));
    let asked = asked.as_deref().unwrap_or("");
    let than = match most.zip(heard.asked) {
        Some((most, asked)) if asked > most => format!(": kernel.shmmax is {}", Bytes(most)),
        _ => "; kernel.shmmax tells whether it is too large".to_owned(),
    };
    Said::new(
        Severity::Warning,
        format!("A System V segment{asked} was refused (EINVAL){than}. Memory has no part in it."),
        "shmget refuses a size above kernel.shmmax, or a segment that exists and is smaller",
        "sysctl kernel.shmmax kernel.shmall; ipcs -m",
    )
    .not("more memory: a lack of it is ENOMEM")
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
            heard.who()
        ),
        "the program reads the setting and prints what it would rather have",
        "plimsoll explain vm.overcommit_memory",
    )
    .not("taking the warning for the cause of a later failure without that failure's own words")
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
        assert!(said.contains("more than RAM (512 MiB)"), "{said}");
        let small = MAP.replace("1073741824", "4096");
        let (_, said) = first(&small, &[("proc/meminfo", MEMINFO)]);
        assert!(!said.contains("more than RAM"), "{said}");
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
        assert_eq!(name, "program-segment-refused");
        assert!(said.contains("kernel.shmmax is 32 MiB"), "{said}");
    }

    #[test]
    fn a_pool_of_huge_pages_that_is_too_small_can_be_the_reason() {
        let text = "FATAL:  could not map anonymous shared memory: Cannot allocate memory\n\
                    HINT:  To reduce the request size (currently 4194304 bytes)";
        let pool =
            |free| format!("HugePages_Total: 9\nHugePages_Free: {free}\nHugepagesize: 2048 kB\n");
        let (_, said) = first(text, &[("proc/meminfo", &pool(1))]);
        assert!(
            said.contains("it needs 2 of 2 MiB, and 1 are free"),
            "{said}"
        );
        let (_, said) = first(text, &[("proc/meminfo", &pool(2))]);
        assert!(said.contains("It is not: the pool of huge pages"), "{said}");
    }
}
