//! What a run leaves: frames as text, kept in memory until its end, and the bench's notes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use host::{Root, read};
use mm::capture::Frame;
use mm::lru_gen::{ENABLED, Enabled, TABLE};
use mm::pagetypeinfo;
use mm::timer_list;
use mm::units::Nanos;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags};
use scenario::outcome::{BOOT, FAILED, OBSERVER, PROGRESS, STEPS, UNAVAILABLE};
use scenario::workload::Workload;

use crate::clock;
use crate::mapping::Mapping;
use crate::merging;
use crate::place::Place;

/// Path of the note that says what went wrong; a run that has it was not performed as the study
/// says. One line each.
pub const ERROR: &str = "plimsoll/error";
/// Path of the note that names the base settings that this kernel lacks: `TUNABLE = VALUE` per
/// line.
pub const SKIPPED: &str = "plimsoll/skipped";

/// Kernel threads whose CPU time a snapshot tells.
const KERNEL_THREADS: [&str; 3] = ["kswapd", "ksmd", "khugepaged"];
/// What is read of each.
const THREAD_FILES: [&str; 2] = ["schedstat", "stat"];
/// The CPU time of ksmd, which samples hold where pages are offered to it.
const KSMD_TIME: &str = "proc/ksmd/schedstat";
/// What is read of each control group of the workload.
const CGROUP_FILES: [&str; 6] = [
    "memory.current",
    "memory.swap.current",
    "memory.stat",
    "memory.events",
    "memory.pressure",
    "memory.max",
];

/// A capture's first line.
const MAGIC: &[u8] = b"plimsoll-capture 1\n";

/// What a run leaves.
#[derive(Debug)]
pub struct Recorder {
    root: Root,
    text: Text,
    /// The frame's text before it goes into `text`; kept so that its room is used again.
    line: String,
    /// Files that a snapshot holds besides the usual ones: path to read, path to note.
    extra: Vec<(String, String)>,
    /// What only the first snapshot with a name holds.
    once: Vec<(String, String)>,
    /// Those of a sample.
    sampled: Vec<(String, String)>,
    /// The processes that run, where pages are offered to be merged: name and number.
    merging: Option<BTreeMap<String, u32>>,
    /// When the machine was ready for the run, on its clock.
    pub(crate) ready: Nanos,
    /// When its disks came.
    pub(crate) disks: Nanos,
    /// When the last frame was taken.
    last: Nanos,
    samples: Effort,
    snapshots: Effort,
    errors: String,
    first_error: Option<String>,
    skipped: String,
    failed: String,
    unavailable: String,
}

/// How often, and the CPU time it took.
#[derive(Clone, Copy, Debug, Default)]
struct Effort(u64, Nanos);

impl Effort {
    /// Counts one that began when this thread had used that much CPU time.
    fn add(&mut self, before: Nanos) {
        self.0 += 1;
        self.1 += clock::cpu_time().saturating_sub(before);
    }
}

impl Recorder {
    /// Nothing yet.
    #[must_use]
    pub fn new(place: &Place) -> Self {
        Self {
            root: place.root.clone(),
            text: Text::default(),
            line: String::with_capacity(64 << 10),
            extra: Vec::new(),
            once: vec![(pagetypeinfo::PATH.to_owned(), pagetypeinfo::PATH.to_owned())],
            sampled: Vec::new(),
            merging: None,
            ready: Nanos::ZERO,
            disks: Nanos::ZERO,
            last: Nanos::ZERO,
            samples: Effort::default(),
            snapshots: Effort::default(),
            errors: String::new(),
            first_error: None,
            skipped: String::new(),
            failed: String::new(),
            unavailable: String::new(),
        }
    }

    /// Lets snapshots hold, besides the usual files, those of the kernel threads that move memory
    /// and those of the control groups; where pages are offered to be merged, samples and snapshots
    /// what becomes of that. To be called when /proc is there.
    pub fn watch(&mut self, workload: &Workload) {
        self.extra = kernel_threads(&self.root);
        for cgroup in &workload.cgroups {
            let path = Place::cgroup(&cgroup.path);
            let files = CGROUP_FILES.iter().map(|file| format!("{path}/{file}"));
            self.extra.extend(files.map(|file| (file.clone(), file)));
        }
        if workload.offers_pages() {
            let files = merging::counters(&self.root).into_iter();
            self.sampled = files.map(|file| (file.clone(), file)).collect();
            let ksmd = self.extra.iter().filter(|(_, name)| name == KSMD_TIME);
            self.sampled.extend(ksmd.cloned());
            self.merging = Some(BTreeMap::new());
        }
    }

