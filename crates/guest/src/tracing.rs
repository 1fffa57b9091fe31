//! Tracepoints of the kernel, where the bench asks for some: they are counted into a buffer while
//! the workload runs, and read when it is over.
//!
//! The buffer keeps the oldest events: the first window in which a run differs is what is looked
//! for. It is the one of tracefs itself: an instance of its own takes some 10 MB for its files
//! before 6.6, and nobody else traces here.

use std::fs::{self, File};
use std::io::{self, Read as _, Write};

use rustix::io::Errno;
use scenario::traced::{TRACE, TRACED};

use crate::error::{Error, Why};
use crate::orders::DIRECTORY;
use crate::place::Place;
use crate::write::put;

/// Where tracefs is mounted, below the root.
const TRACEFS: &str = "sys/kernel/tracing";

/// Names that an error lists at most.
const LISTED: usize = 200;

/// The tracepoints of a run.
#[derive(Debug)]
pub(crate) struct Tracing {
    place: Place,
    /// One line for each that this kernel lacks and may lack.
    absent: String,
}

/// What the bench asks for: KiB of the buffer in all, then a tracepoint a line, as in
/// `vmscan:mm_vmscan_throttled`, with a `?` behind it where the kernel may lack it.
pub(crate) fn take() -> Result<Option<String>, Error> {
    let path = format!("{DIRECTORY}/tracepoints");
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(|error| Error::new(path, error)),
    }
}

impl Tracing {
    /// Sets the buffer up and begins, by `CLOCK_MONOTONIC`, which the run's times are of.
    pub(crate) fn begin(place: &Place, orders: &str) -> Result<Self, Error> {
        let mut lines = orders.lines();
        let buffer: u64 = lines.next().and_then(|it| it.parse().ok()).unwrap_or(0);
        let cpus = place.root.directories(&format!("{TRACEFS}/per_cpu")).len();
        let share = buffer / (cpus as u64).max(1);
        let mut tracing = Self {
            place: place.clone(),
            absent: String::new(),
        };
        tracing.put("tracing_on", "0")?;
        tracing.put("trace_clock", "mono")?;
        tracing.put("options/overwrite", "0")?;
        tracing.put("buffer_size_kb", &share.to_string())?;
        for line in lines {
            tracing.enable(line)?;
        }
        tracing.put("tracing_on", "1")?;
        Ok(tracing)
    }

    /// The run is over.
    pub(crate) fn end(&self) -> Result<(), Error> {
        self.put("tracing_on", "0")
    }

    fn enable(&mut self, line: &str) -> Result<(), Error> {
        let name = line.trim_end_matches('?');
        let (system, event) = name.split_once(':').unwrap_or(("", name));
        let file = format!("{TRACEFS}/events/{system}/{event}/enable");
        match put(&self.place, &file, "1") {
            Err(why) if why.errno == Errno::NOENT => self.lacks(name, line != name),
            done => done.map_err(|why| failed(&why)),
        }
    }

    /// The kernel lacks a tracepoint.
    fn lacks(&mut self, name: &str, may_lack: bool) -> Result<(), Error> {
        if may_lack {
            self.absent += &format!("absent {name}\n");
            return Ok(());
        }
        let (system, _) = name.split_once(':').unwrap_or((name, ""));
        let there = self
            .place
            .root
            .directories(&format!("{TRACEFS}/events/{system}"));
        let (what, there) = match there.is_empty() {
            true => (
                "subsystems",
                self.place.root.directories(&format!("{TRACEFS}/events")),
            ),
            false => ("there", there),
        };
        let listed: Vec<&str> = there.iter().take(LISTED).map(String::as_str).collect();
        let why = format!(
            "this kernel has no such tracepoint; {what}: {}",
            listed.join(", ")
        );
        Err(Error::new(name, why))
    }

    fn put(&self, file: &str, text: &str) -> Result<(), Error> {
        put(&self.place, &format!("{TRACEFS}/{file}"), text).map_err(|why| failed(&why))
    }

    /// The notes as a frame's files, behind a capture whose last frame they belong to. The buffer
    /// is read twice, once for its length: the machine may not have memory for its text.
    pub(crate) fn length(&self) -> io::Result<u64> {
        let mut counted = io::sink();
        let (note, trace) = (self.note(), io::copy(&mut self.buffer()?, &mut counted)?);
        Ok(header(TRACED, note.len() as u64).len() as u64
            + note.len() as u64
            + header(TRACE, trace).len() as u64
            + trace
            + 2)
    }

