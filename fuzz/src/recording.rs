//! Recordings: files as they come, and blocks of whatever bytes with a checksum that is right.

use scenario::recording::{FILES, MAGIC, Part, Recorded, Stream, Writer};
use study::recording::{self, pack};

pub(crate) fn target(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else {
        return;
    };
    match choice {
        b'#' => check(bytes),
        _ => check(&with_blocks(choice, rest)),
    }
}

/// A recording with three files, and blocks that the bytes fill: a stream's, or more files.
fn with_blocks(choice: u8, rest: &[u8]) -> Vec<u8> {
    let mut file = format!("{MAGIC}\nname = \"a\"\n\0").into_bytes();
    file.extend(block(FILES, 3, &[0, 100, 127]));
    for (index, body) in rest.split(|&byte| byte == 0xff).enumerate() {
        let Some((&items, body)) = body.split_first() else {
            continue;
        };
        let stream = match choice >> (index % 8) & 1 {
            0 => FILES,
            _ => u32::from(choice) * index as u32 % 11_000,
        };
        file.extend(block(stream, u32::from(items), body));
    }
    file
}

fn block(stream: u32, items: u32, body: &[u8]) -> Vec<u8> {
    let mut block = b"PLRB".to_vec();
    let length = body.len() as u32;
    for number in [stream, items, length, length] {
        block.extend(number.to_le_bytes());
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&block);
    crc.update(body);
    block.extend(crc.finalize().to_le_bytes());
    block.extend(body);
    block
}

/// It is read or refused; what is used of it is all right, and the same when it is written again.
fn check(bytes: &[u8]) {
    let Ok((text, read)) = recording::read(bytes) else {
        return;
    };
    let recorded = &*read.recorded;
    let runs = recorded.streams.iter().flat_map(Stream::iter);
    for run in runs.filter(|run| run.kind.is_of_file()) {
        let file = recorded.files[run.file as usize];
        assert!(!file.is_mapped || file.largest >= file.size);
        assert!(run.length == 0 || run.offset < run.offset + run.length);
    }
    assert!(
        recorded
            .streams
            .iter()
            .all(|it| it.iter().count() as u64 == it.len())
    );
    let (_, again) = recording::read(&written(&text, recorded)).expect("a recording");
    assert_eq!(again.cut, None);
    assert_eq!(again.recorded.files, recorded.files);
    let streams = recorded.streams.iter().zip(&again.recorded.streams);
    streams.for_each(|(one, other)| assert!(one.iter().eq(other.iter())));
}

fn written(text: &str, recorded: &Recorded) -> Vec<u8> {
    let mut writer = Writer::new(text, &pack);
    for file in &recorded.files {
        writer.file(file.size);
    }
    for (number, stream) in (0..).zip(&recorded.streams) {
        stream.iter().for_each(|run| writer.run(number, &run));
    }
    writer.take(Part::All)
}
