//! A setting as people type it: a name in any spelling, a value as the kernel reads it (`010` is 8
//! to a sysctl), and a size with a unit in the unit that the file has.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};

use super::{KeyError, Named, Of, Scope, SettingError, resolve, value_of};
use crate::quantity;
use crate::settings::Setting;
use crate::units::{Bytes, PageSize};

/// Why a text is no setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypedError {
    /// There is no value.
    #[error("write it as vm.swappiness=10")]
    NoValue,
    /// The key names no tunable.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// It is a control group's.
    #[error(
        "{name}: control groups are systemd's to set: systemctl set-property --runtime UNIT \
         Memory...={value}; the same with the old value takes it back"
    )]
    OfGroup {
        /// The tunable.
        name: String,
        /// The value.
        value: String,
    },
    /// Each device or page size has one.
    #[error("{name}: say which: a name in the place of {placeholder}")]
    OfEach {
        /// The tunable.
        name: String,
        /// What stands for the device.
        placeholder: &'static str,
    },
    /// A size, of what is none.
    #[error("{name} is no size, so {value} is no value of it; write the number alone")]
    NoSize {
        /// The tunable.
        name: String,
        /// The value.
        value: String,
    },
    /// A size between two numbers of the file.
    #[error("{value} is no whole number of {name}'s unit, {unit} bytes")]
    NotWhole {
        /// The tunable.
        name: String,
        /// The value.
        value: String,
        /// Bytes of one.
        unit: u64,
    },
    /// The tunable does not take the value.
    #[error(transparent)]
    Value(#[from] SettingError),
}

/// Reads `TUNABLE=VALUE`, for a machine with pages of this size; a size may have a unit:
/// `vm.dirty_bytes=64M`, `vm.min_free_kbytes=1 GiB`.
///
/// # Errors
/// One line with the way out.
pub fn typed(text: &str, page: PageSize) -> Result<Setting, TypedError> {
    let (key, value) = text.split_once('=').ok_or(TypedError::NoValue)?;
    typed_of(key.trim(), value.trim(), page)
}

/// The same, of a key and a value.
///
/// # Errors
/// One line with the way out.
pub fn typed_of(key: &str, value: &str, page: PageSize) -> Result<Setting, TypedError> {
    let named = resolve(key)?;
    let name = named.to_string();
    if named.tunable.scope() == Scope::Group {
        let value = value.to_owned();
        return Err(TypedError::OfGroup { name, value });
    }
    if named.of == Of::Each {
        let placeholder = named.tunable.scope().placeholder();
        return Err(TypedError::OfEach { name, placeholder });
    }
    let value = value_of(named, &in_its_unit(named, value, page)?)?;
    Ok(Setting {
        tunable: name,
        value,
    })
}

/// The number that the tunable's file takes, where the value is a size with a unit.
fn in_its_unit(named: Named<'_>, value: &str, page: PageSize) -> Result<String, TypedError> {
    let Ok(Bytes(size)) = quantity::size(value) else {
        return Ok(value.to_owned());
    };
    let (name, value) = (named.to_string(), value.to_owned());
    match named.tunable.unit.bytes(page) {
        None => Err(TypedError::NoSize { name, value }),
        Some(unit) if size.is_multiple_of(unit) => Ok((size / unit).to_string()),
        Some(unit) => Err(TypedError::NotWhole { name, value, unit }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(text: &str) -> Result<Setting, String> {
        typed(text, PageSize::FOUR_KIB).map_err(|error| error.to_string())
    }

    fn of(key: &str, value: &str) -> Result<Setting, String> {
        setting(&alloc::format!("{key}={value}"))
    }

    #[test]
    fn a_setting_is_a_name_and_a_value() {
        let expected = Setting {
            tunable: "vm.swappiness".to_owned(),
            value: "10".to_owned(),
        };
        assert_eq!(setting("vm.swappiness = 10"), Ok(expected));
        assert_eq!(
            setting("vm.swappiness"),
            Err("write it as vm.swappiness=10".to_owned())
        );
    }

    #[test]
    fn a_key_has_every_spelling_and_one_name() {
        for key in ["swappiness", "/proc/sys/vm/swappiness", "vm/swappiness"] {
            let setting = of(key, "10").expect("a tunable");
            assert_eq!(setting.tunable, "vm.swappiness");
        }
        let near = of("vm.swapiness", "10").unwrap_err();
        assert!(near.contains("did you mean vm.swappiness?"), "{near}");
        let group = of("system.slice/memory.high", "1G").unwrap_err();
        assert!(
            group.contains("systemctl set-property --runtime"),
            "{group}"
        );
        let each = of("bdi.max_ratio", "10").unwrap_err();
        assert!(each.contains("say which"), "{each}");
    }

    #[test]
    fn a_value_is_the_one_that_the_kernel_reads() {
        let value = |text: &str| setting(text).map(|setting| setting.value);
        assert_eq!(value("vm.swappiness=010").as_deref(), Ok("8"));
        assert_eq!(
            value("vm.dirty_bytes=020000000000").as_deref(),
            Ok("2147483648")
        );
        assert_eq!(value("ksm.pages_to_scan=010").as_deref(), Ok("10"));
        assert_eq!(value("zswap.enabled=on").as_deref(), Ok("Y"));
        let refused = value("vm.swappiness=089").unwrap_err();
        assert!(
            refused.contains("expected an integer from 0 to 200"),
            "{refused}"
        );
    }

    #[test]
    fn a_size_with_a_unit_is_in_the_unit_of_the_file() {
        let value = |text: &str| setting(text).map(|setting| setting.value);
        assert_eq!(value("vm.dirty_bytes=64M").as_deref(), Ok("67108864"));
        assert_eq!(value("vm.min_free_kbytes=64 MiB").as_deref(), Ok("65536"));
        assert_eq!(value("vm.min_free_kbytes=65536").as_deref(), Ok("65536"));
        assert_eq!(value("vm.min_free_kbytes=1G").as_deref(), Ok("1048576"));
        let none = value("vm.swappiness=64M").unwrap_err();
        assert!(none.contains("vm.swappiness is no size"), "{none}");
        let part = value("vm.min_free_kbytes=1500 B").unwrap_err();
        assert!(part.contains("no whole number"), "{part}");
    }

    #[test]
    fn a_size_in_pages_depends_on_the_machines() {
        let pages = |page| typed("ksm.pages_to_scan=64M", page).map(|setting| setting.value);
        assert_eq!(pages(PageSize::FOUR_KIB).as_deref(), Ok("16384"));
        let large = PageSize::new(65536).expect("a page size");
        assert_eq!(pages(large).as_deref(), Ok("1024"));
    }
}
