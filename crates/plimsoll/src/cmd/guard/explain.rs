//! `plimsoll guard explain`: for each policy, what it sees now, what it last did and why.

use std::io::Write as _;
use std::time::Duration;

use guard::{Event, Figures, Memory};
use host::Root;
use host::facts::since_1970;
use mm::catalogue;
use mm::meminfo::{self, Meminfo};
use mm::text::lasting;
use mm::units::Bytes;

use super::checked::cache;
use super::events;
use super::machine::Machine;
use super::shared::{StateArg, before, item, stands_down};
use super::{ksm, watermarks, writeback};
use crate::exit::ExitCode;
use crate::term::{self, bold};

/// Explain what each policy of the guard sees now, and as root what it last did and why
///
/// The exit code is 1 where no guard runs.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    state: StateArg,
}

/// `vm.swappiness`.
const SWAPPINESS: &str = catalogue::path_of("vm.swappiness");

/// Explains.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut out = term::out();
    let width = term::columns();
    let Some(figures) = args.state.figures()? else {
        write!(out, "{}", item(&args.state.nobody(), 0, width))?;
        return Ok(ExitCode::No);
    };
    let root = Root::default();
    let machine = Machine::This(root.clone());
    let memory = Memory::of(&Meminfo::parse(&root.look(meminfo::PATH)?)?);
    // They tell of files that others may not read.
    let events = events::all(&args.state).ok();
    for policy in figures.of("policy_enabled") {
        let name = policy.label("policy");
        let told = match (policy.value, name) {
            (0, _) => vec!["It is off: the configuration has no section for it.".to_owned()],
            (_, "floor") => floor(&figures, &memory, &root),
            (_, "ceiling") => ceiling(&figures, &memory, &machine),
            (_, "watermarks") => watermarks::explained(&figures, &machine),
            (_, "writeback") => writeback::explained(&figures, &machine),
            (_, "ksm") => ksm::explained(&figures, &machine),
            _ => Vec::new(),
        };
        writeln!(out, "{}", bold(name))?;
        let last = match &events {
            Some(events) => last(events, name, since_1970()),
            None => Some("What it last did is root's to read.".to_owned()),
        };
        let last = last.filter(|_| policy.value == 1);
        for sentence in told.into_iter().chain(last) {
            write!(out, "{}", item(&sentence, 2, width))?;
        }
    }
    Ok(ExitCode::Done)
}

fn floor(figures: &Figures, memory: &Memory, root: &Root) -> Vec<String> {
    let bytes = |name| Bytes(figures.value(name));
    let mut told = Vec::new();
    let (budget, locked) = (bytes("lock_budget_bytes"), bytes("locked_bytes"));
    told.push(match budget {
        Bytes::ZERO => "It locks no files: clean_min is not set.".to_owned(),
        budget => format!("It has locked {locked} of files that are used; it may lock {budget}."),
    });
    let floor = bytes("anon_floor_bytes");
    if floor == Bytes::ZERO {
        return told;
    }
    let swappiness = root.look(SWAPPINESS).unwrap_or_default();
    let swappiness = swappiness.trim();
    let is_set = before(figures, "vm.swappiness").is_some();
    let why = match (stands_down(figures, "floor"), is_set) {
        (true, _) => "left alone, because somebody else wrote it since the guard did",
        (false, true) => "set by the guard, until there is 10 % more than the floor",
        (false, false) => "left as it was, because there is more than the floor",
    };
    let anon = memory.anon;
    told.push(format!(
        "There are {anon} of anonymous memory; the floor is {floor}. vm.swappiness is \
         {swappiness}: {why}."
    ));
    told
}

fn ceiling(figures: &Figures, memory: &Memory, machine: &Machine<'_>) -> Vec<String> {
    let scopes = figures.of("ceiling_bytes");
    let told = scopes.map(|ceiling| {
        let limit = Bytes(ceiling.value);
        match ceiling.label("group") {
            "" => format!(
                "The page cache of the machine has {}; the ceiling is {limit}.",
                memory.file
            ),
            group => match cache(machine, group) {
                Some(cache) => {
                    format!("The page cache of {group} has {cache}; the ceiling is {limit}.")
                }
                None => format!("The group {group} does not exist now; its ceiling is {limit}."),
            },
        }
    });
    told.collect()
}

/// The last thing that a policy did, and the last that failed if that was later.
fn last(events: &[Event], policy: &str, now: Duration) -> Option<String> {
    let mut of = events.iter().rev().filter(|event| event.policy == policy);
    let Some(event) = of.next() else {
        return Some("It had nothing to do so far.".to_owned());
    };
    let ago = now.saturating_sub(Duration::from_millis(event.at));
    let ago = lasting(crate::changing::nanos(ago));
    let what = &event.what;
    Some(match event.why.as_str() {
        "" => format!("Last, {ago} ago: {what}."),
        why => format!("Last, {ago} ago: {what}, because: {why}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_of_the_policy_is_told_with_its_reason() {
        let event = |at, policy: &str, what: &str| Event {
            at,
            policy: policy.to_owned(),
            what: what.to_owned(),
            why: "used 2.0 times in the last minutes".to_owned(),
            ..Event::default()
        };
        let events = [
            event(1000, "floor", "lock 1 MiB"),
            event(5000, "floor", "lock 2 MiB"),
            event(6000, "ceiling", "reclaim"),
        ];
        let told = last(&events, "floor", Duration::from_secs(65)).expect("a sentence");
        assert_eq!(
            told,
            "Last, 60 s ago: lock 2 MiB, because: used 2.0 times in the last minutes."
        );
        let told = last(&[], "floor", Duration::ZERO).expect("a sentence");
        assert!(told.contains("nothing to do"), "{told}");
    }

    #[test]
    fn what_the_floor_sees_is_in_sentences() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        std::fs::create_dir_all(root.join(SWAPPINESS.trim_end_matches("swappiness")))
            .expect("a folder");
        std::fs::write(root.join(SWAPPINESS), "0\n").expect("a file");
        let mut figures = Figures::default();
        figures.add("lock_budget_bytes", &[], 8 << 20);
        figures.add("locked_bytes", &[], 1 << 20);
        figures.add("anon_floor_bytes", &[], 4 << 20);
        figures.add("setting_held", &[("tunable", "vm.swappiness")], 1);
        let memory = Memory {
            anon: Bytes(2 << 20),
            ..Memory::default()
        };
        let expected = [
            "It has locked 1 MiB of files that are used; it may lock 8 MiB.",
            "There are 2 MiB of anonymous memory; the floor is 4 MiB. vm.swappiness is 0: set by \
             the guard, until there is 10 % more than the floor.",
        ];
        assert_eq!(floor(&figures, &memory, &root), expected);
    }
}
