//! What else changes or matters when a tunable is written.

use mm::catalogue::{Cell, Named, all, of_page_sizes, resolve};
use schemars::JsonSchema;
use serde::Serialize;

use super::looked::Looked;
use super::notes::Note;
use super::value::{read, words};

/// Another tunable, and what it has to do with this one.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Relation {
    pub(crate) with: String,
    /// Its value here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    pub(crate) how: String,
}

/// Partner and views first, then what the kernel changes by itself, then the rest.
pub(crate) fn relations(looked: Looked<'_>) -> Vec<Relation> {
    let named = looked.named;
    let relation = |with: Named<'_>, how: &str| Relation {
        value: value(looked, with),
        with: with.to_string(),
        how: how.to_owned(),
    };
    let mut all_of_them = match named.cell() {
        Cell::Single(_) => Vec::new(),
        Cell::Exclusive([_, partner]) => {
            vec![relation(partner, "writing one switches the other off")]
        }
        Cell::Views(views) => {
            let others = views
                .iter()
                .filter(|view| view.tunable.name != named.tunable.name);
            let others = others.map(|view| relation(*view, "another view of the same value"));
            others.collect()
        }
    };
    let touched = named.touched();
    all_of_them
        .extend(touched.map(|it| relation(it, "the kernel changes it when this is written")));
    for tunable in all().chain(of_page_sizes()) {
        let key = resolve(tunable.name).ok();
        if let Some(other) = key.filter(|_| tunable.touches.contains(&named.tunable.name)) {
            all_of_them.push(relation(other, "writing it changes this one"));
        }
    }
    let note = Note::of(named.tunable.name).into_iter();
    let noted = note
        .flat_map(|note| note.with)
        .filter_map(|(with, how)| Some(relation(resolve(with).ok()?, how)));
    all_of_them.extend(noted);
    all_of_them
}

/// The other one's value with its unit.
fn value(looked: Looked<'_>, with: Named<'_>) -> Option<String> {
    let text = looked.frame.file(&with.path())?;
    Some(words(with.tunable, &read(with.tunable, text)))
}
