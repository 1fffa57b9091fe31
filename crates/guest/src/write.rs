//! Writes into the kernel's files.

use std::{fs, io};

use rustix::io::Errno;

use crate::error::Why;
use crate::place::Place;

/// Writes into a file of a control group.
pub(crate) fn write_cgroup(place: &Place, cgroup: &str, file: &str, text: &str) -> Result<(), Why> {
    put(place, &format!("{}/{file}", Place::cgroup(cgroup)), text)
}

/// One `write` of the whole text, as the kernel's handlers want it.
pub(crate) fn put(place: &Place, path: &str, text: &str) -> Result<(), Why> {
    let write = || {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .open(place.root.join(path))?;
        io::Write::write_all(&mut file, text.as_bytes())
    };
    write().map_err(|error| Why {
        errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
        text: format!("/{path}: \"{text}\": {error}"),
    })
}
