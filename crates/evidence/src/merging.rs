//! The files of samepage merging as people copy them: a name and a number a line.

use alloc::format;

use super::tables::is_number;
use mm::catalogue::{self, KeyError};

/// The name and the number of `pages_shared: 5`, as people copy the files of a folder.
fn named_number(line: &str) -> Option<(&str, &str)> {
    let (name, number) = line.split_once([':', '=', ' ', '\t'])?;
    let number = number.trim_start_matches([' ', '\t', ':', '=']);
    is_number(number).then(|| (name.trim_end(), number))
}

/// A counter that only the folder of samepage merging has.
pub(super) fn begins(line: &str) -> bool {
    let names = [
        "full_scans",
        "ksm_zero_pages",
        "pages_shared",
        "pages_sharing",
        "pages_unshared",
        "pages_volatile",
    ];
    named_number(line).is_some_and(|(name, _)| names.contains(&name))
}

/// A line among them: any file of one number of that folder.
pub(super) fn line(line: &str) -> bool {
    named_number(line).is_some_and(|(name, _)| {
        let named = catalogue::resolve(&format!("ksm.{name}")).map(|_| ());
        matches!(named, Ok(()) | Err(KeyError::Counter { .. }))
    })
}

/// The files of samepage merging that such lines tell.
pub(super) fn files(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| named_number(line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_begins_and_every_number_of_the_folder_goes_on() {
        assert!(begins("pages_shared: 5") && begins("full_scans 146370"));
        assert!(!begins("run: 1") && line("run: 1") && line("sleep_millisecs = 20"));
        assert!(!line("teapot: 1") && !begins("pages_shared: many"));
    }
}
