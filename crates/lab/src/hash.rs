//! Hashes that anyone can check with `sha256sum`.

use std::fs::File;
use std::io;
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of `printf abc | sha256sum`.
    #[test]
    fn the_hash_is_that_of_sha256sum() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), known);
        assert_eq!(this_program().len(), 64);
    }
}
