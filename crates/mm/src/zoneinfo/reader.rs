//! Reads zoneinfo line by line: where a zone begins, which part of it a line belongs to.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{MOST_ERRORS, NodeStats, PATH, Pageset, Watermarks, Zone, ZoneKind, Zoneinfo};
use crate::items::Items;
use crate::text::{Line, ParseError};
use crate::units::Pages;

/// Which part of a zone's text the next line belongs to.
#[derive(Default)]
enum Part {
    #[default]
    Zone,
    NodeStats,
    Pagesets,
}

#[derive(Default)]
pub(super) struct Reader {
    info: Zoneinfo,
    without_managed: bool,
    draft: Option<Draft>,
    part: Part,
}

/// A zone of which not every line has been read.
struct Draft {
    node: u32,
    kind: ZoneKind,
    header: (usize, Box<str>),
    marks: Items,
    protection: Vec<Pages>,
    items: Items,
    pagesets: Vec<Pageset>,
}

/// The lines of a zone that are its size and marks, not its statistics.
const MARKS: [&str; 10] = [
    "free", "boost", "min", "low", "high", "promo", "spanned", "present", "managed", "cma",
];

impl Reader {
    pub(super) fn line(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let Some(draft) = &mut self.draft else {
            return Err(line.error(line.text, "\"Node N, zone NAME\""));
        };
        match line.text.trim_ascii() {
            "per-node stats" => {
                self.part = Part::NodeStats;
                let node = draft.node;
                let items = Items::default();
                self.info.nodes.push(NodeStats { node, items });
                return Ok(());
            }
            "pagesets" => self.part = Part::Pagesets,
            text if text.starts_with("pages free") => self.part = Part::Zone,
            _ => {}
        }
        match self.part {
            Part::Zone => draft.zone_line(line),
            Part::Pagesets => draft.pageset_line(line),
            Part::NodeStats => self.node_line(line),
        }
    }

    fn node_line(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        if let Ok(nameless) = line.text.trim_ascii().parse::<u64>() {
            let sum = self.info.shape.nameless.unwrap_or(0);
            self.info.shape.nameless = Some(sum.saturating_add(nameless));
            return Ok(());
        }
        let (item, value) = line.key_number()?;
        if let Some(node) = self.info.nodes.last_mut() {
            node.items.push(item, value);
        }
        Ok(())
    }

    pub(super) fn begin_zone(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        self.end_zone();
        let words = line.text.strip_prefix("Node ");
        let (node, kind) = words
            .and_then(|words| words.split_once(", zone"))
            .ok_or_else(|| line.error(line.text, "\"Node N, zone NAME\""))?;
        let unknown = |()| {
            line.error(
                kind,
                "DMA, DMA32, Normal, HighMem, Movable or Device for a zone",
            )
        };
        self.draft = Some(Draft {
            node: line.number_in("Node", node)?,
            kind: kind.trim_ascii().parse().map_err(unknown)?,
            header: (line.number, line.text.into()),
            marks: Items::default(),
            protection: Vec::new(),
            items: Items::default(),
            pagesets: Vec::new(),
        });
        self.part = Part::Zone;
        Ok(())
    }

    fn end_zone(&mut self) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        let tells_managed = draft.marks.get("managed").is_some();
        match draft.finish() {
            Ok(zone) => {
                self.without_managed |= !tells_managed;
                self.info.zones.push(zone);
            }
            Err(error) => self.leave_out(error),
        }
    }

    pub(super) fn leave_out(&mut self, error: ParseError) {
        if self.info.left_out.len() < MOST_ERRORS {
            self.info.left_out.push(error);
        }
    }

    pub(super) fn finish(mut self) -> Result<Zoneinfo, ParseError> {
        self.end_zone();
        if self.info.zones.is_empty() {
            let nothing = || ParseError::new(PATH, 1, "", "\"Node N, zone NAME\"");
            let first = self.info.left_out.into_iter().next();
            return Err(first.unwrap_or_else(nothing));
        }
        self.info.shape.managed = !self.without_managed;
        self.info.shape.node_stats = !self.info.nodes.is_empty();
        self.info.sum_lists();
        Ok(self.info)
    }
}

