//! The model on the built-in calibrations: machines of every size boot with sane numbers.

use mm::machine::Machine;
use mm::scenario::Scenario;
use mm::settings::{Setting, Settings};
use mm::units::{Bytes, Nanos, PageSize};
use mm::workload::{Action, Process, Start, Step, Workload};
use mm::zoneinfo::Zoneinfo;
use plimsoll_lab::calibration;

/// A machine that does nothing but look at itself.
fn idle(memory: Bytes) -> Scenario {
    let step = Step {
        label: Some("idle".to_owned()),
        action: Action::Snapshot,
    };
    Scenario {
        study: "sizes".to_owned(),
        arm: "only".to_owned(),
        machine: Machine {
            memory,
            cpus: 1,
            nodes: 1,
            disks: vec![],
            swaps: vec![],
            files: vec![],
        },
        workload: Workload {
            cgroups: vec![],
            processes: vec![Process {
                name: "administrator".to_owned(),
                start: Start::After(Nanos::ZERO),
                count: 1,
                cgroup: None,
                oom_score_adj: 0,
                address_space: None,
                steps: vec![step],
            }],
            deadline: None,
        },
        base: Settings(vec![Setting {
            tunable: "lru_gen.enabled".to_owned(),
            value: "0".to_owned(),
        }]),
        arm_settings: Settings::default(),
        seed: 1,
        sample_every: Nanos::SECOND,
    }
}

/// Pages are conserved at the samples (asserted inside); here the kernel's numbers agree.
#[test]
fn machines_from_256_mib_to_4_tib_boot_with_sane_watermarks() {
    let sizes = [
        256,
        512,
        700,
        1536,
        3072,
        3400,
        3584,
        3585,
        4096,
        6144,
        16 << 10,
        256 << 10,
        4 << 20,
    ];
    for kernel in calibration::kernels() {
        let calibration = calibration::built_in(kernel).expect("it is built in");
        for mib in sizes {
            let memory = Bytes(mib << 20);
            let capture = sim::run(&idle(memory), &calibration).expect("it boots");
            let frame = capture.labelled("idle").expect("the snapshot");
            let text = frame.file("proc/zoneinfo").expect("the file");
            let zones = Zoneinfo::parse(text).expect("the kernel's format").zones;
            let managed: u64 = zones.iter().map(|zone| zone.managed.0).sum();
            let pages = memory.pages_floor(PageSize::FOUR_KIB).0;
            assert!(
                managed < pages && managed > pages * 3 / 4,
                "{kernel}, {mib} MiB: {managed}"
            );
            for zone in zones.iter().filter(|zone| zone.is_populated()) {
                let marks = zone.unboosted();
                assert!(
                    marks.min <= marks.low && marks.low <= marks.high,
                    "{zone:?}"
                );
                assert!(
                    marks.high < zone.free && zone.free <= zone.managed,
                    "{zone:?}"
                );
                assert!(
                    zone.managed <= zone.present && zone.present <= zone.spanned,
                    "{zone:?}"
                );
            }
        }
    }
}
