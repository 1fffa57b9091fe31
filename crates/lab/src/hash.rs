//! The hash of the running program.

use std::fs::File;
use std::io;
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};
use study::hash::hex;

/// SHA-256 of the running executable, read once; "unknown" where it cannot be read.
#[must_use]
pub fn this_program() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| of_program().unwrap_or_else(|_| "unknown".to_owned()))
}

/// The file behind the process, even if another one has its name by now.
fn of_program() -> io::Result<String> {
    let mut file = File::open("/proc/self/exe")?;
    let mut hasher = Sha256::new();
    io::copy(&mut file, &mut HashWriter(&mut hasher))?;
    Ok(hex(&hasher.finalize()))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_a_hash() {
        assert_eq!(this_program().len(), 64);
    }
}
