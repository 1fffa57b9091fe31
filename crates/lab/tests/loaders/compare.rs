//! Many trees: what a real program writes against what the model says.

use conf::Tree;

use crate::pick::number;
use crate::sandbox::Written;

/// A tree, and the writes of both.
pub(crate) struct Case {
    pub(crate) tree: Tree,
    pub(crate) real: Vec<Written>,
    pub(crate) model: Vec<Expected>,
}

/// A write that the model expects to be seen. For one whose order is nobody's, the line that it
/// comes from.
pub(crate) type Expected = (Written, Option<(String, usize)>);

/// Tries trees, this many where the environment does not say how many.
pub(crate) fn hold(program: &str, trees: u64, case: impl Fn(u64) -> Case) {
    let first = number("PLIMSOLL_SEED", 0);
    let trees = number("PLIMSOLL_TREES", trees);
    let (mut writes, mut missed) = (0, 0);
    for seed in first..first + trees {
        let case = case(seed);
        writes += case.real.len();
        if sorted_within_lines(case.real.clone(), &case.model) != plain(&case.model) {
            missed += 1;
            case.report(seed);
        }
        assert!(missed < 5, "too many trees missed");
    }
    println!("{program}: {trees} trees, {writes} writes, {missed} missed");
    assert_eq!(missed, 0, "trees whose writes differ");
    assert!(writes > 0, "the program wrote nothing");
}

impl Case {
    fn report(&self, seed: u64) {
        println!("seed {seed}:");
        for (path, entry) in self.tree.entries() {
            println!("  {path}: {entry:?}");
        }
        println!("  real  {:?}\n  model {:?}", self.real, plain(&self.model));
    }
}

fn plain(model: &[Expected]) -> Vec<Written> {
    model.iter().map(|(written, _)| written.clone()).collect()
}

/// Sorts what comes from one line in no order of its own as the model has it.
fn sorted_within_lines(mut real: Vec<Written>, model: &[Expected]) -> Vec<Written> {
    let mut from = 0;
    for run in model.chunk_by(|a, b| a.1.is_some() && a.1 == b.1) {
        let to = (from + run.len()).min(real.len());
        if run[0].1.is_some() && from < to {
            let place = |it: &Written| run.iter().position(|(written, _)| written == it);
            real[from..to].sort_by_key(place);
        }
        from = to;
    }
    real
}
