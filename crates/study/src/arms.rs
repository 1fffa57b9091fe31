//! `[parameters]`, `[[arm]]` and `[[sweep]]`: which arms there are, and what differs between them.

use std::collections::{BTreeMap, BTreeSet};

use mm::settings::Settings;
use toml::Spanned;
use toml::de::DeValue;

use super::names::Names;
use super::node::{Node, Scope};
use super::settings;
use super::source::{Source, StudyError};
use super::table::Table;
use mm::suggest;

const ARM: &[&str] = &[
    "name",
    "about",
    "asks",
    "model-only",
    "settings",
    "parameters",
];
const SWEEP: &[&str] = &["parameter", "values", "arms", "except"];
/// More arms than anyone reads in a table.
const MOST_ARMS: usize = 1000;

/// What is known of an arm before the rest of the study is read for it.
#[derive(Clone, Debug)]
pub(super) struct ArmPlan<'a> {
    /// Its name, with the sweeps' values.
    pub(super) name: String,
    /// Its name without them; `arms` and `except` mean this one.
    pub(super) base_name: String,
    pub(super) about: String,
    pub(super) asks: Option<String>,
    pub(super) model_only: bool,
    settings: Option<&'a Spanned<DeValue<'a>>>,
    pub(super) parameters: BTreeMap<&'a str, &'a DeValue<'a>>,
}

impl<'a> ArmPlan<'a> {
    /// The arm's settings, with its parameters filled in.
    pub(super) fn settings(
        &self,
        scope: &'a Scope<'a>,
        names: &Names,
    ) -> Result<Settings, StudyError> {
        let Some(value) = self.settings else {
            return Ok(Settings::default());
        };
        let place = format!("the settings of arm `{}`", self.base_name);
        let node = Node::new(scope, place, value)?;
        match self.model_only {
            true => settings::with_the_models_own(&node, names),
            false => settings::settings(&node, names),
        }
    }
}

impl<'a> Scope<'a> {
    /// For what all arms share.
    pub(super) fn of_study(source: Source<'a>) -> Self {
        Self {
            source,
            arm: "",
            arms: Vec::new(),
            parameters: BTreeMap::new(),
        }
    }

    pub(super) fn of_arm(
        source: Source<'a>,
        plans: &'a [ArmPlan<'a>],
        plan: &'a ArmPlan<'a>,
    ) -> Self {
        let arms: BTreeSet<&str> = plans.iter().map(|plan| plan.base_name.as_str()).collect();
        Self {
            source,
            arm: &plan.base_name,
            arms: arms.into_iter().collect(),
            parameters: plan.parameters.clone(),
        }
    }
}

/// All arms: those that the study lists, each at every point of the sweeps meant for it.
pub(super) fn plans<'a>(
    source: Source<'a>,
    document: &'a Spanned<DeValue<'a>>,
) -> Result<Vec<ArmPlan<'a>>, StudyError> {
    let scope = Scope::of_study(source);
    let root = super::arm::root(&scope, document)?;
    let document = document.get_ref();
    let defaults = parameters(document.get("parameters"));
    let mut plans = Vec::new();
    for (index, table) in root.tables("arm", "[[arm]]", ARM)?.iter().enumerate() {
        let raw = document
            .get("arm")
            .and_then(|arms| arms.get_ref().get(index));
        let raw = raw.map(Spanned::get_ref);
        let mut plan = ArmPlan {
            name: String::new(),
            base_name: table.need("name")?.name()?,
            about: table.or("about", String::new(), |n| n.text().map(str::to_owned))?,
            asks: table.maybe("asks", |n| n.text().map(str::to_owned))?,
            model_only: table.or("model-only", false, |n| n.flag())?,
            settings: raw.and_then(|arm| arm.get("settings")),
            parameters: defaults.clone(),
        };
        plan.name.clone_from(&plan.base_name);
        check_new(&plan, &plans, table)?;
        check_parameters(table, &defaults)?;
        plan.parameters
            .extend(parameters(raw.and_then(|arm| arm.get("parameters"))));
        plans.push(plan);
    }
    if plans.is_empty() {
        return Err(root
            .node()
            .error("the study has no arms", "add an [[arm]] with a name"));
    }
    sweep(&root, document, plans, &defaults)
}

type Parameters<'a> = BTreeMap<&'a str, &'a DeValue<'a>>;

fn parameters<'a>(value: Option<&'a Spanned<DeValue<'a>>>) -> Parameters<'a> {
    let table = value.and_then(|value| value.get_ref().as_table());
    let entries = table.into_iter().flatten();
    entries
        .map(|(key, value)| (key.get_ref().as_ref(), value.get_ref()))
        .collect()
}

