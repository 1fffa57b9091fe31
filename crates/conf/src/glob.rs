//! Patterns of paths, as glob(7) reads them: `*`, `?`, `[a-z]`, `[!x]`, and `{a,b}` where a loader
//! takes it.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Texts that one pattern with braces may become; what is beyond is left as it is.
const MOST_TEXTS: usize = 256;

/// The longest path of the kernel, in bytes; a longer pattern matches nothing.
const LONGEST: usize = 4096;

/// Whether a text is a pattern for the loaders: it has `*`, `?` or `[`.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a path matches a pattern. No wildcard stands for a slash, nor for a dot at the begin of
/// a name.
#[must_use]
pub fn matches(pattern: &str, path: &str) -> bool {
    if pattern.len() > LONGEST {
        return false;
    }
    let mut patterns = pattern.split('/').filter(|part| !part.is_empty());
    let mut names = path.split('/').filter(|part| !part.is_empty());
    loop {
        match (patterns.next(), names.next()) {
            (None, None) => return true,
            (Some(pattern), Some(name)) if name_matches(pattern, name) => {}
            _ => return false,
        }
    }
}

/// The patterns that one with `{a,b}` stands for, in order; itself where it has none.
#[must_use]
pub fn braces(pattern: &str) -> Vec<String> {
    if pattern.len() > LONGEST {
        return vec![pattern.to_owned()];
    }
    let mut done = Vec::new();
    let mut todo = vec![pattern.to_owned()];
    while let Some(text) = todo.pop() {
        match first_brace(&text) {
            Some(choices) if done.len() + todo.len() + choices.len() <= MOST_TEXTS => {
                todo.extend(choices.into_iter().rev());
            }
            _ => done.push(text),
        }
    }
    done
}

/// What a pattern becomes with each choice of its first pair of braces.
fn first_brace(text: &str) -> Option<Vec<String>> {
    let open = text.match_indices('{').map(|(at, _)| at);
    let (open, commas, close) = open.filter_map(|open| pair(text, open)).next()?;
    let mut from = open + 1;
    let ends = commas.into_iter().chain([close]);
    let choice = |end| {
        let choice = &text[from..end];
        from = end + 1;
        [&text[..open], choice, &text[close + 1..]].concat()
    };
    Some(ends.map(choice).collect())
}

/// The commas and the end that belong to an opening brace; `{}` is no pair.
fn pair(text: &str, open: usize) -> Option<(usize, Vec<usize>, usize)> {
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b',' if depth == 1 => commas.push(at),
            b'}' if depth == 1 && at == open + 1 => return None,
            b'}' if depth == 1 => return Some((open, commas, at)),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let hidden = name.starts_with('.');
    if hidden && !pattern.trim_start_matches('\\').starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where to go on after the last star: behind it in the pattern, and in the name.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(_) => one(&pattern[p..], name[n]),
            None => None,
        };
        match (step, star) {
            (Some(length), _) => (p, n) = (p + length, n + 1),
            (None, Some((after, from))) => {
                (p, n) = (after, from + 1);
                star = Some((after, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// How much of the pattern one character takes, if it matches.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => match class(rest) {
            Some((set, length)) => set.contains(c).then_some(length + 1),
            None => (c == '[').then_some(1),
        },
        ['\\', quoted, ..] => (*quoted == c).then_some(2),
        [literal, ..] => (*literal == c).then_some(1),
        [] => None,
    }
}

/// What stands between brackets.
struct Class<'a> {
    members: &'a [char],
    negated: bool,
}

impl Class<'_> {
    fn contains(&self, c: char) -> bool {
        let mut found = false;
        let mut rest = self.members;
        loop {
            rest = match rest {
                [] => break,
                [from, '-', to, rest @ ..] => {
                    found |= (*from..=*to).contains(&c);
                    rest
                }
                [member, rest @ ..] => {
                    found |= *member == c;
                    rest
                }
            };
        }
        found != self.negated
    }
}

/// The class that begins after `[`, and its length with the `]`; a `]` at the begin is a member.
fn class(pattern: &[char]) -> Option<(Class<'_>, usize)> {
    let negated = matches!(pattern.first(), Some('!' | '^'));
    let begin = usize::from(negated);
    let after = begin + 1;
    let end = pattern.iter().skip(after).position(|c| *c == ']')? + after;
    let members = &pattern[begin..end];
    Some((Class { members, negated }, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stay_within_a_name() {
        assert!(matches("vm/dirty_*", "vm/dirty_ratio"));
        assert!(!matches("vm/*", "vm/dirty/ratio"));
        assert!(!matches("*", ".hidden"));
        assert!(matches(".h*n", ".hidden"));
        assert!(matches("a*b*c", "axxbxxbc"));
        assert!(!matches("a*b*c", "axxbxx"));
        assert!(matches("n[0-9!]t?", "n!tz"));
        assert!(matches("n[!0-9]t", "nxt") && !matches("n[!0-9]t", "n4t"));
        assert!(matches("a[]x]", "a]") && matches("a[", "a["));
        assert!(matches("a\\*", "a*") && !matches("a\\*", "ab"));
    }

    #[test]
    fn braces_become_one_pattern_each() {
        assert_eq!(braces("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(braces("{}{x"), ["{}{x"]);
        assert_eq!(braces("{x}"), ["x"]);
    }

    #[test]
    fn braces_in_braces_have_a_bound() {
        let deep = "{a,b}".repeat(40);
        assert!(braces(&deep).len() <= MOST_TEXTS);
    }
}
