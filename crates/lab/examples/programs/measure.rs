//! A program's own runs in the VM.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use answer::bench::Progress;
use anyhow::{Context as _, Result, bail, ensure};
use mm::stock::Stock;
use mm::units::{Bytes, Nanos};
use plimsoll_lab::vm::small::{Image, Life, Small, Writes};
use plimsoll_lab::vm::{KernelChoice, Programs, Release, VmOptions};
use scenario::machine::Disk;

use crate::program::{ARMS, Arm, PACKAGES, Program};

const PREPARE: &str = include_str!("prepare.sh");
const GUEST: &str = include_str!("guest.sh");

/// What was measured: program, kernel, arm, seconds, kB read and kB written, between tabs; then
/// pages swapped in, where there are any.
pub(crate) const TABLE: &str = "fixtures/programs/measured.tsv";

/// What a load came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    /// What all disks read and wrote, in kB (`pgpgin`, `pgpgout`).
    pub(crate) read: f64,
    pub(crate) written: f64,
    /// Pages (`pswpin`).
    pub(crate) swapped_in: f64,
    pub(crate) seconds: f64,
}

/// A program on a kernel.
pub(crate) struct Machine {
    small: Small,
    program: &'static Program,
    kernel: String,
    disk: PathBuf,
}

/// The recording of a program on a kernel.
pub(crate) fn recording(program: &str, kernel: &str) -> PathBuf {
    testkit::checkout(&format!("fixtures/programs/{program}-{kernel}.rec"))
}

/// What was measured before, by program, kernel and arm.
pub(crate) fn table() -> Result<Vec<([String; 3], Figures)>> {
    let text = fs::read_to_string(testkit::checkout(TABLE)).unwrap_or_default();
    text.lines().map(row).collect()
}

fn row(line: &str) -> Result<([String; 3], Figures)> {
    let words: Vec<&str> = line.split('\t').collect();
    let [program, kernel, arm, seconds, read, written, ref more @ ..] = words[..] else {
        bail!("{TABLE}: six columns were expected: {line}");
    };
    let figures = Figures {
        seconds: seconds.parse()?,
        read: read.parse()?,
        written: written.parse()?,
        swapped_in: more.first().map_or(Ok(0.0), |it| it.parse())?,
    };
    Ok(([program, kernel, arm].map(str::to_owned), figures))
}

impl Machine {
    /// Makes the disk unless it is there.
    pub(crate) fn new(
        program: &'static Program,
        kernel: &str,
        stock: &'static Stock,
    ) -> Result<Self> {
        let options = VmOptions {
            kernel: KernelChoice::Stock(stock),
            deadline: Duration::from_secs(3600),
            ..VmOptions::default()
        };
        let folder = testkit::checkout("target/programs");
        fs::create_dir_all(&folder)?;
        let machine = Self {
            small: Small::new(&options, &mut show)?,
            program,
            kernel: kernel.to_owned(),
            disk: folder.join(format!("{}.disk", program.name)),
        };
        if !machine.disk.exists() {
            machine.prepare()?;
        }
        Ok(machine)
    }

    fn prepare(&self) -> Result<()> {
        let root = Programs::root(Release::Debian12, "programs", PACKAGES, &mut show)?;
        let part = self.disk.with_extension("part");
        if part.exists() {
            fs::remove_file(&part)?;
        }
        self.small.image(&disk(), &root.root, &part)?;
        let mut life = life(&part, Writes::Kept, 2048);
        life.script = PREPARE.to_owned();
        life.files = vec![script("prepare", self.program.prepare)];
        let said = self.small.live(&life, &mut show)?;
        let said = String::from_utf8_lossy(&said);
        ensure!(said.starts_with("prepared\n"), "not prepared: {said}");
        Ok(fs::rename(&part, &self.disk)?)
    }

    /// Records the program.
    pub(crate) fn record(&self) -> Result<()> {
        let said = self.live(&ARMS[0], "RECORD=yes\n")?;
        let (said, file) = said
            .split_once("recording\n")
            .context("no recording came")?;
        println!("{said}");
        Ok(fs::write(
            recording(self.program.name, &self.kernel),
            decoded(file),
        )?)
    }

    /// The program's own run, which is added to the table.
    pub(crate) fn run(&self, arm: &Arm) -> Result<Figures> {
        let said = self.live(arm, "")?;
        ensure!(!said.contains("failed\n"), "{}: {said}", self.program.name);
        let [before, after] = [counters(&said, "before ")?, counters(&said, "after ")?];
        println!("{:.0} kB available when it began", before[4]);
        let [seconds, read, written, swapped_in] = [0, 1, 2, 3].map(|at| after[at] - before[at]);
        let mut table = OpenOptions::new()
            .append(true)
            .create(true)
            .open(testkit::checkout(TABLE))?;
        let (program, kernel, arm) = (self.program.name, &self.kernel, arm.name);
        writeln!(
            table,
            "{program}\t{kernel}\t{arm}\t{seconds:.2}\t{read}\t{written}{}",
            match swapped_in {
                0.0 => String::new(),
                pages => format!("\t{pages}"),
            }
        )?;
        Ok(Figures {
            read,
            written,
            swapped_in,
            seconds,
        })
    }

