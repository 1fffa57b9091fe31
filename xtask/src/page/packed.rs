//! The model as text that stands in a page, as short as a browser can undo.

use std::io::Write as _;

use anyhow::Result;
use lzma_rust2::{LzmaOptions, LzmaWriter};

/// Bytes in LZMA: a quarter shorter than by gzip.
pub(super) fn lzma(bytes: &[u8]) -> Result<Vec<u8>> {
    let options = LzmaOptions::with_preset(9);
    let length = u64::try_from(bytes.len())?;
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, Some(length))?;
    writer.write_all(bytes)?;
    Ok(writer.finish()?)
}

/// What a script in a page cannot hold, and what stands for it: a browser takes NUL and CR for
/// something else, and `<` may end the script.
const SPECIAL: [(u8, char); 3] = [(0, '\u{a1}'), (b'\r', '\u{a2}'), (b'<', '\u{a3}')];

/// Bytes as characters of seven bits each, the lowest first: a sixth longer than the bytes, where
/// base64 is a third. In UTF-8 all but three of them are one byte.
pub(super) fn sevens(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 7);
    let (mut bits, mut count) = (0_u32, 0);
    let mut push = |seven: u32| {
        let seven = (seven & 0x7f) as u8;
        let special = SPECIAL.iter().find(|(byte, _)| *byte == seven);
        text.push(special.map_or(char::from(seven), |(_, stands)| *stands));
    };
    for byte in bytes {
        bits |= u32::from(*byte) << count;
        count += 8;
        while count >= 7 {
            push(bits);
            bits >>= 7;
            count -= 7;
        }
    }
    if count > 0 {
        push(bits);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `page/site/page.js` does it.
    fn bytes(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (mut bits, mut count) = (0_u32, 0);
        for letter in text.chars() {
            let special = SPECIAL.iter().find(|(_, stands)| *stands == letter);
            let seven = special.map_or(letter as u32, |(byte, _)| u32::from(*byte));
            bits |= seven << count;
            count += 7;
            if count >= 8 {
                bytes.push((bits & 0xff) as u8);
                bits >>= 8;
                count -= 8;
            }
        }
        bytes
    }

    #[test]
    fn all_bytes_come_back_and_none_ends_a_script() {
        for length in [0, 1, 6, 7, 8, 9, 1000] {
            let given: Vec<u8> = (0..length).map(|at: u32| (at * 31 % 256) as u8).collect();
            let text = sevens(&given);
            assert!(!text.contains(['\0', '\r', '<']), "{text}");
            assert_eq!(bytes(&text), given);
        }
    }

    #[test]
    fn what_is_packed_expands_again() {
        let given = b"zone watermark folio refault ".repeat(100);
        let packed = lzma(&given).expect("packed");
        assert!(packed.len() < given.len() / 4);
        let mut reader =
            lzma_rust2::LzmaReader::new_mem_limit(&packed[..], 128 << 10, None).expect("a head");
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut reader, &mut bytes).expect("expanded");
        assert_eq!(bytes, given);
    }
}
