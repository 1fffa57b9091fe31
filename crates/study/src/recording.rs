//! Files of recordings: packing, and what names one.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use scenario::recording::{self, Part, Recorded, RecordingError, Stream, Writer};
use toml::de::{DeTable, DeValue};

use crate::hash::sha256;

/// The recording of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Its files and streams; none where the study has no recording.
    pub recorded: Arc<Recorded>,
    /// SHA-256 of what is used of it, which the study's text has too.
    pub sha256: Option<String>,
    /// Where it is cut off or damaged.
    pub cut: Option<String>,
}

/// Reads a recording: its study's text, and the rest.
///
/// # Errors
/// It is none.
pub fn read(bytes: &[u8]) -> Result<(String, Recording), RecordingError> {
    let read = recording::Recording::read(bytes, &unpack)?;
    let mut recorded = read.recorded;
    recorded.level = level_said_by(&read.text);
    if read.cut.is_some() {
        let named = streams_named_by(&read.text);
        if recorded.streams.len() < named {
            recorded.streams.resize_with(named, Stream::default);
        }
    }
    let end = read.cut.map_or(bytes.len(), |cut| cut.at);
    let streams = bytes.iter().position(|&byte| byte == 0).unwrap_or(end);
    let recording = Recording {
        recorded: Arc::new(recorded),
        sha256: Some(sha256(&bytes[streams.min(end)..end])),
        cut: read.cut.map(|cut| cut.to_string()),
    };
    Ok((read.text, recording))
}

/// What `[recorded]` has as `scale`, which is one unless it says so.
fn level_said_by(text: &str) -> u32 {
    let document = DeTable::parse(text).ok();
    let said = document.as_ref().and_then(|it| {
        let recorded = it.get_ref().get("recorded")?.get_ref().as_table()?;
        let scale = recorded.get("scale")?.get_ref().as_integer()?;
        scale.as_str().parse().ok()
    });
    said.filter(|&scale: &u64| is_scale(scale))
        .map_or(0, u64::ilog2)
}

/// Whether one page can stand for as many.
pub(super) fn is_scale(scale: u64) -> bool {
    scale.is_power_of_two() && scale <= sim::sampling::LARGEST
}

/// How many streams a text names: those behind the cut are empty.
fn streams_named_by(text: &str) -> usize {
    const MOST: usize = 10_000;
    let document = DeTable::parse(text).map(|it| named_in(it.get_ref()));
    document.map_or(0, |named| named.min(MOST))
}

/// One more than the highest `recorded = N` in a table, and in all tables below it.
fn named_in(table: &DeTable<'_>) -> usize {
    let named = table.iter().map(|(key, value)| match value.get_ref() {
        DeValue::Integer(number) if key.get_ref() == "recorded" => {
            let number: Option<usize> = number.as_str().parse().ok();
            number.map_or(0, |number| number.saturating_add(1))
        }
        other => named_below(other),
    });
    named.max().unwrap_or(0)
}

