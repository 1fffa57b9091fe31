//! What each policy of a configuration would do on a machine, in bytes.

use std::path::Path;

use guard::config::{Ceiling, Floor};
use guard::{Config, Memory, Policy};
use host::reclaim::{self, Way};
use host::{Root, kept, units};
use mm::memcg::MemoryStat;
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::ksm::Merging;
use super::machine::Machine;
use super::watermarks::Watermarks;
use super::writeback::Writeback;

/// The answer.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Checked {
    pub(super) total_bytes: u64,
    pub(super) floor: Option<Locks>,
    pub(super) ceiling: Option<Vec<Limit>>,
    pub(super) watermarks: Option<Watermarks>,
    pub(super) writeback: Option<Writeback>,
    pub(super) ksm: Option<Merging>,
    /// What can do nothing here, and the way out.
    pub(super) problems: Vec<String>,
}

/// What the floor locks and keeps.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Locks {
    pub(super) lock_budget_bytes: u64,
    /// The configuration asks for more than the guard ever locks.
    pub(super) is_capped: bool,
    pub(super) anon_floor_bytes: u64,
    pub(super) anon_bytes: u64,
    pub(super) keep: Vec<Keep>,
    /// Names in `floor.except`.
    pub(super) except: Vec<String>,
}

/// A name in `floor.keep`.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Keep {
    pub(super) path: String,
    /// `None` in evidence, which has no files.
    pub(super) files: Option<usize>,
    pub(super) bytes: Option<u64>,
    pub(super) note: Option<&'static str>,
}

/// A ceiling.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Limit {
    /// The control group; `None` for the machine.
    pub(super) group: Option<String>,
    pub(super) ceiling_bytes: u64,
    /// The page cache now; `None` where the group does not exist, or evidence does not have it.
    pub(super) cache_bytes: Option<u64>,
    /// How the cache is reclaimed, and from whom.
    pub(super) way: &'static str,
}

impl Checked {
    /// # Errors
    /// The machine's memory is not known.
    pub(super) fn of(config: &Config, machine: &Machine<'_>) -> anyhow::Result<Self> {
        let memory = machine.memory()?;
        let mut problems = Vec::new();
        let floor = config.floor.as_ref();
        let ceiling = config.ceiling.as_ref();
        if !config.has_policies() {
            let [but_last @ .., last] = Policy::WORDS.map(|(word, _)| format!("[{word}]"));
            let sections = but_last.join(", ");
            problems.push(format!(
                "it turns no policy on: add {sections} or {last}; docs/guard.md lists the keys"
            ));
        }
        let metrics = config.metrics.as_ref();
        if let (Machine::This(_), Some(folder)) = (machine, metrics.and_then(|file| folder(file)))
            && !folder.is_dir()
        {
            let folder = folder.display();
            problems.push(format!(
                "metrics: there is no folder {folder}: make it, or name another"
            ));
        }
        let to = &mut problems;
        Ok(Self {
            total_bytes: memory.total.0,
            floor: floor.map(|floor| locks(floor, &memory, machine, to)),
            ceiling: ceiling.map(|ceiling| limits(ceiling, &memory, machine, to)),
            watermarks: config.watermarks.map(|it| Watermarks::of(it, machine, to)),
            writeback: config.writeback.map(|it| Writeback::of(it, machine, to)),
            ksm: config.ksm.map(|it| Merging::of(it, machine, to)),
            problems,
        })
    }
}

/// The folder of a file that is named with one.
fn folder(file: &str) -> Option<&Path> {
    let folder = Path::new(file).parent();
    folder.filter(|folder| folder.has_root())
}

