//! What holds of the formulas for every machine, however odd.

use plimsoll_mm::formula::available::{Inputs, available};
use plimsoll_mm::formula::dirty::{Amount, dirtyable, thresholds};
use plimsoll_mm::formula::inactive::inactive_is_low;
use plimsoll_mm::formula::protection::{self, Unclaimed, effective};
use plimsoll_mm::formula::readahead::{Window, initial_size, next_size};
use plimsoll_mm::formula::reserve;
use plimsoll_mm::formula::scan_balance::{self, Balance, Both, Costs, due, fractions};
use plimsoll_mm::formula::watermarks::{MovableRule, Rule, ZoneSize, watermarks};
use plimsoll_mm::units::{Bytes, PageSize, Pages};
use plimsoll_mm::zoneinfo::{Watermarks, ZoneKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const PAGE: PageSize = PageSize::FOUR_KIB;

/// Up to 4 TiB in pages.
fn pages() -> impl Strategy<Value = Pages> {
    prop_oneof![0..100_u64, 0..(1_u64 << 20), 0..(1_u64 << 30)].prop_map(Pages)
}

fn zones() -> impl Strategy<Value = Vec<ZoneSize>> {
    let kinds = [
        ZoneKind::Dma,
        ZoneKind::Dma32,
        ZoneKind::Normal,
        ZoneKind::HighMem,
        ZoneKind::Movable,
    ];
    let zone = (select(kinds.to_vec()), pages());
    vec(
        zone.prop_map(|(kind, managed)| ZoneSize { kind, managed }),
        0..8,
    )
}

fn rule() -> impl Strategy<Value = Rule> {
    let movable = select(vec![MovableRule::Apart, MovableRule::Shared]);
    (pages(), 1..3001_u64, movable).prop_map(|(min_free, scale_factor, movable)| Rule {
        min_free,
        scale_factor,
        movable,
    })
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        (0..101_u64).prop_map(Amount::Ratio),
        any::<u64>().prop_map(|bytes| Amount::Bytes(Bytes(bytes))),
    ]
}

fn both<T: std::fmt::Debug, S: Strategy<Value = T>>(
    one: fn() -> S,
) -> impl Strategy<Value = Both<T>> {
    (one(), one()).prop_map(|(anon, file)| Both { anon, file })
}

fn pass() -> impl Strategy<Value = scan_balance::Inputs> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (pages(), pages(), pages());
    let weights = (0..13_u32, 0..202_u64, both(pages));
    let parts = (weights, flags, sizes, both(pages), both(any::<bool>));
    parts.prop_map(|(weights, flags, sizes, inactive, may_deactivate)| {
        let (priority, swappiness, costs) = weights;
        let (can_swap, global, no_cache_trim) = flags;
        let (node_file, free, high_watermarks) = sizes;
        let costs = Costs {
            anon: costs.anon.0,
            file: costs.file.0,
        };
        scan_balance::Inputs {
            priority,
            swappiness,
            can_swap,
            global,
            inactive,
            node_file,
            free,
            high_watermarks,
            may_deactivate,
            no_cache_trim,
            costs,
        }
    })
}

