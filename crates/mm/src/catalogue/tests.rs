//! Tests of the table itself, then of what is made from it.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::names::whole;
use super::*;
use crate::settings::Setting;

fn setting(tunable: &str, value: &str) -> Setting {
    Setting {
        tunable: tunable.into(),
        value: value.into(),
    }
}

#[test]
fn names_and_paths_are_unique() {
    for (index, tunable) in whole().enumerate() {
        let twin = whole()
            .skip(index + 1)
            .find(|other| other.name == tunable.name || other.path == tunable.path);
        assert_eq!(twin, None, "{}", tunable.name);
    }
}

#[test]
fn groups_stand_together() {
    let mut groups: Vec<_> = all().map(Tunable::group).collect();
    groups.dedup();
    assert_eq!(
        groups,
        [
            "vm",
            "thp",
            "khugepaged",
            "lru_gen",
            "ksm",
            "zswap",
            "numa",
            "swap"
        ]
    );
}

#[test]
fn a_name_ends_as_its_path_does_and_no_path_begins_with_a_slash() {
    for tunable in whole() {
        let (_, file) = tunable.path.rsplit_once('/').expect("a folder");
        assert!(tunable.name.ends_with(file), "{}", tunable.name);
        assert!(!tunable.path.starts_with('/'), "{}", tunable.path);
    }
}

#[test]
fn partners_name_each_other_and_one_of_them_rules_by_default() {
    for tunable in all().filter(|tunable| tunable.partner.is_some()) {
        let partner = tunable.partner.and_then(find).expect("the partner exists");
        assert_eq!(partner.partner, Some(tunable.name));
        let ruled = [tunable, partner].map(|t| t.default == DefaultRule::Partner);
        assert_eq!(
            ruled.iter().filter(|&&ruled| ruled).count(),
            1,
            "{}",
            tunable.name
        );
    }
}

#[test]
fn fixed_defaults_can_be_written() {
    for tunable in whole() {
        if let DefaultRule::Fixed(value) = tunable.default {
            assert!(tunable.taken(value).is_some(), "{} = {value}", tunable.name);
        }
    }
}

#[test]
fn every_effect_is_one_sentence() {
    for tunable in whole() {
        let effect = tunable.effect;
        assert!(
            effect.len() > 20 && effect.ends_with('.'),
            "{}",
            tunable.name
        );
        assert!(
            !effect.contains(". "),
            "{}: more than one sentence",
            tunable.name
        );
        assert!(
            !effect.contains('\n') && !effect.contains("  "),
            "{}",
            tunable.name
        );
    }
}

#[test]
fn ranges_are_not_empty() {
    for tunable in whole() {
        if let Values::Integer { min, max } = tunable.values {
            assert!(min < max || tunable.is_action(), "{}", tunable.name);
        }
    }
}

#[test]
fn the_tunables_of_the_five_systems_are_there() {
    for name in [
        "vm.min_free_kbytes",
        "vm.swappiness",
        "vm.workingset_protection",
        "vm.anon_min_ratio",
        "vm.clean_low_ratio",
        "vm.clean_min_ratio",
        "lru_gen.min_ttl_ms",
        "vm.dirty_background_ratio",
        "vm.dirty_ratio",
        "vm.dirty_expire_centisecs",
        "ksm.pages_to_scan",
        "ksm.merge_across_nodes",
        "ksm.advisor_mode",
        "thp.enabled",
    ] {
        assert!(find(name).is_some(), "{name}");
    }
}

#[test]
fn a_good_setting_finds_its_tunable() {
    for (name, value) in [
        ("vm.min_free_kbytes", "1500000"),
        ("vm.dirty_bytes", "8192"),
        ("vm.lowmem_reserve_ratio", "256\t256 32 0 0"),
        ("thp.defrag", "defer+madvise"),
        ("lru_gen.enabled", "0x0007"),
        ("lru_gen.enabled", "y"),
        ("zswap.compressor", "zstd"),
        ("zswap.enabled", "Y"),
    ] {
        let setting = setting(name, value);
        let found = check(&setting).map(|named| (named.tunable.name, named.device()));
        assert_eq!(found, Ok((name, None)));
    }
}

