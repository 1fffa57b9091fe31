//! What the watermarks are made from, and who chose it.

use mm::recompute::Chooser;
use mm::snapshot::Snapshot;
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// What the watermarks are made from.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct WatermarkRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_free_kbytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    khugepaged_min_free_kbytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watermark_scale_factor: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watermark_boost_factor: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside_zones_bytes: Option<u64>,
}

const KHUGEPAGED: &str = "khugepaged";
const ROOT: &str = "square_root";

fn word(chooser: Chooser) -> &'static str {
    match chooser {
        Chooser::Khugepaged => KHUGEPAGED,
        Chooser::Root => ROOT,
        Chooser::Set => "set",
    }
}

/// The value that khugepaged asks for: the one that is set where that may be it, else the most.
fn khugepaged_wants(snapshot: &Snapshot) -> Option<u64> {
    let chosen = snapshot.chosen_min_free()?;
    let asked = chosen.khugepaged?;
    let set = snapshot.number("vm.min_free_kbytes");
    let is_it = set.filter(|set| asked.contains(set));
    is_it.or(chosen.is_known.then_some(*asked.end()))
}

impl WatermarkRule {
    /// The tunables, and what they are measured against.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        Self {
            min_free_kbytes: snapshot.number("vm.min_free_kbytes"),
            khugepaged_min_free_kbytes: khugepaged_wants(snapshot),
            chosen_by: snapshot.min_free_chooser().map(word),
            watermark_scale_factor: snapshot.number("vm.watermark_scale_factor"),
            watermark_boost_factor: snapshot.number("vm.watermark_boost_factor"),
            outside_zones_bytes: outside_zones(snapshot).map(|bytes| bytes.0),
        }
    }

    /// Writes the last rows of the section.
    pub(crate) fn write(&self, page: &mut Page) {
        let any = self
            .min_free_kbytes
            .or(self.watermark_scale_factor)
            .is_some();
        let outside = self.outside_zones_bytes.filter(|&bytes| bytes > 0);
        if any || outside.is_some() {
            page.line("");
        }
        if let Some(value) = self.min_free_kbytes {
            let about = match (self.chosen_by, self.khugepaged_min_free_kbytes) {
                (Some(KHUGEPAGED), _) => "what khugepaged asks for".to_owned(),
                (_, Some(wanted)) if wanted > value => format!("khugepaged asks for {wanted}"),
                (Some(ROOT), _) => "what the kernel chooses by its size".to_owned(),
                _ => "spread over the zones: the min marks".to_owned(),
            };
            page.row("vm.min_free_kbytes", value, &about);
        }
        if let Some(value) = self.watermark_scale_factor {
            let percent = format!("{}.{:02}", value / 100, value % 100);
            let about = format!("steps: min/4, at least {percent} % of a zone");
            page.row("vm.watermark_scale_factor", value, &about);
        }
        if let Some(amount) = outside.map(Bytes) {
            let text = format!(
                "{amount} of MemTotal are in no zone yet: this kernel brings memory in when it is \
                 needed, and makes the marks again then."
            );
            page.paragraph(2, &text);
        }
    }
}

/// Memory that the kernel counts and no zone manages yet. It takes all zones of a live machine to
/// say so: in a paste zones may be missing, and a container's meminfo is not its host's.
fn outside_zones(snapshot: &Snapshot) -> Option<Bytes> {
    if !snapshot.is_live || !snapshot.zones_are_whole() {
        return None;
    }
    let total = snapshot.meminfo.as_ref()?.mem_total?.bytes();
    Some(total.saturating_sub(snapshot.managed().bytes(snapshot.page)))
}
