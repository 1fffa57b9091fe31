//! Named numbers in the order in which a kernel file lists them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::text::{ParseError, lines};

/// Names and numbers of one file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Items(Vec<(Box<str>, u64)>);

impl Items {
    /// Reads lines of "name number".
    ///
    /// # Errors
    /// The first line that is none, or a text without any.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let mut items = Self::default();
        for line in lines(file, text) {
            let (name, value) = line.key_number()?;
            items.push(name, value);
        }
        if items.is_empty() {
            return Err(ParseError::new(file, 1, "", "lines of \"NAME NUMBER\""));
        }
        Ok(items)
    }

    /// The number of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        let found = self.0.iter().find(|(item, _)| **item == *name);
        found.map(|&(_, value)| value)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends one.
    pub fn push(&mut self, name: &str, value: u64) {
        self.0.push((name.into(), value));
    }
}

/// Declares a struct of optional numbers that are found by the kernel's names.
///
/// Beside the fields it has `other`, the items it does not name, and `get`, which finds both.
macro_rules! named_numbers {
    (
        $(#[$doc:meta])*
        $name:ident($unit:ty, $wrap:path) {
            $($(#[$field_doc:meta])* $field:ident = $key:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Option<$unit>,)*
            /// Items that have no field here, in the file's order.
            pub other: $crate::items::Items,
        }

        impl $name {
            /// The number of the item with the kernel's name.
            #[must_use]
            pub fn get(&self, item: &str) -> Option<$unit> {
                match item {
                    $($key => self.$field,)*
                    _ => self.other.get(item).map($wrap),
                }
            }

            /// Every item that is there: those with a field first, then the others.
            pub fn iter(&self) -> impl Iterator<Item = (&str, $unit)> {
                let named = [$(($key, self.$field)),*];
                let named = named.into_iter().filter_map(|(key, value)| Some((key, value?)));
                named.chain(self.other.iter().map(|(key, value)| (key, $wrap(value))))
            }

            /// Whether an item of the kernel's has a field.
            #[must_use]
            pub fn has(item: &str) -> bool {
                matches!(item, $($key)|*)
            }

            fn set(&mut self, item: &str, value: u64) {
                match item {
                    $($key => self.$field = Some($wrap(value)),)*
                    _ => self.other.push(item, value),
                }
            }
        }
    };
}
pub(crate) use named_numbers;
