//! Values as the kernel takes them from a text.

use mm::catalogue::{self, Tunable, Values};

/// The number that a sysctl of integers takes from a text: decimal, `0x` hexadecimal, octal after a
/// leading zero. What follows a blank is not looked at. `None` where the kernel answers `EINVAL`.
///
/// Source: `proc_get_long` in kernel/sysctl.c, 6.1; seen on 6.18.
#[must_use]
pub fn integer(text: &str) -> Option<i128> {
    let word = text.split_ascii_whitespace().next()?;
    let (digits, sign) = word.strip_prefix('-').map_or((word, 1), |it| (it, -1));
    let (digits, base) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    let unsigned = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(digits, base)
        .ok()
        .filter(|_| unsigned)?;
    Some(i128::from(number) * sign)
}

/// Whether the kernel takes this text for a tunable of the catalogue, and so the value changes.
#[must_use]
pub fn is_taken(tunable: &Tunable, text: &str) -> bool {
    match tunable.values {
        Values::Integer { min, max } => {
            let range = i128::from(min)..=i128::from(max);
            integer(text).is_some_and(|number| range.contains(&number))
        }
        Values::Integers | Values::Word => !text.trim().is_empty(),
        values => values.contain(text.trim()),
    }
}

/// The tunable of the catalogue with this file; none of those that each device has.
#[must_use]
pub fn tunable(path: &str) -> Option<&'static Tunable> {
    catalogue::all().find(|tunable| tunable.path == path)
}

/// The file of the tunable that one with this file switches off.
#[must_use]
pub fn partner(path: &str) -> Option<&'static str> {
    let partner = tunable(path)?.partner?;
    catalogue::find(partner).map(|partner| partner.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_ends_at_a_blank_and_a_leading_zero_is_octal() {
        let taken = ["60", "60 # x", "60 70", "0x3c", "074", " 60\n"];
        assert!(taken.iter().all(|text| integer(text) == Some(60)));
        let refused = ["60#x", "", "60%", "60.0", "0x", "089", "x", "+60", "0x+3"];
        assert!(refused.iter().all(|text| integer(text).is_none()));
        assert_eq!(integer("-1"), Some(-1));
        assert_eq!(integer("0"), Some(0));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let swappiness = tunable("proc/sys/vm/swappiness").expect("a tunable");
        assert!(is_taken(swappiness, "200") && !is_taken(swappiness, "201"));
        assert!(!is_taken(swappiness, "-1"));
        let bytes = tunable("proc/sys/vm/dirty_bytes").expect("a tunable");
        assert!(!is_taken(bytes, "0") && is_taken(bytes, "8192"));
        assert_eq!(partner(bytes.path), Some("proc/sys/vm/dirty_ratio"));
    }
}
