//! `[machine]`: memory, CPUs, disks, swap, and the files made beforehand.

use mm::units::{Bytes, Nanos};
use scenario::calibration::Costs;
use scenario::machine::{Cost, Disk, File, FileSystem, Machine, Swap, SwapBacking};

use super::names::{Kind, Names};
use super::node::Node;
use super::replay;
use super::room;
use super::source::StudyError;
use super::table::Table;
use mm::suggest;

pub(super) const MACHINE: &[&str] = &[
    "memory",
    "cpus",
    "nodes",
    "costs",
    "file-system",
    "available",
    "recorded-files",
    "disk",
    "swap",
    "file",
];
const DISK: &[&str] = &[
    "name",
    "size",
    "bandwidth",
    "read-bandwidth",
    "write-bandwidth",
    "latency",
    "iops",
    "seek",
    "channels",
    "queue-depth",
    "rotational",
];
const SWAP: &[&str] = &["disk", "zram-ratio", "size", "arms", "except"];
const FILE: &[&str] = &["name", "disk", "size", "arms", "except"];

/// Reads the machine, and notes the names of its nodes, disks and files.
pub(super) fn machine(
    table: &Table<'_>,
    names: &mut Names,
    model_only: bool,
) -> Result<Machine, StudyError> {
    let mut space = Vec::new();
    let mut disks = Vec::new();
    for table in table.tables("disk", "[[machine.disk]]", DISK)? {
        let disk = disk(&table, names)?;
        space.push(Space {
            table,
            room: match model_only {
                true => disk.size,
                false => room::room(disk.size),
            },
            model_only,
            taken: Bytes::ZERO,
            too_much: Vec::new(),
        });
        disks.push(disk);
    }
    let mut machine = Machine {
        memory: table.need("memory")?.some_size()?,
        cpus: table.or("cpus", 1, |n| n.count(1, 4096))?,
        nodes: table.or("nodes", 1, |n| n.count(1, 64))?,
        disks,
        swaps: Vec::new(),
        files: Vec::new(),
        costs: table.or("costs", Vec::new(), |n| costs(n, model_only))?,
        file_system: table.or("file-system", FileSystem::Ext4, |n| {
            file_system(n, model_only)
        })?,
        recorded_on: None,
        available: table.maybe("available", |n| n.some_size())?,
    };
    for node in 0..machine.nodes {
        names.add_text(Kind::Node, &node.to_string(), &table.need("memory")?)?;
    }
    for table in table.tables("swap", "[[machine.swap]]", SWAP)? {
        machine
            .swaps
            .push(swap(&table, names, &mut space, &machine.disks)?);
    }
    for table in table.tables("file", "[[machine.file]]", FILE)? {
        machine
            .files
            .push(file(&table, names, &mut space, &machine.disks)?);
    }
    if let Some(node) = table.get("recorded-files")? {
        replay::check(&node, &machine)?;
        machine.recorded_on = Some(recorded_on(&node, names, &mut space, &machine.disks)?);
    }
    space.iter().try_for_each(Space::check)?;
    Ok(machine)
}

/// What lies on a disk.
struct Space<'a> {
    table: Table<'a>,
    /// What a VM's file system leaves of it; no VM has the disk of the model alone.
    room: Bytes,
    model_only: bool,
    taken: Bytes,
    /// What does not fit, with its line.
    too_much: Vec<String>,
}

impl Space<'_> {
    /// Takes `size` for `what`, which `table` describes.
    fn take(&mut self, table: &Table<'_>, what: &str, size: Bytes) {
        self.taken = self.taken.saturating_add(match self.model_only {
            true => size,
            false => room::taken(size),
        });
        if self.taken > self.room {
            let line = table.node().line();
            self.too_much.push(format!("`{what}` (line {line})"));
        }
    }

    /// Says how much is missing for everything that lies on the disk.
    fn check(&self) -> Result<(), StudyError> {
        if self.too_much.is_empty() {
            return Ok(());
        }
        let missing = self.taken.saturating_sub(self.room);
        let disk = self.table.need("name")?.name()?;
        let things = self.too_much.join(", ");
        // Rounded up, so that following the advice is enough.
        let enough = match self.model_only {
            true => self.taken.0.div_ceil(1 << 20),
            false => room::enough_mib(self.taken),
        };
        Err(self.table.need("size")?.error(
            format!("disk `{disk}` is too small for {things}: {missing} are missing"),
            format!("make its size {enough} MiB or more"),
        ))
    }
}

