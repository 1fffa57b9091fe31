//! Lines of a text as they were before a mailer wrapped them: quoted-printable undone.
//!
//! Its soft breaks (`=` at the end) join lines, and `=3D` is a byte. A joined line has the number
//! of its first part, so that what is said of a line is said of the reader's own.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// The longest line that soft breaks join.
const LONGEST: usize = 64 << 10;

/// The lengths at which mailers break: 76 characters with the sign, or a few less.
const WRAPPED: core::ops::RangeInclusive<usize> = 66..=79;

/// The lines of a text, each with its number from 1.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    let encoded = is_quoted_printable(text);
    let mut raw = (1..).zip(text.split('\n'));
    core::iter::from_fn(move || {
        let (number, line) = raw.next()?;
        if !encoded {
            return Some((number, Cow::Borrowed(line)));
        }
        let mut whole = String::new();
        let mut part = line;
        while let Some(begun) = soft_break(part).filter(|_| whole.len() < LONGEST) {
            whole.push_str(begun);
            part = raw.next().map_or("", |(_, line)| line);
        }
        whole.push_str(part);
        Some((number, Cow::Owned(decoded(&whole))))
    })
}

/// Whether a text is quoted-printable: it has the sign's own code, or lines that are broken where
/// mailers break them.
fn is_quoted_printable(text: &str) -> bool {
    let broken = |line: &&str| {
        let line = line.trim_end_matches('\r');
        line.ends_with('=') && WRAPPED.contains(&line.len())
    };
    text.contains("=3D") || text.split('\n').filter(broken).nth(1).is_some()
}

/// A line without the sign that breaks it.
fn soft_break(line: &str) -> Option<&str> {
    line.trim_end_matches('\r').strip_suffix('=')
}

/// The text with `=XX` as bytes; what is no code stays.
fn decoded(text: &str) -> String {
    if !text.contains('=') {
        return text.into();
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = (first == b'=').then(|| hex(behind)).flatten();
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The byte of two capital hexadecimal digits.
fn hex(text: &[u8]) -> Option<u8> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    Some(digit(*text.first()?)? << 4 | digit(*text.get(1)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(usize, String)> {
        lines(text)
            .map(|(number, line)| (number, line.into_owned()))
            .collect()
    }

    #[test]
    fn soft_breaks_join_and_codes_are_bytes() {
        let text = "x: gfp_mask=3D0xcc0(GFP_=\nKERNEL), caf=C3=A9=20\nnext=\r\n";
        let expected = [
            (1, "x: gfp_mask=0xcc0(GFP_KERNEL), caf\u{e9} ".into()),
            (3, "next".into()),
        ];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn a_text_of_settings_is_none() {
        let text = "vm.a =\nvm.b = 3\nvm.c=\n";
        assert_eq!(shown(text)[0], (1, "vm.a =".into()));
        assert_eq!(shown(text).len(), 4);
    }

    #[test]
    fn a_sign_that_is_no_code_stays() {
        assert_eq!(decoded("a=zz=4=3D"), "a=zz=4=");
    }
}