fn locks(
    floor: &Floor,
    memory: &Memory,
    machine: &Machine<'_>,
    problems: &mut Vec<String>,
) -> Locks {
    let budget = guard::budget(floor.clean_min, memory.total);
    let keep: Vec<Keep> = floor.keep.iter().map(|path| keep(path, machine)).collect();
    let size = keep.iter().filter_map(|keep| keep.bytes).sum();
    if Bytes(size) > budget {
        problems.push(format!(
            "floor.keep names {} and the floor locks at most {budget}: raise floor.clean_min, up \
             to 25 % of the memory, or name less",
            Bytes(size)
        ));
    }
    for name in &floor.except {
        if units::named(name).is_none() && !name.starts_with('/') {
            problems.push(format!(
                "floor.except names {name}, which is no path from the root and no unit: write it \
                 as \"/srv\" or \"unit:backup.service\""
            ));
        }
    }
    let anon_floor = floor.anon_min.of(memory.total);
    if anon_floor > Bytes::ZERO && memory.swap_total == Bytes::ZERO {
        problems.push("floor.anon_min does nothing: this machine has no swap".to_owned());
    }
    Locks {
        lock_budget_bytes: budget.0,
        is_capped: floor.clean_min.of(memory.total) > budget,
        anon_floor_bytes: anon_floor.0,
        anon_bytes: memory.anon.0,
        keep,
        except: floor.except.clone(),
    }
}

fn keep(path: &str, machine: &Machine<'_>) -> Keep {
    let mut keep = Keep {
        path: path.to_owned(),
        files: None,
        bytes: None,
        note: None,
    };
    if let Machine::Evidence(_) = machine {
        return keep;
    }
    let found = kept::find([path]);
    keep.note = match kept::is_on_disk(Path::new(path)) {
        _ if units::named(path).is_some() && found.files.is_empty() => {
            Some("does not run now; it counts within a minute when it does")
        }
        _ if units::named(path).is_some() => None,
        None => Some("does not exist now; it counts within a minute when it comes"),
        Some(false) => Some("lies on no local disk: it is not locked"),
        Some(true) if found.is_cut => Some("has more files than are kept"),
        Some(true) => None,
    };
    keep.files = Some(found.files.len());
    keep.bytes = Some(found.size.0);
    keep
}

fn limits(
    ceiling: &Ceiling,
    memory: &Memory,
    machine: &Machine<'_>,
    problems: &mut Vec<String>,
) -> Vec<Limit> {
    let mut limits = Vec::new();
    if let Some(total) = ceiling.total {
        let way = match machine {
            Machine::This(root) => whole(root),
            Machine::Evidence(_) => UNSEEN,
        };
        limits.push(Limit {
            group: None,
            ceiling_bytes: total.of(memory.total).0,
            cache_bytes: Some(memory.file.0),
            way,
        });
    }
    if let Machine::This(root) = machine
        && !ceiling.groups.is_empty()
        && !has_memory_controller(root)
    {
        problems.push(
            "ceiling.groups does nothing: cgroup v2 has no memory controller here; boot with \
             systemd.unified_cgroup_hierarchy=1"
                .to_owned(),
        );
    }
    let groups = ceiling.groups.iter();
    limits.extend(groups.map(|(group, limit)| Limit {
        group: Some(group.clone()),
        ceiling_bytes: limit.of(memory.total).0,
        cache_bytes: cache(machine, group).map(|cache| cache.0),
        way: of_group(machine, group),
    }));
    limits
}

const UNSEEN: &str = "evidence does not say which way of reclaim the kernel has";

/// The way for the whole machine.
fn whole(root: &Root) -> &'static str {
    match reclaim::of_group(root, "") {
        Way::FilesOnly => "memory.reclaim of the root group, file pages only",
        _ if reclaim::has_nodes(root) => "the reclaim files of the nodes, file pages only",
        Way::Unknown => "memory.reclaim of the root group, if it takes swappiness=: ask as root",
        Way::Plain | Way::None => "files that are read once are dropped by posix_fadvise",
    }
}

