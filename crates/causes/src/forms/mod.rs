//! The forms in which people hold evidence, made of a run by pure functions.
//!
//! A form says what it holds, so that a label can say where its cause can be seen: a cause is asked
//! for only where the form has what shows it, and must nowhere be replaced by another.

mod cut;
mod form;
mod logs;
mod pasted;
mod series;
mod state;
mod tools;

use crate::recipe::Label;
use crate::run::Run;

pub use form::{Form, Holds};

/// All forms of a run.
#[must_use]
pub fn all(run: &Run, label: &Label) -> Vec<Form> {
    let mut forms = state::forms(run);
    forms.extend(logs::forms(run, label));
    forms.extend(pasted::forms(run, label));
    forms.extend(series::forms(run));
    let cut: Vec<Form> = forms.iter().flat_map(cut::tenths).collect();
    forms.extend(cut);
    forms
}
