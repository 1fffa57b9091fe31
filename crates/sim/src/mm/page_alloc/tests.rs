//! Tests of the zones: which watermark holds whom, and what kswapd is woken by.

use super::*;

#[test]
fn allocation_stops_at_low_wakes_kswapd_and_goes_on_to_min() {
    let mut memory = Memory::with_zone(1000, 100);
    let base = memory.take_range(1000).expect("there is room");
    for page in base..base + 875 {
        memory.allocate(page, State::Inactive).expect("above low");
    }
    assert_eq!(memory.zones[0].free, 125);
    assert!(!memory.zones.kswapd.is_awake());
    memory
        .allocate(base + 875, State::Inactive)
        .expect("above min");
    assert!(
        memory.zones.kswapd.is_awake(),
        "the first page under low wakes it"
    );
    for page in base + 876..base + 900 {
        memory.allocate(page, State::Inactive).expect("above min");
    }
    assert_eq!(
        memory.allocate(base + 900, State::Inactive),
        Err(NoPage::OutOfMemory)
    );
    assert_eq!(memory.zones[0].free, 100, "min stays for the kernel");
}

#[test]
fn the_kernels_own_pages_leave_a_zone_at_low_and_wake_kswapd_like_any_other() {
    let mut memory = Memory::with_two_zones(1000, 100);
    memory.zones[1].set_free(125);
    memory
        .zones
        .take_kernel_page(&mut memory.cpu)
        .expect("the lower zone is above low");
    assert_eq!((memory.zones[1].free, memory.zones[0].kernel), (125, 1));
    assert!(!memory.zones.kswapd.is_awake());
    memory.zones[0].set_free(125);
    memory
        .zones
        .take_kernel_page(&mut memory.cpu)
        .expect("above min");
    assert_eq!(
        (memory.zones[1].kernel, memory.zones.kswapd.is_awake()),
        (1, true)
    );
    for zone in memory.zones.iter_mut() {
        zone.set_free(50);
    }
    assert!(
        memory.zones.take_kernel_page(&mut memory.cpu).is_ok(),
        "small needs are met below min"
    );
}

#[test]
fn a_boost_raises_all_marks() {
    let mut memory = Memory::with_zone(1000, 100);
    memory.zones[0].set_free(400);
    assert!(memory.zones.is_balanced(&memory.cpu, 0));
    memory.zones[0].boost = 300;
    assert!(!memory.zones.is_balanced(&memory.cpu, 0) && !memory.zones.is_above_min(&memory.cpu));
}
