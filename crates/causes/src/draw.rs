//! What a seed draws: sizes, a second trouble, and what looks like a trouble and is none.

use anyhow::{Context as _, Result, bail};
use mm::prng::Prng;

use crate::recipe::{Label, Recipe, Size};

/// One trouble as it is made.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The recipe's name, or the names of two.
    pub cause: String,
    /// The seed; 0 takes every size as it usually is.
    pub seed: u64,
    /// How it is made, its sizes put in.
    pub recipe: Recipe,
}

/// Parts in a hundred of the seeds that have two troubles, and that have something beside.
const MIXED: u64 = 20;
const BESIDE: u64 = 50;

impl Drawn {
    /// A recipe with the sizes of a seed.
    ///
    /// # Errors
    /// A `{NAME}` that the recipe does not draw.
    pub fn new(recipe: &Recipe, seed: u64) -> Result<Self> {
        let mut recipe = recipe.clone();
        let mut prng = Prng::for_part(seed, &recipe.name);
        recipe.memory = [pick(recipe.memory, seed, &mut prng); 3];
        recipe.share_memory();
        let sizes: Vec<_> = recipe
            .sizes
            .iter()
            .map(|(name, size)| (name.clone(), *size))
            .collect();
        for (name, size) in sizes {
            let value = pick(size, seed, &mut prng).to_string();
            recipe.put(&format!("{{{name}}}"), &value);
        }
        match unset(&recipe.steps).or_else(|| unset(&recipe.arose)) {
            Some(name) => bail!("{}: nothing draws {name}", recipe.name),
            None => Ok(Self {
                cause: recipe.name.clone(),
                seed,
                recipe,
            }),
        }
    }

    /// What a seed draws of all recipes: one, two that may stand together, and what may stand
    /// beside them.
    ///
    /// # Errors
    /// Those of [`Drawn::new`], or that there is no recipe.
    pub fn of_seed(recipes: &[Recipe], beside: &[Recipe], seed: u64) -> Result<Self> {
        let mut prng = Prng::for_part(seed, "which");
        let mut one = |among: &[&Recipe]| {
            let at = prng.below(among.len() as u64) as usize;
            among
                .get(at)
                .copied()
                .cloned()
                .context("no recipe to draw from")
        };
        let all: Vec<&Recipe> = recipes.iter().collect();
        let mut drawn = Self::new(&one(&all)?, seed)?;
        let mixes = |recipe: &&Recipe| recipe.mixes && recipe.name != drawn.cause;
        let others: Vec<&Recipe> = recipes.iter().filter(mixes).collect();
        let second = one(&others)?;
        let third = one(&beside.iter().collect::<Vec<_>>());
        if drawn.recipe.mixes && prng.below(100) < MIXED {
            drawn = drawn.with(&Self::new(&second, seed)?);
        }
        if let Ok(third) = third
            && prng.below(100) < BESIDE
        {
            drawn = drawn.beside(&Self::new(&third, seed)?);
        }
        Ok(drawn)
    }

    /// Two troubles on one machine.
    fn with(mut self, other: &Self) -> Self {
        self.cause = format!("{}+{}", self.cause, other.cause);
        self.recipe.join(&other.recipe);
        self.recipe.label = self.recipe.label.with(&other.recipe.label);
        self
    }

    /// What is no trouble, made first; its label says what is true of it.
    fn beside(mut self, other: &Self) -> Self {
        let steps = std::mem::take(&mut self.recipe.steps);
        self.recipe.join(&other.recipe);
        self.recipe.steps += &steps;
        self.recipe
            .label
            .also
            .extend_from_slice(&other.recipe.label.also);
        self
    }

    /// Whether it can be made on a kernel.
    #[must_use]
    pub fn is_on(&self, kernel: &str) -> bool {
        let kernels = &self.recipe.kernels;
        kernels.is_empty() || kernels.iter().any(|known| known == kernel)
    }

    /// Its label.
    #[must_use]
    pub fn label(&self) -> &Label {
        &self.recipe.label
    }
}

