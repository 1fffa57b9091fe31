//! What an administrator does: settings, control groups, and a process's own OOM score.

use std::fs;
use std::io;

use host::write::WriteError;
use mm::catalogue::{self, Tunable};
use mm::scenario::Scenario;
use mm::settings::Setting;
use mm::units::Bytes;
use mm::workload::{Action, Cgroup, Step};
use rustix::io::Errno;

use crate::error::Error;
use crate::place::Place;
use crate::process::Why;
use crate::recorder::Recorder;

/// What was found out about the scenario's tunables before the run.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The arm's tunables with the values they had, in the arm's order.
    defaults: Vec<Setting>,
}

/// Writes the base settings, and the arm's where the workload never does so itself; remembers what
/// the arm's tunables were before.
///
/// # Errors
/// A setting that the kernel does not take, or one of the arm's or the workload's that it lacks: a
/// run without it would say that it makes no difference. A base setting that it lacks is noted.
pub fn prepare(
    scenario: &Scenario,
    place: &Place,
    recorder: &mut Recorder,
) -> Result<Prepared, Error> {
    let fail = |why: Why| Error::new("settings", why.text);
    for setting in needed(scenario) {
        if !is_present(place, setting)? {
            return Err(lacking(setting));
        }
    }
    for setting in &scenario.base.0 {
        match is_present(place, setting)? {
            true => write(place, setting).map_err(fail)?,
            false => recorder.skipped(setting),
        }
    }
    let mut prepared = Prepared::default();
    for setting in &scenario.arm_settings.0 {
        prepared.defaults.push(default_of(place, known(setting)?)?);
    }
    if !applies_arm(&scenario.workload) {
        apply(place, &scenario.arm_settings.0).map_err(fail)?;
    }
    Ok(prepared)
}

/// Writes the arm's settings.
pub(crate) fn apply_arm(place: &Place, scenario: &Scenario) -> Result<(), Why> {
    apply(place, &scenario.arm_settings.0)
}

/// Writes back what the arm's tunables were before the run, last written first.
pub(crate) fn apply_defaults(place: &Place, prepared: &Prepared) -> Result<(), Why> {
    prepared
        .defaults
        .iter()
        .rev()
        .try_for_each(|setting| write(place, setting))
}

/// Writes settings in their order.
pub(crate) fn apply(place: &Place, list: &[Setting]) -> Result<(), Why> {
    list.iter().try_for_each(|setting| write(place, setting))
}

/// Makes the workload's control groups, parents first, and writes their files.
///
/// # Errors
/// A group that cannot be made or a file that cannot be written.
pub fn make_cgroups(place: &Place, cgroups: &[Cgroup]) -> Result<(), Error> {
    let fail = |why: Why| Error::new("control groups", why.text);
    for cgroup in cgroups {
        let path = Place::cgroup(&cgroup.path);
        enable_controllers(place, cgroups, &path).map_err(fail)?;
        fs::create_dir_all(place.root.join(&path))
            .map_err(|error| Error::new(format!("/{path}"), error))?;
        for (file, text) in &cgroup.files {
            write_cgroup(place, &cgroup.path, file, text).map_err(fail)?;
        }
    }
    Ok(())
}

/// Writes into a file of a control group.
pub(crate) fn write_cgroup(place: &Place, cgroup: &str, file: &str, text: &str) -> Result<(), Why> {
    put(place, &format!("{}/{file}", Place::cgroup(cgroup)), text)
}

/// Asks for proactive reclaim. Less than was asked for is no failure: the kernel says `EAGAIN`
/// then. A kernel that does not know `swappiness=` is asked without.
pub(crate) fn reclaim(
    place: &Place,
    cgroup: &str,
    amount: Bytes,
    swappiness: Option<u8>,
) -> Result<(), Why> {
    let amount = amount.0;
    let ask = |text: String| match write_cgroup(place, cgroup, "memory.reclaim", &text) {
        Err(why) if why.errno == Errno::AGAIN => Ok(()),
        result => result,
    };
    let with = swappiness.map(|value| ask(format!("{amount} swappiness={value}")));
    match with {
        Some(Err(why)) if why.errno == Errno::INVAL => ask(amount.to_string()),
        Some(result) => result,
        None => ask(amount.to_string()),
    }
}

/// `sync`, then drops the page cache and reclaimable slab.
pub(crate) fn drop_caches(place: &Place) -> Result<(), Why> {
    rustix::fs::sync();
    put(place, "proc/sys/vm/drop_caches", "3")
}

