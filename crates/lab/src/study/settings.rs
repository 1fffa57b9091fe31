//! Settings in a study: tunable names and the values that are written, checked by the catalogue.

use mm::catalogue::{self, SettingError, Tunable};
use mm::settings::{Setting, Settings};

use super::node::Node;
use super::source::StudyError;
use crate::measure::Unit;

/// Reads `{ "vm.swappiness" = "10", … }`, in the order of the text.
pub(super) fn settings(node: &Node<'_>) -> Result<Settings, StudyError> {
    let mut settings = Settings::default();
    for (tunable, node) in node.entries()? {
        let value = node.written()?;
        let setting = Setting { tunable, value };
        let tunable = catalogue::check(&setting).map_err(|error| refused(&node, &error))?;
        check_partner(&node, tunable, &settings)?;
        settings.0.push(setting);
    }
    Ok(settings)
}

/// The file of a tunable, and the unit of the number in it.
pub(super) fn tunable_file(node: &Node<'_>) -> Result<(String, Option<Unit>), StudyError> {
    let name = node.text()?;
    let tunable = catalogue::find(name).ok_or_else(|| unknown(node, name))?;
    Ok((tunable.path.to_owned(), unit(tunable.unit)))
}

fn refused(node: &Node<'_>, error: &SettingError) -> StudyError {
    match error {
        SettingError::Unknown { name, .. } => unknown(node, name),
        SettingError::Value {
            name,
            value,
            expected,
        } => node.error(format!("{name} = \"{value}\""), format!("write {expected}")),
    }
}

fn unknown(node: &Node<'_>, name: &str) -> StudyError {
    let way_out = match catalogue::nearest(name) {
        Some(tunable) => format!("did you mean `{}`?", tunable.name),
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
