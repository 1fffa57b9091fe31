//! The workload with its names resolved: every process instance and every step gets a number, so
//! that processes and supervisor can speak of them in a word.

use mm::units::Bytes;
use scenario::Scenario;
use scenario::workload::{Action, Process, Step};

/// The numbered workload.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// What is run.
    pub(crate) scenario: &'a Scenario,
    /// `MemAvailable` when the run began: sizes may be shares of it.
    pub(crate) available: Bytes,
    /// The process instances, in the order in which they are started.
    pub(crate) instances: Vec<Instance<'a>>,
    /// For each process its steps.
    programs: Vec<Vec<Node<'a>>>,
    /// Each step by its number: its process's index, its path, and what it is.
    steps: Vec<(usize, String, &'a Step)>,
    /// How deep labelled steps nest, at most.
    pub(crate) levels: usize,
}

/// One process instance.
#[derive(Debug)]
pub(crate) struct Instance<'a> {
    /// Its name.
    pub(crate) name: String,
    /// Index of its process in the workload.
    pub(crate) index: usize,
    /// Its process.
    pub(crate) process: &'a Process,
}

/// A step with its number.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// The step's number.
    pub(crate) number: u32,
    /// The step.
    pub(crate) step: &'a Step,
    /// The steps that a repetition repeats.
    pub(crate) children: Vec<Node<'a>>,
}

impl<'a> Plan<'a> {
    /// Numbers a scenario's workload.
    pub(crate) fn new(scenario: &'a Scenario, available: Bytes) -> Self {
        let mut plan = Self {
            scenario,
            available,
            instances: Vec::new(),
            programs: Vec::new(),
            steps: Vec::new(),
            levels: 1,
        };
        for (index, process) in scenario.workload.processes.iter().enumerate() {
            let instances = process.instances().map(|name| Instance {
                name,
                index,
                process,
            });
            plan.instances.extend(instances);
            let program = plan.number(index, "", 0, &process.steps);
            plan.programs.push(program);
        }
        plan
    }

    /// The steps of a process.
    pub(crate) fn program(&self, process: usize) -> &[Node<'a>] {
        &self.programs[process]
    }

    /// A step by its number.
    pub(crate) fn step(&self, number: u32) -> &'a Step {
        self.steps[number as usize].2
    }

    /// A step's path within its process, as in `7.0`.
    pub(crate) fn path(&self, number: u32) -> &str {
        &self.steps[number as usize].1
    }

    /// The label under which a step is reported: its own.
    pub(crate) fn label(&self, number: u32) -> &'a str {
        self.step(number).label.as_deref().unwrap_or_default()
    }

    /// The numbers of the instances of a process, by its name; none where there is no such process.
    pub(crate) fn instances_of(&self, process: &str) -> impl Iterator<Item = usize> {
        let named = move |(_, instance): &(usize, &Instance<'_>)| instance.process.name == process;
        self.instances
            .iter()
            .enumerate()
            .filter(named)
            .map(|(number, _)| number)
    }

    fn number(
        &mut self,
        process: usize,
        prefix: &str,
        outer: usize,
        steps: &'a [Step],
    ) -> Vec<Node<'a>> {
        let mut nodes = Vec::with_capacity(steps.len());
        for (index, step) in steps.iter().enumerate() {
            let number = u32::try_from(self.steps.len()).expect("a study is far shorter");
            let path = format!("{prefix}{index}");
            let inner = format!("{path}.");
            self.steps.push((process, path, step));
            let depth = outer + usize::from(is_reported(step));
            self.levels = self.levels.max(depth);
            let children = match &step.action {
                Action::Repeat { steps, .. } => self.number(process, &inner, depth, steps),
                _ => Vec::new(),
            };
            nodes.push(Node {
                number,
                step,
                children,
            });
        }
        nodes
    }
}

/// Whether a step's figures are reported: it has a label that is not a snapshot's name.
pub(crate) fn is_reported(step: &Step) -> bool {
    step.label.is_some() && !matches!(step.action, Action::Snapshot)
}

/// Calls `look` with every step, those inside repetitions too.
pub(crate) fn each_step<'a>(steps: &'a [Step], look: &mut dyn FnMut(&'a Step)) {
    for step in steps {
        look(step);
        if let Action::Repeat { steps, .. } = &step.action {
            each_step(steps, look);
        }
    }
}
