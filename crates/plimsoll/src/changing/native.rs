//! The native files that keep a change: which names win here at the next boot.

use anyhow::{Context as _, bail};
use change::confirm::Files;
use change::{Change, Role, Value, native};
use conf::{Entry, Found, Kind, Live, Tree, who, winning_name};
use host::Root;
use mm::catalogue;

/// The files in which what a change set wins.
///
/// # Errors
/// What would win over it, in one line.
pub(crate) fn files_of(root: &Root, change: &Change) -> anyhow::Result<Files> {
    let steps = change.steps.iter().filter(|step| step.role != Role::Aside);
    let values: Vec<(&str, &str)> = steps
        .map(|step| (step.new.path.as_str(), step.new.text.as_str()))
        .collect();
    files(root, &values)
}

/// The files in which these values win, each a tunable's file without the leading slash and a text.
///
/// # Errors
/// What would win over them, in one line.
pub(crate) fn files(root: &Root, values: &[(&str, &str)]) -> anyhow::Result<Files> {
    if let Some((path, _)) = values
        .iter()
        .find(|(path, _)| native::kind_for(path).is_none())
    {
        bail!(
            "/{path} cannot be kept over a reboot: no file that is read at boot reaches a device \
             that comes later; leave --persist out"
        );
    }
    let tree = host::configuration::read(root);
    Ok(Files {
        sysctl: name(&tree, Kind::Sysctl, values)?,
        tmpfiles: name(&tree, Kind::Tmpfiles, values)?,
    })
}

fn name(tree: &Tree, kind: Kind, values: &[(&str, &str)]) -> anyhow::Result<String> {
    let of_kind = |(path, _): &&(&str, &str)| native::kind_for(path) == Some(kind);
    let values: Vec<(&str, &str)> = values.iter().filter(of_kind).copied().collect();
    let name = winning_name(tree, kind, &values);
    let name = name.context("it cannot be kept over a reboot")?;
    let file = format!("{}/{name}", kind.directory());
    stands(tree, kind, &file, &values)?;
    Ok(file)
}

/// Whether the values stand beside what earlier changes wrote into the file: systemd leaves a key
/// that is set to the same value again at its first place, before a partner that was set between.
fn stands(tree: &Tree, kind: Kind, file: &str, values: &[(&str, &str)]) -> anyhow::Result<()> {
    let Found::File { text, .. } = tree.find(file) else {
        return Ok(());
    };
    let of = |(path, text): &(&str, &str)| Value {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    let ours: Vec<Value> = values.iter().map(of).collect();
    let ours: Vec<&Value> = ours.iter().collect();
    let text = native::with(Some(text), kind, u32::MAX, "", &ours);
    let mut then = tree.clone();
    then.put(file, Entry::File(text));
    for (path, value) in values {
        let answer = who(&then, path, &Live::default());
        let winner = answer.winner().and_then(|winner| winner.value.as_deref());
        if winner != Some(*value) {
            bail!(
                "/{file}: what earlier changes wrote there wins over {path} = {value} at the next \
                 boot: undo them first"
            );
        }
    }
    Ok(())
}

/// Which file wins at the next boot over one of a change's values, if one does.
pub(crate) fn loses(root: &Root, change: &Change) -> Option<String> {
    let tree = host::configuration::read(root);
    let steps = change.steps.iter().filter(|step| step.role != Role::Aside);
    steps.into_iter().find_map(|step| {
        let path = &step.new.path;
        let answer = who(&tree, path, &Live::default());
        let origin = &answer.winner().or(answer.partner.as_ref())?.origin;
        let file = format!("/{path}");
        let name = catalogue::resolve(&file);
        let name = name.map_or_else(|_| path.clone(), |it| it.to_string());
        (!change.files.contains(&origin.path)).then(|| {
            let ours = change.files.join(" or /");
            format!("at the next boot {name} comes from {origin}, and not from /{ours}")
        })
    })
}
