//! `TUNABLE=VALUE`: names in every spelling, values as people write them, in the unit that the
//! kernel's file has, and as the kernel reads them: `010` is 8 to a sysctl.

use mm::catalogue::{self, Named, Of, Scope, Unit};
use mm::quantity;
use mm::settings::Setting;
use mm::units::Bytes;

/// Reads a setting; a size may have a unit: `vm.dirty_bytes=64M`, `vm.min_free_kbytes=1GiB`.
pub(crate) fn setting(text: &str) -> Result<Setting, String> {
    let (key, value) = text.split_once('=').ok_or("write it as vm.swappiness=10")?;
    of(key.trim(), value.trim())
}

/// A setting of a key in any spelling.
pub(crate) fn of(key: &str, value: &str) -> Result<Setting, String> {
    let named = catalogue::resolve(key).map_err(|error| error.to_string())?;
    if named.tunable.scope() == Scope::Group {
        return Err(format!(
            "{named}: control groups are systemd's to set: systemctl set-property --runtime UNIT \
             Memory...={value}, which systemctl revert UNIT takes back"
        ));
    }
    let tunable = match named.of {
        Of::Each => {
            let of = named.tunable.scope().placeholder();
            return Err(format!("{named}: say which: a name in the place of {of}"));
        }
        Of::Machine | Of::One(_) => named.to_string(),
    };
    let value = in_its_unit(named, value)?;
    let value = catalogue::value_of(named, &value).map_err(|error| error.to_string())?;
    Ok(Setting { tunable, value })
}

/// The number that the tunable's file takes, where the value is a size with a unit.
fn in_its_unit(named: Named<'_>, value: &str) -> Result<String, String> {
    let Some(size) = size(value) else {
        return Ok(value.to_owned());
    };
    let each = match named.tunable.unit {
        Unit::Bytes => 1,
        Unit::Kib => 1 << 10,
        Unit::Pages => 4 << 10,
        Unit::Mib => 1 << 20,
        _ => {
            return Err(format!(
                "{named} is no size, so {value} is no value of it; write the number alone"
            ));
        }
    };
    match size.0.is_multiple_of(each) {
        true => Ok((size.0 / each).to_string()),
        false => Err(format!(
            "{value} is no whole number of {named}'s unit, {each} bytes"
        )),
    }
}

/// A size with a unit: those of a study, and `K`, `M`, `G`, `T` alone, which count in 1024.
pub(crate) fn size(text: &str) -> Option<Bytes> {
    let alone = ["K", "M", "G", "T"]
        .into_iter()
        .find(|unit| text.ends_with(unit));
    match alone {
        Some(_) => quantity::size(&format!("{text}iB")).ok(),
        None => quantity::size(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
