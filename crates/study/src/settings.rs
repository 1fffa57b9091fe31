//! Settings in a study: tunable names and the values that are written, checked by the catalogue.

use mm::catalogue::{self, SettingError, Tunable};
use mm::rules::OLDER;
use mm::settings::{Setting, Settings};

use super::names::{Kind, Names};
use super::node::Node;
use super::source::StudyError;
use crate::measure::Unit;
use mm::suggest;

/// Reads `{ "vm.swappiness" = "10", … }`, in the order of the text.
pub(super) fn settings(node: &Node<'_>, names: &Names) -> Result<Settings, StudyError> {
    read(node, names, false)
}

/// The same for an arm that only the model runs: settings of the model's own may be among them.
pub(super) fn with_the_models_own(node: &Node<'_>, names: &Names) -> Result<Settings, StudyError> {
    read(node, names, true)
}

fn read(node: &Node<'_>, names: &Names, model_only: bool) -> Result<Settings, StudyError> {
    let mut settings = Settings::default();
    for (tunable, node) in node.entries()? {
        let value = node.written()?;
        let setting = Setting { tunable, value };
        if is_of_the_model(&setting, &node, model_only)? {
            settings.0.push(setting);
            continue;
        }
        let named = catalogue::check(&setting).map_err(|error| refused(&node, &error))?;
        if let Some(disk) = named.device() {
            names.known_text(Kind::Disk, disk, &node)?;
            check_ratios(&node, disk, &setting, &settings)?;
        }
        check_partner(&node, named.tunable, &settings)?;
        settings.0.push(setting);
    }
    Ok(settings)
}

/// Whether it is one of the model's own, which only an arm for the model may set.
fn is_of_the_model(
    setting: &Setting,
    node: &Node<'_>,
    model_only: bool,
) -> Result<bool, StudyError> {
    let Some(older) = OLDER.iter().find(|older| older.name == setting.tunable) else {
        return Ok(false);
    };
    let name = older.name;
    if !model_only {
        let what = format!("{name} is a setting of the model, not of a kernel");
        return Err(node.error(what, "give the arm `model-only = true`"));
    }
    let values = older.values();
    if !values.contains(&setting.value) {
        let what = format!("{name} = \"{}\"", setting.value);
        let way_out = suggest::way_out(&setting.value, values.iter().map(String::as_str));
        return Err(node.error(what, way_out));
    }
    Ok(true)
}

/// The file of a tunable, and the unit of the number in it.
pub(super) fn tunable_file(node: &Node<'_>) -> Result<(String, Option<Unit>), StudyError> {
    let name = node.text()?;
    let tunable = catalogue::find(name).ok_or_else(|| unknown(node, name))?;
    Ok((tunable.path.to_owned(), unit(tunable.unit)))
}

/// The unit of the number in a file, where it is a tunable's.
pub(super) fn unit_of(file: &str) -> Option<Unit> {
    let tunable = catalogue::all().find(|tunable| tunable.path == file)?;
    unit(tunable.unit)
}

fn refused(node: &Node<'_>, error: &SettingError) -> StudyError {
    match error {
        SettingError::Unknown { name, .. } => unknown(node, name),
        SettingError::Value {
            name,
            value,
            expected,
        } => {
            let way_out = format!("write {expected}{}", because(name));
            node.error(format!("{name} = \"{value}\""), way_out)
        }
    }
}

/// Why a tunable takes no other values, where that is not plain.
fn because(name: &str) -> &'static str {
    match name {
        // Linux 6.1 and 6.12 answer EINVAL, which a script that does not look misses.
        "vm.dirty_bytes" => ": the kernel takes no limit below two pages and keeps the old one",
        _ => "",
    }
}

fn unknown(node: &Node<'_>, name: &str) -> StudyError {
    let way_out = match catalogue::nearest(name) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "docs/tunables.md lists those there are".to_owned(),
    };
    node.error(format!("unknown tunable `{name}`"), way_out)
}

/// Of an exclusive pair the kernel keeps the one that was written last, which nobody means.
fn check_partner(node: &Node<'_>, tunable: &Tunable, before: &Settings) -> Result<(), StudyError> {
    match tunable
        .partner
        .filter(|partner| before.get(partner).is_some())
    {
        None => Ok(()),
        Some(partner) => {
            let what = format!("{} and {partner} exclude each other", tunable.name);
            Err(node.error(what, "keep one of them: writing one switches the other off"))
        }
    }
}

/// The kernel refuses a disk's least share above its largest one, whichever is written last.
fn check_ratios(
    node: &Node<'_>,
    disk: &str,
    setting: &Setting,
    before: &Settings,
) -> Result<(), StudyError> {
    let [least, most] = ["min_ratio", "max_ratio"].map(|file| format!("bdi.{disk}.{file}"));
    let share = |name: &str| -> Option<u64> {
        let own = (setting.tunable == name).then_some(setting.value.as_str());
        own.or_else(|| before.get(name))?.parse().ok()
    };
    match (share(&least), share(&most)) {
        (Some(min), Some(max)) if min > max => {
            let what = format!("{least} = {min} is above {most} = {max}");
            Err(node.error(
                what,
                "the kernel refuses that: lower the one or raise the other",
            ))
        }
        _ => Ok(()),
    }
}

fn unit(unit: catalogue::Unit) -> Option<Unit> {
    match unit {
        catalogue::Unit::Kib => Some(Unit::Kib),
        catalogue::Unit::Mib => Some(Unit::Mib),
        catalogue::Unit::Pages => Some(Unit::Pages),
        catalogue::Unit::Percent => Some(Unit::Percent),
        catalogue::Unit::Milliseconds => Some(Unit::Millis),
        catalogue::Unit::Seconds => Some(Unit::Seconds),
        _ => None,
    }
}