impl Recipe {
    /// Puts a value in the place of its name.
    fn put(&mut self, name: &str, value: &str) {
        let texts = self.label.says.iter_mut().chain(&mut self.parameters);
        let texts = texts.chain(&mut self.devices);
        let texts = texts.chain([&mut self.steps, &mut self.arose, &mut self.orders]);
        texts.for_each(|text| *text = text.replace(name, value));
    }

    /// Each node has whole MiB.
    fn share_memory(&mut self) {
        let nodes = u64::from(self.nodes.max(1));
        self.memory = self.memory.map(|mib| mib.next_multiple_of(nodes));
    }

    /// Takes over what another needs of the machine, and its steps.
    fn join(&mut self, other: &Self) {
        self.memory = [self.memory[0].max(other.memory[0]); 3];
        self.nodes = self.nodes.max(other.nodes);
        self.share_memory();
        self.parameters.extend_from_slice(&other.parameters);
        self.modules.extend_from_slice(&other.modules);
        self.devices.extend_from_slice(&other.devices);
        match self.kernels.is_empty() {
            true => self.kernels.clone_from(&other.kernels),
            false if other.kernels.is_empty() => {}
            false => self.kernels.retain(|kernel| other.kernels.contains(kernel)),
        }
        self.driver |= other.driver;
        if self.disks.is_empty() {
            self.disks = other.disks.clone();
        }
        self.steps += &other.steps;
        self.arose += &other.arose;
    }
}

fn pick([usual, least, most]: Size, seed: u64, prng: &mut Prng) -> u64 {
    match seed {
        0 => usual,
        _ => least + prng.below(most.saturating_sub(least) + 1),
    }
}

/// A name in braces that nothing was put in for; a shell's own `${NAME}` is none.
fn unset(steps: &str) -> Option<&str> {
    let braces = steps.match_indices('{').filter_map(|(at, _)| {
        let before = steps[..at].ends_with('$');
        let name = steps[at..].split_inclusive('}').next()?;
        let plain = name.len() > 2
            && name[1..name.len() - 1]
                .chars()
                .all(|c| c.is_ascii_lowercase());
        (!before && plain && name.ends_with('}')).then_some(name)
    });
    braces.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(name: &str) -> Recipe {
        let text = "about = \"x.\"\nmixes = true\nsteps = \"a {hold} ${x}\\n\"\n\
                    sizes.hold = [5, 1, 9]\nlabel.first = [\"swap-full\"]\nlabel.seen_in = [\"log\"]";
        let mut recipe: Recipe = toml::from_str(text).unwrap();
        recipe.name = name.into();
        recipe
    }

    #[test]
    fn seed_0_is_as_usual_and_a_seed_draws_the_same_again() {
        let usual = Drawn::new(&recipe("a"), 0).unwrap();
        assert_eq!(usual.recipe.steps, "a 5 ${x}\n");
        let drawn = |seed| Drawn::new(&recipe("a"), seed).unwrap().recipe.steps;
        assert_eq!(drawn(7), drawn(7));
        assert!((1..9).any(|seed| drawn(seed) != usual.recipe.steps));
    }

    #[test]
    fn nodes_have_whole_mib() {
        let mut two = recipe("a");
        (two.nodes, two.memory) = (2, [256, 225, 384]);
        let drawn = (0..50).map(|seed| Drawn::new(&two, seed).unwrap());
        assert!(
            drawn
                .map(|drawn| drawn.recipe.memory[0])
                .all(|mib| mib % 2 == 0)
        );
    }

    #[test]
    fn what_nothing_draws_is_an_error() {
        let mut wrong = recipe("a");
        wrong.steps = "trouble anon {held}".into();
        let error = Drawn::new(&wrong, 0).unwrap_err().to_string();
        assert_eq!(error, "a: nothing draws {held}");
    }

    #[test]
    fn some_seeds_mix_and_their_labels_are_both() {
        let recipes = [recipe("a"), recipe("b")];
        let drawn = (0..100).map(|seed| Drawn::of_seed(&recipes, &[], seed).unwrap());
        let mixed: Vec<Drawn> = drawn.filter(|drawn| drawn.cause.contains('+')).collect();
        assert!((5..40).contains(&mixed.len()), "{}", mixed.len());
        assert_eq!(mixed[0].label().seen_in, ["log+log"]);
    }
}
