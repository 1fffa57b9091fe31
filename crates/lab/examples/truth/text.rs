//! A drawn study as the text that a bench reads.

mod steps;

use super::drawn::{Arm, Consumer, Disk, Drawn, Kind, Swap};

/// The whole text.
pub(super) fn of(drawn: &Drawn) -> String {
    let mut text = head(drawn);
    for (place, disk) in drawn.disks.iter().enumerate() {
        text += &disk_of(disk, drawn.stored_on(place));
    }
    drawn
        .swap
        .iter()
        .for_each(|area| text += &swap(area, drawn));
    for one in drawn.consumers.iter().filter(|one| one.file > 0) {
        let Consumer {
            name, file, disk, ..
        } = one;
        let disk = &drawn.disks[*disk].name;
        text += &format!(
            "\n[[machine.file]]\nname = \"{name}\"\ndisk = \"{disk}\"\nsize = \"{file} MiB\"\n"
        );
    }
    text += "\n[base]\n";
    for (tunable, value) in &drawn.base {
        text += &format!("\"{tunable}\" = {value}\n");
    }
    drawn.arms.iter().for_each(|one| text += &arm(one));
    text += &groups(drawn);
    text += &steps::admin(drawn);
    drawn
        .consumers
        .iter()
        .for_each(|one| text += &steps::of(one, drawn));
    text + &measures(drawn)
}

fn head(drawn: &Drawn) -> String {
    let Drawn {
        seed,
        kernel,
        memory,
        ..
    } = drawn;
    let subject = format!("{:?}", drawn.subject);
    let names: Vec<&str> = drawn
        .consumers
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let names = names.join(", ");
    let seconds = (drawn.warm + drawn.span) / 1000 + 4;
    let parameters = match drawn.limited {
        Some(limited) => format!("\n[parameters]\nlimit = \"{}\"\n", limited.usual),
        None => String::new(),
    };
    let cpus = match drawn.cpus {
        1 => String::new(),
        cpus => format!("cpus = {cpus}\n"),
    };
    format!(
        "# kernel: {kernel}\n\
         name = \"truth-{seed}\"\n\
         title = \"Drawn study {seed}: {subject}\"\n\
         question = \"What does {subject} do for {names}?\"\n\
         sample = \"5 s\"\n\
         repetitions = 1\n\
         deadline = \"{seconds} s\"\n\
         {parameters}\n\
         [machine]\n\
         memory = \"{memory} MiB\"\n{cpus}"
    )
}

/// A disk with a quarter more than what lies on it, for the file system.
fn disk_of(disk: &Disk, stored: u64) -> String {
    let Disk {
        name,
        read,
        write,
        latency,
        channels,
        depth,
        ..
    } = disk;
    let kind = format!("{:?}", disk.kind);
    let size = (stored * 5 / 4).max(64) + 64;
    let order = match disk.iops {
        Some(iops) => format!("iops = {iops}\nrotational = true\n"),
        None => String::new(),
    };
    format!(
        "\n# {kind}\n[[machine.disk]]\n\
         name = \"{name}\"\n\
         size = \"{size} MiB\"\n\
         read-bandwidth = \"{read} MB/s\"\n\
         write-bandwidth = \"{write} MB/s\"\n\
         latency = \"{latency} us\"\n\
         {order}\
         channels = {channels}\n\
         queue-depth = {depth}\n"
    )
}

fn swap(area: &Swap, drawn: &Drawn) -> String {
    let (on, size) = match area {
        Swap::Disk { disk, size } => (format!("disk = \"{}\"", drawn.disks[*disk].name), size),
        Swap::Zram { ratio, size } => (format!("zram-ratio = {ratio}"), size),
    };
    format!("\n[[machine.swap]]\n{on}\nsize = \"{size} MiB\"\n")
}

fn arm(arm: &Arm) -> String {
    let mut text = format!("\n[[arm]]\nname = \"{}\"\n", arm.name);
    if !arm.settings.is_empty() {
        let pairs = arm.settings.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("\"{name}\" = {value}"))
            .collect();
        text += &format!("settings = {{ {} }}\n", pairs.join(", "));
    }
    if let Some(limit) = &arm.limit {
        text += &format!("parameters = {{ limit = \"{limit}\" }}\n");
    }
    text
}

