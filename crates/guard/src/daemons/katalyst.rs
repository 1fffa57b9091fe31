//! The host watermark handler of kubewharf/katalyst-core's agent.
//!
//! Where it is on, it writes one factor every 30 s and looks at nothing but the memory that huge
//! pages take, which kswapd cannot reclaim: the factor is that much smaller. Without a factor in
//! its configuration it takes that of a reserve in GB of the first NUMA node, between 10 and the
//! same 500, so up to 200 GB a node nothing is different with its reserve of 10 GB.

use alloc::vec;
use alloc::vec::Vec;

use mm::formula::mul_div;
use mm::settings::Setting;

use super::host::{Host, SCALE_FACTOR, setting};

/// The factor that it comes with.
const FACTOR: u64 = 500;

/// The settings to write now.
pub(super) fn decide(host: &Host) -> Vec<Setting> {
    let total = host.meminfo.mem_total.unwrap_or_default();
    let huge = host.meminfo.hugetlb.unwrap_or_default();
    let factor = mul_div(FACTOR, total.saturating_sub(huge).0, total.0);
    match factor {
        0 => Vec::new(),
        factor => vec![setting(SCALE_FACTOR, factor)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::meminfo::Meminfo;
    use mm::units::Kib;

    #[test]
    fn its_factor_is_smaller_by_the_share_of_huge_pages() {
        for (huge, expected) in [
            (None, Some("500")),
            (Some(3 << 20), Some("312")),
            (Some(8 << 20), None),
        ] {
            let host = Host {
                meminfo: Meminfo {
                    mem_total: Some(Kib(8 << 20)),
                    hugetlb: huge.map(Kib),
                    ..Meminfo::default()
                },
                ..Host::default()
            };
            let decided = decide(&host);
            let factor = decided.first().map(|setting| setting.value.as_str());
            assert_eq!(factor, expected, "{huge:?}");
        }
    }
}
