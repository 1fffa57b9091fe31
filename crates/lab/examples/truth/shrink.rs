//! Makes the study of a wrong decision small: what can be left out while it stays wrong goes.

use std::fs;

use anyhow::{Context, Result, bail};

use super::ask::{Asked, Benches};
use super::decide::{Decision, Judgement, Sides};
use super::drawn::{Drawn, Kind, Swap};
use super::text;
use crate::root;

/// Each try is a run of both arms on a kernel.
const TRIES: usize = 24;
/// MiB below which a machine is not halved, and the time below which a span is not.
const LEAST_MEMORY: u64 = 512;
const LEAST_TIME: u64 = 2000;

/// What has to stay as it is.
struct Kept<'a> {
    consumer: &'a str,
    arm: &'a str,
}

/// `cargo xtask truth --shrink SEED`: the worst decision of a seed, in a small study.
pub(super) fn run(benches: &Benches, drawn: Drawn) -> Result<()> {
    let folder = root().join("target/truth");
    let seed = drawn.seed;
    let asked = benches.ask(drawn)?;
    let asked = asked.with_context(|| format!("seed {seed}: no records, and nothing is run"))?;
    let Some(worst) = worst(&asked) else {
        bail!("seed {seed}: every pair is decided as the kernel does");
    };
    let small = Benches {
        records: folder.join("shrunk"),
        plimsoll: benches.plimsoll.clone(),
        starts: benches.starts,
        instead: benches.instead,
    };
    let consumer = worst.measure.trim_end_matches(" rate");
    let kept = Kept {
        consumer,
        arm: &worst.arm,
    };
    let mut still = |drawn: &Drawn| {
        let asked = small.ask(drawn.clone())?;
        let found = asked.map(|it| find(&it, &worst)).unwrap_or_default();
        Ok(found.is_some_and(|it| it.judgement == worst.judgement))
    };
    let shrunk = shrink(asked.drawn, &kept, &mut still)?;
    let path = folder.join(format!("truth-{seed}-small.toml"));
    fs::write(&path, text::of(&shrunk)).with_context(|| path.display().to_string())?;
    println!(
        "seed {seed}, {} {}: {} in {}",
        worst.measure,
        worst.arm,
        worst.judgement.word(),
        path.display()
    );
    Ok(())
}

fn pairs(asked: &Asked) -> Vec<Decision> {
    let kernel: Vec<_> = asked.kernel.iter().map(|(_, run)| run.clone()).collect();
    let model = asked.model.as_ref().map(Vec::as_slice).unwrap_or_default();
    let model: Vec<_> = model.iter().map(|(_, run)| run.clone()).collect();
    let sides = Sides {
        study: &asked.study,
        kernel: &kernel,
        model: &model,
    };
    sides.pairs()
}

fn worst(asked: &Asked) -> Option<Decision> {
    let wrong = pairs(asked).into_iter();
    let wrong = wrong.filter(|it| it.judgement != Judgement::Right);
    wrong.min_by_key(Decision::order)
}

fn find(asked: &Asked, like: &Decision) -> Option<Decision> {
    let mut all = pairs(asked).into_iter();
    all.find(|it| it.measure == like.measure && it.arm == like.arm)
}

/// Leaves out one thing after the other while `still` says that the decision is as wrong; at most
/// [`TRIES`] of them.
fn shrink(
    drawn: Drawn,
    kept: &Kept<'_>,
    still: &mut dyn FnMut(&Drawn) -> Result<bool>,
) -> Result<Drawn> {
    let (mut best, mut tries, mut from) = (drawn, 0, 0);
    while tries < TRIES {
        let all = smaller(&best, kept);
        let Some((what, next)) = all.into_iter().nth(from) else {
            break;
        };
        tries += 1;
        match still(&next)? {
            true => {
                eprintln!("without {what}: still wrong");
                best = next;
            }
            // What is needed stays, and the next thing is tried.
            false => from += 1,
        }
    }
    Ok(best)
}

