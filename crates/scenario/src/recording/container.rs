//! The file: the study's text and the blocks behind it.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::code::{self, Last, MOST, take_number};
use super::{BLOCK, FILES, Kind, MAGIC, Recorded, RecordedFile, Run, Stream};
use mm::units::Bytes;

/// The largest recording that is read, unpacked.
pub const LARGEST: Bytes = Bytes(1 << 30);

/// The longest study that a recording has, in bytes.
pub const LONGEST_TEXT: usize = 1 << 20;

/// Undoes raw deflate of bytes that give this many; `None` where they do not.
pub type Unpack<'u> = &'u dyn Fn(&[u8], usize) -> Option<Vec<u8>>;

/// How a block begins.
pub(super) const WORD: [u8; 4] = *b"PLRB";
/// The numbers before the checksum, in bytes.
pub(super) const HEAD: usize = 20;

/// Streams and files, at most.
const STREAMS: u32 = 10_000;
const MOST_FILES: usize = 1 << 17;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The study, without the first line.
    pub text: String,
    /// The rest.
    pub recorded: Recorded,
    /// Where it is cut off or damaged: what follows is left out.
    pub cut: Option<Cut>,
}

/// Where a recording ends before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The byte from which on nothing is used.
    pub at: usize,
    /// What is wrong there.
    pub why: &'static str,
}

/// Why bytes are no recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// They begin otherwise.
    #[error("not a recording: the first line must be \"{MAGIC}\"")]
    Magic,
    /// The study has no end, or is no text.
    #[error("a recording that is cut off inside its study; there is nothing of it to use")]
    Text,
}

impl fmt::Display for Cut {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} at byte {}; the rest is left out", self.why, self.at)
    }
}

/// Whether bytes begin as a recording does.
#[must_use]
pub fn is_recording(bytes: &[u8]) -> bool {
    let rest = bytes.strip_prefix(MAGIC.as_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"\n"))
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    /// A [`RecordingError`]; what is wrong behind the study is a [`Cut`].
    pub fn read(bytes: &[u8], unpack: Unpack<'_>) -> Result<Self, RecordingError> {
        if !is_recording(bytes) {
            return Err(RecordingError::Magic);
        }
        let text = &bytes[..bytes.len().min(LONGEST_TEXT)];
        let end = text.iter().position(|&byte| byte == 0);
        let end = end.ok_or(RecordingError::Text)?;
        let text = core::str::from_utf8(&bytes[MAGIC.len() + 1..end]);
        let mut recording = Self {
            text: text.map_err(|_| RecordingError::Text)?.to_owned(),
            recorded: Recorded::default(),
            cut: None,
        };
        let (mut at, mut size) = (end + 1, 0);
        while at < bytes.len() {
            let block = Block::read(&bytes[at..], unpack);
            let added = block.and_then(|block| {
                size += block.unpacked.len() as u64;
                let length = block.length;
                recording.recorded.add(block)?;
                Ok(length)
            });
            match added {
                Ok(length) if size <= LARGEST.0 => at += length,
                Ok(_) => {
                    recording.recorded.look_for_circles();
                    return Ok(recording.ends(at, "the recording is too large"));
                }
                Err(why) => {
                    recording.recorded.look_for_circles();
                    return Ok(recording.ends(at, why));
                }
            }
        }
        recording.recorded.look_for_circles();
        Ok(recording)
    }

    fn ends(mut self, at: usize, why: &'static str) -> Self {
        self.cut = Some(Cut { at, why });
        self
    }
}

/// A block as it is read.
struct Block {
    stream: u32,
    items: u32,
    unpacked: Vec<u8>,
    /// In the file.
    length: usize,
}

impl Block {
    fn read(bytes: &[u8], unpack: Unpack<'_>) -> Result<Self, &'static str> {
        const CUT: &str = "it is cut off";
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or(CUT)?;
        let number = |at: usize| {
            let bytes = head[at..at + 4].try_into();
            u32::from_le_bytes(bytes.unwrap_or_default())
        };
        if head[..4] != WORD {
            return Err("no block begins");
        }
        let (unpacked, packed) = (number(12) as usize, number(16) as usize);
        let (sum, rest) = rest.split_first_chunk().ok_or(CUT)?;
        let (body, _) = rest.split_at_checked(packed).ok_or(CUT)?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(head);
        crc.update(body);
        if crc.finalize() != u32::from_le_bytes(*sum) {
            return Err("the checksum is wrong");
        }
        if unpacked > BLOCK {
            return Err("the block is too large");
        }
        let bytes = match unpacked == packed {
            true => Some(body.to_owned()),
            false => unpack(body, unpacked).filter(|bytes| bytes.len() == unpacked),
        };
        Ok(Self {
            stream: number(4),
            items: number(8),
            unpacked: bytes.ok_or("the block cannot be unpacked")?,
            length: HEAD + 4 + packed,
        })
    }
}

impl Recorded {
    fn add(&mut self, block: Block) -> Result<(), &'static str> {
        match block.stream {
            FILES => self.add_files(&block),
            stream if stream < STREAMS => self.add_runs(block),
            _ => Err("there are too many streams"),
        }
    }

    fn add_files(&mut self, block: &Block) -> Result<(), &'static str> {
        let mut from = &block.unpacked[..];
        let known = self.files.len();
        while let Some(size) = take_number(&mut from).filter(|&size| size <= MOST) {
            let size = Bytes(size);
            self.files.push(RecordedFile {
                size,
                largest: size,
                is_mapped: false,
                is_resized: false,
            });
        }
        let is_right = from.is_empty() && self.files.len() - known == block.items as usize;
        if !is_right || self.files.len() > MOST_FILES {
            self.files.truncate(known);
            return Err("the files are damaged");
        }
        Ok(())
    }

    /// Looks at every run, so that nobody has to who performs them.
    fn add_runs(&mut self, block: Block) -> Result<(), &'static str> {
        const WRONG: &str = "the runs are damaged";
        let (mut from, mut last) = (&block.unpacked[..], Last::default());
        let (mut longest, mut count) = (Bytes::ZERO, 0_u32);
        let (mut noted, mut waits) = (Vec::new(), false);
        while !from.is_empty() {
            let run = code::take(&mut from, &mut last).ok_or(WRONG)?;
            count = count.saturating_add(1);
            if !run.kind.is_of_file() {
                waits |= run.kind == Kind::Wait;
                continue;
            }
            let file = self.files.get(run.file as usize).ok_or(WRONG)?;
            if file.after(&run) != *file {
                noted.push(run);
            }
            if run.kind.copies() {
                longest = longest.max(Bytes(run.length));
            }
        }
        if count != block.items {
            return Err(WRONG);
        }
        for run in &noted {
            let file = &mut self.files[run.file as usize];
            *file = file.after(run);
        }
        let number = block.stream as usize;
        if self.streams.len() <= number {
            self.streams.resize_with(number + 1, Stream::default);
        }
        let stream = &mut self.streams[number];
        stream.runs += u64::from(count);
        stream.waits |= waits;
        stream.longest = stream.longest.max(longest);
        stream.blocks.push(block.unpacked);
        Ok(())
    }
}

impl RecordedFile {
    /// With what is known after a run.
    fn after(mut self, run: &Run) -> Self {
        let end = Bytes(run.offset + run.length);
        match run.kind {
            Kind::Write => {
                self.is_resized |= end > self.size;
                self.largest = self.largest.max(end);
            }
            Kind::Truncate => self.is_resized = true,
            Kind::Load | Kind::Store => self.is_mapped = true,
            _ => {}
        }
        self
    }
}
