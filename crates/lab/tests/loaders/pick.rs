//! Choices of a generator.

use mm::prng::Prng;

/// One of several.
pub(crate) fn one<'a, T>(from: &'a [T], prng: &mut Prng) -> &'a T {
    &from[usize::try_from(prng.below(from.len() as u64)).expect("an index")]
}

/// True in this many of a hundred cases.
pub(crate) fn percent(share: u64, prng: &mut Prng) -> bool {
    prng.below(100) < share
}

/// One of several, each as often as its weight says.
pub(crate) fn weighted<'a, T>(from: &'a [(u64, T)], prng: &mut Prng) -> &'a T {
    let total = from.iter().map(|(weight, _)| weight).sum();
    let mut at = prng.below(total);
    for (weight, item) in from {
        if at < *weight {
            return item;
        }
        at -= weight;
    }
    unreachable!("the weights add up to the total")
}

/// A number that the environment may give.
pub(crate) fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => otherwise,
    }
}
