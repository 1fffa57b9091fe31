//! Damage to lines and to the numbers in them.

use super::Hand;

/// Numbers that break careless arithmetic, and what is none.
const NUMBERS: [&str; 8] = [
    "0",
    "1",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999",
    "-1",
    "x",
];

pub(super) fn lose(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    each(bytes, hand, |_| Vec::new());
}

pub(super) fn repeat(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    each(bytes, hand, |line| [line, line].concat());
}

/// One line in 1, 2, 4, ... 32 becomes another; a line has its end with it.
fn each(bytes: &mut Vec<u8>, hand: &mut Hand<'_>, act: impl Fn(&[u8]) -> Vec<u8>) {
    let others = others(hand);
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let changed = lines.flat_map(|line| match hand.up_to(others) {
        0 => act(line),
        _ => line.to_vec(),
    });
    *bytes = changed.collect();
}

pub(super) fn swap(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    let lines = bytes.split(|&byte| byte == b'\n');
    let mut lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
    let last = lines.len() - 1;
    for _ in 0..=hand.up_to(9) {
        lines.swap(hand.up_to(last), hand.up_to(last));
    }
    *bytes = lines.join(&b'\n');
}

pub(super) fn end_as_windows(bytes: &mut Vec<u8>, _: &mut Hand<'_>) {
    let lines = bytes.split(|&byte| byte == b'\n');
    *bytes = lines.collect::<Vec<_>>().join(&b"\r\n"[..]);
}

/// One number in 1, 2, 4, ... 32 becomes another.
pub(super) fn change_numbers(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    let others = others(hand);
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let parts = bytes.chunk_by(|one, other| is_digit(one) == is_digit(other));
    let changed = parts.flat_map(|part| match is_digit(&part[0]) && hand.up_to(others) == 0 {
        true => hand.one(&NUMBERS).as_bytes().to_vec(),
        false => part.to_vec(),
    });
    *bytes = changed.collect();
}

/// How many stay for one that changes.
fn others(hand: &mut Hand<'_>) -> usize {
    (1 << hand.up_to(5)) - 1
}
