//! What a recording shows, as plain data. The JSON's shape is these structs.

use mm::text::counted;
use mm::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;
use study::footprint::{self, Curve, Footprint, PARTS};
use study::{Observed, Study};

/// What memory can save counts as saved at this share of it.
pub(super) const SAVED: u64 = 95;

/// Sizes of the page cache, as parts of what was available.
const SIZES: [(u64, u64); 5] = [(1, 8), (1, 4), (1, 2), (1, 1), (2, 1)];

/// Where a recorder is, at one of these functions and tracepoints, and what it sees there.
const SEEN_AT: [(&[&str], &str); 7] = [
    (&["generic_write_checks"], "writes"),
    (&["vfs_fsync_range"], "fsync"),
    (&["truncate_inode_pages_range"], "truncation"),
    (&["generic_fadvise"], "POSIX_FADV_DONTNEED"),
    (
        &["filemap_fault", "mm_filemap_fault"],
        "faults on mapped files",
    ),
    (
        &["filemap_map_pages"],
        "faults on pages of mapped files that are cached",
    ),
    (&["proc_sys_call_handler"], "writes of tunables"),
];

/// A recording.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document {
    pub(super) recording: String,
    pub(super) kernel: String,
    pub(super) seconds: f64,
    /// At which functions or tracepoint of the kernel.
    pub(super) by: String,
    pub(super) memory_bytes: u64,
    /// `MemAvailable` when it began.
    pub(super) available_bytes: u64,
    pub(super) cpus: u32,
    /// What the whole machine read from disks meanwhile.
    pub(super) read_from_disks_bytes: u64,
    /// Of this many pages one was looked at.
    pub(super) one_in: u64,
    pub(super) all: Figures,
    pub(super) memory: Memory,
    /// Those with the most bytes first.
    pub(super) groups: Vec<Group>,
    /// Tunables that were written meanwhile, and by whom.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) written_tunables: Vec<WrittenTunable>,
    /// What is not in it, and why.
    pub(super) missing: Vec<String>,
}

impl Shape for Document {
    const NAME: &'static str = "recording";
    const VERSION: u32 = 1;
}

/// A tunable that was written.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct WrittenTunable {
    pub(super) tunable: String,
    /// The name of the task.
    pub(super) program: String,
    pub(super) times: u64,
}

/// A control group.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Group {
    /// Empty for the root, and for tasks whose group is not known.
    pub(super) path: String,
    pub(super) all: Figures,
    /// If it had the page cache for itself.
    pub(super) memory: Memory,
    pub(super) programs: Vec<Program>,
}

/// A program in a control group.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) all: Figures,
}

/// What tasks did.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Figures {
    pub(super) reads: u64,
    pub(super) read_bytes: u64,
    /// What of that went on where the last read of the file had ended.
    pub(super) in_order_bytes: u64,
    pub(super) writes: u64,
    pub(super) written_bytes: u64,
    /// Different bytes that were read or written, in whole pages.
    pub(super) distinct_bytes: u64,
    /// What of these was cached before; `None` where the recording does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cached_before_bytes: Option<u64>,
    /// By tenths of the time.
    pub(super) tenths: Vec<Tenth>,
}

/// A tenth of the time.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Tenth {
    pub(super) from_seconds: f64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    pub(super) distinct_bytes: u64,
}

/// What is read from disks with how much page cache, by LRU.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Memory {
    pub(super) sizes: Vec<Size>,
    /// The page cache that saves 95 % of what memory can save; `None` where nothing is read twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) enough_bytes: Option<u64>,
}

/// One size of the page cache.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Size {
    /// As a part of what was available: "1/8".
    pub(super) of_available: String,
    pub(super) page_cache_bytes: u64,
    pub(super) read_from_disk_bytes: u64,
    /// Of the pages that reads touched.
    pub(super) miss_ratio: f64,
}

impl Document {
    pub(super) fn of(name: &str, study: &Study) -> Self {
        let found = Footprint::of(study);
        let observed = study.observed.clone().unwrap_or_default();
        let machine = study.arms.first().map(|arm| &arm.machine);
        let memory = machine.map_or(Bytes::ZERO, |it| it.memory);
        let available = machine.and_then(|it| it.available).unwrap_or(memory);
        let shown = Shown {
            available,
            time: observed.time,
            has_cached: found.has_cached,
        };
        Self {
            recording: name.to_owned(),
            seconds: seconds(observed.time),
            memory_bytes: memory.0,
            available_bytes: available.0,
            cpus: machine.map_or(1, |it| it.cpus),
            read_from_disks_bytes: observed.read_in.0,
            one_in: found.scale,
            all: shown.figures(&found.all),
            memory: shown.memory(&found.curve),
            groups: found.groups.iter().map(|it| shown.group(it)).collect(),
            written_tunables: written_tunables(&observed),
            missing: missing(study, &observed, &found),
            kernel: observed.kernel,
            by: observed.by,
        }
    }
}

