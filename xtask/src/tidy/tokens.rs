//! Rust as words and signs: without comments, what stands in strings, and what only tests see.

use std::iter::Peekable;
use std::str::Chars;

/// The code of a file, one word or sign a piece; `::` and `->` are one sign.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            '/' if rest.peek() == Some(&'/') => skip_line(&mut rest),
            '/' if rest.peek() == Some(&'*') => skip_comment(&mut rest),
            '"' => skip_string(&mut rest, &mut found),
            '\'' => skip_character(&mut rest),
            c if c.is_whitespace() => {}
            c if is_word(c) => word(c, &mut rest, &mut found),
            c => sign(c, &mut rest, &mut found),
        }
    }
    without_tests(&found)
}

/// Whether the token is a word: a name, a keyword or a number.
pub(super) fn is_name(token: &str) -> bool {
    token.starts_with(is_word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn skip_line(rest: &mut Peekable<Chars<'_>>) {
    rest.find(|c| *c == '\n');
}

/// Comments of this kind may stand inside each other.
fn skip_comment(rest: &mut Peekable<Chars<'_>>) {
    let mut open = 0;
    let mut before = '/';
    for c in rest {
        match (before, c) {
            ('/', '*') => open += 1,
            ('*', '/') => open -= 1,
            _ => {}
        }
        if open == 0 {
            return;
        }
        before = c;
    }
}

fn skip_string(rest: &mut Peekable<Chars<'_>>, found: &mut Vec<String>) {
    found.push("\"\"".to_owned());
    while let Some(c) = rest.next() {
        match c {
            '\\' => _ = rest.next(),
            '"' => return,
            _ => {}
        }
    }
}

/// A character, or the sign of a lifetime, whose name is taken for a word.
fn skip_character(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    match (ahead.next(), ahead.next()) {
        (Some('\\'), _) => {
            rest.nth(1);
            rest.find(|c| *c == '\'');
        }
        (Some(_), Some('\'')) => _ = rest.nth(1),
        _ => {}
    }
}

fn word(first: char, rest: &mut Peekable<Chars<'_>>, found: &mut Vec<String>) {
    let mut name = String::from(first);
    while let Some(c) = rest.next_if(|c| is_word(*c)) {
        name.push(c);
    }
    let raw = matches!(name.as_str(), "r" | "br" | "cr");
    if raw && matches!(rest.peek(), Some('"' | '#')) && skip_raw_string(rest) {
        name = "\"\"".to_owned();
    }
    found.push(name);
}

/// Whether it was one: `r#name` is a name.
fn skip_raw_string(rest: &mut Peekable<Chars<'_>>) -> bool {
    let mut ahead = rest.clone();
    let mut hashes = 0;
    while ahead.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    if ahead.next() != Some('"') {
        return false;
    }
    let mut closing = None;
    for c in ahead.by_ref() {
        closing = match (c, closing) {
            ('"', _) => Some(0),
            ('#', Some(count)) => Some(count + 1),
            _ => None,
        };
        if closing == Some(hashes) {
            break;
        }
    }
    *rest = ahead;
    true
}

fn sign(first: char, rest: &mut Peekable<Chars<'_>>, found: &mut Vec<String>) {
    let second = match first {
        ':' => rest.next_if_eq(&':'),
        '-' | '=' => rest.next_if_eq(&'>'),
        _ => None,
    };
    found.push([Some(first), second].into_iter().flatten().collect());
}

/// Leaves out each item below `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let here = &tokens[at..];
        if here.len() >= TEST.len() && TEST.iter().zip(here).all(|(a, b)| a == b) {
            at += TEST.len() + item_length(&here[TEST.len()..]);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// How many tokens the item has that begins here: up to its semicolon or its closing brace.
fn item_length(tokens: &[String]) -> usize {
    let mut open = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" | "(" | "[" => open += 1,
            "}" | ")" | "]" => open -= 1,
            _ => {}
        }
        let ends = token == ";" || token == "}";
        if open == 0 && ends {
            return at + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        tokens(text).join(" ")
    }

    #[test]
    fn prose_is_left_out() {
        assert_eq!(of("a /* b /* c */ d */ e // f\ng"), "a e g");
        assert_eq!(
            of(r#"f("a \" b", 'c', '\'', '\u{e9}')"#),
            r#"f ( "" , , , )"#
        );
        assert_eq!(
            of(r###"f(r#"a " b"#, r"c", r#d)"###),
            r##"f ( "" , "" , r # d )"##
        );
    }

    #[test]
    fn lifetimes_are_no_characters() {
        assert_eq!(
            of("fn f<'a>(x: &'a u8) -> A::B"),
            "fn f < a > ( x : & a u8 ) -> A :: B"
        );
    }

    #[test]
    fn what_only_tests_see_is_left_out() {
        assert_eq!(of("#[cfg(test)]\nmod tests;\nfn a() {}"), "fn a ( ) { }");
        assert_eq!(of("#[cfg(test)]\nmod tests { fn b() { [1; 2]; } }\nc"), "c");
        assert_eq!(of("#[cfg(test)]\nconst A: [u8; 2] = [1; 2];\nc"), "c");
    }
}
