//! What the kernel makes of a text that is written into a tunable's file: the one reader of values.
//!
//! Which spellings a file takes depends on its handler, and so `010` is 8 to `vm.swappiness` and 10
//! to `ksm.pages_to_scan`. Every handler was asked on 6.18, by writing each spelling into its file.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{Tunable, Values};

/// A number in `/proc/sys` has fewer characters than this, its sign and leading zeros among them.
const LONGEST: usize = 21;

/// How a file's handler reads a number.
#[derive(Clone, Copy)]
enum Notation {
    /// `proc_get_long`: blanks before it, `-`, octal after a leading zero, `0x`; what follows a
    /// blank is passed over.
    Sysctl,
    /// `kstrtoul` with base 0: `+`, octal after a leading zero, `0x`; nothing follows.
    AsInC,
    /// `kstrtoul` with base 10: `+`; a leading zero means nothing, and nothing follows.
    Decimal,
}

impl Tunable {
    /// The value that the kernel takes from a text, in the words that are written for it; `None`
    /// where it refuses the text, or takes it for a value that the catalogue does not have.
    #[must_use]
    pub fn taken(&self, text: &str) -> Option<String> {
        let whole = text.strip_suffix('\n').unwrap_or(text);
        match self.values {
            Values::Integer { min, max } => {
                let range = i128::from(min)..=i128::from(max);
                let number = self.number(text).filter(|it| range.contains(it))?;
                Some(number.to_string())
            }
            Values::Integers => integers(text),
            Values::Bits { all } => {
                let mask = bits(whole, all).filter(|mask| mask & !all == 0)?;
                Some(mask.to_string())
            }
            Values::Words(words) => words.contains(&whole).then(|| whole.to_owned()),
            Values::Truth([no, yes]) => {
                let word = if truth(text)? { yes } else { no };
                Some(word.to_owned())
            }
            Values::Word => {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_()".contains(c);
                let word = text.trim_ascii();
                let fits = !word.is_empty() && word.len() <= 64 && word.chars().all(plain);
                fits.then(|| word.to_owned())
            }
            Values::Limit => {
                let digits = whole.strip_suffix(['K', 'M', 'G', 'T']).unwrap_or(whole);
                let is_number = Notation::Decimal.read(digits).is_some();
                (whole == "max" || is_number).then(|| whole.to_owned())
            }
        }
    }

    /// The number that a text is to this file, in its range or not; `None` where it is no number.
    #[must_use]
    pub fn number(&self, text: &str) -> Option<i128> {
        match self.values {
            Values::Bits { all } => bits(text.trim_ascii(), all).map(i128::from),
            _ => Notation::of(self.path).read(text),
        }
    }

    /// Whether two texts stand for the same value: `0x0007` and `7`, `[madvise]` and `madvise`.
    #[must_use]
    pub fn means_same(&self, a: &str, b: &str) -> bool {
        self.meaning(a) == self.meaning(b)
    }

    /// A text's one spelling, whether the kernel takes it or shows it.
    fn meaning(&self, text: &str) -> String {
        let shown = self.value_in(text);
        match self.values {
            Values::Integer { .. } | Values::Bits { .. } => {
                self.number(&shown).map_or(shown, |it| it.to_string())
            }
            Values::Words(_) | Values::Limit => shown,
            _ => self.taken(&shown).unwrap_or(shown),
        }
    }
}

/// The number that a sysctl of integers takes from a text: `proc_get_long` in `kernel/sysctl.c`.
/// `None` where the kernel answers `EINVAL`.
#[must_use]
pub fn sysctl_number(text: &str) -> Option<i128> {
    Notation::Sysctl.read(text)
}

impl Notation {
    fn of(path: &str) -> Self {
        let is_base_0 = ["sys/module/", "sys/kernel/mm/lru_gen/", "sys/fs/cgroup/"];
        match path {
            _ if path.starts_with("proc/sys/") => Self::Sysctl,
            _ if is_base_0.iter().any(|folder| path.starts_with(folder)) => Self::AsInC,
            _ => Self::Decimal,
        }
    }

    fn read(self, text: &str) -> Option<i128> {
        match self {
            Self::Sysctl => {
                let text = text.trim_start_matches(is_space);
                let word = text.split([' ', '\t', '\n']).next()?;
                let (digits, sign) = word.strip_prefix('-').map_or((word, 1), |it| (it, -1));
                let number = as_in_c(digits).filter(|_| word.len() < LONGEST)?;
                Some(i128::from(number) * sign)
            }
            Self::AsInC => as_in_c(whole(text)).map(i128::from),
            Self::Decimal => digits(whole(text), 10).map(i128::from),
        }
    }
}

/// The kernel's `isspace`, as far as ASCII has it.
fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// What `kstrtoul` looks at: without one `+` before and one end of line behind.
fn whole(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_prefix('+').unwrap_or(text)
}

