//! What the rules say of a plan: settings that are about to be written to a machine as it is now.

use std::collections::BTreeSet;

use mm::catalogue;
use mm::settings::Setting;
use mm::snapshot::Snapshot;

use super::choice::Choice;
use super::machine::Machine;
use super::read::Form;
use super::report::{Finding, Report};
use super::rule::Rule;
use super::scope::{Extent, Scope};
use super::setting::{self, Writer};
use super::text::Text;

/// The plan's name among the texts.
const PLAN: &str = "plan";

/// What a rule finds in a plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The rule that says it.
    pub rule: &'static Rule,
    /// The tunable that it is about: one of the plan, or one that is not so well set any more.
    pub tunable: String,
    /// What is the case then, with its numbers.
    pub what: String,
}

/// What the rules find in the machine once all of these settings are written, and do not find with
/// the same numbers now: a plan that moves what a finding is about is held against it.
pub fn findings(machine: &Snapshot, settings: &[Setting]) -> Vec<Planned> {
    let machine = Machine::of(machine.clone());
    let now = report(&machine, &[]);
    let is_new = |it: &Finding| {
        let same = |old: &Finding| {
            old.rule.name == it.rule.name && old.path == it.path && old.what == it.what
        };
        !now.iter().any(same)
    };
    let then = report(&machine, settings).into_iter().filter(is_new);
    let planned = then.map(|it| Planned {
        rule: it.rule,
        tunable: tunable(&it, settings),
        what: it.what,
    });
    planned.collect()
}

/// The facts about the machine that rules lack to judge these settings, each once.
pub fn unknown(machine: &Snapshot, settings: &[Setting]) -> Vec<&'static str> {
    let machine = Machine::of(machine.clone());
    let unknown = whole_report(&machine, settings).unknown.into_iter();
    let of_plan = unknown.filter(|it| it.path == PLAN);
    let facts: BTreeSet<&'static str> = of_plan.map(|it| it.needs).collect();
    facts.into_iter().collect()
}

fn report(machine: &Machine, settings: &[Setting]) -> Vec<Finding> {
    whole_report(machine, settings).findings
}

fn whole_report(machine: &Machine, settings: &[Setting]) -> Report {
    let lines: Vec<String> = settings.iter().map(|it| format!("{it}\n")).collect();
    let text = Text::new(PLAN, lines.concat(), Form::Told);
    let told = settings.iter().zip(1..).map(|(it, line)| setting::Setting {
        name: it.tunable.clone(),
        key: it.tunable.clone(),
        value: it.value.clone(),
        text: 0,
        line,
        by: Writer::Plan,
        stands: false,
    });
    let told = vec![(text, told.collect())];
    let scope = Scope::with(Vec::new(), told, Extent::Plan, machine).with_live_values();
    Report::of(&[scope], &Choice::default())
}

