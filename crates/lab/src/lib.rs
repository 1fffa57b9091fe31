//! Studies, benches, statistics, records and reports.
//!
//! A study runs unchanged on a [`bench::Bench`]: the model, or a real kernel in a throwaway VM.
//! Both yield the same outcome, so predicted and measured are compared by the same code.

pub mod base;
pub mod bench;
pub mod calibrate;
pub mod calibration;
pub mod csv;
pub mod effects;
pub mod evidence;
pub mod experiment;
pub mod fidelity;
pub mod find;
pub mod hash;
pub mod model_bench;
pub mod pressure;
pub mod report;
pub mod store;
pub mod trace;
pub mod vm;