fn named_below(value: &DeValue<'_>) -> usize {
    match value {
        DeValue::Table(table) => named_in(table),
        DeValue::Array(array) => {
            let below = array.iter().map(|item| named_below(item.get_ref()));
            below.max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// A recording for a guest, which needs no text and does not unpack.
#[must_use]
pub fn stored(recorded: &Recorded) -> Vec<u8> {
    let plain = <[u8]>::to_vec;
    let mut bytes = Writer::new("", &plain).take(Part::Full);
    bytes.extend(blocks(recorded, &plain));
    bytes
}

/// The blocks of a recording.
#[must_use]
pub fn blocks(recorded: &Recorded, pack: recording::Pack<'_>) -> Vec<u8> {
    let mut writer = Writer::new("", pack);
    writer.take(Part::Full);
    for file in &recorded.files {
        writer.file(file.size);
    }
    for (number, stream) in (0..).zip(&recorded.streams) {
        stream.iter().for_each(|run| writer.run(number, &run));
    }
    writer.take(Part::All)
}

/// The blocks of a recording that is thinned once more: one page of `1 << level` was in it. Nothing
/// where they are none.
#[must_use]
pub fn thinned(blocks: &[u8], level: u32, own_time: recording::OwnTime<'_>) -> Option<Vec<u8>> {
    let mut bytes = Writer::new("", &pack).take(Part::Full);
    bytes.extend(blocks);
    let read = recording::Recording::read(&bytes, &unpack).ok();
    drop(bytes);
    let mut whole = read.filter(|it| it.cut.is_none())?.recorded;
    whole.level = level;
    let thinned = whole.thinned(own_time);
    drop(whole);
    Some(self::blocks(&thinned, &pack))
}

/// Raw deflate, for a [`recording::Writer`].
#[must_use]
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    // On runs the best takes twice the time and saves 2 %; the machine recorded has other work.
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
    // Memory takes all; and what is not shorter is not used.
    let _ = packed.write_all(bytes);
    packed.finish().unwrap_or_else(|_| bytes.to_vec())
}

/// Undoes [`pack`].
fn unpack(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length.min(recording::BLOCK));
    let most = length as u64 + 1;
    let read = DeflateDecoder::new(packed)
        .take(most)
        .read_to_end(&mut bytes);
    read.ok().map(|_| bytes)
}

/// The file that a study's text names as its recording, if it does.
pub fn named_by(text: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let value = document.get_ref().get("recording")?;
    value.get_ref().as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_a_cut_took_is_empty() {
        let run = recording::Run {
            compute: mm::units::Nanos::ZERO,
            sleep: mm::units::Nanos::ZERO,
            took: mm::units::Nanos::ZERO,
            kind: recording::Kind::Read,
            file: 0,
            offset: 0,
            length: 4096,
        };
        // What a text says in words names no stream.
        let text = "title = \"recorded = 7\"\n[[process]]\n\
                    steps = [{ access = { recorded = 0 } }, { access = { recorded = 1 } }]\n";
        let mut writer = Writer::new(text, &pack);
        writer.file(mm::units::Bytes(4096));
        writer.run(0, &run);
        writer.run(1, &run);
        let whole = writer.take(Part::All);
        let streams = |bytes: &[u8]| {
            let (_, recording) = read(bytes).expect("a recording");
            let streams = recording.recorded.streams.iter();
            streams.map(Stream::len).collect::<Vec<u64>>()
        };
        assert_eq!(streams(&whole), [1, 1]);
        assert_eq!(streams(&whole[..whole.len() - 1]), [1, 0]);
    }

    #[test]
    fn blocks_are_thinned_and_a_cut_is_no_recording() {
        let read = |block: u64| recording::Run {
            compute: mm::units::Nanos(100),
            sleep: mm::units::Nanos::ZERO,
            took: mm::units::Nanos::ZERO,
            kind: recording::Kind::Read,
            file: 0,
            offset: block << 16,
            length: 1 << 16,
        };
        let mut writer = Writer::new("", &pack);
        let head = writer.take(Part::Full);
        writer.file(mm::units::Bytes(64 << 16));
        (0..64).for_each(|block| writer.run(1, &read(block)));
        let blocks = writer.take(Part::All);
        let half = thinned(&blocks, 0, &|_| mm::units::Nanos::ZERO).expect("they are whole");
        let (_, recording) = super::read(&[head, half].concat()).expect("a recording");
        assert_eq!(recording.recorded.files[0].size.0, 32 << 16);
        assert_eq!(recording.recorded.streams[1].len(), 32);
        let cut = &blocks[..blocks.len() - 1];
        assert_eq!(thinned(cut, 0, &|_| mm::units::Nanos::ZERO), None);
    }

    #[test]
    fn what_is_packed_comes_back_and_no_more_than_was_announced() {
        let bytes: Vec<u8> = (0..50_000_u32).map(|n| (n / 100) as u8).collect();
        let packed = pack(&bytes);
        assert!(packed.len() < 5000);
        assert_eq!(unpack(&packed, bytes.len()), Some(bytes));
        assert_eq!(unpack(&packed, 10).map(|bytes| bytes.len()), Some(11));
        assert_eq!(unpack(b"no deflate", 10), None);
    }
}
