//! What was recorded, done again with real system calls.

use std::collections::VecDeque;
use std::hint::black_box;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use mm::units::{Bytes, Nanos};
use rustix::fs::{Advice, Mode, OFlags};
use rustix::io::Errno;
use scenario::recording::{Cursor, Kind, Recorded, Run};
use scenario::workload::{Pace, Replay};

use crate::clock;
use crate::compute::Compute;
use crate::mapping::Mapping;
use crate::meter::Meter;
use crate::waits;

/// Where the bench puts the recording.
pub(crate) const RECORDING: &str = "/plimsoll/recording";

/// CPU time that this file's own loop takes for a run, system calls left out.
const OWN: Nanos = Nanos(150);

/// Files that are open at a time.
const OPEN: usize = 256;

/// The files of a recording as one process has them open.
#[derive(Debug)]
pub(crate) struct RecordedFiles<'a> {
    recorded: &'a Recorded,
    /// Where they lie, if they do.
    folder: Option<PathBuf>,
    open: Vec<Option<Box<OpenFile>>>,
    order: VecDeque<u32>,
}

#[derive(Debug)]
struct OpenFile {
    file: OwnedFd,
    mapping: Option<Mapping>,
}

/// Takes the recording that the bench has put there, and its memory.
pub(crate) fn take() -> Result<Recorded, String> {
    let bytes = match std::fs::read(RECORDING) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Recorded::default());
        }
        Err(error) => return Err(error.to_string()),
    };
    std::fs::remove_file(RECORDING).map_err(|error| error.to_string())?;
    let packed = |_: &[u8], _: usize| None;
    let read =
        scenario::recording::Recording::read(&bytes, &packed).map_err(|why| why.to_string())?;
    match read.cut {
        Some(cut) => Err(cut.to_string()),
        None => Ok(read.recorded),
    }
}

impl<'a> RecordedFiles<'a> {
    /// None open yet.
    pub(crate) fn new(recorded: &'a Recorded, folder: Option<PathBuf>) -> Self {
        Self {
            recorded,
            folder,
            open: Vec::new(),
            order: VecDeque::new(),
        }
    }

    fn file(&mut self, number: u32) -> Result<&mut OpenFile, Errno> {
        let index = number as usize;
        if self.open.len() <= index {
            self.open.resize_with(index + 1, || None);
        }
        if self.open[index].is_none() {
            self.open(number)?;
        }
        self.open[index].as_deref_mut().ok_or(Errno::BADF)
    }

