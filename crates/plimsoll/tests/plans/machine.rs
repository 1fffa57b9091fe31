//! This machine's tunables, with journals that are the test's own.

use std::fs::{self, File};
use std::process::Command;

use change::Cell;
use change::machine::{Failure, Kind, Value};
use mm::catalogue::{self, Named, Of};
use rustix::fs::{FlockOperation, flock};

use crate::values::Word;

const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");

/// Set in the process that is in the namespace.
const INSIDE: &str = "PLIMSOLL_PLANS";

/// Where files lie in the place of the machine's own.
const COVERED: [&str; 3] = ["/run", "/etc", "/var/lib"];

/// The test of KSM locks it too, in every checkout.
const LOCK: &str = "/sys/kernel/mm/ksm/run";

/// The machine.
pub(crate) struct Machine {
    tunables: Vec<Named<'static>>,
    _lock: Option<File>,
}

/// Why this process is not in the namespace.
pub(crate) enum Cannot {
    /// Another process was, and ended so.
    Here(u8),
    Skip(String),
}

/// What each cell holds.
pub(crate) struct Cells(Vec<(Cell, Value)>);

/// How `apply` ended.
pub(crate) struct End {
    pub(crate) code: i32,
    /// What it said on both streams.
    pub(crate) text: String,
    pub(crate) change: Option<u64>,
    writes: Vec<(String, String)>,
}

impl Machine {
    /// Runs this program again in a namespace of its own.
    pub(crate) fn enter() -> Result<Self, Cannot> {
        if std::env::var_os(INSIDE).is_some() {
            return Ok(Self::inside());
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Cannot::Skip(
                "setting this machine's tunables needs root".to_owned(),
            ));
        }
        if !fs::metadata("/proc/sys/vm/swappiness").is_ok_and(|it| !it.permissions().readonly()) {
            return Err(Cannot::Skip("/proc/sys is read-only here".to_owned()));
        }
        let program = std::env::current_exe().expect("a program");
        let status = Command::new("unshare")
            .args(["--mount", "--propagation", "private"])
            .arg(program)
            .args(std::env::args_os().skip(1))
            .env(INSIDE, "1")
            .status()
            .expect("unshare is part of util-linux");
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Err(Cannot::Here(code.unwrap_or(1)))
    }

    fn inside() -> Self {
        for directory in COVERED {
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", "mode=755", "none", directory]);
            assert!(mount.status().expect("mount").success(), "{directory}");
        }
        let lock = File::options().write(true).open(LOCK).ok();
        if let Some(lock) = &lock {
            flock(lock, FlockOperation::LockExclusive).expect("a lock");
        }
        Self {
            tunables: tunables(),
            _lock: lock,
        }
    }

    pub(crate) fn tunables(&self) -> &[Named<'static>] {
        &self.tunables
    }

    /// No change, and nothing that waits for one.
    pub(crate) fn reset(&self) {
        self.plimsoll(&["undo", "--all"]);
        for folder in ["/run/plimsoll", "/var/lib/plimsoll"] {
            fs::remove_dir_all(folder).ok();
        }
    }

    /// Applies; with a wait the change is left to be confirmed.
    pub(crate) fn apply(&self, words: &[Word], waits: bool) -> End {
        let mut arguments: Vec<String> = vec!["apply".into(), "--json".into()];
        match waits {
            true => arguments.extend(["--confirm".into(), "1h".into()]),
            false => arguments.push("--now".into()),
        }
        arguments.extend(words.iter().map(Word::to_string));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, text) = self.plimsoll(&arguments);
        let line = text.lines().find(|line| line.starts_with('{'));
        let json = line.and_then(|line| serde_json::from_str(line).ok());
        let json: serde_json::Value = json.unwrap_or_default();
        let writes = json["writes"].as_array().into_iter().flatten();
        let text_of = |it: &serde_json::Value, key: &str| it[key].as_str().unwrap_or("").to_owned();
        End {
            code,
            change: json["change"]["id"].as_u64(),
            writes: writes
                .map(|it| (text_of(it, "tunable"), text_of(it, "to")))
                .collect(),
            text,
        }
    }

    /// Runs the command: its exit code, and what it says on both streams.
    pub(crate) fn plimsoll(&self, words: &[&str]) -> (i32, String) {
        let output = Command::new(PLIMSOLL)
            .args(words)
            .output()
            .expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (output.status.code().unwrap_or(-1), said)
    }
}

