//! `[[cgroup]]` and `[[process]]`: what asks for memory.

use mm::units::{Bytes, Nanos};
use scenario::workload::{Cgroup, Process, Start, Workload};

use super::cgroup_file::cgroup_file;
use super::names::{Kind, Names};
use super::node::Node;
use super::source::StudyError;
use super::step::{self, Links};
use super::table::Table;
use mm::quantity;

pub(super) const CGROUP: &[&str] = &["path", "files", "arms", "except"];
pub(super) const PROCESS: &[&str] = &[
    "name",
    "start",
    "count",
    "cgroup",
    "oom-score-adj",
    "address-space",
    "steps",
    "arms",
    "except",
];
/// More processes than any study needs and few enough for a table of them.
const MOST_PROCESSES: u32 = 10_000;

/// Reads the workload of an arm, and the place of each of its processes among all of the study;
/// `root` is the whole study, `names` holds disks and files.
pub(super) fn workload(
    root: &Table<'_>,
    names: &mut Names,
) -> Result<(Workload, Vec<u32>), StudyError> {
    let mut cgroups = Vec::new();
    for table in root.tables("cgroup", "[[cgroup]]", CGROUP)? {
        cgroups.push(cgroup(&table, names)?);
    }
    let tables = root.tables("process", "[[process]]", PROCESS)?;
    let mut links = Links::default();
    for table in &tables {
        let name = names.add(Kind::Process, &table.need("name")?)?;
        if start(table)? == Start::OnDemand {
            links.on_demand.insert(name);
        }
    }
    let mut processes = Vec::new();
    for table in &tables {
        processes.push(process(table, names, &mut links)?);
    }
    let workload = Workload {
        cgroups,
        processes,
        deadline: root.maybe("deadline", |n| n.some_duration())?,
    };
    check(root, &tables, &workload, &links)?;
    let numbers = tables.iter().map(Table::number).collect();
    Ok((workload, numbers))
}

fn cgroup(table: &Table<'_>, names: &mut Names) -> Result<Cgroup, StudyError> {
    let node = table.need("path")?;
    let path = node.text()?;
    let bad =
        |part: &str| part.is_empty() || part.starts_with('.') || part.contains(char::is_control);
    if path.split('/').any(bad) {
        return Err(node.expected("a path below the root, as in \"services/database\""));
    }
    if let Some((parent, _)) = path.rsplit_once('/')
        && !names.has(Kind::Cgroup, parent)
    {
        let what = format!("the parent `{parent}` of the control group `{path}` is missing");
        return Err(node.error(
            what,
            format!("add a [[cgroup]] with path \"{parent}\" before it"),
        ));
    }
    names.add_text(Kind::Cgroup, path, &node)?;
    let files = table.or("files", Vec::new(), cgroup_files)?;
    Ok(Cgroup {
        path: path.to_owned(),
        files,
    })
}

fn cgroup_files(node: &Node<'_>) -> Result<Vec<(String, String)>, StudyError> {
    node.entries()?
        .into_iter()
        .map(|(file, value)| cgroup_file(&file, &value))
        .collect()
}

fn start(table: &Table<'_>) -> Result<Start, StudyError> {
    let read = |node: &Node<'_>| match node.text()? {
        "on demand" => Ok(Start::OnDemand),
        "at once" => Ok(Start::After(Nanos::ZERO)),
        text => match text.strip_prefix("after ").map(quantity::duration) {
            Some(Ok(delay)) => Ok(Start::After(delay)),
            _ => Err(node.expected("\"at once\", \"on demand\" or \"after 5 s\"")),
        },
    };
    table.or("start", Start::After(Nanos::ZERO), read)
}

fn process(table: &Table<'_>, names: &mut Names, links: &mut Links) -> Result<Process, StudyError> {
    let name = table.need("name")?.name()?;
    let cgroup = table.maybe("cgroup", |n| group(n, names))?.flatten();
    let steps = table.need("steps")?;
    if steps.list()?.is_empty() {
        return Err(steps.error(format!("process `{name}` has no steps"), "give it one"));
    }
    Ok(Process {
        start: start(table)?,
        count: table.or("count", 1, |n| n.count(1, i64::from(MOST_PROCESSES)))?,
        cgroup,
        oom_score_adj: table.or("oom-score-adj", 0, |n| n.count(-1000, 1000))?,
        address_space: table.maybe("address-space", limit)?.flatten(),
        steps: step::steps_of(&name, &steps, names, links)?,
        name,
    })
}

/// The control group a process starts in; none is needed for the root of the hierarchy, which an
/// arm's parameter can name where others name a group.
fn group(node: &Node<'_>, names: &Names) -> Result<Option<String>, StudyError> {
    match node.text()? {
        "/" => Ok(None),
        _ => names.known(Kind::Cgroup, node).map(Some),
    }
}

/// A limit, or none for the same reason.
fn limit(node: &Node<'_>) -> Result<Option<Bytes>, StudyError> {
    match node.text() {
        Ok("unlimited") => Ok(None),
        _ => node.some_size().map(Some),
    }
}

/// What only the whole workload shows.
fn check(
    root: &Table<'_>,
    tables: &[Table<'_>],
    workload: &Workload,
    links: &Links,
) -> Result<(), StudyError> {
    if workload.processes.is_empty() {
        let arm = root.scope().arm;
        let what = format!("the workload of arm `{arm}` is empty");
        return Err(root.node().error(what, "add a [[process]] with steps"));
    }
    let count: u32 = workload.processes.iter().map(|process| process.count).sum();
    if count > MOST_PROCESSES {
        let what = format!("the workload has {count} processes");
        return Err(root.node().error(what, format!("at most {MOST_PROCESSES}")));
    }
    for (table, process) in tables.iter().zip(&workload.processes) {
        let node = table.need("name")?;
        if process.start == Start::OnDemand && !links.started.contains(&process.name) {
            let what = format!(
                "process `{}` waits for demand, but none starts it",
                process.name
            );
            let way_out = format!(
                "add a step `start = \"{}\"`, or drop its `start`",
                process.name
            );
            return Err(node.error(what, way_out));
        }
    }
    links.check_ends(workload.deadline.is_some())
}
