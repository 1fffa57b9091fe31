//! Studies on other machines.

use mm::settings::Setting;
use scenario::workload::Size;

use super::*;
use crate::BUILT_IN;

fn gib(count: u64) -> Bytes {
    Bytes(count << 30)
}

#[test]
fn every_built_in_study_goes_onto_a_larger_and_a_smaller_machine() {
    for (name, _) in BUILT_IN {
        let study = Study::built_in(name).unwrap();
        let own = study.arms[0].machine.memory;
        for memory in [Bytes(own.0 / 2), Bytes(own.0 * 4)] {
            for disk in [None, Some(DiskKind::Hdd), Some(DiskKind::Nvme)] {
                let at_hand = AtHand {
                    memory: Some(memory),
                    disk,
                    ..AtHand::default()
                };
                let fitted = study
                    .on(&at_hand)
                    .unwrap_or_else(|why| panic!("{name}: {why}"));
                let machine = &fitted.arms[0].machine;
                assert_eq!(machine.memory, memory, "{name}");
                let files = |study: &Study| {
                    let files = &study.arms[0].machine.files;
                    files.iter().map(|file| file.size.0).sum::<u64>() as f64
                };
                if files(&study) > 0.0 {
                    let grown = files(&fitted) / files(&study);
                    let wanted = memory.0 as f64 / own.0 as f64;
                    assert!((grown / wanted - 1.0).abs() < 0.02, "{name}: {grown}");
                }
                assert_eq!(fitted.answer, None, "{name}");
                assert!(!speaks_of_a_size(&fitted.title), "{name}: {}", fitted.title);
            }
        }
    }
}

#[test]
fn nothing_at_hand_leaves_every_run_as_it_is() {
    for (name, _) in BUILT_IN {
        let study = Study::built_in(name).unwrap();
        let same = study.on(&AtHand::default()).unwrap();
        assert_eq!(same.arms, study.arms, "{name}");
    }
}

#[test]
fn swap_and_cpus_are_those_at_hand() {
    let study = Study::built_in("memory-hogs").unwrap();
    let with = |swap| {
        let at_hand = AtHand {
            cpus: Some(4),
            swap: Some(swap),
            ..AtHand::default()
        };
        study.on(&at_hand).unwrap().arms.swap_remove(0).machine
    };
    assert!(with(SwapAtHand::None).swaps.is_empty());
    assert_eq!(
        with(SwapAtHand::Disk(Bytes(256 << 20))).swaps[0].size,
        Bytes(256 << 20)
    );
    let zram = with(SwapAtHand::Zram(Bytes(128 << 20)));
    assert_eq!((zram.swaps[0].size, zram.cpus), (Bytes(128 << 20), 4));
    assert!(matches!(
        zram.swaps[0].backing,
        scenario::machine::SwapBacking::Zram { ratio_milli: 3000 }
    ));
}

#[test]
fn the_first_arm_is_the_machine_as_it_is() {
    let study = Study::built_in("min-free-kbytes").unwrap();
    let swappiness = Setting {
        tunable: "vm.swappiness".to_owned(),
        value: "10".to_owned(),
    };
    let mut at_hand = AtHand {
        memory: Some(gib(16)),
        settings: Settings(vec![swappiness]),
        ..AtHand::default()
    };
    let first = |at_hand: &AtHand| study.on(at_hand).unwrap().arms.swap_remove(0);
    assert_eq!(first(&at_hand).settings.get("vm.min_free_kbytes"), None);
    assert_eq!(first(&at_hand).base.get("vm.swappiness"), Some("10"));
    let known = ("vm.min_free_kbytes".to_owned(), "90112".to_owned());
    at_hand.tunables.extend([known]);
    let found = first(&at_hand);
    assert_eq!(found.settings.get("vm.min_free_kbytes"), Some("90112"));
}

#[test]
fn the_size_of_a_request_stays_and_what_is_read_grows() {
    let study = Study::built_in("memory-hogs").unwrap();
    let at_hand = AtHand {
        memory: Some(gib(2)),
        ..AtHand::default()
    };
    let text = study.on(&at_hand).unwrap().text;
    assert!(text.contains("block = \"64 KiB\"") && !text.contains("block = \"256 KiB\""));
    assert!(
        text.contains("amount = \"128 MiB\", pattern"),
        "32 MiB grew fourfold"
    );
    assert_eq!(
        quantity::workload_size("98 % of available").ok(),
        Some(Size::OfAvailable { thousandths: 980 })
    );
}
