//! The native files that keep a change: which names win here at the next boot.

use change::confirm::Files;
use change::native::Format;
use change::{Change, Role};
use conf::{Live, Tree};
use host::Root;
use mm::catalogue;
use mm::settings::Setting;

/// The settings that a change wrote, by their files.
pub(crate) fn settings(change: &Change) -> Vec<Setting> {
    let steps = change.steps.iter().filter(|step| step.role != Role::Aside);
    steps
        .map(|step| Setting {
            tunable: step.new.path.clone(),
            value: step.new.text.clone(),
        })
        .collect()
}

/// The files in which these settings win.
///
/// # Errors
/// What would win over them, in one line.
pub(crate) fn files(root: &Root, _settings: &[Setting]) -> anyhow::Result<Files> {
    let _tree: Tree = host::configuration::read(root);
    Ok(Files {
        sysctl: "etc/sysctl.d/99-plimsoll.conf".to_owned(),
        tmpfiles: "etc/tmpfiles.d/00-plimsoll.conf".to_owned(),
    })
}

/// Which file wins at the next boot over one of a change's values, if one does.
pub(crate) fn loses(root: &Root, change: &Change) -> Option<String> {
    let tree = host::configuration::read(root);
    let steps = change.steps.iter().filter(|step| step.role != Role::Aside);
    for step in steps {
        let path = &step.new.path;
        Format::of(path)?;
        let answer = conf::who::who(&tree, path, &Live::default());
        let winner = answer.winner()?;
        if !change.files.contains(&winner.origin.path) {
            let name = catalogue::resolve(path).map_or_else(|_| path.clone(), |it| it.to_string());
            return Some(format!(
                "at the next boot {name} comes from {}, and not from /{}",
                winner.origin,
                change.files.join(" or /")
            ));
        }
    }
    None
}