fn tunable(finding: &Finding, settings: &[Setting]) -> String {
    let planned = finding.line.checked_sub(1).and_then(|at| settings.get(at));
    match planned.filter(|_| finding.path == PLAN) {
        Some(setting) => setting.tunable.clone(),
        None => catalogue::resolve(&finding.path)
            .map_or_else(|_| finding.path.clone(), |named| named.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::Severity;
    use mm::capture::Capture;
    use mm::units::Kib;

    const CAPTURE: &str = include_str!("../../../../fixtures/kernels/vm-5gib-7.2/capture.txt");

    fn machine() -> Snapshot {
        let capture = Capture::parse(CAPTURE).expect("a capture");
        Snapshot::parse(&capture.frames[0])
    }

    fn setting(&(tunable, value): &(&str, &str)) -> Setting {
        Setting {
            tunable: tunable.to_owned(),
            value: value.to_owned(),
        }
    }

    /// The rules that refuse, and those that say something else.
    fn rules(found: &[Planned]) -> [Vec<&'static str>; 2] {
        let (errors, others): (Vec<&Planned>, Vec<&Planned>) = found
            .iter()
            .partition(|it| it.rule.severity == Severity::Error);
        [errors, others].map(|all| all.iter().map(|it| it.rule.name).collect())
    }

    fn of(settings: &[(&str, &str)]) -> [Vec<&'static str>; 2] {
        let settings: Vec<Setting> = settings.iter().map(setting).collect();
        rules(&findings(&machine(), &settings))
    }

    #[test]
    fn values_that_machines_run_with_are_not_refused() {
        for settings in [
            [("vm.min_free_kbytes", "1000000")],
            [("vm.watermark_scale_factor", "1000")],
            [("vm.dirty_bytes", "67108864")],
            [("vm.overcommit_memory", "1")],
            [("vm.nr_hugepages", "512")],
            [("vm.max_map_count", "262144")],
            [("ksm.run", "2")],
        ] {
            assert_eq!(of(&settings)[0], [""; 0], "{settings:?}");
        }
    }

    #[test]
    fn values_that_kill_this_machine_are_refused() {
        for (tunable, value, rules) in [
            (
                "vm.min_free_kbytes",
                "3500000",
                &["nothing-left", "min-free-kills"][..],
            ),
            ("vm.min_free_kbytes", "512", &["min-free-tiny"]),
            (
                "vm.nr_hugepages",
                "2500",
                &["nothing-left", "hugepages-beyond-memory"],
            ),
            (
                "hugetlb.hugepages-1048576kB.nr_hugepages",
                "5",
                &["nothing-left"],
            ),
            ("vm.dirty_ratio", "0", &["dirty-ratio-zero"]),
            ("vm.dirty_bytes", "8192", &["dirty-bytes-tiny"]),
            ("vm.max_map_count", "100", &["max-map-count-kills"]),
            ("vm.vfs_cache_pressure", "0", &["vfs-pressure-zero"]),
        ] {
            let mut found = of(&[(tunable, value)])[0].clone();
            found.sort_unstable();
            let mut rules = rules.to_vec();
            rules.sort_unstable();
            assert_eq!(found, rules, "{tunable} = {value}");
        }
    }

    #[test]
    fn settings_that_kill_together_are_refused_together_whichever_is_set_already() {
        let strict = ("vm.overcommit_memory", "2");
        let [errors, _] = of(&[strict, ("vm.overcommit_kbytes", "1000")]);
        assert_eq!(errors, ["overcommit-below-committed"]);
        assert_eq!(of(&[strict])[0], [""; 0]);
        // A pool takes from the limit, which is then below what is promised.
        let mut machine = machine();
        let ratio = setting(&("vm.overcommit_ratio", "80"));
        let meminfo = machine.meminfo.as_mut().expect("meminfo");
        meminfo.committed_as = Some(Kib(3_500_000));
        let strict = [setting(&strict), ratio];
        assert_eq!(rules(&findings(&machine, &strict))[0], [""; 0]);
        let pool = setting(&("vm.nr_hugepages", "600"));
        let expected = ["overcommit-below-committed"];
        let all = [strict.to_vec(), vec![pool.clone()]].concat();
        assert_eq!(rules(&findings(&machine, &all))[0], expected);
        let found = findings(&machine.after(&strict), &[pool]);
        assert_eq!(rules(&found)[0], expected);
        assert_eq!(found[0].tunable, "vm.overcommit_memory");
    }

    /// Of 23.5 GiB only 7 are in zones yet; the rest is brought in as it is needed.
    #[test]
    fn memory_that_is_still_to_be_plugged_does_not_hide_what_kills() {
        let text = include_str!("../../../../fixtures/hosts/vm-24gib-6.18/capture.txt");
        let capture = Capture::parse(text).expect("a capture");
        let machine = Snapshot::parse(&capture.frames[0]);
        let managed = machine.managed().bytes(machine.page);
        assert!(managed.0 < 20 << 30, "{managed}");
        let found = findings(&machine, &[setting(&("vm.min_free_kbytes", "24000000"))]);
        assert!(rules(&found)[0].contains(&"min-free-kills"), "{found:?}");
    }

    #[test]
    fn what_does_nothing_here_is_said_and_not_refused() {
        let [errors, others] = of(&[("vm.swappiness", "10")]);
        assert_eq!((errors, others), (vec![], vec!["swappiness-dead"]));
    }
}