/// What could be left out, each with the study that is left.
fn smaller(drawn: &Drawn, kept: &Kept<'_>) -> Vec<(String, Drawn)> {
    let mut all = Vec::new();
    for (place, arm) in drawn.arms.iter().enumerate().skip(1) {
        if arm.name != kept.arm {
            let mut next = drawn.clone();
            next.arms.remove(place);
            all.push((format!("arm {}", arm.name), next));
        }
    }
    for (place, one) in drawn.consumers.iter().enumerate() {
        if one.name != kept.consumer {
            all.push((one.name.clone(), without_consumer(drawn, place)));
        }
    }
    for place in 0..drawn.swap.len() {
        let mut next = drawn.clone();
        next.swap.remove(place);
        all.push(("a swap area".to_owned(), next));
    }
    if drawn.disks.len() > 1 {
        all.push(("the second disk".to_owned(), on_one_disk(drawn)));
    }
    if drawn.memory >= LEAST_MEMORY {
        all.push(("half of the memory".to_owned(), halved(drawn)));
    }
    if drawn.span >= LEAST_TIME {
        let mut next = drawn.clone();
        (next.warm, next.span) = (drawn.warm / 2, drawn.span / 2);
        all.push(("half of the time".to_owned(), next));
    }
    all
}

/// Without guests ksmd has nothing to do, and without a member a group is none.
fn without_consumer(drawn: &Drawn, place: usize) -> Drawn {
    let mut next = drawn.clone();
    let gone = next.consumers.remove(place);
    if gone.group == Some("side") {
        next.side = None;
    }
    if next.consumers.iter().all(|one| one.kind != Kind::Guests) {
        next.base
            .retain(|(tunable, _)| !tunable.starts_with("ksm."));
    }
    next
}

fn on_one_disk(drawn: &Drawn) -> Drawn {
    let mut next = drawn.clone();
    next.disks.truncate(1);
    next.consumers.iter_mut().for_each(|one| one.disk = 0);
    for area in &mut next.swap {
        if let Swap::Disk { disk, .. } = area {
            *disk = 0;
        }
    }
    next
}

/// Everything that has a size at half of it; what the arms set stays.
fn halved(drawn: &Drawn) -> Drawn {
    let mut next = drawn.clone();
    let half = |size: &mut u64| *size = (*size).div_ceil(2);
    half(&mut next.memory);
    next.side.iter_mut().for_each(half);
    for one in &mut next.consumers {
        half(&mut one.heap);
        half(&mut one.file);
    }
    for area in &mut next.swap {
        let (Swap::Disk { size, .. } | Swap::Zram { size, .. }) = area;
        half(size);
    }
    next
}

#[cfg(test)]
mod tests {
    use study::Study;

    use super::super::draw;
    use super::*;

    fn many() -> Drawn {
        let mut all = (1..200).map(draw::whole);
        let many = all.find(|it| {
            let is_wide = it.consumers.len() > 3 && it.disks.len() == 2;
            is_wide && it.arms.len() == 3 && it.memory > 1000 && !it.swap.is_empty()
        });
        many.unwrap()
    }

    #[test]
    fn what_is_not_needed_goes_and_each_step_is_a_valid_study() {
        let drawn = many();
        let (needed, consumer) = (
            drawn.consumers[1].name.clone(),
            drawn.consumers[0].name.clone(),
        );
        let arm = drawn.arms[2].name.clone();
        let kept = Kept {
            consumer: &consumer,
            arm: &arm,
        };
        let mut still = |next: &Drawn| {
            let text = text::of(next);
            assert!(Study::parse(&text, "shrunk").is_ok(), "{text}");
            Ok(next.consumers.iter().any(|one| one.name == needed))
        };
        let shrunk = shrink(drawn, &kept, &mut still).unwrap();
        let names: Vec<&str> = shrunk
            .consumers
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(names, [consumer.as_str(), needed.as_str()]);
        assert_eq!(shrunk.arms.len(), 2);
        assert_eq!(shrunk.arms[1].name, arm);
        assert!(shrunk.swap.is_empty() && shrunk.disks.len() == 1);
        assert!(shrunk.memory < LEAST_MEMORY && shrunk.span < LEAST_TIME);
    }

    #[test]
    fn it_ends_where_nothing_can_be_left_out() {
        let drawn = many();
        let (consumer, arm) = (drawn.consumers[0].name.clone(), drawn.arms[1].name.clone());
        let kept = Kept {
            consumer: &consumer,
            arm: &arm,
        };
        let mut tries = 0;
        let same = shrink(drawn.clone(), &kept, &mut |_| {
            tries += 1;
            Ok(false)
        });
        assert_eq!(text::of(&same.unwrap()), text::of(&drawn));
        assert!(tries <= TRIES);
    }
}