fn of_group(machine: &Machine<'_>, group: &str) -> &'static str {
    let Machine::This(root) = machine else {
        return UNSEEN;
    };
    match reclaim::of_group(root, group) {
        Way::FilesOnly => "memory.reclaim, file pages only",
        Way::Plain => "memory.reclaim, which swaps some of the group out too",
        Way::Unknown => "memory.reclaim; what it takes, root finds out",
        Way::None => "the group does not exist now; it counts when it comes",
    }
}

fn has_memory_controller(root: &Root) -> bool {
    let place = reclaim::hierarchy(root);
    let text = place.and_then(|place| root.read(&format!("{place}/cgroup.controllers")).ok());
    text.is_some_and(|text| text.split_whitespace().any(|word| word == "memory"))
}

/// The file pages of a group; `None` where it does not exist.
pub(super) fn cache(machine: &Machine<'_>, group: &str) -> Option<Bytes> {
    let place = match machine {
        Machine::This(root) => reclaim::hierarchy(root)?,
        Machine::Evidence(_) => "sys/fs/cgroup",
    };
    let group = group.trim_matches('/');
    let text = machine.file(&format!("{place}/{group}/memory.stat"))?;
    let stat = MemoryStat::parse("memory.stat", &text).ok()?;
    let sum = stat
        .active_file
        .unwrap_or(0)
        .saturating_add(stat.inactive_file.unwrap_or(0));
    Some(Bytes(sum))
}

#[cfg(test)]
mod tests {
    use super::super::machine::tests::root;
    use super::*;

    fn checked(files: &[(&str, &str)], config: &[(&str, &str)]) -> Checked {
        let directory = tempfile::tempdir().expect("a directory");
        let config = Config::read(config.iter().copied()).expect("a configuration");
        let machine = Machine::This(root(&directory, files));
        Checked::of(&config, &machine).expect("an answer")
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal: 1000000 kB\nMemFree: 1 kB\nActive(file): 7 kB\nInactive(anon): 5 kB\n",
    );

    #[test]
    fn budgets_are_in_bytes_of_the_machine_and_capped() {
        let config = [("floor.clean_min", "40 %"), ("floor.anon_min", "10 %")];
        let floor = checked(&[MEMINFO], &config).floor.expect("a floor");
        assert_eq!(floor.lock_budget_bytes, 256_000_000);
        assert!(floor.is_capped);
        assert_eq!(
            (floor.anon_floor_bytes, floor.anon_bytes),
            (102_400_000, 5120)
        );
    }

    #[test]
    fn what_can_do_nothing_here_is_a_problem_with_a_way_out() {
        let said = |files: &[_], config: &[_]| checked(files, config).problems.join("\n");
        let off = said(&[MEMINFO], &[]);
        assert!(off.contains("add [floor], [ceiling], [watermarks], [writeback] or [ksm];"));
        let metrics = said(&[MEMINFO], &[("metrics", "/missing/guard.prom")]);
        assert!(metrics.contains("there is no folder /missing"), "{metrics}");
        let no_swap = said(&[MEMINFO], &[("floor.anon_min", "1 %")]);
        assert!(no_swap.contains("no swap"), "{no_swap}");
        let total = [("ceiling.total", "1 GiB")];
        assert_eq!(said(&[MEMINFO], &total), "");
        let group = [("ceiling.groups.a", "1 GiB")];
        let controllers = "sys/fs/cgroup/cgroup.controllers";
        assert!(said(&[MEMINFO, (controllers, "cpu io\n")], &group).contains("ceiling.groups"));
        assert_eq!(said(&[MEMINFO, (controllers, "cpu memory\n")], &group), "");
    }

    #[test]
    fn where_the_machine_cannot_be_asked_files_are_dropped() {
        let total = [("ceiling.total", "1 GiB")];
        let way = |files: &[_]| checked(files, &total).ceiling.expect("a ceiling")[0].way;
        assert_eq!(
            way(&[MEMINFO]),
            "files that are read once are dropped by posix_fadvise"
        );
        let nodes = ("sys/devices/system/node/node0/reclaim", "");
        assert_eq!(
            way(&[MEMINFO, nodes]),
            "the reclaim files of the nodes, file pages only"
        );
    }

    #[test]
    fn a_group_is_told_with_its_cache_or_as_missing() {
        let config = [
            ("ceiling.groups.a/b", "1 MiB"),
            ("ceiling.groups.c", "1 MiB"),
        ];
        let files = [
            MEMINFO,
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            (
                "sys/fs/cgroup/a/b/memory.stat",
                "active_file 3\ninactive_file 4\n",
            ),
            ("sys/fs/cgroup/a/b/memory.reclaim", ""),
        ];
        let limits = checked(&files, &config).ceiling.expect("ceilings");
        let told = limits.iter().map(|limit| (limit.cache_bytes, limit.way));
        let expected = [
            (Some(7), "memory.reclaim, file pages only"),
            (
                None,
                "the group does not exist now; it counts when it comes",
            ),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
