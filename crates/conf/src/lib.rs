//! Which file sets what at boot: systemd-sysctl, procps, tmpfiles.d, udev, TuneD and others, each
//! as it is. Pure: from a tree of texts.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod tree;