    /// A process of the workload runs.
    pub(crate) fn started(&mut self, name: &str, pid: u32) {
        if let Some(processes) = &mut self.merging {
            processes.insert(name.to_owned(), pid);
        }
    }

    /// A process of the workload has ended.
    pub(crate) fn ended(&mut self, name: &str) {
        if let Some(processes) = &mut self.merging {
            processes.remove(name);
        }
    }

    /// Something went wrong: it is said on the console and noted.
    pub fn error(&mut self, text: &str) {
        report(text);
        let _ = writeln!(self.errors, "{text}");
        self.first_error.get_or_insert_with(|| text.to_owned());
    }

    /// What went wrong first.
    pub(crate) fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    /// A base setting that this kernel lacks.
    pub(crate) fn skipped(&mut self, setting: &mm::settings::Setting) {
        let _ = writeln!(self.skipped, "{setting}");
    }

    /// Something that the arm or the workload asks for and this kernel lacks; each is noted once.
    pub(crate) fn unavailable(&mut self, what: &str) {
        if !self.unavailable.lines().any(|known| known == what) {
            let _ = writeln!(self.unavailable, "{what}");
        }
    }

    /// Whether this kernel lacks something that the arm or the workload asks for: the run would be
    /// another one than the study means.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        !self.unavailable.is_empty()
    }

    /// A process that a failed system call ended.
    pub(crate) fn failed(&mut self, process: &str, step: &str, why: &str) {
        let _ = writeln!(self.failed, "{process}\t{step}\t{why}");
    }

    /// Takes a periodic sample.
    pub(crate) fn sample(&mut self, at: Nanos, progress: String) {
        let before = clock::cpu_time();
        let mut frame = read::sample(&self.root, at);
        self.add(&mut frame, &self.sampled);
        frame.files.insert(PROGRESS.to_owned(), progress);
        self.keep(&frame);
        self.samples.add(before);
    }

    /// Takes a full snapshot; the first that has a name tells the types of the free pages besides.
    pub(crate) fn snapshot(&mut self, at: Nanos, label: Option<&str>, progress: String) {
        let before = clock::cpu_time();
        let mut frame = self.full(at);
        if label.is_some() {
            self.add(&mut frame, &self.once);
            self.once.clear();
        }
        frame.label = label.map(str::to_owned);
        frame.files.insert(PROGRESS.to_owned(), progress);
        self.keep(&frame);
        self.snapshots.add(before);
    }

    /// Takes the last frame, which holds the notes.
    pub(crate) fn finish(&mut self, at: Nanos, progress: String, steps: String) {
        let mut frame = self.full(at);
        frame.files.insert(PROGRESS.to_owned(), progress);
        frame.files.insert(STEPS.to_owned(), steps);
        let Effort(samples, samples_time) = self.samples;
        let Effort(snapshots, snapshots_time) = self.snapshots;
        let observer = format!(
            "samples {samples} {}\nsnapshots {snapshots} {}\n",
            samples_time.0, snapshots_time.0
        );
        frame.files.insert(OBSERVER.to_owned(), observer);
        frame.files.insert(BOOT.to_owned(), self.boot());
        self.notes(&mut frame);
        self.keep(&frame);
    }

    /// When the machine was ready, when its disks came and, where its kernel says, when its ticks
    /// began.
    fn boot(&self) -> String {
        let mut note = format!("ready {}\ndisks {}\n", self.ready.0, self.disks.0);
        let timers = self.root.read(timer_list::PATH).unwrap_or_default();
        if let Ok(ticks) = timer_list::ticks_began(&timers) {
            let _ = writeln!(note, "ticks {}", ticks.0);
        }
        note
    }

    /// Adds a last frame that holds nothing but the notes, for a run that came to no end.
    pub fn abandon(&mut self) {
        let mut frame = Frame {
            at: self.last,
            ..Frame::default()
        };
        self.notes(&mut frame);
        self.keep(&frame);
    }

    /// The capture's length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        MAGIC.len() as u64 + self.text.length
    }

    /// Writes the capture's text.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        self.text.write_to(out)
    }

    fn full(&self, at: Nanos) -> Frame {
        let mut frame = read::full_of_own(&self.root, at);
        self.generations(&mut frame);
        self.add(&mut frame, &self.extra);
        for (name, &pid) in self.merging.iter().flatten() {
            let files: Vec<_> = merging::of_process(name, pid).collect();
            self.add(&mut frame, &files);
        }
        frame
    }

    /// Adds those of the files that are there: path to read, path to note.
    fn add(&self, frame: &mut Frame, files: &[(String, String)]) {
        for (path, name) in files {
            if let Ok(text) = self.root.read(path) {
                frame.files.insert(name.clone(), text);
            }
        }
    }

    /// Adds the table of the generations, where pages are kept in such.
    fn generations(&self, frame: &mut Frame) {
        let enabled = frame.file(ENABLED).map(Enabled::parse);
        if let Some(Ok(enabled)) = enabled
            && enabled.core()
            && let Ok(text) = self.root.read(TABLE)
        {
            frame.files.insert(TABLE.to_owned(), text);
        }
    }

    fn notes(&mut self, frame: &mut Frame) {
        for (path, text) in [
            (ERROR, &mut self.errors),
            (SKIPPED, &mut self.skipped),
            (FAILED, &mut self.failed),
            (UNAVAILABLE, &mut self.unavailable),
        ] {
            if !text.is_empty() {
                frame.files.insert(path.to_owned(), std::mem::take(text));
            }
        }
    }

    fn keep(&mut self, frame: &Frame) {
        self.last = frame.at;
        self.line.clear();
        frame.write(&mut self.line);
        if let Err(errno) = self.text.push(self.line.as_bytes()) {
            self.error(&format!("a frame is lost: no memory to keep it: {errno}"));
        }
    }
}

