//! Reclaim as older releases had it.

use super::*;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::swapfile::Backing;
use crate::mm::vmscan::state::Balancing;
use alloc::vec::Vec;

const PAGES: u64 = 8192;

/// As much page cache as anonymous memory, all that nobody used since it came.
fn with_both(without: &[Mechanism]) -> Memory {
    let mut memory = Memory::with_zone(40_000, 10);
    let rules = &mut memory.cpu.rules.mechanisms;
    without.iter().for_each(|&it| rules.set(it, false));
    memory.swap.add(Backing::Zram { ratio_milli: 4000 }, PAGES);
    for kind in [Kind::File, Kind::Anon] {
        let base = memory.take_range(PAGES).expect("there is room");
        (base..base + PAGES as PageId).for_each(|page| add(&mut memory, kind, page));
    }
    memory
}

fn add(memory: &mut Memory, kind: Kind, page: PageId) {
    match kind {
        Kind::File => memory.cache(page, State::Inactive),
        Kind::Anon => {
            memory.allocate(page, State::Inactive).expect("it fits");
            memory.folios.set(page, Flag::Anon);
            memory.folios.anon_pages += 1;
        }
    }
    let (cpu, zones) = (&memory.cpu, &mut memory.zones);
    memory.lruvecs.add_new(cpu, zones, &mut memory.folios, page);
}

#[test]
fn before_3_8_anonymous_memory_was_scanned_beside_plenty_of_page_cache() {
    let scanned = |without: &[Mechanism]| {
        let mut memory = with_both(without);
        pass(&mut memory, 2, 10_000);
        let events = &memory.cpu.events;
        (events.pgscan_anon, events.pgscan_file)
    };
    assert_eq!(scanned(&[]), (0, 2048));
    let both = [Mechanism::SparesAnonBesideCache, Mechanism::WeighsByCost];
    // 60 and 140 parts of 200 of a quarter of each list.
    assert_eq!(scanned(&both), (614, 1433));
}

#[test]
fn before_5_8_a_kind_in_use_was_scanned_less() {
    let both = [Mechanism::SparesAnonBesideCache, Mechanism::WeighsByCost];
    let mut memory = with_both(&both);
    let (cpu, lruvecs) = (&memory.cpu, &mut memory.lruvecs);
    lruvecs.note_recent(cpu, ROOT, Kind::Anon, 0, PAGES);
    pass(&mut memory, 2, 10_000);
    assert!(memory.cpu.events.pgscan_anon < 10);
}

#[test]
fn before_3_5_a_swappiness_of_zero_did_not_spare_anonymous_memory_from_the_last_pass() {
    let mut memory = with_both(&[Mechanism::WeighsByCost]);
    let mut control = Control::new(Reclaimer::Kswapd, 10, 0);
    control.priority = 0;
    let at_zero = |memory: &mut Memory| memory.lruvecs.balance_by_use(&memory.cpu, ROOT, &control);
    assert_eq!(
        at_zero(&mut memory),
        Balance::Fractions(Both {
            anon: 0,
            file: 200 * (PAGES / 2 + 1)
        })
    );
    let rules = &mut memory.cpu.rules.mechanisms;
    rules.set(Mechanism::SparesAnonAtZero, false);
    assert_eq!(at_zero(&mut memory), Balance::Equal);
}

#[test]
fn before_5_9_anonymous_pages_began_on_the_active_list_and_one_use_was_enough() {
    let mut memory = with_both(&[Mechanism::AnonBeginsInactive]);
    assert_eq!(memory.zones.list(Lru::ActiveAnon), PAGES);
    memory.shrink_active(ROOT, Lru::ActiveAnon, 64, 0);
    let mut tail = memory.lruvecs[ROOT].lists[Lru::InactiveAnon as usize].tail();
    let used = tail.take().expect("there are 64");
    memory.folios.set(used, Flag::Accessed);
    let control = Control::new(Reclaimer::Direct, BATCH, 60);
    memory.shrink_inactive(&control, ROOT, Kind::Anon, 64);
    assert_eq!(memory.cpu.events.pswpout, 63);
    assert!(memory.folios.is_listed_active(used));
}

#[test]
fn before_3_11_the_priority_fell_to_zero_until_a_batch_was_got() {
    let mut memory = Memory::with_cache(1000, 10, 500, 0);
    let mut rules = memory.cpu.rules;
    rules.mechanisms.set(Mechanism::KswapdStopsAtGoal, false);
    let mut run = Balancing {
        priority: 12,
        ..Balancing::default()
    };
    let mut after = |reclaimed| {
        let mut pass = memory.begin_pass(Control::new(Reclaimer::Kswapd, 100, 60));
        (pass.scanned, pass.reclaimed) = (1000, reclaimed);
        let goes_on = run.finish_pass(&pass, &rules);
        (goes_on, run.priority)
    };
    assert_eq!([after(31), after(0)], [(true, 11), (true, 10)]);
    assert_eq!(after(1), (true, 12), "a batch, in three passes");
    let vain: Vec<_> = (0..13).map(|_| after(0)).collect();
    assert_eq!(vain[11], (true, 0));
    assert_eq!(vain[12], (false, 0), "the whole lists have been scanned");
}
