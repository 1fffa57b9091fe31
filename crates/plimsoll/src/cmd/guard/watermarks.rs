//! The policy `watermarks` on a machine: what free memory it would keep, and what it sees.

use guard::{Figures, config};
use mm::catalogue;
use mm::formula::watermarks::{MovableRule, Rule, ZoneSize, watermarks};
use mm::units::{Bytes, Kib, Pages};
use mm::zoneinfo::{self, Zoneinfo};
use schemars::JsonSchema;
use serde::Serialize;

use super::machine::Machine;
use super::shared::{before, stands_down};

/// Without the leading slash.
const FACTOR: &str = catalogue::path_of("vm.watermark_scale_factor");
const MIN_FREE: &str = catalogue::path_of("vm.min_free_kbytes");

/// How early reclaim begins.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Watermarks {
    /// `vm.watermark_scale_factor` now and at most, in parts of 10 000.
    pub(super) scale_factor: Option<u64>,
    pub(super) most_scale_factor: u64,
    /// What lies between the min and the high watermarks with these; `None` where the zones are not
    /// known.
    pub(super) gap_bytes: Option<u64>,
    pub(super) most_gap_bytes: Option<u64>,
}

impl Watermarks {
    pub(super) fn of(
        config: config::Watermarks,
        machine: &Machine<'_>,
        problems: &mut Vec<String>,
    ) -> Self {
        let (factor, most) = (machine.number(FACTOR), guard::most_scale_factor(&config));
        let gap = |factor| gap(machine, factor);
        let gaps = factor.and_then(gap).zip(gap(most));
        // A quarter of min is the least gap, whatever the factor.
        let is_as_large = gaps.is_some_and(|(now, most)| now >= most);
        match (factor, machine) {
            (None, Machine::This(_)) => problems.push(format!(
                "watermarks does nothing: there is no /{FACTOR}: leave [watermarks] out"
            )),
            (Some(factor), _) if factor >= most || is_as_large => problems.push(format!(
                "watermarks.most does nothing: vm.watermark_scale_factor is {factor}, and would \
                 become at most {most}: name more than {} %",
                share(factor, gaps.map(|(now, _)| now), machine)
            )),
            _ => {}
        }
        Self {
            scale_factor: factor,
            most_scale_factor: most,
            gap_bytes: factor.and_then(gap).map(|gap| gap.0),
            most_gap_bytes: gap(most).map(|gap| gap.0),
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let most = self.most_scale_factor;
        let factor = match self.scale_factor {
            Some(factor) => format!(
                "sets vm.watermark_scale_factor to at most {most} while allocations wait for \
                 reclaim; it is {factor}"
            ),
            None => format!("sets vm.watermark_scale_factor to at most {most}"),
        };
        let gap = self.gap_bytes.zip(self.most_gap_bytes).map(|(now, most)| {
            let (now, most) = (Bytes(now), Bytes(most));
            format!("{now} lie between the min and high watermarks now, {most} at most")
        });
        std::iter::once(factor).chain(gap).collect()
    }
}

/// What it sees now.
pub(super) fn explained(figures: &Figures, machine: &Machine<'_>) -> Vec<String> {
    let Some(factor) = machine.number(FACTOR) else {
        return vec!["vm.watermark_scale_factor cannot be read.".to_owned()];
    };
    let before = before(figures, "vm.watermark_scale_factor");
    let why = match (stands_down(figures, "watermarks"), before) {
        (true, _) => "left alone, because somebody else wrote it since the guard did".to_owned(),
        (false, Some(before)) => format!(
            "set by the guard, because allocations waited for reclaim or were about to; it goes \
             back to {before} in steps, when none has for a minute"
        ),
        (false, None) => "left as it was, because no allocation waits for reclaim".to_owned(),
    };
    let mut told = vec![format!("vm.watermark_scale_factor is {factor}: {why}.")];
    told.extend(gap(machine, factor).map(|gap| {
        format!("{gap} lie between the min and high watermarks, where kswapd reclaims.")
    }));
    told
}

/// What lies between the min and the high watermarks now, in percent of the memory.
fn share(factor: u64, gap: Option<Bytes>, machine: &Machine<'_>) -> f64 {
    // Twice that many parts of 10 000, in tenths of a percent.
    let by_factor = factor.saturating_mul(2).div_ceil(10);
    let total = machine.memory().map_or(Bytes::ZERO, |memory| memory.total);
    let by_gap = gap.and_then(|gap| gap.0.saturating_mul(1000).checked_div(total.0));
    by_factor.max(by_gap.map_or(0, |share| share + 1)) as f64 / 10.0
}

/// What lies between the min and the high watermarks of all zones with a factor.
fn gap(machine: &Machine<'_>, factor: u64) -> Option<Bytes> {
    let zoneinfo = Zoneinfo::parse(&machine.file(zoneinfo::PATH)?).ok()?;
    let page = machine.page();
    let rule = Rule {
        min_free: Kib(machine.number(MIN_FREE)?).pages_floor(page),
        scale_factor: factor,
        movable: MovableRule::observed(&zoneinfo.zones),
    };
    let sizes: Vec<ZoneSize> = zoneinfo.zones.iter().map(ZoneSize::from).collect();
    let marks = watermarks(&sizes, rule).into_iter();
    let gaps = marks.map(|marks| marks.high.saturating_sub(marks.min));
    Some(gaps.sum::<Pages>().bytes(page))
}

#[cfg(test)]
mod tests {
    use super::super::machine::tests::root;
    use super::*;