#[test]
fn a_devices_own_tunable_is_found_by_its_pattern() {
    let of = |name: &str| {
        let found = named(name)?;
        Some((found.tunable.kernel_name(), found.path()))
    };
    let stick = |file: &str| Some(alloc::format!("sys/block/usb stick/bdi/{file}"));
    for file in ["min_ratio", "max_ratio", "strict_limit"] {
        let name = alloc::format!("bdi.usb stick.{file}");
        assert_eq!(of(&name).map(|(_, path)| path), stick(file));
    }
    // A device's name may hold a dot, and no more than a name.
    assert_eq!(
        of("bdi.a.b.max_ratio").map(|found| found.0),
        Some("max_ratio")
    );
    for none in [
        "bdi.max_ratio",
        "bdi..max_ratio",
        "bdi.a/b.max_ratio",
        "bdi.a.queue",
    ] {
        assert_eq!(of(none), None, "{none}");
    }
    let said = |name, value| check(&setting(name, value)).expect_err("bad").to_string();
    assert_eq!(
        said("bdi.stick.max_ration", "5"),
        "bdi.stick.max_ration: no such tunable; did you mean bdi.stick.max_ratio?"
    );
    assert_eq!(
        said("bdi.stick.max_ratio", "101"),
        "bdi.stick.max_ratio = 101: expected an integer from 0 to 100"
    );
}

#[test]
fn the_rows_of_devices_have_their_files_name_and_a_place_for_the_device() {
    for tunable in of_devices() {
        let file = tunable.kernel_name();
        assert_eq!(tunable.name, alloc::format!("bdi.DEVICE.{file}"));
        assert_eq!(tunable.path, alloc::format!("sys/block/DEVICE/bdi/{file}"));
        assert!(!tunable.effect.is_empty() && find(tunable.name).is_none());
    }
}

#[test]
fn a_bad_value_is_told_with_what_it_should_be() {
    let message = |name, value| check(&setting(name, value)).expect_err("bad").to_string();
    assert_eq!(
        message("vm.swappiness", "300"),
        "vm.swappiness = 300: expected an integer from 0 to 200"
    );
    assert_eq!(
        message("thp.enabled", "sometimes"),
        "thp.enabled = sometimes: expected always, madvise, or never"
    );
    for (name, value) in [
        ("vm.swappiness", ""),
        ("vm.swappiness", "+60"),
        ("vm.swappiness", "-1"),
        ("vm.swappiness", "60 "),
        ("vm.swappiness", "010"),
        ("vm.dirty_bytes", "0"),
        ("vm.lowmem_reserve_ratio", ""),
        ("lru_gen.enabled", "8"),
        ("lru_gen.enabled", "0x+7"),
        ("zswap.compressor", "a b"),
    ] {
        assert!(check(&setting(name, value)).is_err(), "{name} = {value}");
    }
}

#[test]
fn an_unknown_name_is_told_with_the_nearest() {
    let message = |name| check(&setting(name, "1")).expect_err("unknown").to_string();
    let meant = "; did you mean vm.swappiness?";
    for name in [
        "vm.swapiness",
        "swappiness",
        "vm/swappiness",
        "/proc/sys/vm/swappiness",
        "swapiness",
    ] {
        assert_eq!(
            message(name),
            alloc::format!("{name}: no such tunable{meant}")
        );
    }
    assert_eq!(message("teapot.lid"), "teapot.lid: no such tunable");
}

#[test]
fn a_file_is_read_as_it_would_be_written() {
    let value = |name: &str, text| find(name).expect("a tunable").value_in(text);
    assert_eq!(value("thp.enabled", "always [madvise] never\n"), "madvise");
    assert_eq!(value("vm.swappiness", "60\n"), "60");
    assert_eq!(
        value("vm.lowmem_reserve_ratio", "256\t256\t32\n"),
        "256 256 32"
    );
}

#[test]
fn two_spellings_of_one_value_mean_the_same() {
    let same = |name: &str, a, b| find(name).expect("a tunable").means_same(a, b);
    assert!(same("lru_gen.enabled", "0x0007\n", "y"));
    assert!(same("lru_gen.enabled", "0x0000", "0"));
    assert!(same("zswap.enabled", "Y\n", "1"));
    assert!(same("thp.enabled", "[always] madvise never", "always"));
    assert!(same("vm.swappiness", "074", "60"));
    assert!(!same("vm.swappiness", "60", "61"));
}
