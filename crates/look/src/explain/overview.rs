//! `explain` without a key: which tunables differ from the kernel's own choice here, by effect.

use std::cmp::Reverse;

use mm::capture::Frame;
use mm::catalogue::{DefaultRule, Named, Of, Risk, Tunable, all, find, of_devices, of_page_sizes};
use mm::recompute::Chosen;
use mm::snapshot::Snapshot;
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::default::partner_rules;
use super::looked::Looked;
use super::value;
use crate::page::{Canvas, Page};

/// What differs, and what could not be compared.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Overview {
    kernel: Option<String>,
    compared: usize,
    /// By effect, the largest first.
    differing: Vec<Differing>,
    /// Read, but the files do not tell what the kernel would choose.
    unknown: Vec<String>,
    /// There, and not read.
    unread: Vec<Unread>,
    /// Files of this kernel beside its tunables that the catalogue does not know.
    strange: Vec<String>,
}

impl Shape for Overview {
    const NAME: &'static str = "explain-all";
    const VERSION: u32 = 1;
}

/// A tunable that is not as the kernel chooses.
#[derive(Debug, JsonSchema, Serialize)]
struct Differing {
    key: String,
    value: String,
    default: String,
    /// What the value comes to, where that is an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// And the kernel's own choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_bytes: Option<u64>,
    /// What the bytes are.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<&'static str>,
    #[schemars(extend("enum" = Risk::WORDS))]
    risk: &'static str,
    #[serde(skip)]
    rank: Risk,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Unread {
    key: String,
    reason: String,
}

impl Overview {
    /// Compares every tunable of the machine, of its devices and of its sizes of huge pages.
    pub fn of(frame: &Frame, snapshot: &Snapshot, strange: Vec<String>) -> Self {
        let mut overview = Self {
            kernel: snapshot.release.clone(),
            compared: 0,
            differing: Vec::new(),
            unknown: Vec::new(),
            unread: unread(frame),
            strange,
        };
        for tunable in all().chain(of_devices()).chain(of_page_sizes()) {
            if is_one_of_several_views(tunable, frame) {
                continue;
            }
            for looked in each(tunable, frame, snapshot) {
                overview.compare(looked);
            }
        }
        let effect = |it: &Differing| it.bytes.zip(it.default_bytes).map(|(a, b)| a.abs_diff(b));
        overview
            .differing
            .sort_by_key(|it| Reverse((effect(it), it.rank)));
        overview
    }

    fn compare(&mut self, (named, value, looked): (Named<'_>, String, Looked<'_>)) {
        let differs = match partner_rules(looked, &value) {
            // Its partner is compared in its place.
            true => return,
            false => looked.snapshot.differs(named, &value),
        };
        match differs {
            None => self.unknown.push(named.to_string()),
            Some(differs) => {
                self.compared += 1;
                if differs {
                    self.differing
                        .push(Differing::of(named, value, looked.snapshot));
                }
            }
        }
    }

    /// The page.
    pub fn text(&self, canvas: Canvas) -> String {
        let mut page = Page::new(canvas);
        let kernel = self.kernel.as_deref().unwrap_or("an unknown kernel");
        let (all, differing) = (self.compared, self.differing.len());
        page.title(&format!(
            "{differing} of {all} tunables differ from what {kernel} chooses here"
        ));
        self.differing.iter().for_each(|it| it.write(&mut page));
        self.write_rest(&mut page);
        if let Some(first) = self.differing.first() {
            page.heading("Next");
            page.command(2, "", &format!("plimsoll explain {}", first.key));
        }
        page.into_text()
    }

    fn write_rest(&self, page: &mut Page) {
        page.line("");
        if !self.unknown.is_empty() {
            let (count, names) = (self.unknown.len(), self.unknown.join(", "));
            let text = format!(
                "Not compared, for these files do not tell what the kernel was built or booted \
                 with ({count}): {names}."
            );
            page.paragraph(2, &text);
        }
        for unread in &self.unread {
            page.paragraph(2, &format!("Not read: {} ({}).", unread.key, unread.reason));
        }
        if !self.strange.is_empty() {
            let text = format!("Not known to the catalogue: {}.", self.strange.join(", "));
            page.paragraph(2, &text);
        }
    }
}

impl Differing {
    fn of(named: Named<'_>, value: String, snapshot: &Snapshot) -> Self {
        let default = match snapshot.default_of(named) {
            Chosen::Value(value) => value,
            Chosen::Between(least, most) => format!("{least} to {most}"),
            Chosen::Unknown => String::new(),
        };
        let name = named.tunable.name;
        let worth = |name: &str, value: &str| snapshot.worth(name, value).map(|bytes| bytes.0);
        let bytes = worth(name, &value);
        let (of, own) = own_choice(named.tunable, &default, snapshot);
        Self {
            key: named.to_string(),
            default_bytes: bytes.and_then(|_| worth(of, &own)),
            amount: bytes.map(|_| amount(name)),
            bytes,
            default: if own == default || of == name {
                default
            } else {
                format!("{} {own}", of.trim_start_matches("vm."))
            },
            value,
            risk: named.tunable.risk.word(),
            rank: named.tunable.risk,
        }
    }

