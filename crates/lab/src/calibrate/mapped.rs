//! Mapping and taking mapped pages of files: `calibration/mapped.toml`.

use scenario::calibration::Costs;

use super::error::CalibrateError;
use super::figures::{Figures, positive, ps};
use super::swap::map_file;

/// A page that one process maps costs `unmap` more to reclaim than one that nobody maps; a fault
/// on pages that another process maps costs `map-again`.
pub(super) fn costs(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    let per_page = |label: &str| {
        let (before, after) = (format!("before {label}"), format!("after {label}"));
        let stolen = figures.growth("pgsteal_file", &before, &after)?;
        Ok::<_, CalibrateError>(figures.duration(label)? / positive(stolen, label)?)
    };
    costs.unmap_ps = ps(per_page("mapped")? - per_page("unmapped")?);
    costs.map_again_ps = ps(map_file(costs, figures, "map again")?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use mm::capture::{Capture, Frame};
    use scenario::outcome::STEPS;

    use super::*;

    /// 2.0 us a page for one that is mapped; the two intervals differ in length. Mapping again
    /// takes 6 us for a fault, beside 0.1 us for a page and 1 us for an operation.
    #[test]
    fn what_made_up_mappings_cost_is_found() {
        let snapshot = |label: &str, stolen: u64| {
            let mut frame = Frame {
                label: Some(label.to_owned()),
                ..Frame::default()
            };
            let vmstat = format!("pgsteal_file {stolen}\n");
            frame.files.insert("proc/vmstat".to_owned(), vmstat);
            frame
        };
        let mut last = Frame::default();
        let steps = "p\tunmapped\t0\t18000000\t0\t0\tdone\t0\t0\t0,0\n\
                     p\tmapped\t0\t30400000\t0\t0\tdone\t0\t0\t0,0\n\
                     q\tmap again\t0\t496400\t10\t4194304\tdone\t0\t0\t0,0\n";
        last.files.insert(STEPS.to_owned(), steps.to_owned());
        let frames = vec![
            snapshot("before unmapped", 0),
            snapshot("after unmapped", 10_000),
            snapshot("before mapped", 12_000),
            snapshot("after mapped", 20_000),
            last,
        ];
        let figures = Figures::new(Capture { frames }).expect("an outcome");
        let mut found = Costs {
            loop_ps: 300_000,
            operation_ps: 700_000,
            load_ps: 100_000,
            ..Costs::default()
        };
        costs(&mut found, &figures).expect("figures");
        assert_eq!((found.unmap_ps, found.map_again_ps), (2_000_000, 6_000_000));
    }
}
