//! An author's text in pieces that no line may break: a number stays with its unit.

use study::measure::Unit;

/// The paragraphs, which an empty line ends, each as its words; "1.06 s" is one of them.
#[must_use]
pub fn paragraphs(text: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.lines().collect();
    let blocks = lines.split(|line| line.trim().is_empty());
    let words = blocks.map(|block| pieces(&block.join(" ")));
    words.filter(|words| !words.is_empty()).collect()
}

/// The text with no-break spaces between numbers and their units.
pub(super) fn unbroken(text: &str) -> String {
    let pieces = pieces(text).into_iter();
    let pieces: Vec<String> = pieces.map(|piece| piece.replace(' ', "\u{a0}")).collect();
    pieces.join(" ")
}

/// The words of a text; a number and the unit behind it are one.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match pieces.last_mut() {
            Some(last) if ends_in_digit(last) && is_unit(word) => *last += &format!(" {word}"),
            _ => pieces.push(word.to_owned()),
        }
    }
    pieces
}

fn ends_in_digit(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_digit())
}

/// Whether it is a unit, perhaps with punctuation behind it.
fn is_unit(word: &str) -> bool {
    let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
    Unit::WORDS.iter().any(|(unit, _)| *unit == bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let text = "it keeps 81.3 %, in\n1.06\ns.\n\n 3 pages or\ns";
        let said: Vec<String> = paragraphs(text)
            .iter()
            .map(|words| words.join("|"))
            .collect();
        assert_eq!(said, ["it|keeps|81.3 %,|in|1.06 s.", "3 pages|or|s"]);
        assert!(paragraphs(" \n\n ").is_empty());
    }
}
