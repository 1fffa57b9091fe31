//! The programs and what lies beside them as an archive: unpacked over `/usr/local` it is
//! installed.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::date;
use super::list::{List, UNIT};
use super::place::Place;

/// Makes it; where it lies.
pub(super) fn make(list: &List, triple: &str, place: &Place) -> Result<PathBuf> {
    let name = format!("plimsoll-{}-{triple}", list.version);
    let path = place.folder.join(format!("{name}.tar.gz"));
    let mut archive = Archive::new(GzEncoder::new(File::create(&path)?, Compression::best()))?;
    for file in &list.files {
        let to = match file.to.as_str() {
            // It names /usr/bin.
            UNIT => "share/doc/plimsoll/examples/plimsoll-guard.service",
            to => to.strip_prefix("usr/").unwrap_or(to),
        };
        archive.add(&format!("{name}/{to}"), file.mode, &fs::read(&file.source)?)?;
    }
    archive.end()?.finish()?;
    Ok(path)
}

/// An archive in which everything is root's and has the date of the package.
pub(super) struct Archive<W: Write> {
    archive: tar::Builder<W>,
    date: u64,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(to: W) -> Result<Self> {
        Ok(Self {
            archive: tar::Builder::new(to),
            date: date::epoch()?,
        })
    }

    /// Adds a file.
    pub(super) fn add(&mut self, name: &str, mode: u32, bytes: &[u8]) -> Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        header.set_mtime(self.date);
        Ok(self.archive.append_data(&mut header, name, bytes)?)
    }

    pub(super) fn end(self) -> Result<W> {
        Ok(self.archive.into_inner()?)
    }
}
