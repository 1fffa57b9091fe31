//! The workload's control groups.

use std::fs;

use scenario::workload::Cgroup;

use crate::availability::probe_file;
use crate::error::{Error, Why};
use crate::place::Place;
use crate::recorder::Recorder;
use crate::write::{put, write_cgroup};

/// Makes the workload's control groups, parents first, and writes their files. A controller or a
/// file that this kernel lacks is noted (see [`Recorder::is_unavailable`]).
///
/// # Errors
/// A group that cannot be made, or a file that does not take its text.
pub fn make_cgroups(
    place: &Place,
    cgroups: &[Cgroup],
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let controllers = controllers(place, cgroups, recorder);
    for cgroup in cgroups {
        make(place, cgroup, &controllers, recorder).map_err(|why| {
            let what = format!("control group {}", cgroup.path);
            let way_out = "correct its [[cgroup]] in the study";
            Error::new(what, format!("{}; {way_out}", why.text))
        })?;
    }
    Ok(())
}

fn make(
    place: &Place,
    cgroup: &Cgroup,
    controllers: &[String],
    recorder: &mut Recorder,
) -> Result<(), Why> {
    let path = Place::cgroup(&cgroup.path);
    enable(place, controllers, &path)?;
    fs::create_dir_all(place.root.join(&path)).map_err(|error| Why::of(&path, &error))?;
    for (file, text) in &cgroup.files {
        probe_file(&cgroup.path, file, place, recorder);
        if !recorder.is_unavailable() {
            write_cgroup(place, &cgroup.path, file, text)?;
        }
    }
    Ok(())
}

/// The controllers that the groups' files need and this kernel has; the others are noted.
fn controllers(place: &Place, cgroups: &[Cgroup], recorder: &mut Recorder) -> Vec<String> {
    let files = cgroups.iter().flat_map(|cgroup| &cgroup.files);
    let used = files.filter_map(|(file, _)| file.split_once('.').map(|(name, _)| name));
    let mut controllers: Vec<&str> = used.filter(|&name| name != "cgroup").collect();
    if !cgroups.is_empty() {
        controllers.push("memory");
    }
    controllers.sort_unstable();
    controllers.dedup();
    let known = place.root.read(&Place::cgroup("cgroup.controllers"));
    let (known, lacking): (Vec<_>, Vec<_>) = controllers.into_iter().partition(|name| {
        // Where it cannot be read, switching it on will tell.
        known
            .as_ref()
            .map_or(true, |known| known.split_whitespace().any(|it| it == *name))
    });
    for name in lacking {
        recorder.unavailable(&format!("the {name} controller of control groups"));
    }
    known.into_iter().map(str::to_owned).collect()
}

/// Switches controllers on from the root down to `path`.
fn enable(place: &Place, controllers: &[String], path: &str) -> Result<(), Why> {
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
        for controller in controllers {
            let file = format!("{parent}/cgroup.subtree_control");
            put(place, &file, &format!("+{controller}"))?;
        }
    }
    Ok(())
}
