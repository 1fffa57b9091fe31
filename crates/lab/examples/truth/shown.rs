//! Disagreements as lines of at most 80 columns, the worst advice first.

use super::ask::Asked;
use super::decide::{Decision, Judgement};

/// A disagreement and where it is.
pub(super) struct Miss {
    pub(super) decision: Decision,
    seed: u64,
    kernel: &'static str,
    subject: String,
    first: String,
}

impl Miss {
    pub(super) fn of(asked: &Asked, decision: Decision) -> Self {
        Self {
            seed: asked.drawn.seed,
            kernel: asked.drawn.kernel,
            subject: format!("{:?}", asked.drawn.subject),
            first: asked.study.arms[0].name.clone(),
            decision,
        }
    }
}

/// The disagreements, the worst first.
pub(super) fn misses(mut all: Vec<Miss>) -> String {
    all.sort_by_key(|miss| (miss.decision.order(), miss.seed));
    let head = ["seed", "on", "what", "consumer", "kernel", "model", "wrong"];
    let mut text = line(head.map(str::to_owned));
    for miss in &all {
        let Decision {
            measure,
            arm,
            judgement,
            kernel,
            model,
            ..
        } = &miss.decision;
        let is_fate = measure.ends_with("survivors");
        let show = |of: [f64; 2]| match is_fate {
            true => format!("{} live", of[0]),
            false => format!("{:+.1} %", Decision::gap(of) * 100.0),
        };
        let (arms, consumer) = match is_fate {
            true => (arm.clone(), measure.trim_end_matches(" survivors")),
            false => (
                format!("{} > {arm}", miss.first),
                measure.trim_end_matches(" rate"),
            ),
        };
        text += &line([
            miss.seed.to_string(),
            miss.kernel.to_owned(),
            format!("{} {arms}", miss.subject),
            consumer.to_owned(),
            show(*kernel),
            model.map_or_else(|| "-".to_owned(), show),
            judgement.word().to_owned(),
        ]);
        if !is_fate && *judgement != Judgement::NoAnswer {
            let rates = |of: [f64; 2]| format!("{:.4} > {:.4}", of[0], of[1]);
            let model = model.map(rates).unwrap_or_default();
            text += &format!(
                "{:10}a second: kernel {}, model {model}\n",
                "",
                rates(*kernel)
            );
        }
    }
    text
}

fn line([seed, on, what, consumer, kernel, model, wrong]: [String; 7]) -> String {
    let cut = |text: String, to: usize| text.chars().take(to).collect::<String>();
    let (what, consumer) = (cut(what, 29), cut(consumer, 12));
    let text = format!("{seed:>5} {on:4} {what:29} {consumer:12} {kernel:>7} {model:>7} {wrong:9}");
    format!("{}\n", text.trim_end())
}
