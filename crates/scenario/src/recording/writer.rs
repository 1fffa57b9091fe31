//! Writing a recording, block by block.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::code::{self, COMPUTE, Last, put_number};
use super::container::{HEAD, WORD};
use super::{BLOCK, FILES, MAGIC, Run};
use mm::units::{Bytes, Nanos};

/// The most bytes that one item may take.
const ITEM: usize = 80;

/// Raw deflate of bytes.
pub type Pack<'p> = &'p dyn Fn(&[u8]) -> Vec<u8>;

/// A recording that is being written. Whoever writes it to a file takes what is ready now and then.
pub struct Writer<'p> {
    pack: Pack<'p>,
    ready: Vec<u8>,
    open: BTreeMap<u32, Open>,
    files: u32,
}

/// A block that is not full.
#[derive(Default)]
struct Open {
    bytes: Vec<u8>,
    items: u32,
    last: Last,
    /// CPU time that fell short of a step.
    rest: u64,
}

impl core::fmt::Debug for Writer<'_> {
    fn fmt(&self, to: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(to, "{} files, {} bytes ready", self.files, self.ready.len())
    }
}

impl<'p> Writer<'p> {
    /// Begins with a study's text, in which a zero byte would end it.
    #[must_use]
    pub fn new(text: &str, pack: Pack<'p>) -> Self {
        let mut ready = Vec::new();
        ready.extend(MAGIC.as_bytes());
        ready.push(b'\n');
        ready.extend(text.bytes().filter(|&byte| byte != 0));
        ready.push(0);
        Self {
            pack,
            ready,
            open: BTreeMap::new(),
            files: 0,
        }
    }

    /// A file of this size; its number.
    pub fn file(&mut self, size: Bytes) -> u32 {
        let files = self.open.entry(FILES).or_default();
        put_number(size.0, &mut files.bytes);
        files.items += 1;
        self.files += 1;
        self.send_if_full(FILES);
        self.files - 1
    }

    /// What the task of a stream did next, to files that have their numbers.
    pub fn run(&mut self, stream: u32, run: &Run) {
        let open = self.open.entry(stream).or_default();
        let compute = run.compute.0 + open.rest;
        open.rest = compute % COMPUTE;
        let compute = Nanos(compute);
        code::put(&Run { compute, ..*run }, &mut open.bytes, &mut open.last);
        open.items += 1;
        self.send_if_full(stream);
    }

    /// Takes what was written so far. Blocks that are not full stay, unless `all` is asked for.
    pub fn take(&mut self, all: Part) -> Vec<u8> {
        if all == Part::All {
            let streams: Vec<u32> = self.open.keys().copied().collect();
            streams.into_iter().for_each(|stream| self.send(stream));
        }
        core::mem::take(&mut self.ready)
    }

    fn send_if_full(&mut self, stream: u32) {
        let is_full = |open: &Open| open.bytes.len() + ITEM > BLOCK;
        if self.open.get(&stream).is_some_and(is_full) {
            self.send(stream);
        }
    }

    /// Files come first: a run may name one.
    fn send(&mut self, stream: u32) {
        if stream != FILES && self.open.get(&FILES).is_some_and(|open| open.items > 0) {
            self.send(FILES);
        }
        let Some(open) = self.open.get_mut(&stream).filter(|open| open.items > 0) else {
            return;
        };
        let rest = open.rest;
        let Open { bytes, items, .. } = core::mem::replace(
            open,
            Open {
                rest,
                ..Open::default()
            },
        );
        let packed = (self.pack)(&bytes);
        let body = match packed.len() < bytes.len() {
            true => &packed,
            false => &bytes,
        };
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&WORD);
        let numbers = [stream, items, bytes.len() as u32, body.len() as u32];
        for (place, number) in head[4..].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head);
        crc.update(body);
        self.ready.extend(head);
        self.ready.extend(crc.finalize().to_le_bytes());
        self.ready.extend(body);
    }
}

/// How much of what was written is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Full blocks.
    Full,
    /// All: nothing more comes, or it must be safe now.
    All,
}
