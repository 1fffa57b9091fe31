//! What an address has that no one can guess.

use std::fmt;

use anyhow::bail;
use rustix::rand::{GetRandomFlags, getrandom};

/// Bytes of a token.
const BYTES: usize = 16;

/// The first part of the path of all that is served, in hexadecimal digits.
pub(super) struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// The kernel has no random bytes to give.
    pub(super) fn new() -> anyhow::Result<Self> {
        let mut bytes = [0; BYTES];
        if getrandom(&mut bytes, GetRandomFlags::empty())? < BYTES {
            bail!("the kernel gave too few random bytes; try again");
        }
        Ok(Self(bytes.map(|byte| format!("{byte:02x}")).concat()))
    }

    /// What stands in a path behind the token and a slash; `None` where it does not begin so.
    pub(super) fn behind<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (given, behind) = path.strip_prefix('/')?.split_once('/')?;
        same(given.as_bytes(), self.0.as_bytes()).then_some(behind)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether two are the same, in a time that does not tell where they differ.
fn same(given: &[u8], own: &[u8]) -> bool {
    let differ = given.iter().zip(own);
    let differ = differ.fold(0, |so_far, (a, b)| std::hint::black_box(so_far | (a ^ b)));
    given.len() == own.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token("ab12".to_owned());
        assert_eq!(token.behind("/ab12/"), Some(""));
        assert_eq!(token.behind("/ab12/live"), Some("live"));
        for path in [
            "",
            "/",
            "//",
            "/ab1/",
            "/ab123/",
            "/AB12/",
            "/ab12",
            "ab12/",
            "/ab13/live",
        ] {
            assert_eq!(token.behind(path), None, "{path}");
        }
    }

    #[test]
    fn no_two_are_the_same() {
        let [one, other] = [(); 2].map(|()| Token::new().expect("random").to_string());
        assert_eq!(one.len(), 2 * BYTES);
        assert_ne!(one, other);
    }
}
