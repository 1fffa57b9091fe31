//! Every rule on made-up runs: what holds by it, and what it must miss.

use super::*;

fn alone(kind: Kind, floor: f64, model: &[f64], kernel: &[f64]) -> Score {
    let runs = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (model, kernel) = (runs(model), runs(kernel));
    let all = |values| Runs { values, without: 0 };
    score(kind, floor, all(&model), all(&kernel)).unwrap()
}

#[track_caller]
fn check(kind: Kind, model: &[f64], kernel: &[f64], shown: &str, holds: bool) {
    let found = alone(kind, 0.0, model, kernel);
    assert_eq!(found.gap.show(), shown, "{found:?}");
    assert_eq!(found.holds(), holds, "{found:?}");
}

const HOLDS: bool = true;
const MISSES: bool = false;

#[test]
fn watermarks_are_equal_to_the_last_digit() {
    check(Kind::Line, &[374_988.0], &[374_988.0], "equal", HOLDS);
    check(Kind::Line, &[374_989.0], &[374_988.0], "1 too many", MISSES);
    check(Kind::Line, &[374_987.0], &[374_988.0], "1 too few", MISSES);
}

#[test]
fn sizes_are_within_one_percent() {
    check(Kind::Size, &[1009.0], &[1000.0], "+0.90 %", HOLDS);
    check(Kind::Size, &[989.0], &[1000.0], "-1.10 %", MISSES);
    check(Kind::Size, &[1.0], &[0.0], "not zero", MISSES);
    check(Kind::Size, &[0.0], &[0.0], "equal", HOLDS);
    let seeds = [995.0, 998.0, 1000.0, 1001.0, 1002.0];
    check(Kind::Size, &[1009.0; 5], &seeds, "+0.90 %", HOLDS);
    check(Kind::Size, &[1011.0; 5], &seeds, "+1.10 %", MISSES);
}

#[test]
fn times_are_within_five_percent_where_the_kernel_spreads_less() {
    check(Kind::Time, &[22.4], &[22.4], "equal", HOLDS);
    check(Kind::Time, &[104.0], &[100.0], "+4.00 %", HOLDS);
    check(Kind::Time, &[94.0], &[100.0], "-6.00 %", MISSES);
    let seeds = [98.0, 99.0, 100.0, 101.0, 102.0];
    check(Kind::Time, &[104.0; 5], &seeds, "+4.00 %", HOLDS);
    check(Kind::Time, &[106.0; 5], &seeds, "+6.00 %", MISSES);
}

#[test]
fn merging_has_tolerances_of_its_own() {
    check(Kind::Reach, &[11.4], &[10.0], "+14.00 %", HOLDS);
    check(Kind::Reach, &[8.4], &[10.0], "-16.00 %", MISSES);
    check(Kind::Scan, &[11.9], &[10.0], "+19.00 %", HOLDS);
    check(Kind::Scan, &[7.9], &[10.0], "-21.00 %", MISSES);
    check(Kind::Share, &[75.0], &[72.5], "+2.5 points", HOLDS);
    check(Kind::Share, &[69.0], &[72.5], "-3.5 points", MISSES);
    check(Kind::Share, &[72.5], &[72.5], "equal", HOLDS);
    let seeds = [60.0, 70.0, 80.0];
    check(Kind::Share, &[61.0; 3], &seeds, "inside the range", HOLDS);
}

#[test]
fn times_that_spread_are_inside_the_kernels_range() {
    let seeds = [90.0, 95.0, 100.0, 105.0, 110.0];
    let five = |middle: f64| [1.0, 2.0, middle, 900.0, 900.0];
    check(Kind::Time, &five(109.0), &seeds, "inside the range", HOLDS);
    check(Kind::Time, &five(90.0), &seeds, "inside the range", HOLDS);
    check(
        Kind::Time,
        &five(118.0),
        &seeds,
        "above by 0.40 of the spread",
        MISSES,
    );
    check(
        Kind::Time,
        &five(80.0),
        &seeds,
        "below by 0.50 of the spread",
        MISSES,
    );
}

