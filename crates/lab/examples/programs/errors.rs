//! What was measured over what is predicted: the table that the ranges of answers rest on.

use study::program_error::Row;

use crate::measure::Figures;

/// The rows of all arms, each what was measured and what is predicted.
pub(crate) fn rows(all: Vec<([String; 3], Figures, Figures)>) -> Vec<Row> {
    let row = |(key, own, predicted): ([String; 3], Figures, Figures)| Row {
        key,
        ratios: own
            .errors(&predicted)
            .map(|error| error.map(|percent| 1.0 / (1.0 + percent / 100.0))),
    };
    all.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use study::program_error::{TABLE, text};

    /// `UPDATE_EXPECT=1` writes it.
    #[test]
    fn the_kept_errors_are_those_of_the_recordings() {
        let computed = text(&super::rows(crate::all().expect("all are predicted")));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let path = testkit::checkout("records/programs.tsv");
            std::fs::write(path, computed).expect("it can be written");
            return;
        }
        assert!(
            computed == TABLE,
            "records/programs.tsv is of other recordings; UPDATE_EXPECT=1 writes it"
        );
    }
}
