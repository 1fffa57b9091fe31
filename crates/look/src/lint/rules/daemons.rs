//! Two that set the same.

use std::collections::BTreeMap;

use crate::lint::rule::{Answer, At, when};
use crate::lint::scope::{Extent, Scope};
use crate::lint::setting::{Setting, Writer};

/// sysctl.d, udev and the like set one tunable to different values.
pub(in crate::lint) fn two_writers(scope: &Scope<'_>) -> Vec<At> {
    if scope.extent != Extent::Machine {
        return Vec::new();
    }
    let mut writers: BTreeMap<&str, Vec<&Setting>> = BTreeMap::new();
    for setting in scope.settings.iter().filter(|setting| setting.stands) {
        writers.entry(&setting.name).or_default().push(setting);
    }
    let pairs = writers.values().flat_map(|all| {
        let of_texts = all.iter().filter(|setting| setting.by != Writer::Live);
        of_texts.map(move |setting| (*setting, all))
    });
    let found = pairs.filter_map(|(setting, all)| {
        let later = all.iter().find(|other| {
            let differs = other.value != setting.value && other.by != Writer::Live;
            differs && other.by > setting.by
        })?;
        Some(At {
            text: setting.text,
            line: setting.line,
            said: Ok(format!(
                "{} sets {} to {}: {}",
                scope.place(later),
                later.name,
                later.value,
                order(setting.by, later.by)
            )
            .into()),
        })
    });
    found.collect()
}

fn order(earlier: Writer, later: Writer) -> &'static str {
    match later {
        _ if earlier == Writer::CommandLine => "it comes later than the kernel's command line",
        Writer::Udev => "udev does so at each event of the device, later than at boot",
        Writer::Script => "a script does so when it runs, later than at boot",
        Writer::Saptune => "saptune does so after sysctl.d",
        Writer::Tuned => {
            "TuneD does so after sysctl.d, and then reads that in /etc and /run again, unless \
             reapply_sysctl is 0"
        }
        _ => "neither is bound to come last",
    }
}

/// ksmtuned sets KSM by itself.
pub(in crate::lint) fn ksmtuned(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let sets = ["ksm.run", "ksm.pages_to_scan", "ksm.sleep_millisecs"];
    let set = sets.contains(&setting.name.as_str()) && setting.by != Writer::Live;
    if !set || !setting.stands {
        return Ok(None);
    }
    let there = scope.has(&["usr/sbin/ksmtuned"], "whether ksmtuned is installed")?;
    when(there.is_some(), || {
        "ksmtuned is here and writes it every minute".to_owned()
    })
}
