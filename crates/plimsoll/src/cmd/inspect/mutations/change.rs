//! How an input is damaged.

use std::ops::Range;

use mm::prng::Prng;

/// A place in a text of this length.
fn at(prng: &mut Prng, length: usize) -> usize {
    usize::try_from(prng.below(length as u64 + 1)).expect("it fits")
}

/// One of several.
pub(super) fn chosen<'a, T>(all: &'a [T], prng: &mut Prng) -> &'a T {
    &all[at(prng, all.len() - 1)]
}

/// A span of a text, with a length that is small more often than not.
fn span(prng: &mut Prng, length: usize) -> Range<usize> {
    let (from, most) = (at(prng, length), 1 << prng.below(14));
    from..(from + at(prng, most)).min(length)
}

/// One change.
pub(super) fn change(bytes: &mut Vec<u8>, other: &[u8], prng: &mut Prng) {
    let length = bytes.len();
    match prng.below(9) {
        0 => bytes.truncate(at(prng, length)),
        1 => drop(bytes.drain(..at(prng, length))),
        2 => drop(bytes.drain(span(prng, length))),
        3 => {
            let piece = bytes[span(prng, length)].to_vec();
            let to = at(prng, length);
            bytes.splice(to..to, piece);
        }
        4 => {
            let piece = other[span(prng, other.len())].to_vec();
            let to = at(prng, length);
            bytes.splice(to..to, piece);
        }
        5 => shuffle_lines(bytes, prng),
        6 => numbers(bytes, prng),
        _ => replace_bytes(bytes, prng),
    }
}

fn replace_bytes(bytes: &mut [u8], prng: &mut Prng) {
    for _ in 0..1 + prng.below(8) {
        if let Some(last) = bytes.len().checked_sub(1) {
            bytes[at(prng, last)] = prng.next_u64().to_le_bytes()[0];
        }
    }
}

fn shuffle_lines(bytes: &mut Vec<u8>, prng: &mut Prng) {
    let mut lines: Vec<Vec<u8>> = bytes
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..1 + prng.below(10) {
        let last = lines.len() - 1;
        let (one, other) = (at(prng, last), at(prng, last));
        lines.swap(one, other);
    }
    *bytes = lines.join(&b'\n');
}

/// Digits become the largest: numbers that break careless arithmetic.
fn numbers(bytes: &mut [u8], prng: &mut Prng) {
    let range = span(prng, bytes.len());
    let digits = bytes[range].iter_mut().filter(|byte| byte.is_ascii_digit());
    digits.for_each(|byte| *byte = b'9');
}