proptest! {
    #[test]
    fn marks_ascend_in_equal_steps(zones in zones(), rule in rule()) {
        for Watermarks { min, low, high, promo } in watermarks(&zones, rule) {
            prop_assert!(min <= low && low <= high);
            prop_assert_eq!(low - min, high - low);
            prop_assert_eq!(promo.map(|promo| promo - high), Some(high - low));
        }
    }

    #[test]
    fn the_min_marks_share_out_min_free_but_for_rounding(zones in zones(), rule in rule()) {
        let zones: Vec<_> = zones.into_iter().filter(|zone| zone.kind <= ZoneKind::Normal).collect();
        prop_assume!(zones.iter().any(|zone| zone.managed > Pages::ZERO));
        let sum: Pages = watermarks(&zones, rule).iter().map(|marks| marks.min).sum();
        prop_assert!(sum <= rule.min_free);
        prop_assert!(rule.min_free.saturating_sub(sum) < Pages(zones.len() as u64));
    }

    #[test]
    fn more_min_free_never_lowers_a_mark(zones in zones(), rule in rule(), more in pages()) {
        let raised = Rule { min_free: rule.min_free + more, ..rule };
        for (less, more) in watermarks(&zones, rule).iter().zip(watermarks(&zones, raised)) {
            prop_assert!(less.min <= more.min && less.low <= more.low && less.high <= more.high);
        }
    }

    #[test]
    fn a_zone_protects_itself_more_against_higher_zones(
        managed in vec(pages(), 0..6),
        ratios in vec(0..300_u64, 0..6),
    ) {
        for (lower, row) in reserve::protection(&managed, &ratios).iter().enumerate() {
            prop_assert!(row.is_sorted());
            prop_assert!(row[..=lower].iter().all(|&pages| pages == Pages::ZERO));
        }
    }

    #[test]
    fn available_is_between_half_and_all_of_what_could_go(
        free in pages(), file in pages(), reclaimable in pages(), low_watermarks in pages(),
    ) {
        let inputs = Inputs { free, file, reclaimable, low_watermarks, ..Inputs::default() };
        let total = available(inputs).total;
        prop_assert!(total <= free + file + reclaimable);
        prop_assert!(total.0 >= free.0 + file.0 / 2 + reclaimable.0 / 2);
    }

    #[test]
    fn writing_begins_before_writers_wait(
        background in amount(), dirty in amount(), free in pages(), file in pages(),
    ) {
        let limits = thresholds(background, dirty, dirtyable(free, Pages(10), file), PAGE);
        prop_assert!(limits.background < limits.dirty || limits.dirty == Pages::ZERO);
        prop_assert!(limits.freerun() >= limits.background && limits.freerun() <= limits.dirty);
    }

    #[test]
    fn an_empty_active_list_never_makes_the_other_low(inactive in pages(), active in pages()) {
        prop_assert!(!inactive_is_low(inactive, Pages::ZERO, PAGE));
        prop_assert!(!inactive_is_low(active.max(inactive), active.min(inactive), PAGE));
    }

    #[test]
    fn a_window_is_at_least_a_page_and_at_most_the_maximum(
        start in 0..(1_u64 << 40), request in 1..(1_u64 << 20), max in 1..8192_u64,
    ) {
        let max = Pages(max);
        let window = Window::first(start, Pages(request), max);
        prop_assert!(window.size >= Pages(1) && window.size <= max);
        prop_assert!(window.marker() >= start && window.marker() <= start + window.size.0);
        prop_assert!(next_size(initial_size(Pages(request), max), max) >= window.size);
        prop_assert!(window.next(max).size <= max);
    }

    #[test]
    fn no_group_is_protected_beyond_its_usage_nor_all_beyond_their_parent(
        groups in vec((0..(1_u64 << 30), 0..(1_u64 << 30)), 1..5),
        parent_effective in pages(),
        shared in any::<bool>(),
    ) {
        let unclaimed = if shared { Unclaimed::Shared } else { Unclaimed::Lost };
        let parent_usage = Pages(groups.iter().map(|group| group.0).sum());
        let parent_effective = parent_effective.min(parent_usage);
        let siblings_protected = Pages(groups.iter().map(|group| group.0.min(group.1)).sum());
        let mut sum = Pages::ZERO;
        for &(usage, setting) in &groups {
            let inputs = protection::Inputs {
                usage: Pages(usage),
                parent_usage,
                setting: Pages(setting),
                parent_effective,
                siblings_protected,
            };
            let protected = effective(inputs, unclaimed);
            prop_assert!(protected <= inputs.usage);
            sum += protected;
        }
        prop_assert!(sum <= parent_effective);
    }
    #[test]
    fn a_pass_never_scans_more_than_is_due_nor_anonymous_pages_without_swap(
        pass in pass(), list in pages(), protected in pages(), usage in pages(),
    ) {
        let due = due(list, protected, usage, pass.priority);
        prop_assert!(due <= list.max(scan_balance::BATCH));
        let balance = pass.balance();
        for file in [false, true] {
            prop_assert!(balance.share(file, due) <= due);
        }
        let halves = balance.share(false, due) + balance.share(true, due);
        prop_assert!(balance == Balance::Equal || halves <= due);
        prop_assert!(pass.can_swap || balance.share(false, due) == Pages::ZERO);
    }

    #[test]
    fn swappiness_tilts_the_scan_and_costs_stay_within_its_bounds(
        swappiness in 0..201_u64, anon in pages(), file in pages(),
    ) {
        let costs = Costs { anon: anon.0, file: file.0 };
        let of = fractions(swappiness, costs);
        let mirrored = Costs { anon: file.0, file: anon.0 };
        let other = fractions(200 - swappiness, mirrored);
        prop_assert_eq!((of.anon, of.file), (other.file, other.anon));
        let permille = 1000 * of.anon / (of.anon + of.file);
        let (least, most) = scan_balance::anon_permille(swappiness);
        // Fractions of a few hundred are rounded down: a percent at most.
        prop_assert!(permille + 10 >= least && permille <= most + 10, "{permille}");
    }

    #[test]
    fn more_protection_never_means_more_to_scan(
        list in pages(), usage in pages(), less in pages(), more in pages(),
    ) {
        let (less, more) = (less.min(more), less.max(more));
        prop_assume!(less > Pages::ZERO);
        prop_assert!(due(list, less, usage, 0) >= due(list, more, usage, 0));
    }
}
