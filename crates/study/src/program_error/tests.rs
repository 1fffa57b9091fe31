//! The interval holds what was measured of a program that it does not rest on.

use super::*;

fn rows(programs: &[(&str, &[f64])]) -> Vec<Row> {
    let row = |program: &str, ratio: f64| Row {
        key: [program, "6.12", "half"].map(str::to_owned),
        ratios: [Some(ratio), None, None],
    };
    let rows = programs.iter().flat_map(|(program, ratios)| {
        let rows = ratios.iter().map(|&ratio| row(program, ratio));
        rows.collect::<Vec<_>>()
    });
    rows.collect()
}

#[test]
fn each_program_counts_once_and_few_give_a_wide_interval() {
    let three = rows(&[("a", &[1.0, 1.0, 1.0]), ("b", &[1.1]), ("c", &[1.21])]);
    let found = interval(&three, Of::Read).expect("three programs");
    assert_eq!((found.programs, found.arms), (3, 5));
    // Means 0, ln 1.1 and 2 ln 1.1: the variance is (ln 1.1)^2, times 4/3, and t is 1.886.
    let half = 1.886 * 1.1_f64.ln() * (4.0_f64 / 3.0).sqrt();
    assert!((found.most - 1.1 * half.exp()).abs() < 1e-12, "{found:?}");
    assert!((found.least - 1.1 / half.exp()).abs() < 1e-12, "{found:?}");
    assert_eq!(interval(&three[..4], Of::Read), None, "two programs");
    assert_eq!(interval(&three, Of::Time), None);
}

#[test]
fn a_small_sample_and_a_far_size_make_it_wider() {
    let exact = Interval {
        least: 1.0,
        most: 1.0,
        programs: 3,
        arms: 9,
    };
    let of = |of, pages| exact.of_sample(of, pages).most;
    assert!((of(Of::Read, 2900) - 1.05).abs() < 1e-12);
    assert!((of(Of::Time, 2900) - 1.02).abs() < 1e-12);
    let wide = Interval {
        least: 0.5,
        most: 2.0,
        ..exact
    };
    for (size, most) in [
        (0.25, 2.0),
        (1.0, 2.0),
        (2.0, 2.0),
        (4.0, 4.0),
        (0.125, 4.0),
    ] {
        assert!((wide.of_size(size).most - most).abs() < 1e-12, "{size}");
    }
}

#[test]
fn the_table_is_read_as_it_is_written() {
    assert_eq!(text(&kept()), TABLE);
}

/// Each program is left out once, with all its kernels and arms, and the others say what it does.
#[test]
fn the_interval_holds_70_to_95_percent_of_what_a_program_left_out_does() {
    let rows = kept();
    for of in [Of::Read, Of::Time] {
        let (mut held, mut all) = (0, 0);
        for row in &rows {
            let others = rows.iter().filter(|it| it.key[0] != row.key[0]);
            let others: Vec<Row> = others.cloned().collect();
            let Some(ratio) = row.ratios[of as usize] else {
                continue;
            };
            let Some(found) = interval(&others, of) else {
                continue;
            };
            all += 1;
            held += u32::from((found.least..=found.most).contains(&ratio));
        }
        println!("{of:?}: {held} of {all}; {:.3?}", interval(&rows, of));
        assert!(all >= 20, "{of:?}: {all} figures");
        let share = f64::from(held) / f64::from(all);
        assert!((0.70..=0.95).contains(&share), "{of:?}: {held} of {all}");
    }
}
