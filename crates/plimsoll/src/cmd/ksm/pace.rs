//! How fast ksmd would get there, and at what share of a CPU, for some settings.

use mm::formula::ksm_advisor::Bounds;
use mm::formula::ksmd::{self, Load, VisitCost};
use mm::ksm::KsmNumbers;
use mm::units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// `pages_to_scan` worth comparing: the kernel's default, ksmtuned's most, and two for hosts with
/// hundreds of gigabytes.
const PAGES_TO_SCAN: [u64; 4] = [100, 1250, 3000, 9000];

/// The kernel's default `sleep_millisecs`.
const SLEEP_MILLISECS: u64 = 20;

/// One setting.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct Pace {
    /// `set`, `advisor` or `other`: what the machine has, what the advisor would settle at.
    pub(super) kind: Kind,
    pub(super) pages_to_scan: u64,
    pub(super) sleep_millisecs: u64,
    /// The share of one CPU, as long as ksmd runs.
    pub(super) cpu_share: f64,
    /// Until everything is merged that can be; `None` where ksmd scans nothing.
    pub(super) seconds: Option<f64>,
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Set,
    Advisor,
    Other,
}

/// The paces of this machine's setting, of the advisor, and of others.
pub(super) fn paces(numbers: &KsmNumbers, advised: bool, load: Load, cost: VisitCost) -> Vec<Pace> {
    let sleep_millisecs = numbers.sleep_millisecs.unwrap_or(SLEEP_MILLISECS);
    let sleep = Nanos(sleep_millisecs.saturating_mul(Nanos::MILLI.0));
    let settled = cost.settled(load);
    let pace = |kind, pages_to_scan| {
        let pace = ksmd::Pace {
            pages_to_scan,
            sleep,
        };
        Pace {
            kind,
            pages_to_scan,
            sleep_millisecs,
            cpu_share: pace.cpu(settled),
            seconds: pace.until_merged(load, cost).map(Nanos::seconds),
        }
    };
    let set = numbers.pages_to_scan.filter(|_| !advised);
    let others = PAGES_TO_SCAN
        .into_iter()
        .filter(|&pages| Some(pages) != set);
    let mut paces: Vec<Pace> = set
        .map(|pages| pace(Kind::Set, pages))
        .into_iter()
        .collect();
    paces.extend(others.map(|pages| pace(Kind::Other, pages)));
    let advisor = advisor(numbers);
    let settles = advisor.map(|advisor| advisor.settles(load.candidates, sleep, settled));
    paces.extend(settles.map(|settles| pace(Kind::Advisor, settles)));
    paces.sort_by_key(|pace| (pace.pages_to_scan, pace.kind == Kind::Advisor));
    paces
}

/// The advisor's settings; `None` on kernels before 6.8.
fn advisor(numbers: &KsmNumbers) -> Option<Bounds> {
    let of = |name| numbers.get(name);
    Some(Bounds {
        target: of("advisor_target_scan_time")?,
        max_cpu: of("advisor_max_cpu")?,
        min_pages: of("advisor_min_pages_to_scan")?,
        max_pages: of("advisor_max_pages_to_scan")?,
    })
}
