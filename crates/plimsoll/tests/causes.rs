//! Troubles that were made on purpose: what `inspect` says of them does not get worse.
//!
//! `fixtures/causes` has a run of each cause (`causes/README.md`), and what was right of it at last.
//! `UPDATE_EXPECT=1` writes that again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use causes::draw::Drawn;
use causes::forms;
use causes::judge::{Judge, Verdict};
use causes::recipe::{self, Recipe};
use causes::run::{Key, Run};
use causes::score::Score;

/// Of what is cut short at every tenth, these are judged here; `cargo xtask causes` judges all.
const TENTHS: [usize; 4] = [3, 6, 9, 10];

fn fixtures() -> PathBuf {
    testkit::checkout("fixtures/causes")
}

/// A run of the sample.
struct Sample {
    key: Key,
    recipe: Recipe,
    path: PathBuf,
}

fn sample() -> Vec<Sample> {
    let recipes = recipe::all(&recipe::folder()).expect("the recipes are recipes");
    let mut found = Vec::new();
    for kernel in folders(&fixtures()) {
        for recipe in &recipes {
            let key = Key {
                cause: recipe.name.clone(),
                kernel: kernel.clone(),
                seed: 0,
            };
            let path = key.path(&fixtures(), None);
            if path.exists() {
                let recipe = recipe.clone();
                found.push(Sample { key, recipe, path });
            }
        }
    }
    found
}

fn folders(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("a folder").flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn judge(sample: &Sample) -> Vec<Verdict> {
    let judge = Judge::new(Path::new(env!("CARGO_BIN_EXE_plimsoll")));
    let drawn = Drawn::new(&sample.recipe, 0).expect("its sizes are drawn");
    let run = Run::load(&sample.path).expect("a run");
    let forms = forms::all(&run, drawn.label()).into_iter();
    let chosen = forms.filter(|form| TENTHS.contains(&form.tenths));
    let judged = chosen.map(|form| judge.judge(&sample.key, &form, drawn.label()));
    judged
        .collect::<Result<_, _>>()
        .expect("inspect does not die")
}

fn judge_all(sample: &[Sample]) -> Vec<Verdict> {
    let (left, verdicts) = (Mutex::new(sample.iter()), Mutex::new(Vec::new()));
    let next = || left.lock().expect("no panic").next();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(sample) = next() {
                    let judged = judge(sample);
                    verdicts.lock().expect("no panic").extend(judged);
                }
            });
        }
    });
    verdicts.into_inner().expect("no panic")
}

#[test]
fn what_is_said_of_known_causes_does_not_get_worse() {
    let sample = sample();
    assert!(
        sample.len() > 20,
        "{} runs in {}",
        sample.len(),
        fixtures().display()
    );
    let score = Score::of(&judge_all(&sample));
    let path = fixtures().join("score.tsv");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return fs::write(&path, score.to_text()).expect("the score is written");
    }
    let before = Score::parse(&fs::read_to_string(&path).expect("a score")).expect("a score");
    let worse = score.worse_than(&before);
    assert!(
        worse.is_empty(),
        "{}\n`cargo xtask causes --judge --folder fixtures/causes` shows the misses",
        worse.join("\n")
    );
}