    const ZONES: (&str, &str) = (
        "proc/zoneinfo",
        "Node 0, zone   Normal\n  pages free     5000\n        min      1000\n        low      1250\n        \
         high     1500\n        spanned  262144\n        present  262144\n        managed  262144\n",
    );
    const MIN: (&str, &str) = (MIN_FREE, "4000\n");

    /// What is told of a machine of these files, and the problems.
    fn checked(files: &[(&str, &str)]) -> (Watermarks, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let machine = Machine::This(root(&folder, files));
        let mut problems = Vec::new();
        let told = Watermarks::of(config::Watermarks { most: 40 }, &machine, &mut problems);
        (told, problems)
    }

    #[test]
    fn what_is_free_between_the_watermarks_is_in_bytes() {
        let (watermarks, problems) = checked(&[ZONES, MIN, (FACTOR, "10\n")]);
        let gaps = [watermarks.gap_bytes, watermarks.most_gap_bytes];
        // 262144 pages: two quarters of min at 10, two times 5242 pages at 200.
        assert_eq!(gaps, [Some(524 * 4096), Some(2 * 5242 * 4096)]);
        assert_eq!(problems, Vec::<String>::new());
        let lines = watermarks.lines().join("; ");
        assert!(lines.contains("at most 200 "), "{lines}");
        assert!(lines.contains("40.9 MiB at most"), "{lines}");
    }

    #[test]
    fn a_factor_that_is_set_already_is_a_problem_with_the_share_that_would_help() {
        let told = checked(&[ZONES, MIN, (FACTOR, "333\n")]).1;
        assert!(told[0].ends_with("name more than 6.7 %"), "{told:?}");
        // A quarter of 500 MB is more than 2 % of a GiB.
        let info = ("proc/meminfo", "MemTotal: 1048576 kB\n");
        let told = checked(&[ZONES, (MIN_FREE, "500000\n"), info, (FACTOR, "10\n")]).1;
        assert!(told[0].ends_with("name more than 23.9 %"), "{told:?}");
        let told = checked(&[]).1;
        assert!(told[0].contains("leave [watermarks] out"), "{told:?}");
    }

    #[test]
    fn what_is_set_is_explained_with_what_it_goes_back_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = root(&folder, &[(FACTOR, "80\n")]);
        let machine = Machine::This(root);
        let mut figures = Figures::default();
        let said = |figures: &Figures| explained(figures, &machine).join(" ");
        assert!(said(&figures).contains("is 80: left as it was"));
        let labels = [("tunable", "vm.watermark_scale_factor"), ("before", "10")];
        figures.add("setting_held", &labels, 1);
        assert!(said(&figures).contains("goes back to 10 in steps"));
        figures.add("policy_standing_down", &[("policy", "watermarks")], 1);
        assert!(said(&figures).contains("left alone"));
    }
}