fn check_new(
    plan: &ArmPlan<'_>,
    plans: &[ArmPlan<'_>],
    table: &Table<'_>,
) -> Result<(), StudyError> {
    if plans.iter().all(|other| other.name != plan.name) {
        return Ok(());
    }
    let what = format!("there are two arms called `{}`", plan.name);
    Err(table
        .need("name")?
        .error(what, "give one of them another name"))
}

/// An arm's parameters must be among those that `[parameters]` declares.
fn check_parameters(table: &Table<'_>, declared: &Parameters<'_>) -> Result<(), StudyError> {
    let Some(node) = table.get("parameters")? else {
        return Ok(());
    };
    for (name, value) in node.entries()? {
        check_declared(&name, &value, declared)?;
    }
    Ok(())
}

fn check_declared(
    name: &str,
    node: &Node<'_>,
    declared: &Parameters<'_>,
) -> Result<(), StudyError> {
    if declared.contains_key(name) {
        return Ok(());
    }
    let what = format!("unknown parameter `{name}`");
    let way_out = match declared.is_empty() {
        true => "declare it, with its usual value, in [parameters]".to_owned(),
        false => suggest::way_out(name, declared.keys().copied()),
    };
    Err(node.error(what, way_out))
}

/// Replaces each arm by one for every value of each sweep that is meant for it.
fn sweep<'a>(
    root: &Table<'_>,
    document: &'a DeValue<'a>,
    mut plans: Vec<ArmPlan<'a>>,
    declared: &Parameters<'_>,
) -> Result<Vec<ArmPlan<'a>>, StudyError> {
    let Some(sweeps) = root.get("sweep")? else {
        return Ok(plans);
    };
    for (index, node) in sweeps.list()?.into_iter().enumerate() {
        let table = node.placed("[[sweep]]").table(SWEEP)?;
        let parameter = table.need("parameter")?;
        let name = parameter.text()?;
        check_declared(name, &parameter, declared)?;
        let values = table.need("values")?;
        let raw = document
            .get("sweep")
            .and_then(|sweeps| sweeps.get_ref().get(index));
        let raw = raw.and_then(|sweep| sweep.get_ref().get("values"));
        let Some(points) = raw
            .and_then(|v| v.get_ref().as_array())
            .filter(|p| !p.is_empty())
        else {
            return Err(values.expected("a list of values in brackets"));
        };
        let declared_name = document
            .get("parameters")
            .and_then(|p| p.get_ref().as_table());
        let declared_name = declared_name.and_then(|p| p.get_key_value(name));
        let Some((key, _)) = declared_name else {
            return Err(parameter.expected("the name of a parameter"));
        };
        let points: Vec<&DeValue<'a>> = points.iter().map(Spanned::get_ref).collect();
        plans = spread(&table, key.get_ref().as_ref(), &points, plans, &values)?;
    }
    Ok(plans)
}

fn spread<'a>(
    table: &Table<'_>,
    parameter: &'a str,
    points: &[&'a DeValue<'a>],
    plans: Vec<ArmPlan<'a>>,
    values: &Node<'_>,
) -> Result<Vec<ArmPlan<'a>>, StudyError> {
    let bases: Vec<&str> = plans.iter().map(|plan| plan.base_name.as_str()).collect();
    let chosen = Chosen::read(table, &bases)?;
    let mut spread: Vec<ArmPlan<'a>> = Vec::new();
    for plan in &plans {
        let takes_part = chosen.has(&plan.base_name);
        if !takes_part {
            spread.push(plan.clone());
        }
        for point in points.iter().copied().filter(|_| takes_part) {
            let mut plan = plan.clone();
            plan.name = format!("{}, {parameter} {}", plan.name, shown(point));
            plan.parameters.insert(parameter, point);
            if spread.iter().any(|other| other.name == plan.name) {
                let what = format!("{} names a value twice", values.place());
                return Err(values.error(what, "drop one of them"));
            }
            spread.push(plan);
        }
        if spread.len() > MOST_ARMS {
            let what = format!("the sweeps make more than {MOST_ARMS} arms");
            return Err(values.error(what, "sweep fewer values"));
        }
    }
    Ok(spread)
}

/// The arms that a sweep is meant for.
struct Chosen {
    only: Option<BTreeSet<String>>,
    except: BTreeSet<String>,
}

impl Chosen {
    fn read(table: &Table<'_>, arms: &[&str]) -> Result<Self, StudyError> {
        let names = |node: &Node<'_>| {
            let mut names = BTreeSet::new();
            for name in node.list()? {
                let text = name.text()?;
                if !arms.contains(&text) {
                    let what = format!("{} names an unknown arm `{text}`", name.place());
                    return Err(name.error(what, suggest::way_out(text, arms.iter().copied())));
                }
                names.insert(text.to_owned());
            }
            Ok(names)
        };
        Ok(Self {
            only: table.maybe("arms", names)?,
            except: table.or("except", BTreeSet::new(), names)?,
        })
    }

    fn has(&self, arm: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(arm)) && !self.except.contains(arm)
    }
}

fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        _ => "list".to_owned(),
    }
}