#[test]
fn counters_are_within_a_factor() {
    check(
        Kind::Pages,
        &[1500.0],
        &[1000.0],
        "1.50 times too many",
        HOLDS,
    );
    check(
        Kind::Pages,
        &[1510.0],
        &[1000.0],
        "1.51 times too many",
        MISSES,
    );
    check(
        Kind::Pages,
        &[1000.0],
        &[1500.0],
        "1.50 times too few",
        HOLDS,
    );
    check(
        Kind::Events,
        &[1000.0],
        &[1600.0],
        "1.60 times too few",
        MISSES,
    );
    check(Kind::Pages, &[5.0], &[0.0], "not zero", MISSES);
    check(Kind::Pages, &[0.0], &[5.0], "none at all", MISSES);
    let spread = [800.0, 900.0, 1000.0, 1200.0, 1400.0];
    check(
        Kind::Pages,
        &[1400.0; 5],
        &spread,
        "1.40 times too many",
        HOLDS,
    );
    check(
        Kind::Pages,
        &[1600.0; 5],
        &spread,
        "1.60 times too many",
        MISSES,
    );
}

/// A start that did the same is no miss, however wide the kernel's starts lie apart; and a kernel
/// that spreads asks for no more than one that does not.
#[test]
fn what_a_start_of_the_kernel_did_holds() {
    let starts = [500.0, 700.0, 1000.0, 1300.0, 1800.0];
    check(
        Kind::Events,
        &[1700.0; 5],
        &starts,
        "inside the range",
        HOLDS,
    );
    check(
        Kind::Events,
        &[1900.0; 5],
        &starts,
        "1.90 times too many",
        MISSES,
    );
    let starts = [1000.0, 1001.0, 1002.0, 1040.0, 1080.0];
    check(Kind::Time, &[970.0; 5], &starts, "-3.19 %", HOLDS);
    let starts = [20.0, 20.5, 21.0, 21.5, 24.0];
    check(Kind::Share, &[18.5; 5], &starts, "-2.5 points", HOLDS);
}

#[test]
fn a_few_pages_are_as_good_as_none() {
    let holds = |model, kernel| alone(Kind::Pages, 64.0, &[model], &[kernel]).holds();
    assert!(holds(0.0, 64.0) && holds(63.0, 1.0) && holds(0.0, 96.0));
    assert!(!holds(0.0, 97.0) && !holds(97.0, 0.0));
    let holds = |model, kernel| alone(Kind::Size, 64.0, &[model], &[kernel]).holds();
    assert!(holds(0.0, 64.0) && !holds(0.0, 65.0));
}

#[test]
fn survivors_have_the_same_modes_with_similar_shares() {
    let none = [0.0; 5];
    check(Kind::Fate, &none, &none, "similar shares, p 1.00", HOLDS);
    check(
        Kind::Fate,
        &[3.0; 5],
        &none,
        "other shares, p 0.008",
        MISSES,
    );
    let (one, two) = ([1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0]);
    check(Kind::Fate, &[1.0; 5], &one, "other shares, p 0.048", MISSES);
    check(Kind::Fate, &[1.0; 5], &two, "similar shares, p 0.17", HOLDS);
    // The same mean, and none of the kernel's modes.
    let (mixed, halves) = (
        [0.0, 0.0, 3.0, 3.0, 0.0, 3.0],
        [1.0, 2.0, 1.0, 2.0, 1.0, 2.0],
    );
    assert_eq!(alone(Kind::Fate, 0.0, &halves, &mixed).holds(), MISSES);
}

#[test]
fn with_few_seeds_survivors_are_equal() {
    check(Kind::Fate, &[3.0], &[3.0], "equal", HOLDS);
    check(Kind::Fate, &[3.0], &[2.0], "1 too many", MISSES);
    check(Kind::Fate, &[0.0; 3], &[1.0; 3], "1 too few", MISSES);
}

#[test]
fn many_kills_are_a_counter() {
    let kills = [31.0, 33.0, 29.0, 35.0, 30.0];
    check(Kind::Fate, &[40.0; 5], &kills, "1.29 times too many", HOLDS);
    check(
        Kind::Fate,
        &[50.0; 5],
        &kills,
        "1.61 times too many",
        MISSES,
    );
    check(Kind::Fate, &[0.0; 5], &kills, "none at all", MISSES);
}