    fn open(&mut self, number: u32) -> Result<(), Errno> {
        if self.order.len() >= OPEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.open[oldest as usize] = None;
        }
        let folder = self.folder.as_deref().ok_or(Errno::NOENT)?;
        let flags = OFlags::CLOEXEC | OFlags::RDWR;
        let file = rustix::fs::open(path(folder, number), flags, Mode::empty())?;
        let mapping = None;
        self.open[number as usize] = Some(Box::new(OpenFile { file, mapping }));
        self.order.push_back(number);
        Ok(())
    }

    fn close(&mut self, number: u32) {
        if let Some(open) = self.open.get_mut(number as usize) {
            *open = None;
        }
        self.order.retain(|&other| other != number);
    }

    /// A run; the bytes that it reached.
    fn perform(&mut self, run: &Run, buffer: &mut [u8]) -> Result<u64, Errno> {
        let (offset, length) = (run.offset, run.length as usize);
        match run.kind {
            Kind::Read => {
                let open = self.file(run.file)?;
                let read = rustix::io::pread(&open.file, &mut buffer[..length], offset)?;
                return Ok(read as u64);
            }
            Kind::Write => {
                let open = self.file(run.file)?;
                let written = rustix::io::pwrite(&open.file, &buffer[..length], offset)?;
                return Ok(written as u64);
            }
            Kind::Load | Kind::Store => return self.touch(run),
            Kind::Sync => rustix::fs::fsync(&self.file(run.file)?.file)?,
            Kind::Open => self.close(run.file),
            Kind::Truncate => {
                let file = &self.file(run.file)?.file;
                // It makes no file longer.
                if rustix::fs::fstat(file)?.st_size as u64 > offset {
                    rustix::fs::ftruncate(file, offset)?;
                }
            }
            Kind::DontNeed => {
                let open = self.file(run.file)?;
                let length = std::num::NonZeroU64::new(run.length);
                rustix::fs::fadvise(&open.file, offset, length, Advice::DontNeed)?;
            }
            Kind::Wake | Kind::Wait => {}
        }
        Ok(0)
    }

    /// One word of each page of a run, through a mapping. Who reads a recording sees to it that a
    /// mapped file keeps its size.
    fn touch(&mut self, run: &Run) -> Result<u64, Errno> {
        let page = rustix::param::page_size();
        let files = &self.recorded.files;
        let size = files
            .get(run.file as usize)
            .map_or(Bytes::ZERO, |it| it.size);
        if size == Bytes::ZERO {
            return Ok(0);
        }
        let open = self.file(run.file)?;
        if open.mapping.is_none() {
            let length = usize::try_from(size.0).map_err(|_| Errno::NOMEM)?;
            let length = length.next_multiple_of(page);
            open.mapping = Some(Mapping::file(open.file.as_fd(), length)?);
        }
        let mapping = open.mapping.as_ref().ok_or(Errno::BADF)?;
        let end = (run.offset + run.length).min(size.0) as usize;
        let first = run.offset as usize / page;
        for start in (first..end.div_ceil(page)).map(|index| index * page) {
            match run.kind {
                Kind::Store => mapping.store(start, start as u64 | 1),
                _ => _ = black_box(mapping.load(start)),
            }
        }
        Ok(end.saturating_sub(run.offset as usize) as u64)
    }
}

/// The name of a file of the recording on its disk.
fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(scenario::recording::file_name(number))
}

/// Performs a stream to its end or its time limit.
pub(crate) fn perform(
    replay: &Replay,
    files: &mut RecordedFiles<'_>,
    buffer: &mut [u8],
    compute: Compute,
    meter: Meter<'_>,
) -> Result<(), Errno> {
    let stream = files.recorded.stream(replay.stream).ok_or(Errno::NOENT)?;
    let (timed, stopwatch) = (meter.is_timed(), meter.stopwatch());
    let began = meter.now();
    let end = replay.time_limit.map(|limit| began + limit);
    let (mut cursor, mut due) = (stream.behind(replay.skip), began);
    let doing = waits::Doing::begin(meter.streams(), replay.stream, stream, replay.skip);
    let last = replay.skip.saturating_add(replay.runs.unwrap_or(u64::MAX));
    while let Some(run) = next(stream, &mut cursor, last) {
        let wanted = replay.compute.unwrap_or(run.compute);
        compute.spend(wanted.saturating_sub(OWN));
        match replay.pace {
            Pace::Closed if run.kind == Kind::Wait => {}
            Pace::Closed => clock::sleep(run.sleep),
            Pace::Clock => {
                due += run.compute + run.sleep + run.took;
                if due > meter.now() {
                    meter.sleep_until(due);
                }
            }
        }
        let start = if timed { stopwatch.read() } else { 0 };
        match run.kind {
            Kind::Wake => doing.wake(),
            Kind::Wait if !files.recorded.is_circular => doing.wait(&run),
            _ => {}
        }
        let bytes = files.perform(&run, buffer)?;
        if timed {
            meter.latency(stopwatch.span(start, stopwatch.read()));
        }
        meter.count(bytes);
        if end.is_some_and(|end| meter.now() >= end) {
            break;
        }
    }
    Ok(())
}

fn next(stream: &scenario::recording::Stream, cursor: &mut Cursor, last: u64) -> Option<Run> {
    match cursor.passed() < last {
        true => stream.next(cursor),
        false => None,
    }
}
