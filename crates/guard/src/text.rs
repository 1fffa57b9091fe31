//! A configuration as text: a TOML file and those that come after it, as keys and texts.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use toml::de::{DeTable, DeValue};

use crate::config::{Config, ConfigError, EXCEPT};

/// Keys and their texts, as [`Config::read`] takes them.
pub type Pairs = Vec<(String, String)>;

/// Why a text is no keys and texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// It is no TOML.
    #[error("line {line}: {what}; it is TOML, as in [floor] and below it clean_min = \"15 %\"")]
    Toml {
        /// Where, from 1.
        line: usize,
        /// Why.
        what: String,
    },
    /// A value is a number, a date or the like.
    #[error("{key}: this is no text; write it in quotation marks, as \"512 MiB\" or \"15 %\"")]
    NoText {
        /// Whose value.
        key: String,
    },
    /// The keys and texts are no configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Which of several texts is wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {why}")]
pub struct FileError {
    /// The name of the text.
    pub name: String,
    /// Why.
    pub why: TextError,
}

/// The keys and texts of files, by name and text. A key of a later file takes the place of an
/// earlier one's; what one of them excepts is excepted.
///
/// # Errors
/// The first file that is no configuration by itself.
pub fn of_files<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Pairs, FileError> {
    let mut pairs = Pairs::new();
    for (name, text) in files {
        let own = of_file(text).map_err(|why| FileError {
            name: name.to_owned(),
            why,
        })?;
        pairs.retain(|(key, _)| key == EXCEPT || own.iter().all(|(other, _)| other != key));
        pairs.extend(own);
    }
    Ok(pairs)
}

fn of_file(text: &str) -> Result<Pairs, TextError> {
    let pairs = pairs(text)?;
    Config::of(&pairs)?;
    Ok(pairs)
}

/// `[a.b] c = "d"` becomes `("a.b.c", "d")`; a list repeats its key.
///
/// # Errors
/// It is no TOML, or a value is no text.
pub fn pairs(text: &str) -> Result<Pairs, TextError> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = &text.as_bytes()[..at];
        TextError::Toml {
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            what: error.message().to_string(),
        }
    })?;
    of_table(table.get_ref())
}

/// The same of a table that is parsed already.
///
/// # Errors
/// A value is no text.
pub fn of_table(table: &DeTable<'_>) -> Result<Pairs, TextError> {
    let mut pairs = Pairs::new();
    add_table(&mut pairs, "", table)?;
    Ok(pairs)
}

fn add_table(pairs: &mut Pairs, prefix: &str, table: &DeTable<'_>) -> Result<(), TextError> {
    table.iter().try_for_each(|(name, value)| {
        let key = format!("{prefix}{}", name.get_ref());
        add(pairs, &key, value.get_ref())
    })
}

fn add(pairs: &mut Pairs, key: &str, value: &DeValue<'_>) -> Result<(), TextError> {
    match value {
        DeValue::String(text) => pairs.push((key.to_owned(), text.to_string())),
        DeValue::Table(table) => add_table(pairs, &format!("{key}."), table)?,
        DeValue::Array(values) => {
            let mut values = values.iter();
            values.try_for_each(|value| add(pairs, key, value.get_ref()))?;
        }
        _ => {
            return Err(TextError::NoText {
                key: key.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Amount, to_toml};
    use mm::units::Bytes;

    #[test]
    fn sections_lists_and_later_files_become_one_configuration() {
        let files = [
            (
                "guard.toml",
                "[floor]\nclean_min = \"15 %\"\nkeep = [\"/a\", \"/b\"]\n\
                 [ceiling.groups]\n\"system.slice/a.service\" = \"8 MiB\"\n",
            ),
            (
                "10.toml",
                "[floor]\nclean_min = \"6 %\"\nexcept = [\"/c\"]\n",
            ),
            (
                "20.toml",
                "[floor]\nclean_min = \"5 %\"\nexcept = [\"unit:d.service\"]\n",
            ),
        ];
        let config = Config::of(&of_files(files).unwrap()).unwrap();
        let floor = config.floor.clone().unwrap();
        assert_eq!(floor.clean_min, Amount::OfTotal(50));
        assert_eq!(floor.keep, ["/a", "/b"]);
        assert_eq!(floor.except, ["/c", "unit:d.service"]);
        let groups = config.ceiling.unwrap().groups;
        let limit = Amount::Bytes(Bytes(8 << 20));
        assert_eq!(groups, [("system.slice/a.service".into(), limit)]);
    }

    #[test]
    fn what_the_policies_write_is_read_back() {
        let written = [
            ("ceiling.groups.a.b/c", "8 MiB"),
            ("floor.keep", "/a \"b\""),
            ("metrics", "/a"),
        ];
        let written = written.map(|(key, text)| (key.to_owned(), text.to_owned()));
        let mut back = pairs(&to_toml(&written)).unwrap();
        back.sort_unstable();
        assert_eq!(back, written);
    }

    #[test]
    fn an_error_names_the_file_the_key_and_the_way_out() {
        let error = |text| of_files([("a", ""), ("b", text)]).unwrap_err().to_string();
        assert_eq!(
            error("[floor]\nclean_mn = \"1 %\"\n"),
            "b: `floor.clean_mn`: there is no such key; did you mean `floor.clean_min`?"
        );
        assert_eq!(
            error("[floor]\nclean_min = 15\n"),
            "b: floor.clean_min: this is no text; \
             write it in quotation marks, as \"512 MiB\" or \"15 %\""
        );
        assert!(error("\n[floor\n").starts_with("b: line 2: "));
        let outside = error("[ceiling.groups]\n\"../a\" = \"1 MiB\"\n");
        assert!(outside.contains("no control group"), "{outside}");
    }

    #[test]
    fn what_is_nested_deep_is_an_error_of_one_short_line() {
        let deep = 100_000;
        let section = format!("[{}]\n", alloc::vec!["a"; deep].join("."));
        for text in [
            format!("{}=\"1 %\"", alloc::vec!["a"; deep].join(".")),
            format!("{section}b = \"1 %\""),
            format!("a = {}", "[".repeat(deep)),
            format!("a = {}1{}", "[".repeat(deep), "]".repeat(deep)),
            format!("a = {}b = 1{}", "{a = ".repeat(deep), "}".repeat(deep)),
            format!("{} = \"1\"", "a".repeat(deep)),
            format!("\"\\u001b{}\" = \"1\"", "a".repeat(deep)),
        ] {
            let error = of_files([("a", text.as_str())]).expect_err("no configuration");
            let error = error.to_string();
            assert!(
                error.len() < 300 && !error.chars().any(char::is_control),
                "{error:.400}"
            );
        }
    }
}
