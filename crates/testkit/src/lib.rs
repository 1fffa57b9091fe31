//! What the tests of several crates need; nothing that ships uses it.
//!
//! - [`damage`]: what can befall a text or bytes on their way to a reader, each kind with a name
//! - [`words`]: what texts of a kind are made of, and what breaks careless readers of them
#![forbid(unsafe_code)]

pub mod damage;
pub mod words;