/// The items that nodes have since Linux 4.8 and zones had before.
const LISTS: [&str; 5] = [
    "nr_inactive_anon",
    "nr_active_anon",
    "nr_inactive_file",
    "nr_active_file",
    "nr_unevictable",
];

impl Zoneinfo {
    /// Where zones have the items of the lists, sums them up for each node.
    fn sum_lists(&mut self) {
        let has_lists = |zone: &Zone| zone.items.get("nr_inactive_file").is_some();
        if self.shape.node_stats || !self.zones.iter().any(has_lists) {
            return;
        }
        let nodes = self.zones.chunk_by(|a, b| a.node == b.node);
        let sums = nodes.filter_map(|zones| {
            let mut items = Items::default();
            for item in LISTS {
                let values = zones.iter().filter_map(|zone| zone.items.get(item));
                items.push(item, values.fold(0, u64::saturating_add));
            }
            let node = zones.first()?.node;
            Some(NodeStats { node, items })
        });
        self.nodes = sums.collect();
    }
}

impl Draft {
    fn zone_line(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let mut text = line.text.trim_ascii();
        if let Some(list) = text.strip_prefix("protection:") {
            return self.protection_line(line, list);
        }
        text = text.strip_prefix("pages ").unwrap_or(text);
        // Before 2.6.32 with other words behind the number, none of which is needed.
        if text.starts_with("scanned ") {
            return Ok(());
        }
        let (item, value) = Line { text, ..*line }.key_number()?;
        if MARKS.contains(&item) {
            self.marks.push(item, line.amount(item, value)?);
        } else {
            self.items.push(item, value);
        }
        Ok(())
    }

    fn protection_line(&mut self, line: &Line<'_>, list: &str) -> Result<(), ParseError> {
        let list = list.trim_ascii().strip_prefix('(');
        let list = list
            .and_then(|list| list.strip_suffix(')'))
            .ok_or_else(|| line.error(line.text, "\"protection: (N, N, …)\""))?;
        let number = |word| {
            let pages = line.number_in("protection", word)?;
            line.amount("protection", pages).map(Pages)
        };
        self.protection = list.split(',').map(number).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn pageset_line(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let text = line.text.trim_ascii();
        let Some((item, value)) = text.rsplit_once(':') else {
            return Ok(());
        };
        let value: u64 = line.number_in(item, value)?;
        if item == "cpu" {
            self.pagesets.push(Pageset {
                cpu: line.number_in(item, text.trim_start_matches("cpu:"))?,
                ..Pageset::default()
            });
            return Ok(());
        }
        let Some(pageset) = self.pagesets.last_mut() else {
            self.items.push(item, value);
            return Ok(());
        };
        match item {
            "count" => pageset.count = value,
            "high" => pageset.high = value,
            "batch" => pageset.batch = value,
            "vm stats threshold" => pageset.stat_threshold = Some(value),
            "high_min" => pageset.tuned[0] = Some(value),
            "high_max" => pageset.tuned[1] = Some(value),
            _ => self.items.push(item, value),
        }
        Ok(())
    }

    fn finish(self) -> Result<Zone, ParseError> {
        let optional = |item| self.marks.get(item).map(Pages);
        let needed = |item| {
            let (line, header) = &self.header;
            let expected = "free, min, low, high and present in every zone";
            optional(item).ok_or_else(|| ParseError::new(PATH, *line, header, expected))
        };
        let watermarks = Watermarks {
            min: needed("min")?,
            low: needed("low")?,
            high: needed("high")?,
            promo: optional("promo"),
        };
        Ok(Zone {
            node: self.node,
            kind: self.kind,
            free: needed("free")?,
            boost: optional("boost"),
            watermarks,
            spanned: optional("spanned").unwrap_or_default(),
            present: needed("present")?,
            managed: optional("managed").map_or_else(|| needed("present"), Ok)?,
            cma: optional("cma"),
            protection: self.protection,
            items: self.items,
            pagesets: self.pagesets,
        })
    }
}
