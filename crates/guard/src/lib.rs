//! Policies of the guard: a sample of the machine in, bounded actions out.
//!
//! A policy holds no file, clock or thread. The daemon `plimsoll-guard` runs it on a live machine,
//! a study's arm runs it on the model: by the same code. Whoever runs it makes a [`Sample`], gives
//! it to [`Guard::decide`] and carries out the [`Decision`]s.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod action;
mod ceiling;
pub mod config;
pub mod daemons;
pub mod event;
pub mod figures;
mod floor;
mod guard;
mod ksm;
pub mod request;
pub mod sample;
pub mod search;
pub mod shares;
#[cfg(feature = "toml")]
pub mod text;
mod uses;
mod watermarks;
mod writeback;

pub use action::{Action, Decision, Policy, Scope, Why};
pub use config::{Config, ConfigError};
pub use event::Event;
pub use figures::Figures;
pub use floor::budget;
pub use guard::Guard;
pub use sample::{Dropped, File, Group, Held, Looked, Memory, Sample, Touch};
pub use search::Search;
pub use shares::User;
pub use watermarks::most_scale_factor;
pub use writeback::UNMEASURED;