/// Sets this process's `oom_score_adj`.
pub(crate) fn oom_score_adj(place: &Place, value: i16) -> Result<(), Why> {
    put(place, "proc/self/oom_score_adj", &value.to_string())
}

/// The controllers that the groups' files need, switched on from the root down to `path`.
fn enable_controllers(place: &Place, cgroups: &[Cgroup], path: &str) -> Result<(), Why> {
    let files = cgroups.iter().flat_map(|cgroup| &cgroup.files);
    let used = files.filter_map(|(file, _)| file.split_once('.').map(|(name, _)| name));
    let mut controllers: Vec<&str> = used.filter(|&name| name != "cgroup").collect();
    controllers.push("memory");
    controllers.sort_unstable();
    controllers.dedup();
    let root = Place::cgroup("");
    let mut parents: Vec<&str> = Vec::new();
    let mut parent = path;
    while let Some((above, _)) = parent.rsplit_once('/') {
        parent = above;
        if above.len() + 1 >= root.len() {
            parents.push(above);
        }
    }
    for parent in parents.iter().rev() {
        for controller in &controllers {
            put(
                place,
                &format!("{parent}/cgroup.subtree_control"),
                &format!("+{controller}"),
            )?;
        }
    }
    Ok(())
}

fn known(setting: &Setting) -> Result<&'static Tunable, Error> {
    catalogue::check(setting).map_err(|error| Error::new("settings", error))
}

/// What must be written to bring back a tunable's present value. Of two that exclude each other the
/// one that is off reads 0, which cannot be written: the other one's value brings it back.
fn default_of(place: &Place, tunable: &'static Tunable) -> Result<Setting, Error> {
    let read = |tunable: &Tunable| {
        let text = place.root.read(tunable.path);
        let value = text.map(|text| tunable.value_in(&text));
        value.map_err(|error| Error::new(format!("/{}", tunable.path), error))
    };
    let value = read(tunable)?;
    match tunable.partner.and_then(catalogue::find) {
        Some(partner) if value == "0" => Ok(Setting {
            tunable: partner.name.to_owned(),
            value: read(partner)?,
        }),
        _ => Ok(Setting {
            tunable: tunable.name.to_owned(),
            value,
        }),
    }
}

fn is_present(place: &Place, setting: &Setting) -> Result<bool, Error> {
    Ok(place.root.is_file(known(setting)?.path))
}

fn lacking(setting: &Setting) -> Error {
    let what = format!("this kernel lacks {}", setting.tunable);
    let way_out = "leave out what sets it (--arm chooses arms), or name a kernel that has it";
    Error::new("settings", format!("{what}; {way_out}"))
}

/// The settings that a run is about: the arm's and those that the workload writes.
fn needed(scenario: &Scenario) -> Vec<&Setting> {
    let mut settings: Vec<&Setting> = scenario.arm_settings.0.iter().collect();
    for process in &scenario.workload.processes {
        each_step(&process.steps, &mut |step| {
            if let Action::Set(list) = &step.action {
                settings.extend(list);
            }
        });
    }
    settings
}

fn applies_arm(workload: &mm::workload::Workload) -> bool {
    let mut applies = false;
    for process in &workload.processes {
        each_step(&process.steps, &mut |step| {
            applies |= step.action == Action::ApplyArm
        });
    }
    applies
}

fn each_step<'a>(steps: &'a [Step], look: &mut dyn FnMut(&'a Step)) {
    for step in steps {
        look(step);
        if let Action::Repeat { steps, .. } = &step.action {
            each_step(steps, look);
        }
    }
}

fn write(place: &Place, setting: &Setting) -> Result<(), Why> {
    let written = host::write::write(&place.root, setting);
    written.map(drop).map_err(|error| Why {
        errno: match &error {
            WriteError::Refused { error, .. } => Errno::from_io_error(error),
            _ => None,
        }
        .unwrap_or(Errno::INVAL),
        text: error.to_string(),
    })
}

/// One `write` of the whole text, as the kernel's handlers want it.
fn put(place: &Place, path: &str, text: &str) -> Result<(), Why> {
    let write = || {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .open(place.root.join(path))?;
        io::Write::write_all(&mut file, text.as_bytes())
    };
    write().map_err(|error| Why {
        errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
        text: format!("/{path}: \"{text}\": {error}"),
    })
}