    fn write(&self, page: &mut Page) {
        let about = match (self.amount, self.bytes, self.default_bytes) {
            (Some(amount), Some(bytes), Some(own)) => {
                let difference = i128::from(bytes) - i128::from(own);
                let sign = if difference < 0 { "-" } else { "+" };
                match bytes.abs_diff(own) {
                    0 => format!("not {}: {amount} the same", self.default),
                    by => format!("not {}: {amount} {sign}{}", self.default, Bytes(by)),
                }
            }
            _ => format!("not {}; risk {}", self.default, self.risk),
        };
        match self.value.chars().count() {
            0..=16 => page.row(&self.key, &self.value, &about),
            _ => page.item(2, "", &format!("{} = {}: {about}", self.key, self.value)),
        }
    }
}

/// The tunable whose value the kernel's own choice is, and the value: of a pair of which neither is
/// set, the ratio rules. Of a range the upper end.
fn own_choice<'a>(tunable: &'a Tunable, default: &str, snapshot: &Snapshot) -> (&'a str, String) {
    let partner = tunable.partner.and_then(find);
    if let (DefaultRule::Partner, Some(partner)) = (tunable.default, partner)
        && let Some(Chosen::Value(value)) =
            mm::catalogue::named(partner.name).map(|named| snapshot.default_of(named))
    {
        return (partner.name, value);
    }
    let upper = default.rsplit(' ').next().unwrap_or(default);
    (tunable.name, upper.to_owned())
}

/// What the bytes of a tunable are.
fn amount(name: &str) -> &'static str {
    match name {
        "vm.min_free_kbytes" | "vm.watermark_scale_factor" => "high marks",
        "vm.watermark_boost_factor" => "most boost",
        "vm.dirty_ratio" | "vm.dirty_bytes" => "threshold",
        "vm.dirty_background_ratio" | "vm.dirty_background_bytes" => "background",
        "vm.overcommit_ratio" | "vm.overcommit_kbytes" => "commit limit",
        "vm.admin_reserve_kbytes" | "vm.user_reserve_kbytes" => "reserve",
        _ => "pool",
    }
}

/// Whether the same value is told by a view that holds it more exactly.
fn is_one_of_several_views(tunable: &Tunable, frame: &Frame) -> bool {
    let exact = tunable
        .views
        .first()
        .filter(|exact| **exact != tunable.name);
    let Some(exact) = exact.and_then(|name| mm::catalogue::resolve(name).ok()) else {
        return false;
    };
    match exact.of {
        Of::Machine => frame.file(&exact.path()).is_some(),
        _ => frame
            .files
            .keys()
            .any(|path| path.ends_with(&format!("/{}", exact.tunable.kernel_name()))),
    }
}

/// Every value of a row, of the machine or of each that has one.
fn each<'a>(
    tunable: &'static Tunable,
    frame: &'a Frame,
    snapshot: &'a Snapshot,
) -> Vec<(Named<'a>, String, Looked<'a>)> {
    let looked = |named| Looked {
        frame,
        snapshot,
        named,
        evidence: "",
        configuration: None,
    };
    let Some(named) = mm::catalogue::resolve(tunable.name).ok() else {
        return Vec::new();
    };
    if named.of == Of::Machine {
        let value = frame
            .file(tunable.path)
            .map(|text| value::read(tunable, text));
        return value
            .map(|value| (named, value, looked(named)))
            .into_iter()
            .collect();
    }
    let ones = value::each(tunable, frame).into_iter();
    let ones = ones.filter_map(|(of, value)| {
        let one = tunable.of_this(of)?;
        Some((one, value, looked(one)))
    });
    ones.collect()
}

/// Tunables whose files the reader noted.
fn unread(frame: &Frame) -> Vec<Unread> {
    let note = frame.file(mm::notes::UNREADABLE).unwrap_or("");
    let lines = note.lines().filter_map(|line| line.split_once('\t'));
    let entry = |(path, reason): (&str, &str)| {
        let path = format!("/{path}");
        let named = mm::catalogue::resolve(&path).ok()?;
        Some(Unread {
            key: named.to_string(),
            reason: reason.to_owned(),
        })
    };
    lines.filter_map(entry).collect()
}
