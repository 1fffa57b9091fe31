//! How many VMs run at a time.

use std::num::NonZeroUsize;

use host::{Root, facts};
use lab::experiment::cpus;
use lab::vm::Clock;
use mm::units::Bytes;
use study::Study;

/// What QEMU takes beside the guest's memory: its translated code, the images it has open.
const BESIDE: Bytes = Bytes(512 << 20);

/// Where nobody says: as many as there are CPUs in virtual time, since such VMs do not notice each
/// other, but no more than fit into the memory that is available; one in wall-clock time.
pub(super) fn usual(clock: Clock, study: &Study, arms: &[&str]) -> NonZeroUsize {
    match clock {
        Clock::Wall => NonZeroUsize::MIN,
        Clock::Virtual => fitting(
            cpus(),
            facts::available(&Root::default()),
            largest(study, arms),
        ),
    }
}

/// The most memory that an arm's machine has.
fn largest(study: &Study, arms: &[&str]) -> Bytes {
    let taking_part = |arm: &&study::Arm| arms.contains(&arm.name.as_str());
    let arms = study.arms.iter().filter(taking_part);
    arms.map(|arm| arm.machine.memory).max().unwrap_or(Bytes(0))
}

fn fitting(cpus: NonZeroUsize, available: Option<Bytes>, machine: Bytes) -> NonZeroUsize {
    let each = machine.0.saturating_add(BESIDE.0);
    let fit = available.map_or(usize::MAX, |available| {
        usize::try_from(available.0 / each).unwrap_or(usize::MAX)
    });
    NonZeroUsize::new(fit).map_or(NonZeroUsize::MIN, |fit| fit.min(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_vm_for_each_cpu_as_far_as_they_fit_and_always_one() {
        let cpus = NonZeroUsize::new(8).expect("not zero");
        let fit = |gib: u64| {
            let available = Some(Bytes(gib << 30));
            fitting(cpus, available, Bytes(3840 << 20)).get()
        };
        assert_eq!([1, 9, 20, 200].map(fit), [1, 2, 4, 8]);
        assert_eq!(fitting(cpus, None, Bytes(1 << 40)), cpus);
    }

    #[test]
    fn wall_clock_time_has_one_at_a_time() {
        let study = lab::find::find("min-free-kbytes").expect("it is built in");
        assert_eq!(usual(Clock::Wall, &study, &["raised"]), NonZeroUsize::MIN);
        assert_eq!(largest(&study, &["raised"]), Bytes(3840 << 20));
    }
}
