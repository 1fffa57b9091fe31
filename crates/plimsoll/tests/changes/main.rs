//! `apply`, `confirm`, `undo`, `status` and `history` as a user has them.
//!
//! They run in a mount namespace of their own, with files in the place of `/proc/sys`, `/run`,
//! `/etc` and `/var/lib`, so that nothing of this machine is touched. Root and strace are needed.

mod kills;
mod overlaps;
mod place;
#[path = "../schemas/schema.rs"]
mod schema;
mod stories;
mod told;
mod trust;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use place::{Cannot, Place};

/// A test by its name.
type Test = (&'static str, fn(&Place));

const TESTS: &[Test] = &[
    (
        "a_change_that_nobody_confirms_is_taken_back_in_time",
        stories::a_change_that_nobody_confirms_is_taken_back_in_time,
    ),
    (
        "a_confirmed_change_stays_and_its_watcher_ends",
        stories::a_confirmed_change_stays_and_its_watcher_ends,
    ),
    (
        "changes_overlap_and_are_undone_in_any_order",
        stories::changes_overlap_and_are_undone_in_any_order,
    ),
    (
        "what_an_administrator_sets_later_stays_and_is_named",
        stories::what_an_administrator_sets_later_stays_and_is_named,
    ),
    (
        "a_lasting_change_takes_a_name_that_wins_here",
        stories::a_lasting_change_takes_a_name_that_wins_here,
    ),
    (
        "a_watched_change_is_taken_back_when_pages_are_swapped_in",
        stories::a_watched_change_is_taken_back_when_pages_are_swapped_in,
    ),
    (
        "what_is_told_as_json_is_as_its_schema_says",
        stories::what_is_told_as_json_is_as_its_schema_says,
    ),
    (
        "a_change_that_nothing_watches_is_a_trouble_of_status",
        stories::a_change_that_nothing_watches_is_a_trouble_of_status,
    ),
    (
        "a_value_that_kills_is_refused_and_even_so_written",
        stories::a_value_that_kills_is_refused_and_even_so_written,
    ),
    (
        "nothing_is_written_without_root_from_a_container_or_where_it_is_read_only",
        stories::nothing_is_written_without_root_from_a_container_or_where_it_is_read_only,
    ),
    (
        "a_damaged_journal_is_an_error_that_says_how_to_go_on",
        stories::a_damaged_journal_is_an_error_that_says_how_to_go_on,
    ),
    (
        "a_plan_is_held_against_the_rules_of_lint",
        told::a_plan_is_held_against_the_rules_of_lint,
    ),
    (
        "a_change_that_a_later_one_covers_is_said_and_history_is_not_rewritten",
        told::a_change_that_a_later_one_covers_is_said_and_history_is_not_rewritten,
    ),
    (
        "several_changes_are_undone_at_once_or_only_shown",
        told::several_changes_are_undone_at_once_or_only_shown,
    ),
    (
        "a_file_with_lines_of_others_is_taken_and_the_file_that_keeps_it_is_named",
        told::a_file_with_lines_of_others_is_taken_and_the_file_that_keeps_it_is_named,
    ),
    (
        "of_two_that_race_each_says_what_happened",
        told::of_two_that_race_each_says_what_happened,
    ),
    (
        "no_signal_but_kill_ends_what_waits_to_take_a_change_back",
        trust::no_signal_but_kill_ends_what_waits_to_take_a_change_back,
    ),
    (
        "another_user_holds_no_lock_whatever_the_umask",
        trust::another_user_holds_no_lock_whatever_the_umask,
    ),
    (
        "what_another_user_may_have_written_is_not_believed",
        trust::what_another_user_may_have_written_is_not_believed,
    ),
    (
        "a_full_run_is_said_and_nothing_is_written",
        trust::a_full_run_is_said_and_nothing_is_written,
    ),
    (
        "a_vanished_proc_is_an_error_and_no_tunable_is_gone",
        trust::a_vanished_proc_is_an_error_and_no_tunable_is_gone,
    ),
    (
        "an_output_that_takes_nothing_denies_no_change",
        trust::an_output_that_takes_nothing_denies_no_change,
    ),
    (
        "every_kill_leaves_the_old_or_the_new_state",
        kills::every_kill_leaves_the_old_or_the_new_state,
    ),
    (
        "of_two_changes_that_overlap_a_kill_loses_no_original",
        overlaps::of_two_changes_that_overlap_a_kill_loses_no_original,
    ),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.iter().any(|word| word == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    match Place::enter() {
        Ok(place) => run(&place, &wanted),
        Err(Cannot::Here(code)) => ExitCode::from(code),
        Err(Cannot::Skip(why)) => {
            for (name, _) in TESTS {
                println!("test {name} ... skipped: {why}");
            }
            ExitCode::SUCCESS
        }
    }
}

fn run(place: &Place, wanted: &[String]) -> ExitCode {
    let names: Vec<&String> = wanted
        .iter()
        .filter(|word| !word.starts_with('-') && word.parse::<usize>().is_err())
        .collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|it| name.contains(*it));
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in TESTS.iter().filter(|(name, _)| is_wanted(name)) {
        place.reset();
        let is_well = catch_unwind(AssertUnwindSafe(|| test(place))).is_ok();
        println!("test {name} ... {}", if is_well { "ok" } else { "FAILED" });
        if is_well {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    place.reset();
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured");
    ExitCode::from(u8::from(failed > 0))
}
