//! Studies, benches, statistics, records and reports.
//!
//! A study runs unchanged on a [`bench::Bench`]: the model, or a real kernel in a throwaway VM.
//! Both yield the same outcome, so predicted and measured are compared by the same code.

pub mod base;
pub mod bench;
pub mod calibrate;
pub mod calibration;
pub mod compare;
pub mod coverage;
pub mod csv;
pub mod effects;
pub mod evidence;
pub mod experiment;
pub mod fidelity;
pub mod hash;
pub mod likely_error;
pub mod measure;
pub mod model_bench;
pub mod pressure;
pub mod record;
pub mod recording;
pub mod report;
pub mod stats;
pub mod study;
pub mod trace;
pub mod verdict;
pub mod verdicts;
pub mod vm;