fn groups(drawn: &Drawn) -> String {
    let group = |path: &str, file: &str, value: &str| {
        format!("\n[[cgroup]]\npath = \"{path}\"\nfiles = {{ \"{file}\" = \"{value}\" }}\n")
    };
    let limited = drawn
        .limited
        .map(|limited| group("box", limited.file, "$limit"));
    let side = drawn
        .side
        .map(|size| group("side", "memory.high", &format!("{size} MiB")));
    limited.into_iter().chain(side).collect()
}

/// What is read of every study beside its consumers: a name and where it is read.
const MEASURES: &[(&str, &str)] = &[
    (
        "oom kills",
        "during = \"run\"\nvmstat = \"oom_kill\"\nover = \"maximum\"",
    ),
    ("swapped in", "vmstat = \"pswpin\""),
    ("swapped out", "vmstat = \"pswpout\""),
    ("refaults anon", "vmstat = \"workingset_refault_anon\""),
    ("refaults file", "vmstat = \"workingset_refault_file\""),
    ("activated", "vmstat = \"pgactivate\""),
    ("major faults", "vmstat = \"pgmajfault\""),
    ("scanned by kswapd", "vmstat = \"pgscan_kswapd\""),
    ("scanned directly", "vmstat = \"pgscan_direct\""),
    ("stolen by kswapd", "vmstat = \"pgsteal_kswapd\""),
    ("stolen directly", "vmstat = \"pgsteal_direct\""),
    ("allocstall normal", "vmstat = \"allocstall_normal\""),
    ("allocstall movable", "vmstat = \"allocstall_movable\""),
    ("dirtied", "vmstat = \"nr_dirtied\""),
    ("written", "vmstat = \"nr_written\""),
    ("memory some", "pressure = \"memory.some.total\""),
    ("memory full", "pressure = \"memory.full.total\""),
    ("io some", "pressure = \"io.some.total\""),
    (
        "available",
        "snapshot = \"end\"\nmeminfo = \"MemAvailable\"",
    ),
    ("free", "snapshot = \"end\"\nmeminfo = \"MemFree\""),
    ("anonymous", "snapshot = \"end\"\nmeminfo = \"AnonPages\""),
    ("cached", "snapshot = \"end\"\nmeminfo = \"Cached\""),
    ("dirty", "snapshot = \"end\"\nmeminfo = \"Dirty\""),
];

const BETWEEN: &str = "between = [\"warm\", \"end\"]\n";

fn measures(drawn: &Drawn) -> String {
    let mut text = String::new();
    for Consumer { name, kind, .. } in &drawn.consumers {
        let step = |what: &str, more: &str| {
            format!("\n[[measure]]\nname = \"{name} {what}\"\nstep = \"{name}\"\n{more}\n")
        };
        text += &match kind {
            // What it does is done by the processes that it starts.
            Kind::Jobs => format!(
                "\n[[measure]]\nname = \"{name} rate\"\n{BETWEEN}progress = \"{name}-run\"\n\
                 better = \"higher\"\n"
            ),
            _ => step(
                "rate",
                "take = \"rate\"\nover = \"mean\"\nbetter = \"higher\"",
            ),
        };
        text += &step("survivors", "take = \"survivors\"\nbetter = \"higher\"");
    }
    for (name, source) in MEASURES {
        let when = match source.contains("snapshot") || source.contains("during") {
            true => "",
            false => BETWEEN,
        };
        text += &format!("\n[[measure]]\nname = \"{name}\"\n{when}{source}\n");
    }
    for Disk { name, .. } in &drawn.disks {
        for counter in ["reads", "read", "writes", "written", "busy"] {
            text += &format!(
                "\n[[measure]]\nname = \"{name} {counter}\"\n{BETWEEN}\
                 diskstats = \"{name}.{counter}\"\n"
            );
        }
    }
    if drawn.consumers.iter().any(|one| one.kind == Kind::Guests) {
        let file = mm::ksm::path("pages_sharing");
        text += &format!(
            "\n[[measure]]\nname = \"merged\"\nsnapshot = \"end\"\n\
             file = \"/{file}\"\nunit = \"pages\"\n"
        );
    }
    text
}
