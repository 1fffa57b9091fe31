//! Classes of pages: each is used as often as it says, and what is seen within a time follows.

use crate::common::*;
use crate::{operations, pages};
use mm::units::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use scenario::workload::{Access, Action, Class, Huge, Pattern};

#[test]
fn classes_use_their_pages_by_their_rates() {
    let class = |rate_micro, pages| Class { rate_micro, pages };
    let touch = Access {
        pattern: Pattern::Classes,
        classes: vec![class(10_000_000, 512), class(100_000, 512)],
        block: Bytes(4096),
        rate: 5172,
        amount: Some(Bytes(5172 * 4096).into()),
        write_percent: 100,
        ..touch("heap")
    };
    let steps = vec![
        map("heap", 8, Huge::Never),
        labelled("replay", Action::Access(touch)),
        snapshot("end"),
    ];
    let scenario = scenario(&[], vec![process("a", steps)]);
    assert_eq!(operations(&scenario), 5172);
    let pages = pages(&run(&scenario), "AnonPages") - OWN_PAGES;
    // All of the first class, and 512 (1 - exp(-0.1)) = 49 of the second.
    assert!((545..580).contains(&pages), "{pages}");
}

proptest! {
    /// Pages that are seen within t are sum pages (1 - exp(-rate t)), within five times the noise
    /// of as many draws.
    #[test]
    fn classes_are_seen_by_their_rates(
        classes in vec((1..16_000_u64, 1..2000_u64), 1..5),
        blocks in 1..200_u32,
        millis in 200..3000_u64,
    ) {
        let of = |&(milli, pages): &(u64, u64)| Class { rate_micro: milli * 1000, pages };
        let classes: Vec<Class> = classes.iter().map(of).collect();
        let uses: u64 = classes.iter().map(|it| it.rate_micro * it.pages).sum();
        let rate = uses.div_ceil(1_000_000 * u64::from(blocks));
        let bursts = (rate * millis).div_ceil(1000);
        let drawn = (bursts * u64::from(blocks)) as f64;
        let touch = Access {
            pattern: Pattern::Classes,
            classes: classes.clone(),
            block: Bytes(4096),
            blocks,
            rate: rate as u32,
            amount: Some(Bytes(drawn as u64 * 4096).into()),
            write_percent: 100,
            ..touch("heap")
        };
        let steps = vec![
            map("heap", 32, Huge::Never),
            labelled("replay", Action::Access(touch)),
            snapshot("end"),
        ];
        let scenario = scenario(&[], vec![process("a", steps)]);
        let seen = pages(&run(&scenario), "AnonPages") - OWN_PAGES;
        let part = |class: &Class| {
            let rate = drawn * class.rate_micro as f64 / uses as f64;
            (class.pages as f64, 1.0 - (-rate).exp())
        };
        let parts = classes.iter().map(part);
        let (expected, noise) = parts.fold((0.0, 0.0), |(sum, noise), (pages, share)| {
            (sum + pages * share, noise + pages * share * (1.0 - share))
        });
        let apart = (seen as f64 - expected).abs();
        prop_assert!(apart <= 5.0 * f64::sqrt(noise) + 3.0, "{seen} pages, {expected} expected");
    }
}