    fn live(&self, arm: &Arm, before: &str) -> Result<String> {
        let mut life = life(&self.disk, Writes::Lost, arm.memory_mib);
        let settings = arm
            .settings
            .iter()
            .map(|(key, value)| format!("{key}={value} "));
        let limit = arm
            .limit_mib
            .map_or(String::new(), |mib| (mib << 20).to_string());
        let settings = format!(
            "SETTINGS='{}'\nLIMIT={limit}\nZRAM={}\nBACKUP={}\n",
            settings.collect::<String>(),
            arm.zram_mib
                .map_or(String::new(), |mib| (mib << 20).to_string()),
            arm.backup_mib.map_or(String::new(), |mib| mib.to_string())
        );
        life.script = format!("{before}{settings}{GUEST}");
        life.modules = ["zram", "lzo-rle"].map(str::to_owned).to_vec();
        let plimsoll = testkit::checkout("target/x86_64-unknown-linux-gnu/release/plimsoll");
        let plimsoll = fs::read(&plimsoll).with_context(|| plimsoll.display().to_string())?;
        life.files = vec![
            script("begin", self.program.begin),
            script("load", self.program.load),
            ("plimsoll/plimsoll".into(), 0o755, plimsoll),
        ];
        println!("runs {} {} {}", self.program.name, self.kernel, arm.name);
        let said = self.small.live(&life, &mut show)?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

impl Figures {
    /// By how much another is off, in percent: of what is read, written, and of the time. What is
    /// below 10 MB says nothing.
    pub(crate) fn errors(&self, other: &Self) -> [Option<f64>; 3] {
        let error =
            |own: f64, other: f64, least: f64| (own >= least).then(|| (other / own - 1.0) * 100.0);
        [
            error(self.read, other.read, 10_000.0),
            error(self.written, other.written, 10_000.0),
            error(self.seconds, other.seconds, 0.1),
        ]
    }

    /// Both, and by how much the other is off.
    pub(crate) fn beside(&self, other: &Self) -> String {
        let errors = self.errors(other).map(|error| match error {
            Some(error) => format!("{error:+.1} %"),
            None => "-".to_owned(),
        });
        let [read, written, seconds] = errors;
        let swapped = [self.swapped_in, other.swapped_in];
        let swapped = match swapped {
            [0.0, 0.0] => String::new(),
            [own, other] => format!("; {own:.0} {other:.0} pages swapped in"),
        };
        format!(
            "{:.0} {:.0} MB ({read}); {:.0} {:.0} MB ({written}); {:.2} {:.2} s ({seconds}){swapped}",
            self.read / 1000.0,
            other.read / 1000.0,
            self.written / 1000.0,
            other.written / 1000.0,
            self.seconds,
            other.seconds
        )
    }
}

/// A SATA disk without moving parts, as `DiskKind::Ssd` has it: what a recording is given.
fn disk() -> Disk {
    let rate = Bytes(500_000_000);
    Disk {
        name: "disk".into(),
        size: Bytes(4 << 30),
        read_bandwidth: rate,
        write_bandwidth: rate,
        latency: Nanos(100_000),
        seek: Nanos(0),
        channels: 8,
        queue_depth: 64,
        rotational: false,
    }
}

fn life(image: &Path, writes: Writes, memory_mib: u64) -> Life {
    Life {
        memory: Bytes(memory_mib << 20),
        nodes: 1,
        disks: vec![disk()],
        images: vec![Image {
            path: image.to_owned(),
            writes,
        }],
        parameters: vec![],
        devices: vec![],
        modules: vec![],
        files: vec![],
        script: String::new(),
    }
}

fn script(name: &str, text: &str) -> (String, u32, Vec<u8>) {
    (format!("plimsoll/{name}"), 0o644, text.as_bytes().to_vec())
}

fn counters(said: &str, which: &str) -> Result<Vec<f64>> {
    let line = said.lines().find_map(|line| line.strip_prefix(which));
    let line = line.with_context(|| format!("no counters {which}: {said}"))?;
    let words = line.split_whitespace().map(str::parse);
    let words: Vec<f64> = words.collect::<Result<_, _>>()?;
    match words.len() {
        5 => Ok(words),
        _ => bail!("{line}: five counters were expected"),
    }
}

/// Base64, as the command of that name writes it.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |byte: u8| LETTERS.iter().position(|letter| *letter == byte);
    let bits: Vec<u32> = text
        .bytes()
        .filter_map(|byte| Some(value(byte)? as u32))
        .collect();
    let bytes = bits.chunks(4).flat_map(|group| {
        let whole = group.iter().fold(0, |sum, six| sum << 6 | six) << (6 * (4 - group.len()));
        let bytes = [whole >> 16, whole >> 8, whole].map(|byte| byte as u8);
        bytes.into_iter().take(group.len() * 3 / 4)
    });
    bytes.collect()
}

fn show(progress: Progress) {
    if let Progress::Stage(text) = progress {
        println!("{text}");
    }
}