#[test]
fn two_modes_have_similar_shares_and_each_its_place() {
    let seeds = [40.0, 41.0, 100.0, 101.0, 99.0];
    let holds = |model: &[f64]| alone(Kind::Time, 0.0, model, &seeds).holds();
    assert_eq!(holds(&[40.5, 100.0, 100.0, 100.0, 40.5]), HOLDS);
    assert_eq!(
        holds(&[100.0; 5]),
        HOLDS,
        "three of five cannot be told from five"
    );
    assert_eq!(holds(&[75.0; 5]), MISSES, "between the modes");
    assert_eq!(
        holds(&[44.0, 44.0, 100.0, 100.0, 100.0]),
        MISSES,
        "the lower mode is off"
    );
    let once = [40.0, 100.0, 101.0, 99.0, 100.0];
    let found = alone(Kind::Time, 0.0, &[40.0; 5], &once);
    assert_eq!(
        (found.gap.show().as_str(), found.holds()),
        ("other shares, p 0.048", MISSES)
    );
    assert_eq!(alone(Kind::Time, 0.0, &[100.0; 5], &once).holds(), HOLDS);
}

#[test]
fn counters_at_the_edge_have_modes_as_well() {
    let seeds = [0.0, 0.0, 0.0, 5000.0, 6000.0];
    let holds = |model: &[f64]| alone(Kind::Pages, 64.0, model, &seeds).holds();
    assert_eq!(holds(&[0.0, 10.0, 4000.0, 5000.0, 6000.0]), HOLDS);
    assert_eq!(
        holds(&[0.0, 0.0, 0.0, 50_000.0, 50_000.0]),
        MISSES,
        "too much of it"
    );
    let never = [0.0, 0.0, 0.0, 0.0, 5000.0];
    let found = alone(Kind::Pages, 64.0, &[5000.0; 5], &never);
    assert_eq!(found.holds(), MISSES, "{found:?}");
}

#[test]
fn a_number_that_some_runs_lack_is_a_mode_too() {
    let five = |with: usize| (vec![10.0; with], 5 - with);
    let both = |(model, no_model): (Vec<f64>, usize), (kernel, no_kernel): (Vec<f64>, usize)| {
        let (values, without) = (model.as_slice(), no_model);
        let model = Runs { values, without };
        let (values, without) = (kernel.as_slice(), no_kernel);
        score(Kind::Time, 0.0, model, Runs { values, without })
    };
    let holds = |model, kernel| both(model, kernel).unwrap().holds();
    assert_eq!(holds(five(5), five(5)), HOLDS);
    assert_eq!(holds(five(3), five(5)), HOLDS, "chance explains it");
    assert_eq!(holds(five(1), five(5)), MISSES, "p 0.048");
    assert_eq!(holds(five(0), five(2)), HOLDS, "p 0.44");
    assert_eq!(holds(five(0), five(5)), MISSES);
    assert_eq!(
        holds((vec![20.0; 3], 2), five(3)),
        MISSES,
        "those that have it are off"
    );
    assert_eq!(holds((vec![], 1), (vec![1.0], 0)), MISSES, "one run");
    assert_eq!(both((vec![], 5), (vec![], 5)), None);
}

#[test]
fn a_mode_that_most_runs_of_three_are_in_must_be_the_same() {
    let runs = |values, without| Runs { values, without };
    let gap = |model, kernel| score(Kind::Time, 0.0, model, kernel).unwrap().gap;
    let found = gap(runs(&[1.0], 2), runs(&[1.0, 1.0], 1));
    assert_eq!(found, Gap::OtherMode);
    assert_eq!(gap(runs(&[1.0], 2), runs(&[1.0], 2)).show(), "equal");
}

#[test]
fn a_miss_is_worse_the_further_it_is_off() {
    let excess = |kind, model: f64, kernel: f64| alone(kind, 0.0, &[model], &[kernel]).excess;
    let order = [
        excess(Kind::Line, 10_001.0, 10_000.0),
        excess(Kind::Size, 1020.0, 1000.0),
        excess(Kind::Time, 1150.0, 1000.0),
        excess(Kind::Pages, 9000.0, 1000.0),
        excess(Kind::Pages, 0.0, 1000.0),
    ];
    assert!(order.is_sorted() && order[0] > 1.0, "{order:?}");
}