fn as_in_c(text: &str) -> Option<u64> {
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => digits(&text[2..], 16),
        [b'0', _, ..] => digits(&text[1..], 8),
        _ => digits(text, 10),
    }
}

/// Digits and nothing else: Rust's own reader takes a sign.
fn digits(text: &str, base: u32) -> Option<u64> {
    let plain = text.chars().all(|c| c.is_digit(base));
    u64::from_str_radix(text, base).ok().filter(|_| plain)
}

/// The first numbers of a text: the kernel stops at what is none, and takes one below 0 for 0.
fn integers(text: &str) -> Option<String> {
    let words = text.split_ascii_whitespace();
    let numbers = words.map_while(|word| Notation::Sysctl.read(word));
    let numbers: Vec<String> = numbers.map(|it| it.max(0).to_string()).collect();
    (!numbers.is_empty()).then(|| numbers.join(" "))
}

/// `kstrtobool`: the first letter decides, of `on` and `off` the second.
fn truth(text: &str) -> Option<bool> {
    let mut letters = text.bytes();
    match letters.next()? {
        b'y' | b'Y' | b't' | b'T' | b'1' => Some(true),
        b'n' | b'N' | b'f' | b'F' | b'0' => Some(false),
        b'o' | b'O' => match letters.next()? {
            b'n' | b'N' => Some(true),
            b'f' | b'F' => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// `y` and `n` are all bits and none.
fn bits(text: &str, all: u64) -> Option<u64> {
    match text {
        "y" | "Y" => Some(all),
        "n" | "N" => Some(0),
        _ => as_in_c(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{find, named};

    fn taken(name: &str, text: &str) -> Option<String> {
        named(name).expect("a tunable").tunable.taken(text)
    }

    /// What 6.18 did with each text.
    #[test]
    fn each_file_reads_numbers_as_its_handler_does() {
        const SPELLINGS: [&str; 14] = [
            "60",
            "074",
            "0x3c",
            "0X3C",
            "+60",
            " 60",
            "60 ",
            "60\n",
            "60 x",
            "60x",
            "60\t7",
            "-60",
            "",
            "000000000000000000000074",
        ];
        let all = |name| {
            let one = |text| {
                taken(name, text)
                    .and_then(|it| it.parse().ok())
                    .unwrap_or(0)
            };
            SPELLINGS.map(one)
        };
        let sysctl = [60, 60, 60, 60, 0, 60, 60, 60, 60, 0, 60, 0, 0, 0];
        assert_eq!(all("vm.swappiness"), sysctl);
        assert_eq!(all("vm.user_reserve_kbytes"), sysctl);
        let base_0 = [60, 60, 60, 60, 60, 0, 0, 60, 0, 0, 0, 0, 0, 60];
        assert_eq!(all("zswap.max_pool_percent"), base_0);
        assert_eq!(all("lru_gen.min_ttl_ms"), base_0);
        let base_10 = [60, 74, 0, 0, 60, 0, 0, 60, 0, 0, 0, 0, 0, 74];
        for name in [
            "ksm.pages_to_scan",
            "khugepaged.max_ptes_swap",
            "hugetlb.hugepages-2048kB.nr_hugepages",
            "bdi.sda.read_ahead_kb",
        ] {
            assert_eq!(all(name), base_10, "{name}");
        }
    }

    #[test]
    fn what_is_no_number_has_its_own_spellings() {
        for (name, text, value) in [
            (
                "vm.lowmem_reserve_ratio",
                "0400\t0x100 32",
                Some("256 256 32"),
            ),
            ("vm.lowmem_reserve_ratio", "-5 256 x 32", Some("0 256")),
            ("vm.lowmem_reserve_ratio", "256,256", None),
            ("zswap.enabled", "on", Some("Y")),
            ("zswap.enabled", "01", Some("N")),
            ("zswap.enabled", " Y", None),
            ("numa.demotion_enabled", "1", Some("true")),
            ("ksm.smart_scan", "0x1", Some("0")),
            ("thp.enabled", "always\n", Some("always")),
            ("thp.enabled", "always ", None),
            ("thp.enabled", "[always] madvise never", None),
            ("lru_gen.enabled", "y", Some("7")),
            ("lru_gen.enabled", "0x0007", Some("7")),
            ("lru_gen.enabled", "8", None),
            ("zswap.compressor", " lzo\n", Some("lzo")),
            ("vm.swappiness", "201", None),
            ("vm.swappiness", "-1", None),
            ("vm.dirty_bytes", "18446744073709551616", None),
        ] {
            assert_eq!(taken(name, text).as_deref(), value, "{name} = {text}");
        }
    }

    #[test]
    fn what_a_file_shows_means_the_same_in_range_or_not() {
        let bytes = find("vm.dirty_bytes").expect("a tunable");
        assert!(bytes.means_same("0\n", "0") && !bytes.means_same("0", "8192"));
        assert_eq!(sysctl_number("-010"), Some(-8));
    }
}