/// What figures are shown against.
struct Shown {
    available: Bytes,
    time: Nanos,
    has_cached: bool,
}

impl Shown {
    fn group(&self, group: &footprint::Group) -> Group {
        let programs = group.programs.iter().map(|it| Program {
            name: it.name.clone(),
            all: self.figures(&it.all),
        });
        Group {
            path: group.path.clone(),
            all: self.figures(&group.all),
            memory: self.memory(&group.curve),
            programs: programs.collect(),
        }
    }

    fn figures(&self, of: &footprint::Figures) -> Figures {
        let tenths = (0..).zip(&of.parts).map(|(number, part)| Tenth {
            from_seconds: seconds(self.time) * f64::from(number) / PARTS as f64,
            read_bytes: part.read.0,
            written_bytes: part.written.0,
            distinct_bytes: part.distinct.0,
        });
        Figures {
            reads: of.reads,
            read_bytes: of.read.0,
            in_order_bytes: of.in_order.0,
            writes: of.writes,
            written_bytes: of.written.0,
            distinct_bytes: of.distinct.0,
            cached_before_bytes: self.has_cached.then_some(of.cached.0),
            tenths: tenths.collect(),
        }
    }

    fn memory(&self, curve: &Curve) -> Memory {
        let sizes = SIZES.map(|(part, of)| {
            let size = Bytes(self.available.0.saturating_mul(part) / of);
            Size {
                of_available: match of {
                    1 => part.to_string(),
                    _ => format!("{part}/{of}"),
                },
                page_cache_bytes: size.0,
                read_from_disk_bytes: curve.missed(size).0,
                miss_ratio: curve.miss_ratio(size),
            }
        });
        Memory {
            sizes: sizes.into(),
            enough_bytes: curve.saves(SAVED).map(|bytes| bytes.0),
        }
    }
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / Nanos::SECOND.0 as f64
}

fn written_tunables(observed: &Observed) -> Vec<WrittenTunable> {
    let all = observed.writers.iter().map(|it| WrittenTunable {
        tunable: it.tunable.clone(),
        program: it.program.clone(),
        times: it.times,
    });
    all.collect()
}

/// What is not in a recording, and why.
fn missing(study: &Study, observed: &Observed, found: &Footprint) -> Vec<String> {
    let cut = study.recorded.cut.iter();
    let mut lines: Vec<String> = cut
        .map(|cut| format!("the file is damaged: {cut}"))
        .collect();
    if observed.lost > 0 {
        let lost = counted(observed.lost, "event");
        lines.push(format!("{lost}: tasks read faster than they were recorded"));
    }
    if observed.passed_over > 0 {
        let passed = counted(observed.passed_over, "event");
        lines.push(format!(
            "{passed}: too many tasks at once, or too many or too large files"
        ));
    }
    if observed.of_unknown_groups > 0 {
        let tasks = counted(observed.of_unknown_groups, "task");
        lines.push(format!(
            "the control groups of {tasks}, which had ended or were too many"
        ));
    }
    let seen = |places: &[&str]| observed.by.split(", ").any(|it| places.contains(&it));
    let unseen = SEEN_AT.iter().filter(|(places, _)| !seen(places));
    let unseen: Vec<&str> = unseen.map(|(_, what)| *what).collect();
    if !unseen.is_empty() {
        lines.push(format!(
            "{}: the kernel did not let them be seen",
            unseen.join(", ")
        ));
    }
    if !found.has_cached {
        lines.push("what was cached before".to_owned());
    }
    if !answer::own::maps(study) {
        let why = observed
            .ages
            .iter()
            .filter_map(|it| it.strip_prefix("none: "));
        let why: String = why.map(|why| format!(" ({why})")).collect();
        lines.push(format!("how often anonymous memory is used{why}"));
    }
    lines.push("stores to mapped files, direct I/O: they are not recorded".to_owned());
    lines
}