/// Says a line on the console.
pub(crate) fn report(text: &str) {
    eprintln!("plimsoll: {text}");
}

/// The statistics of the kernel threads that move memory, under their names.
fn kernel_threads(root: &Root) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for pid in root
        .names("proc")
        .iter()
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
    {
        let name = root.read(&format!("proc/{pid}/comm")).unwrap_or_default();
        let name = name.trim_end();
        if KERNEL_THREADS.iter().any(|thread| name.starts_with(thread)) {
            let path = |file| (format!("proc/{pid}/{file}"), format!("proc/{name}/{file}"));
            paths.extend(THREAD_FILES.map(path));
        }
    }
    paths
}

/// Text that grows without being moved, outside the heap, and that no process of the workload
/// inherits.
#[derive(Debug, Default)]
struct Text {
    chunks: Vec<Mapping>,
    length: u64,
}

/// What is set aside at a time.
const CHUNK: usize = 1 << 20;

impl Text {
    fn push(&mut self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let used = (self.length % CHUNK as u64) as usize;
            if used == 0 && self.chunks.len() as u64 * CHUNK as u64 == self.length {
                self.chunks.push(chunk()?);
            }
            let index = (self.length / CHUNK as u64) as usize;
            let part = bytes.len().min(CHUNK - used);
            self.chunks[index].bytes()[used..used + part].copy_from_slice(&bytes[..part]);
            self.length += part as u64;
            bytes = &bytes[part..];
        }
        Ok(())
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut left = self.length;
        for chunk in &self.chunks {
            let part = left.min(CHUNK as u64) as usize;
            out.write_all(&chunk.as_bytes()[..part])?;
            left -= part as u64;
        }
        Ok(())
    }
}

fn chunk() -> Result<Mapping, Errno> {
    let chunk = Mapping::anonymous(CHUNK, MapFlags::PRIVATE | MapFlags::POPULATE)?;
    chunk.advise(Advice::LinuxDontFork)?;
    Ok(chunk)
}