fn disk(table: &Table<'_>, names: &mut Names) -> Result<Disk, StudyError> {
    let name = names.add(Kind::Disk, &table.need("name")?)?;
    for key in ["read-bandwidth", "write-bandwidth"] {
        table.not_both("bandwidth", key)?;
    }
    let both = table.maybe("bandwidth", |n| n.bandwidth())?;
    let each = |key| match both {
        Some(bandwidth) => Ok(bandwidth),
        None => table.need(key)?.bandwidth(),
    };
    let latency = table.or("latency", Nanos::ZERO, |n| n.duration())?;
    Ok(Disk {
        name,
        size: table.need("size")?.some_size()?,
        read_bandwidth: each("read-bandwidth")?,
        write_bandwidth: each("write-bandwidth")?,
        latency,
        seek: seek(table, latency)?,
        channels: table.or("channels", 1, |n| n.count(1, 1024))?,
        queue_depth: table.or("queue-depth", 64, |n| n.count(1, 65536))?,
        rotational: table.or("rotational", false, |n| n.flag())?,
    })
}

/// The cost of a request out of order: as said, or from IOPS as 1 / iops - latency.
fn seek(table: &Table<'_>, latency: Nanos) -> Result<Nanos, StudyError> {
    table.not_both("iops", "seek")?;
    let Some(node) = table.get("iops")? else {
        return table.or("seek", Nanos::ZERO, |n| n.duration());
    };
    let iops: u64 = node.count(1, 100_000_000)?;
    let request = Nanos(Nanos::SECOND.0 / iops);
    if request < latency {
        let what = format!(
            "{} is {iops}, but a latency of {latency} allows fewer",
            node.place()
        );
        let most = Nanos::SECOND.0 / latency.0;
        return Err(node.error(what, format!("at most {most}, or a smaller latency")));
    }
    Ok(request - latency)
}

/// What the files lie on: a VM has ext4.
fn file_system(node: &Node<'_>, model_only: bool) -> Result<FileSystem, StudyError> {
    let found = node.choice(&[("ext4", FileSystem::Ext4), ("xfs", FileSystem::Xfs)])?;
    match found == FileSystem::Ext4 || model_only {
        true => Ok(found),
        false => Err(node.error(
            "a VM's files lie on ext4: another `file-system` is the model's",
            "give every arm `model-only = true`, or drop it",
        )),
    }
}

/// Costs of the machine's own, by the names that a calibration has for them.
fn costs(node: &Node<'_>, model_only: bool) -> Result<Vec<Cost>, StudyError> {
    if !model_only {
        let what = "a kernel's operations take what they take: `costs` are the model's".to_owned();
        return Err(node.error(what, "give every arm `model-only = true`, or drop them"));
    }
    let mut costs = Vec::new();
    for (name, value) in node.entries()? {
        if !Costs::NAMES.contains(&name.as_str()) {
            let names = Costs::NAMES.iter().copied();
            let what = format!("there is no cost `{name}`");
            return Err(value.error(what, suggest::way_out(&name, names)));
        }
        let picoseconds = value.duration()?.0.saturating_mul(1000);
        costs.push(Cost { name, picoseconds });
    }
    Ok(costs)
}

