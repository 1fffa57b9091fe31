//! Where packages go, and what they are told apart by.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use sha2::{Digest, Sha256};

use crate::tree;

/// Where packages go, and which of the same version they are.
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) revision: &'static str,
}

impl Place {
    pub(super) fn usual() -> Self {
        Self {
            folder: folder(),
            revision: "1",
        }
    }

    /// Another, for a test.
    pub(super) fn of(name: &str, revision: &'static str) -> Result<Self> {
        let folder = folder().join(name);
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, revision })
    }
}

/// Where all that has to do with packages lies.
pub(super) fn folder() -> PathBuf {
    tree::root().join("target/package")
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes);
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_that_of_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex(b""), empty);
    }
}
