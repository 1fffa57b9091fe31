//! Workloads with real processes on this machine: a directory stands for the disk, another for the
//! kernel's files.

mod administration;
mod bench;
mod merging;
mod recorded;
mod workload;