fn swap(
    table: &Table<'_>,
    names: &Names,
    space: &mut [Space<'_>],
    disks: &[Disk],
) -> Result<Swap, StudyError> {
    let size = table.need("size")?.some_size()?;
    let (key, node) = table.one_of(&["disk", "zram-ratio"])?;
    let backing = if key == "disk" {
        let disk = names.known(Kind::Disk, &node)?;
        if let Some(index) = disks.iter().position(|known| known.name == disk) {
            space[index].take(table, "swap", size);
        }
        SwapBacking::Disk(disk)
    } else {
        SwapBacking::Zram {
            ratio_milli: node.thousandths(1.0, 100.0)?,
        }
    };
    Ok(Swap { backing, size })
}

/// The disk with the files of the recording.
fn recorded_on(
    node: &Node<'_>,
    names: &Names,
    space: &mut [Space<'_>],
    disks: &[Disk],
) -> Result<String, StudyError> {
    let disk = names.known(Kind::Disk, node)?;
    let recorded = node.scope().source.recorded;
    let files = recorded.map_or(&[][..], |recorded| &recorded.files);
    let bytes: Bytes = files.iter().map(|file| room::taken(file.largest)).sum();
    let room = bytes + room::taken(Bytes(files.len() as u64 * room::DIRECTORY_ENTRY));
    if let Some(index) = disks.iter().position(|known| known.name == disk) {
        if files.len() as u64 > room::most_files(disks[index].size) {
            let what = format!("disk \"{disk}\" has no inodes for {} files", files.len());
            return Err(node.error(what, "give it a larger size"));
        }
        let table = space[index].table.clone();
        space[index].take(&table, "recorded-files", room);
    }
    Ok(disk)
}

fn file(
    table: &Table<'_>,
    names: &mut Names,
    space: &mut [Space<'_>],
    disks: &[Disk],
) -> Result<File, StudyError> {
    let name = names.add(Kind::File, &table.need("name")?)?;
    let disk = names.known(Kind::Disk, &table.need("disk")?)?;
    let size = table.need("size")?.some_size()?;
    if let Some(index) = disks.iter().position(|known| known.name == disk) {
        space[index].take(table, &name, size);
    }
    Ok(File { name, disk, size })
}

#[cfg(test)]
mod tests {
    use crate::Study;

    #[test]
    fn costs_of_a_machine_are_known_by_name_and_the_models_alone() {
        let study = Study::built_in("memory-hogs-full-size").unwrap();
        let with = |costs: &str| {
            let memory = "memory = \"64 GiB\"";
            let text = study
                .text
                .replace(memory, &format!("{memory}\ncosts = {costs}"));
            Study::parse(&text, "s").map_err(|error| error.to_string())
        };
        let read = with("{ cached-read = \"1233 ns\" }").unwrap();
        let machine = read.scenario("4 GiB", 1).unwrap().machine;
        assert_eq!(machine.costs[0].picoseconds, 1_233_000);
        let error = with("{ cache-read = \"1 us\" }").unwrap_err();
        assert!(
            error.contains("`cache-read`") && error.contains("cached-read"),
            "{error}"
        );
        let study = Study::built_in("min-free-kbytes").unwrap();
        let text = study
            .text
            .replace("[machine]", "[machine]\ncosts = { touch = \"1 us\" }");
        let error = Study::parse(&text, "s").unwrap_err().to_string();
        assert!(
            error.contains("give every arm `model-only = true`"),
            "{error}"
        );
    }

    #[test]
    fn a_process_runs_on_a_node_that_the_machine_has() {
        let study = Study::built_in("file-copy").unwrap();
        let text = study.text.replace("run-on-node = 0", "run-on-node = 2");
        let error = Study::parse(&text, "s").unwrap_err().to_string();
        assert!(
            error.contains("unknown NUMA node `2`; did you mean `0`"),
            "{error}"
        );
    }

    #[test]
    fn a_swap_larger_than_what_its_disk_has_left_says_how_much_is_missing() {
        let study = Study::built_in("min-free-kbytes").unwrap();
        let swap = "[[machine.swap]]\ndisk = \"disk\"\nsize = \"2 GiB\"\n\n[base]";
        let text = study.text.replace("[base]", swap);
        let error = Study::parse(&text, "s").unwrap_err().to_string();
        let expected = "disk `disk` is too small for `big` (line ";
        assert!(error.contains(expected), "{error}");
        assert!(
            error.ends_with("435 MiB are missing; make its size 4539 MiB or more"),
            "{error}"
        );
        let text = text.replace("\"2 GiB\"", "\"5 GiB\"");
        let error = Study::parse(&text, "s").unwrap_err().to_string();
        assert!(error.contains("too small for `swap` (line "), "{error}");
        assert!(error.contains(", `big` (line "), "{error}");
        let advice = "make its size 7660 MiB or more";
        assert!(error.ends_with(advice), "{error}");
        let (_, size) = error.split_once("its size ").unwrap();
        let enough = size.trim_end_matches(" or more");
        let grown = text.replacen("size = \"4 GiB\"", &format!("size = \"{enough}\""), 1);
        assert_ne!(grown, text);
        assert!(Study::parse(&grown, "s").is_ok(), "the advice suffices");
    }
}