impl End {
    /// Every value is there, unless a later setting of the same plan took its place.
    pub(crate) fn check_written(&self) -> Result<(), String> {
        let cell = |name: &str| Cell::of(name).map(|cell| cell.name);
        for (at, (tunable, to)) in self.writes.iter().enumerate() {
            let later = self.writes[at + 1..].iter();
            if later
                .into_iter()
                .any(|(other, _)| cell(other) == cell(tunable))
            {
                continue;
            }
            let named = catalogue::named(tunable).ok_or_else(|| format!("{tunable}: no name"))?;
            let text = read(&named.path()).map_err(|failure| failure.to_string())?;
            // Bytes of a device are kept as a share.
            let is_kept = tunable.ends_with("_bytes") && tunable.starts_with("bdi.");
            if !named.tunable.means_same(&text, to) && !is_kept {
                return Err(format!(
                    "it says {tunable} = {to}, and the kernel holds {text}"
                ));
            }
        }
        Ok(())
    }
}

impl Cells {
    /// Of every tunable that this machine has.
    pub(crate) fn read() -> Self {
        let mut cells: Vec<(Cell, Value)> = Vec::new();
        for named in tunables() {
            let Some(cell) = Cell::of(&named.to_string()) else {
                continue;
            };
            if cells.iter().all(|(known, _)| known.name != cell.name)
                && let Ok(value) = cell.read(read)
            {
                cells.push((cell, value));
            }
        }
        Self(cells)
    }

    /// The files whose values are others now: what they were, and are.
    pub(crate) fn differing(&self) -> Vec<(String, String, String)> {
        let cells = self.0.iter();
        let differing = cells.filter_map(|(cell, was)| {
            let is = cell.read(read).ok()?;
            let shown = |it: &Value| format!("{} ({})", it.text, it.path);
            (!cell.same(was, &is)).then(|| (was.path.clone(), shown(was), shown(&is)))
        });
        differing.collect()
    }

    /// Whatever the command did, the machine is given back as it was.
    pub(crate) fn restore(&self) {
        for (cell, was) in &self.0 {
            if cell.read(read).is_ok_and(|is| !cell.same(was, &is)) {
                fs::write(format!("/{}", was.path), format!("{}\n", was.text)).ok();
            }
        }
    }
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(format!("/{path}")).map_err(|error| Failure {
        path: path.to_owned(),
        reason: error.to_string(),
        kind: Kind::Missing,
    })
}

/// Those that this machine has and that can be read: its own, one loop device's, and those of each
/// size of huge pages.
fn tunables() -> Vec<Named<'static>> {
    let of = Of::Machine;
    let machine = catalogue::all().map(move |tunable| Named { tunable, of });
    let each = |tunable: &'static catalogue::Tunable, names: &'static [String]| {
        names.iter().filter_map(|name| tunable.of_this(name))
    };
    let devices = catalogue::of_devices().flat_map(move |it| each(it, names("/sys/block", "loop")));
    let sizes = catalogue::of_page_sizes();
    let sizes = sizes.flat_map(move |it| each(it, names("/sys/kernel/mm/hugepages", "hugepages-")));
    let all = machine.chain(devices).chain(sizes);
    let there = |named: &Named<'_>| fs::read(format!("/{}", named.path())).is_ok();
    all.filter(|named| !named.tunable.is_action())
        .filter(there)
        .collect()
}

/// The names in a folder that begin so; of devices the last one alone, which nobody uses.
fn names(folder: &str, prefix: &str) -> &'static [String] {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort_unstable();
    if prefix == "loop" {
        names.drain(..names.len().saturating_sub(1));
    }
    Vec::leak(names)
}
