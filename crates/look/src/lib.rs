//! What the evidence of a machine shows: facts, findings and explanations, as plain data and as
//! pages of text.
//!
//! Evidence is a capture, or the texts that set something at boot. A finding is a function of
//! facts; nothing here reads a file or prints. A machine's state is a [`view::View`], whose
//! sections are one file each.
#![forbid(unsafe_code)]

mod available;
mod check;
pub mod compare;
mod configured;
mod contradictions;
mod control_groups;
mod dirty;
pub mod explain;
pub mod fact;
pub mod figures;
mod files;
pub mod findings;
mod flush;
mod huge_pages;
mod interval;
mod kernel_log;
mod ksm;
mod late_pages;
pub mod lint;
mod lists;
mod load_line;
mod lru_gen;
mod machine;
pub mod measured;
mod memory;
pub mod metrics;
mod nodes;
pub mod page;
pub mod pages;
mod pressure;
mod reclaim;
mod refaults;
pub mod sections;
pub mod share;
mod sources;
pub mod style;
mod swap;
mod timeline;
mod tools;
mod unreadable;
pub mod view;
mod watermark_rule;
mod wrote;
mod zone_checks;
mod zones;
