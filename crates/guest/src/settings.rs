//! What an administrator does: settings, and files of control groups and processes.

use host::write::WriteError;
use mm::catalogue::{self, Named, Tunable, path_of};
use mm::settings::Setting;
use mm::units::Bytes;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};
use scenario::Scenario;
use scenario::workload::Action;

use crate::availability;
use crate::error::{Error, Why, is_unknown};
use crate::place::Place;
use crate::plan::each_step;
use crate::recorder::Recorder;
use crate::write::{put, write_cgroup};

/// What was found out about the scenario's tunables before the run.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The arm's tunables with the values they had, in the arm's order.
    defaults: Vec<Setting>,
}

/// Writes the base settings, and the arm's where the workload never does so itself; remembers what
/// the arm's tunables were before.
///
/// What the arm or the workload asks for and this kernel lacks is noted, and then nothing is
/// written: a run without it would say that it makes no difference (see
/// [`Recorder::is_unavailable`]). A base setting that it lacks is noted and skipped.
///
/// # Errors
/// A setting that cannot be written for another reason.
pub fn prepare(
    scenario: &Scenario,
    place: &Place,
    recorder: &mut Recorder,
) -> Result<Prepared, Error> {
    let fail = |why: Why| Error::new("settings", why.text);
    availability::probe(scenario, place, recorder);
    if recorder.is_unavailable() {
        return Ok(Prepared::default());
    }
    for setting in &scenario.base.0 {
        match is_present(place, &place.setting(setting))? {
            true => write(place, setting).map_err(fail)?,
            false => recorder.skipped(setting),
        }
    }
    let mut prepared = Prepared::default();
    for setting in &scenario.arm_settings.0 {
        prepared.defaults.push(default_of(place, setting)?);
    }
    if !applies_arm(&scenario.workload) {
        apply_or_note(place, &scenario.arm_settings.0, recorder).map_err(fail)?;
    }
    Ok(prepared)
}

/// Writes settings; a value that this kernel does not know is noted.
fn apply_or_note(place: &Place, list: &[Setting], recorder: &mut Recorder) -> Result<(), Why> {
    for setting in list {
        match write(place, setting) {
            Err(why) if is_unknown(why.errno) => recorder.unavailable(&setting.to_string()),
            result => result?,
        }
    }
    Ok(())
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

/// Asks for proactive reclaim. Less than was asked for is no failure: the kernel says `EAGAIN`
/// then.
pub(crate) fn reclaim(
    place: &Place,
    cgroup: &str,
    amount: Bytes,
    swappiness: Option<u8>,
) -> Result<(), Why> {
    let with = swappiness.map(|value| format!(" swappiness={value}"));
    let text = format!("{}{}", amount.0, with.unwrap_or_default());
    match write_cgroup(place, cgroup, "memory.reclaim", &text) {
        Err(why) if why.errno == Errno::AGAIN => Ok(()),
        result => result,
    }
}

/// `sync`, then drops the page cache and reclaimable slab.
pub(crate) fn drop_caches(place: &Place) -> Result<(), Why> {
    rustix::fs::sync();
    put(place, const { path_of("vm.drop_caches") }, "3")
}

/// Lets this process run on the CPUs of a NUMA node alone.
pub(crate) fn run_on_node(place: &Place, node: u32) -> Result<(), Why> {
    let path = format!("sys/devices/system/node/node{node}");
    let mut cpus = CpuSet::new();
    for name in place.root.names(&path) {
        let number = name
            .strip_prefix("cpu")
            .and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|&number| number < CpuSet::MAX_CPU) {
            cpus.set(number);
        }
    }
    sched_setaffinity(None, &cpus).map_err(|errno| Why {
        errno,
        text: format!("/{path}: run on one of its {} CPUs: {errno}", cpus.count()),
    })
}

/// Sets this process's `oom_score_adj`.
pub(crate) fn oom_score_adj(place: &Place, value: i16) -> Result<(), Why> {
    put(place, "proc/self/oom_score_adj", &value.to_string())
}

fn known(setting: &Setting) -> Result<Named<'_>, Error> {
    catalogue::check(setting).map_err(|error| Error::new("settings", error))
}

/// What must be written to bring back a tunable's present value. Of two that exclude each other the
/// one that is off reads 0, which cannot be written: the other one's value brings it back.
fn default_of(place: &Place, setting: &Setting) -> Result<Setting, Error> {
    let here = place.setting(setting);
    let named = known(&here)?;
    let read = |path: &str, tunable: &Tunable| {
        let text = place.root.read(path);
        let value = text.map(|text| tunable.value_in(&text));
        value.map_err(|error| Error::new(format!("/{path}"), error))
    };
    let value = read(&named.path(), named.tunable)?;
    match named.tunable.partner.and_then(catalogue::find) {
        Some(partner) if value == "0" => Ok(Setting {
            tunable: partner.name.to_owned(),
            value: read(partner.path, partner)?,
        }),
        _ => Ok(Setting {
            tunable: setting.tunable.clone(),
            value,
        }),
    }
}

fn is_present(place: &Place, setting: &Setting) -> Result<bool, Error> {
    Ok(place.root.is_file(&known(setting)?.path()))
}

fn applies_arm(workload: &scenario::workload::Workload) -> bool {
    let mut applies = false;
    for process in &workload.processes {
        each_step(&process.steps, &mut |step| {
            applies |= step.action == Action::ApplyArm
        });
    }
    applies
}

fn write(place: &Place, setting: &Setting) -> Result<(), Why> {
    let written = host::write::write(&place.root, &place.setting(setting));
    written.map(drop).map_err(|error| Why {
        errno: match &error {
            WriteError::Refused { error, .. } => Errno::from_io_error(error),
            // The kernel knows the tunable and takes another value.
            _ => None,
        }
        .unwrap_or(Errno::RANGE),
        text: error.to_string(),
    })
}
