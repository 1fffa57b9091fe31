//! Time series as text: what `vmstat` and `sar` print, a dump of node_exporter, and the frames of
//! a capture, all as columns of one meaning and one unit.
//!
//! A series holds what was printed and nothing else: a value that a row lacks is missing, never 0.

mod columns;
mod frames;
mod item;
mod prometheus;
mod reclaim;
mod sadf;
mod sar;
mod summary;
mod swapping;
mod table;
mod vmstat;
mod word;

pub use columns::{Column, MOST_ROWS, Row, Series, Source, Span};
pub use frames::series as of_frames;
pub use item::{Item, Kind, Unit};
pub use prometheus::{NOTE as NODE_EXPORTER, node_exporter, scraped_at};
pub use reclaim::{POOR, Reclaim};
pub use sar::{halve_steals, pages_to_kib};
pub use summary::Summary;
pub use swapping::{BOTH_WAYS, ROWS, Swapping};
pub use table::Builder;

/// Where the text of `vmstat` is kept in a frame.
pub const VMSTAT: &str = "plimsoll/tools/vmstat";
/// Where the text of `sar` is kept in a frame.
pub const SAR: &str = "plimsoll/tools/sar";
/// Where the output of `sadf -j` is kept in a frame.
pub const SADF: &str = "plimsoll/tools/sadf";

impl Series {
    /// The path under which a frame keeps this text; `None` where it is no series that is known.
    #[must_use]
    pub fn path_of(text: &str) -> Option<&'static str> {
        if is_sadf(text) {
            return Some(SADF);
        }
        let vmstat = || vmstat::parse(text).map(|_| VMSTAT);
        vmstat().or_else(|| sar::parse(text).map(|_| SAR))
    }

    /// The series that the text of this path is; `None` where it has no row.
    #[must_use]
    pub fn parse(path: &str, text: &str) -> Option<Self> {
        match path {
            VMSTAT => vmstat::parse(text),
            SAR => sar::parse(text),
            SADF => sadf::parse(text),
            _ => None,
        }
    }
}

/// The path under which a frame keeps this text: [`VMSTAT`], [`SAR`] or [`SADF`]; `None` where it
/// is none of them.
#[must_use]
pub fn recognise(text: &str) -> Option<&'static str> {
    Series::path_of(text)
}

/// Whether the text is what `sadf -j` writes, whole or cut off.
fn is_sadf(text: &str) -> bool {
    let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    start.starts_with('{')
        && ["\"sysstat\"", "\"hosts\"", "\"statistics\""]
            .iter()
            .all(|key| text.contains(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_text_has_its_path_and_other_texts_have_none() {
        let vmstat = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id \
                      wa st\n 1  0      0 103656      0  31048    0    0    53     1  105   55  3 \
                      12 83  2  0\n";
        assert_eq!(recognise(vmstat), Some(VMSTAT));
        let sar = "16:38:12     pswpin/s pswpout/s\n16:38:13         0.00      1.00\n";
        assert_eq!(recognise(sar), Some(SAR));
        let sadf = "{\"sysstat\": {\"hosts\": [{\"statistics\": [";
        assert_eq!(recognise(sadf), Some(SADF));
        for other in [
            "",
            "MemTotal: 1 kB\n",
            "{\"sysstat\": 1}",
            "pgpgin 12\nnr_free_pages 3\n",
        ] {
            assert_eq!(recognise(other), None, "{other}");
        }
    }
}
