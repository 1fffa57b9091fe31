//! What counts as available.

use super::*;

const ZONES: &str = "Node 0, zone    DMA32
  pages free     1000
        min      10
        low      20
        high     30
        spanned  4096
        present  4096
        managed  4000
        protection: (0, 0)
  pagesets
    cpu: 0
              count: 7
              high:  20
              batch: 5
    cpu: 1
              count: 5
              high:  20
              batch: 5
";

#[test]
fn what_lies_on_the_cpus_lists_is_available_too() {
    let zones = Zoneinfo::parse(ZONES).expect("zones");
    let said = |text| Meminfo::parse(text).expect("amounts");
    let both = said("MemTotal: 16000 kB\nMemAvailable: 1000 kB\n");
    let page = |bytes| PageSize::new(bytes).expect("a page size");
    assert_eq!(
        available(&both, &zones, page(4096)),
        Some(Bytes(1_000 * 1024 + 12 * 4096))
    );
    assert_eq!(
        available(&both, &zones, page(65536)),
        Some(Bytes(1_000 * 1024 + 12 * 65536))
    );
    let before_3_14 = said("MemTotal: 16000 kB\n");
    assert_eq!(available(&before_3_14, &zones, page(4096)), None);
}