    /// Writes them.
    pub(crate) fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let (note, trace) = (self.note(), io::copy(&mut self.buffer()?, &mut io::sink())?);
        out.write_all(header(TRACED, note.len() as u64).as_bytes())?;
        writeln!(out, "{note}")?;
        out.write_all(header(TRACE, trace).as_bytes())?;
        let copied = io::copy(&mut self.buffer()?.take(trace), out)?;
        match copied == trace {
            true => out.write_all(b"\n"),
            false => Err(io::Error::other("the trace changed while it was read")),
        }
    }

    fn buffer(&self) -> io::Result<File> {
        File::open(self.place.root.join(&format!("{TRACEFS}/trace")))
    }

    /// What was lost, and what is absent.
    fn note(&self) -> String {
        let cpus = self.place.root.directories(&format!("{TRACEFS}/per_cpu"));
        let lost = cpus.iter().map(|cpu| {
            let stats = format!("{TRACEFS}/per_cpu/{cpu}/stats");
            lost(&self.place.root.read(&stats).unwrap_or_default())
        });
        format!("lost {}\n{}", lost.sum::<u64>(), self.absent)
    }
}

fn failed(why: &Why) -> Error {
    Error::new("tracing", &why.text)
}

/// A file's header in a capture.
fn header(path: &str, length: u64) -> String {
    format!("= {path} {length}\n")
}

/// Events that a CPU's buffer lost: those that it overwrote and those that it had no room for.
fn lost(stats: &str) -> u64 {
    let figures = stats.lines().filter_map(|line| {
        let (name, figure) = line.split_once(": ")?;
        let is_lost = matches!(name, "overrun" | "dropped events");
        is_lost.then(|| figure.trim().parse::<u64>().unwrap_or(0))
    });
    figures.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Root;

    /// A tracefs of files.
    fn place(folder: &std::path::Path) -> Place {
        let tracefs = folder.join(TRACEFS);
        for directory in [
            "options",
            "per_cpu/cpu0",
            "events/vmscan/mm_vmscan_kswapd_wake",
        ] {
            fs::create_dir_all(tracefs.join(directory)).expect("a folder");
        }
        let event = "events/vmscan/mm_vmscan_kswapd_wake/enable";
        for file in [
            "tracing_on",
            "trace_clock",
            "options/overwrite",
            "buffer_size_kb",
            event,
        ] {
            fs::write(tracefs.join(file), "").expect("a file");
        }
        let stats = "entries: 3\noverrun: 2\ncommit overrun: 7\ndropped events: 4\n";
        fs::write(tracefs.join("per_cpu/cpu0/stats"), stats).expect("a file");
        fs::write(tracefs.join("trace"), "# tracer: nop\na line\n").expect("a file");
        Place {
            root: Root::new(folder),
            ..Place::default()
        }
    }

    #[test]
    fn what_it_leaves_belongs_to_the_last_frame_and_says_what_was_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        let orders = "4096\nvmscan:mm_vmscan_kswapd_wake\nvmscan:mm_vmscan_throttled?\n";
        let tracing = Tracing::begin(&place, orders).expect("its files are there");
        let file = |file: &str| fs::read_to_string(folder.path().join(TRACEFS).join(file));
        assert_eq!(file("buffer_size_kb").expect("written"), "4096");
        tracing.end().expect("its file is there");
        let mut text = b"plimsoll-capture 1\n@ 7\n".to_vec();
        let before = text.len() as u64;
        tracing.write_to(&mut text).expect("into memory");
        assert_eq!(
            text.len() as u64 - before,
            tracing.length().expect("its files")
        );
        let text = String::from_utf8(text).expect("text");
        let capture = mm::capture::Capture::parse(&text).expect("a capture");
        let [frame] = &capture.frames[..] else {
            panic!("{capture:?}");
        };
        let note = "lost 6\nabsent vmscan:mm_vmscan_throttled\n";
        assert_eq!(frame.file(TRACED), Some(note));
        assert_eq!(frame.file(TRACE), Some("# tracer: nop\na line\n"));
    }

    #[test]
    fn an_unknown_tracepoint_is_named_with_those_that_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        let said = |orders: &str| {
            Tracing::begin(&place, orders)
                .expect_err("unknown")
                .to_string()
        };
        assert_eq!(
            said("64\nvmscan:kswapd_wake\n"),
            "vmscan:kswapd_wake: this kernel has no such tracepoint; there: mm_vmscan_kswapd_wake"
        );
        assert_eq!(
            said("64\nvm:kswapd_wake\n"),
            "vm:kswapd_wake: this kernel has no such tracepoint; subsystems: vmscan"
        );
    }
}
