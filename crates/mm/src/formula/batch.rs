//! Batches of the per-CPU lists (`zone_batchsize` in `mm/page_alloc.c`, 6.1 and 6.12).

/// Pages that a zone of `managed` pages of 4 KiB moves to or from a per-CPU list at a time: a
/// quarter of a thousandth of it, of 1 MiB at most, times 1.5, rounded down to one less than a
/// power of two.
#[must_use]
pub fn zone_batchsize(managed: u64) -> u64 {
    let quarter = (managed >> 10).min((1 << 20) / 4096) / 4;
    let batch = quarter.max(1);
    let power = 1 << (batch + batch / 2).ilog2();
    (power - 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_what_zoneinfo_prints() {
        // A kernel's own zones of 15 MiB, 700 MiB, and 5 and 13 GiB.
        for (managed, batch) in [(3840, 1), (179_400, 63), (1_274_567, 63), (3_335_878, 63)] {
            assert_eq!(zone_batchsize(managed), batch, "{managed}");
        }
        assert_eq!((zone_batchsize(45_055), zone_batchsize(45_056)), (7, 15));
    }
}
