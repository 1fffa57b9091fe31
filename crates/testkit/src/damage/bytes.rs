//! Damage to bytes, wherever lines end.

use super::Hand;

pub(super) fn cut_end(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    bytes.truncate(hand.up_to(bytes.len()));
}

pub(super) fn cut_beginning(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    bytes.drain(..hand.up_to(bytes.len()));
}

pub(super) fn lose_piece(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    bytes.drain(hand.span(bytes.len()));
}

pub(super) fn repeat_piece(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    let piece = bytes[hand.span(bytes.len())].to_vec();
    put_in(bytes, piece, hand);
}

pub(super) fn mix_in(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    let piece = hand.other[hand.span(hand.other.len())].to_vec();
    put_in(bytes, piece, hand);
}

pub(super) fn replace_piece(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    let from = hand.up_to(bytes.len());
    let to = (from + hand.up_to(40)).min(bytes.len());
    bytes.splice(from..to, hand.text(3));
}

pub(super) fn put_words_in(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    let words = hand.text(50);
    put_in(bytes, words, hand);
}

pub(super) fn put_zeros_in(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    let zeros = vec![0; 1 + hand.up_to(8)];
    put_in(bytes, zeros, hand);
}

/// Characters of any script, and two of three such as one meets.
pub(super) fn put_characters_in(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    let characters = (0..=hand.up_to(8)).map(|_| {
        let most = hand.one(&[0x7f, 0x2fff, 0x10_ffff]);
        u32::try_from(hand.up_to(most))
            .ok()
            .and_then(char::from_u32)
    });
    let text: String = characters.flatten().collect();
    put_in(bytes, text.into_bytes(), hand);
}

fn put_in(bytes: &mut Vec<u8>, piece: Vec<u8>, hand: &mut Hand<'_>) {
    let to = hand.up_to(bytes.len());
    bytes.splice(to..to, piece);
}

pub(super) fn replace(bytes: &mut [u8], hand: &mut Hand<'_>) {
    for _ in 0..=hand.up_to(7) {
        let value = hand.prng.next_u64().to_le_bytes()[0];
        at_one(bytes, hand, |byte| *byte = value);
    }
}

pub(super) fn flip_bit(bytes: &mut [u8], hand: &mut Hand<'_>) {
    let bit = hand.up_to(7);
    at_one(bytes, hand, |byte| *byte ^= 1 << bit);
}

fn at_one(bytes: &mut [u8], hand: &mut Hand<'_>, act: impl Fn(&mut u8)) {
    if let Some(last) = bytes.len().checked_sub(1) {
        act(&mut bytes[hand.up_to(last)]);
    }
}

/// Characters that kernel files have: what is replaced by them is still nearly right.
const CHARACTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz:=[]()\n -";

/// Up to 40 bytes, each replaced by up to 3 characters.
pub(super) fn edit(bytes: &mut Vec<u8>, hand: &mut Hand<'_>) {
    for _ in 0..=hand.up_to(39) {
        let count = hand.up_to(3);
        let characters: Vec<u8> = (0..count).map(|_| hand.one(CHARACTERS)).collect();
        let at = hand.up_to(bytes.len());
        bytes.splice(at..(at + 1).min(bytes.len()), characters);
    }
}

/// The digits of a piece become the largest: numbers that break careless arithmetic.
pub(super) fn make_nines(bytes: &mut [u8], hand: &mut Hand<'_>) {
    let span = hand.span(bytes.len());
    let digits = bytes[span].iter_mut().filter(|byte| byte.is_ascii_digit());
    digits.for_each(|byte| *byte = b'9');
}
