//! The one source of randomness: xoshiro256**, seeded by `SplitMix64`.
//!
//! Both algorithms are public domain (Blackman and Vigna, <https://prng.di.unimi.it>); the stream
//! of a seed is fixed by their names and pinned by a test, so that a record's seed repeats its run.

/// A stream of random numbers that its seed fixes for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prng {
    state: [u64; 4],
}

impl Prng {
    /// The stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut mixer = seed;
        let state = [(); 4].map(|()| split_mix(&mut mixer));
        Self { state }
    }

    /// A stream of its own for the part called `name`: adding a part never shifts another's stream.
    #[must_use]
    pub fn for_part(seed: u64, name: &str) -> Self {
        // FNV-1a keeps the name's bytes apart; SplitMix64 in `new` then spreads them.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::new(seed ^ hash)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let result = self.state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = self.state[1] << 17;
        self.state[2] ^= self.state[0];
        self.state[3] ^= self.state[1];
        self.state[1] ^= self.state[2];
        self.state[0] ^= self.state[3];
        self.state[2] ^= shifted;
        self.state[3] = self.state[3].rotate_left(45);
        result
    }

    /// A number in `0..bound`; zero where `bound` is zero. The bias is below `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Reorders `items`, every order equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut mixer = 1_234_567;
        assert_eq!(
            split_mix(&mut mixer),
            6_457_827_717_110_365_317,
            "SplitMix64's published vector"
        );
        let mut known = Prng {
            state: [1, 2, 3, 4],
        };
        let stream = [(); 4].map(|()| known.next_u64());
        assert_eq!(stream, [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    #[test]
    fn below_stays_below_and_reaches_both_ends() {
        let mut prng = Prng::new(7);
        let draws: alloc::vec::Vec<u64> = (0..1000).map(|_| prng.below(3)).collect();
        assert!(draws.iter().all(|&draw| draw < 3));
        assert!((0..3).all(|value| draws.contains(&value)));
        assert_eq!(prng.below(0), 0);
    }
}
