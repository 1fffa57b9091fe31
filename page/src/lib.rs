//! The model in a browser: a question in, the answer out; no file, thread or clock.
//!
//! The page writes a question into the memory that [`text`] makes room in, a line of JSON and
//! behind it the bytes of a file if it is about one. It calls [`ask`], and reads the answer from
//! [`answer`]. Its first line says whether it is one: `answer`, or `error` before one line that
//! says why there is none.

#![deny(unsafe_code)]

mod asked;
mod live;
mod looked;
mod offered;
mod predicted;

use std::cell::RefCell;

use serde::Deserialize;

use crate::asked::Predict;
use crate::live::{Diff, Live};
use crate::looked::Look;

thread_local! {
    /// The question, and then the answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
enum Question {
    /// What there is to choose from.
    Offer,
    /// What can be changed in a study.
    Study(asked::Of),
    /// A study on the model.
    Predict(Predict),
    /// What somebody holds of a machine: the file behind the question.
    Look(Look),
    /// The machine that the page is served by: the capture behind the question.
    Live(Live),
    /// Two captures of a machine.
    Diff(Diff),
}

/// Makes room for a question of this many bytes, and says where.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn text(length: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(length, 0);
        text.as_mut_ptr()
    })
}

/// Answers the question, and says how many bytes the answer has.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let question = TEXT.take();
    let text = match answered(&question) {
        Ok(answer) => format!("answer\n{answer}"),
        Err(why) => format!("error\n{why}"),
    };
    let length = text.len();
    TEXT.set(text.into_bytes());
    length
}

/// Where the answer is, until the next question.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

fn answered(text: &[u8]) -> Result<String, String> {
    let end = text.iter().position(|byte| *byte == b'\n');
    let (question, file) = text.split_at(end.unwrap_or(text.len()));
    let file = file.get(1..).unwrap_or_default();
    match serde_json::from_slice(question).map_err(|why| why.to_string())? {
        Question::Offer => Ok(offered::all()),
        Question::Study(of) => Ok(offered::study(&of.study(file)?)),
        Question::Predict(predict) => predicted::predicted(predict, file),
        Question::Look(look) => looked::looked(&look, file),
        Question::Live(live) => live::live(&live, file),
        Question::Diff(diff) => live::diff(&diff),
    }
}
