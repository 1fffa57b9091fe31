//! What of a scenario this kernel lacks, found out by trying and not by its version: whether a file
//! is there, and whether it takes what is to be written.

use guard::daemons;
use mm::catalogue;
use mm::settings::Setting;
use scenario::Scenario;
use scenario::workload::{Action, Huge, Map};

use crate::error::is_unknown;
use crate::place::Place;
use crate::plan::each_step;
use crate::recorder::Recorder;
use crate::write::write_cgroup;

/// Notes what the arm's settings and the workload's steps need and this kernel lacks. The control
/// groups must be there.
pub(crate) fn probe(scenario: &Scenario, place: &Place, recorder: &mut Recorder) {
    for setting in &scenario.arm_settings.0 {
        probe_setting(setting, place, recorder);
    }
    for process in &scenario.workload.processes {
        each_step(&process.steps, &mut |step| match &step.action {
            Action::Set(list) => {
                list.iter()
                    .for_each(|it| probe_setting(it, place, recorder));
            }
            Action::Daemon(daemon) => {
                let tunables = daemons::tunables(*daemon).iter();
                tunables.for_each(|tunable| probe_tunable(tunable, place, recorder));
            }
            Action::Map(map) => probe_map(map, place, recorder),
            Action::SetCgroup { cgroup, file } => probe_file(cgroup, &file.0, place, recorder),
            Action::Reclaim {
                cgroup, swappiness, ..
            } => probe_reclaim(cgroup, *swappiness, place, recorder),
            _ => {}
        });
    }
}

/// A name that the catalogue does not have is refused elsewhere.
fn probe_setting(setting: &Setting, place: &Place, recorder: &mut Recorder) {
    let here = place.setting(setting);
    if is_missing(&here.tunable, place) {
        recorder.unavailable(&setting.tunable);
    }
}

/// Kernels for real time are built without huge pages.
fn probe_map(map: &Map, place: &Place, recorder: &mut Recorder) {
    let asked = [
        (map.huge == Huge::Advise, "transparent_hugepage"),
        (map.mergeable, "ksm"),
    ];
    for (_, part) in asked.into_iter().filter(|(is_asked, _)| *is_asked) {
        if !place.root.is_directory(&format!("sys/kernel/mm/{part}")) {
            recorder.unavailable(part);
        }
    }
}

fn probe_tunable(tunable: &str, place: &Place, recorder: &mut Recorder) {
    if is_missing(tunable, place) {
        recorder.unavailable(tunable);
    }
}

fn is_missing(tunable: &str, place: &Place) -> bool {
    catalogue::named(tunable).is_some_and(|named| !place.root.is_file(&named.path()))
}

/// A group that is not there is refused elsewhere.
pub(crate) fn probe_file(cgroup: &str, file: &str, place: &Place, recorder: &mut Recorder) {
    let group = Place::cgroup(cgroup);
    if place.root.is_directory(&group) && !place.root.is_file(&format!("{group}/{file}")) {
        recorder.unavailable(file);
    }
}

/// Asking for nothing to be reclaimed tells whether the words are understood.
fn probe_reclaim(cgroup: &str, swappiness: Option<u8>, place: &Place, recorder: &mut Recorder) {
    const FILE: &str = "memory.reclaim";
    probe_file(cgroup, FILE, place, recorder);
    if let Some(swappiness) = swappiness
        && let Err(why) = write_cgroup(place, cgroup, FILE, &format!("0 swappiness={swappiness}"))
        && is_unknown(why.errno)
    {
        recorder.unavailable(&format!("{FILE} with swappiness={swappiness}"));
    }
}
