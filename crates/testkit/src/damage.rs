//! What can befall a text or bytes on their way to a reader: one list, each kind with a name.
//!
//! A test takes [`Examples`] and puts what comes of them through its reader, as a strategy of
//! proptest or by number. What fails names its damage.

use std::fmt;

use mm::prng::Prng;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::words::{self, GAPS};

mod bytes;
mod lines;

/// A kind of damage.
#[derive(Clone, Copy, Debug)]
pub struct Damage {
    /// What happened.
    pub name: &'static str,
    act: fn(&mut Vec<u8>, &mut Hand<'_>),
}

/// Every kind of damage.
pub const ALL: [Damage; 18] = [
    of("end cut off", bytes::cut_end),
    of("beginning cut off", bytes::cut_beginning),
    of("piece lost", bytes::lose_piece),
    of("piece twice", bytes::repeat_piece),
    of("piece of another", bytes::mix_in),
    of("piece replaced by words", bytes::replace_piece),
    of("words put in", bytes::put_words_in),
    of("any characters put in", bytes::put_characters_in),
    of("bytes replaced", |it, hand| bytes::replace(it, hand)),
    of("characters replaced", bytes::edit),
    of("bit flipped", |it, hand| bytes::flip_bit(it, hand)),
    of("zeros put in", bytes::put_zeros_in),
    of("lines lost", lines::lose),
    of("lines twice", lines::repeat),
    of("lines swapped", lines::swap),
    of("ends of lines as in Windows", lines::end_as_windows),
    of("other numbers", lines::change_numbers),
    of("numbers of nines", |it, hand| bytes::make_nines(it, hand)),
];

const fn of(name: &'static str, act: fn(&mut Vec<u8>, &mut Hand<'_>)) -> Damage {
    Damage { name, act }
}

/// What an act of damage draws from.
struct Hand<'a> {
    prng: Prng,
    words: &'a [String],
    /// Another example.
    other: &'a [u8],
}

impl Hand<'_> {
    /// A number from 0 to `most`.
    fn up_to(&mut self, most: usize) -> usize {
        usize::try_from(self.prng.below(most as u64 + 1)).expect("it fits")
    }

    /// A span of this many bytes, short more often than not.
    fn span(&mut self, length: usize) -> std::ops::Range<usize> {
        let (from, most) = (self.up_to(length), 1 << self.prng.below(14));
        from..(from + self.up_to(most)).min(length)
    }

    /// One of some.
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.up_to(of.len() - 1)]
    }

    /// Up to `most` words.
    fn text(&mut self, most: usize) -> Vec<u8> {
        let count = self.up_to(most);
        let words = (0..count).flat_map(|_| {
            let word = self.up_to(self.words.len() - 1);
            [self.words[word].as_str(), self.one(&GAPS)]
        });
        words.collect::<String>().into_bytes()
    }
}

/// Texts or bytes of one kind, to be damaged.
#[derive(Clone, Debug)]
pub struct Examples {
    whole: Vec<Vec<u8>>,
    others: Vec<Vec<u8>>,
    words: Vec<String>,
}

/// A damaged example.
#[derive(Clone, PartialEq, Eq)]
pub struct Damaged {
    /// The number of the example.
    pub example: usize,
    /// What befell it, in order.
    pub by: Vec<&'static str>,
    /// What is left of it.
    pub bytes: Vec<u8>,
}

impl Examples {
    /// Examples whose words are those of `kind` in `fuzz/words.dict`.
    ///
    /// # Panics
    /// There is no example, or no such kind.
    pub fn of<T: Into<Vec<u8>>>(kind: &str, whole: impl IntoIterator<Item = T>) -> Self {
        let whole: Vec<Vec<u8>> = whole.into_iter().map(Into::into).collect();
        assert!(!whole.is_empty(), "there are examples of {kind}");
        Self {
            others: whole.clone(),
            words: words::of(kind),
            whole,
        }
    }

    /// With pieces of these getting into them, not of themselves.
    ///
    /// # Panics
    /// There are none.
    #[must_use]
    pub fn beside(mut self, others: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.others = others.into_iter().collect();
        assert!(!self.others.is_empty(), "there are others");
        self
    }

    /// The examples, each damaged in one to four ways; fewer ways are simpler.
    pub fn damaged(&self) -> impl Strategy<Value = Damaged> + use<> {
        let examples = self.clone();
        let ways = vec((0..ALL.len(), any::<u64>()), 1..5);
        (any::<Index>(), ways).prop_map(move |(example, ways)| {
            let example = example.index(examples.whole.len());
            examples.by(example, ways)
        })
    }

    /// The damaged example of a number. Its first way is that of the number, so that as many
    /// numbers as there are kinds of damage try all of them.
    #[must_use]
    pub fn nth(&self, number: u64) -> Damaged {
        let mut prng = Prng::for_part(number, "damage");
        let example = prng.below(self.whole.len() as u64) as usize;
        let kinds = ALL.len() as u64;
        let mut ways = vec![((number % kinds) as usize, prng.next_u64())];
        for _ in 0..prng.below(4) {
            ways.push((prng.below(kinds) as usize, prng.next_u64()));
        }
        self.by(example, ways)
    }

    fn by(&self, example: usize, ways: Vec<(usize, u64)>) -> Damaged {
        let mut bytes = self.whole[example].clone();
        let mut by = Vec::new();
        for (way, seed) in ways {
            let mut prng = Prng::new(seed);
            let other = prng.below(self.others.len() as u64) as usize;
            let other = &self.others[other];
            let words = &self.words;
            (ALL[way].act)(&mut bytes, &mut Hand { prng, words, other });
            by.push(ALL[way].name);
        }
        Damaged { example, by, bytes }
    }
}

impl Damaged {
    /// What is left of a text; bytes that are none become replacement characters.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// What befell which example.
impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "example {}, {}", self.example, self.by.join(", then "))
    }
}

/// The same, and what is left.
impl fmt::Debug for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}: {:?}", self.text())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TEXT: &str = "MemTotal:  1024 kB\nMemFree:   12 kB\né\nCached:    3 kB\n";

    fn examples() -> Examples {
        Examples::of("kernel files", [TEXT, "another 7\n"])
    }

    #[test]
    fn each_kind_has_a_name_of_its_own_and_changes_a_text() {
        let names: BTreeSet<&str> = ALL.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), ALL.len());
        let examples = examples();
        for (way, kind) in ALL.iter().enumerate() {
            let changes = |seed: &u64| examples.by(0, vec![(way, *seed)]).bytes != TEXT.as_bytes();
            let changed = (0..100).filter(changes).count();
            assert!(changed > 20, "{}: {changed} of 100", kind.name);
        }
    }

    #[test]
    fn nothing_is_too_short_to_be_damaged() {
        let examples = Examples::of("series", ["", "\n", "1"]);
        for number in 0..1000 {
            let damaged = examples.nth(number);
            assert_eq!(
                damaged,
                examples.nth(number),
                "the same number, the same damage"
            );
            assert_eq!(damaged.by[0], ALL[number as usize % ALL.len()].name);
        }
    }

    #[test]
    fn a_failure_says_what_befell_the_example() {
        let damaged = examples().by(1, vec![(15, 0), (13, 0)]);
        let said = format!("{damaged:?}");
        let way = "example 1, ends of lines as in Windows, then lines twice: ";
        assert!(said.starts_with(way), "{said}");
    }
}
