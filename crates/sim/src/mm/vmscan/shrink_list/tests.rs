//! What becomes of single pages.

use super::*;
use crate::mm::lru::List;
use crate::mm::swapfile::Backing;

const BATCH: u64 = 32;

/// A huge page that was used when it was first written, and so much swap space.
fn with_huge(swap: u64) -> (Memory, PageId) {
    let mut memory = Memory::with_zone(20_000, 10);
    memory.swap.add(Backing::Zram { ratio_milli: 4000 }, swap);
    let first = memory.take_range(HUGE_PAGES).expect("there is room");
    assert!(memory.fault_huge(first));
    (memory, first)
}

fn look(memory: &mut Memory) -> Shrunk {
    let control = Control::new(Reclaimer::Direct, BATCH, 60);
    memory.shrink_inactive(&control, ROOT, Kind::Anon, BATCH)
}

#[test]
fn deactivation_for_a_groups_limit_is_no_refill_of_the_machines() {
    for (target, refilled) in [(ROOT, 32), (ROOT + 1, 0)] {
        let mut memory = Memory::with_cache(10_000, 10, 0, 100);
        memory.cpu.current.reclaiming = target;
        memory.shrink_active(ROOT, Lru::ActiveFile, BATCH, 0);
        let events = &memory.cpu.events;
        assert_eq!((events.pgdeactivate, events.pgrefill), (32, refilled));
    }
}

#[test]
fn a_huge_page_is_young_if_any_of_its_pages_was_used() {
    let (mut memory, first) = with_huge(1000);
    assert_eq!(look(&mut memory).scanned, HUGE_PAGES);
    memory.folios.set(first + 300, Flag::Accessed);
    assert_eq!(look(&mut memory).reclaimed, 0);
    assert_eq!(memory.zones.list(Lru::ActiveAnon), HUGE_PAGES, "used twice");
    crate::mm::invariants::conservation(&memory);
}

#[test]
fn a_huge_page_that_nobody_used_goes_to_swap_with_one_batch() {
    let (mut memory, first) = with_huge(1000);
    look(&mut memory);
    assert_eq!(look(&mut memory).reclaimed, HUGE_PAGES);
    assert_eq!(memory.objects.huge_first(first), None);
    assert_eq!(memory.cpu.events.pswpout, HUGE_PAGES);
    crate::mm::invariants::conservation(&memory);
}

#[test]
fn what_swap_has_no_room_for_becomes_active() {
    let (mut memory, _) = with_huge(500);
    let room = memory.swap.free();
    look(&mut memory);
    assert_eq!(look(&mut memory).reclaimed, room);
    assert_eq!(memory.zones.list(Lru::ActiveAnon), HUGE_PAGES - room);
    crate::mm::invariants::conservation(&memory);
}

#[test]
fn pages_that_enter_and_leave_a_list_together_leave_it_as_one_by_one() {
    let mut together = (Folios::default(), List::default());
    together.0.grow(100);
    let mut alone = together.clone();
    let pushed = [40..60, 0..1, 5..9, 70..100];
    for pages in pushed.clone() {
        together.1.push_heads(&mut together.0, pages.clone());
        pages.for_each(|page| alone.1.push_head(&mut alone.0, page));
    }
    for leave in [3_u64, 17, 1, 34] {
        let mut tail = together.1.tail();
        for _ in 0..leave {
            tail = tail.and_then(|page| together.0.previous(page));
            let last = alone.1.tail().expect("it is not empty");
            alone.1.remove(&mut alone.0, last);
        }
        together.1.cut_tail(&mut together.0, tail, leave);
        let ends = |list: &List| (list.len(), list.tail());
        assert_eq!(ends(&together.1), ends(&alone.1));
    }
    together.1.push_head(&mut together.0, 7);
    assert_eq!((together.1.len(), together.1.tail()), (1, Some(7)));
}
