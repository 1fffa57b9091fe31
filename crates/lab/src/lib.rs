//! Experiments: the runs of a study on a bench, real kernels in throwaway VMs, and their records.

pub mod calibrate;
pub mod calibration;
pub mod effects;
pub mod evidence;
pub mod experiment;
pub mod fidelity;
pub mod find;
pub mod gather;
pub mod hash;
pub mod kept;
pub mod report;
pub mod store;
pub mod sweep;
pub mod trace;
pub mod traced;
pub mod vm;
