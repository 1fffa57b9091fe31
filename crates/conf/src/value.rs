//! The tunables behind the files that are written at boot.

use mm::catalogue::{self, Tunable};

/// The tunable of the catalogue with this file; none of those that each device has.
#[must_use]
pub fn tunable(path: &str) -> Option<&'static Tunable> {
    catalogue::all().find(|tunable| tunable.path == path)
}

/// The file of the tunable that one with this file switches off.
#[must_use]
pub fn partner(path: &str) -> Option<&'static str> {
    let partner = tunable(path)?.partner?;
    catalogue::find(partner).map(|partner| partner.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_knows_its_tunable_and_the_one_it_switches_off() {
        let bytes = tunable("proc/sys/vm/dirty_bytes").expect("a tunable");
        assert_eq!(partner(bytes.path), Some("proc/sys/vm/dirty_ratio"));
        assert_eq!(partner("proc/sys/vm/swappiness"), None);
    }
}
