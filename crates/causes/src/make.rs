//! Makes a trouble in a VM.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use answer::bench::Progress;
use anyhow::{Context as _, Result, bail};
use flate2::read::GzDecoder;
use host::looking::READABLE;
use lab::vm::Source;
use lab::vm::small::{Life, Small};
use mm::units::{Bytes, Nanos};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use scenario::machine;
use tempfile::TempDir;

use crate::draw::Drawn;
use crate::recipe::Disk;
use crate::run::Run;

/// The guest's driver.
const DRIVER: Source<'static> = Source {
    name: "plimsoll_cause",
    text: include_str!("../../../cause-module/plimsoll_cause.c"),
    makefile: include_str!("../../../cause-module/Makefile"),
};

/// What every script begins with, and what it ends with: the evidence, on the second port.
const AROUND: [&str; 2] = [
    include_str!("../../../causes/guest/prelude.sh"),
    include_str!("../../../causes/guest/ending.sh"),
];

/// The guest's program.
const TROUBLE: &str = include_str!("../../../causes/guest/trouble.c");

/// What people collect beside the files that `inspect` reads.
const COLLECTED: &[&str] = &[
    "proc/loadavg",
    "proc/pagetypeinfo",
    "proc/slabinfo",
    "proc/sys/fs/dentry-state",
    "proc/sysvipc/shm",
    "proc/version",
    "proc/vmallocinfo",
    "proc/net/sockstat",
    "sys/fs/cgroup/**/memory.events.local",
    "sys/fs/cgroup/**/memory.oom.group",
    "sys/fs/cgroup/**/memory.swap.events",
    "sys/fs/cgroup/**/pids.current",
    "sys/fs/cgroup/**/pids.events",
    "sys/fs/cgroup/**/pids.max",
];

/// What a sample of each second holds.
const SAMPLED: &[&str] = &[
    "proc/diskstats",
    "proc/loadavg",
    "proc/meminfo",
    "proc/pressure/io",
    "proc/pressure/memory",
    "proc/stat",
    "proc/vmstat",
];

/// What the guest writes in place of the evidence where the trouble did not arise.
const FAILED: &[u8] = b"cause: ";

/// A kernel on which troubles are made.
#[derive(Debug)]
pub struct Maker {
    small: Small,
    /// The guest's own program.
    trouble: Vec<u8>,
}

impl Maker {
    /// Builds the guest's program.
    ///
    /// # Errors
    /// That there is no compiler, or no static C library.
    pub fn new(small: Small) -> Result<Self> {
        Ok(Self {
            small,
            trouble: compiled(TROUBLE)?,
        })
    }

    /// The kernel's release.
    #[must_use]
    pub fn kernel(&self) -> &str {
        self.small.kernel()
    }

    /// Makes a trouble and hands back its evidence.
    ///
    /// # Errors
    /// Those of the VM, that it ended without evidence, or that the trouble did not arise.
    pub fn make(&self, drawn: &Drawn, progress: &mut dyn FnMut(Progress)) -> Result<Run> {
        let mut life = self.life(drawn);
        if drawn.recipe.driver {
            let driver = self.small.module(&DRIVER, progress)?;
            life.files.push(("lab/cause.ko".into(), 0o644, driver));
        }
        let orders = orders(&drawn.recipe.orders, &mut life)?;
        let bytes = self.small.live(&life, progress)?;
        drop(orders);
        if bytes.starts_with(FAILED) {
            bail!("{}", String::from_utf8_lossy(&bytes[FAILED.len()..]).trim());
        }
        let text = std::io::read_to_string(GzDecoder::new(&bytes[..]));
        let text = text.with_context(|| format!("{}: {} bytes came", drawn.cause, bytes.len()))?;
        Run::parse(&text)
    }

    fn life(&self, drawn: &Drawn) -> Life {
        let recipe = &drawn.recipe;
        let list = |patterns: Vec<String>| patterns.join("\n").into_bytes();
        let text = |text: String| text.into_bytes();
        Life {
            memory: Bytes(recipe.memory[0] << 20),
            nodes: recipe.nodes,
            disks: recipe.disks.iter().enumerate().map(disk).collect(),
            images: vec![],
            parameters: recipe.parameters.clone(),
            devices: recipe.devices.clone(),
            modules: recipe.modules.clone(),
            files: vec![
                ("lab/trouble".into(), 0o755, self.trouble.clone()),
                ("lab/files".into(), 0o644, list(collected())),
                ("lab/samples".into(), 0o644, list(rooted(SAMPLED).collect())),
                ("lab/steps".into(), 0o644, text(recipe.steps.clone())),
                ("lab/arose".into(), 0o644, text(recipe.arose.clone())),
            ],
            script: AROUND.join(". /lab/steps\n"),
        }
    }
}

/// A pipe with what QEMU's monitor is told, in the place of its name; it must stay open.
fn orders(orders: &str, life: &mut Life) -> Result<(TempDir, File)> {
    let place = tempfile::tempdir()?;
    let path = shown(&place.path().join("orders"));
    for way in ["in", "out"] {
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, format!("{path}.{way}"), FileType::Fifo, mode, 0)?;
    }
    let mut pipe = OpenOptions::new();
    let mut pipe = pipe.read(true).write(true).open(format!("{path}.in"))?;
    pipe.write_all(orders.as_bytes())?;
    for word in &mut life.devices {
        *word = word.replace("ORDERS", &path);
    }
    Ok((place, pipe))
}

fn rooted(patterns: &'static [&str]) -> impl Iterator<Item = String> {
    patterns.iter().map(|pattern| format!("/{pattern}"))
}

/// Patterns of all that is collected.
fn collected() -> Vec<String> {
    let row = |row: &'static host::looking::Readable| {
        row.names
            .iter()
            .map(move |name| format!("/{}/{name}", row.folder))
    };
    READABLE
        .iter()
        .flat_map(row)
        .chain(rooted(COLLECTED))
        .collect()
}

fn disk((index, disk): (usize, &Disk)) -> machine::Disk {
    let rate = Bytes(disk.rate * 1_000_000);
    machine::Disk {
        name: format!("disk {index}"),
        size: Bytes(disk.size << 20),
        read_bandwidth: rate,
        write_bandwidth: rate,
        latency: Nanos(disk.latency * 1000),
        seek: Nanos(0),
        channels: 1,
        queue_depth: 32,
        rotational: false,
    }
}

fn compiled(text: &str) -> Result<Vec<u8>> {
    let place = tempfile::tempdir()?;
    let [source, program] = ["trouble.c", "trouble"].map(|name| place.path().join(name));
    std::fs::write(&source, text).with_context(|| shown(&source))?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-static", "-pthread", "-O2", "-s", "-o"]);
    run(gcc.arg(&program).arg(&source))?;
    std::fs::read(&program).with_context(|| shown(&program))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .context("gcc is missing: apt-get install gcc libc6-dev")?;
    if !output.status.success() {
        bail!("gcc: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Tells one way of making a run from another: what the guest is given.
#[must_use]
pub fn fingerprint(drawn: &Drawn) -> u64 {
    let recipe = &drawn.recipe;
    let machine = format!(
        "{:?}",
        (
            recipe.memory,
            recipe.nodes,
            &recipe.parameters,
            &recipe.modules,
            &recipe.devices,
            &recipe.orders,
            recipe.driver,
            &recipe.disks
        )
    );
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let driver = if recipe.driver { DRIVER.text } else { "" };
    let texts = [&recipe.steps, &recipe.arose, &machine, driver, TROUBLE];
    let bytes = texts.into_iter().chain(AROUND).flat_map(str::bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, step)
}
