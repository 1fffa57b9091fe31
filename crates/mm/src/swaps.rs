//! `/proc/swaps`: the swap devices and files in use.

use alloc::string::String;
use alloc::vec::Vec;

use crate::text::{Line, ParseError, lines};
use crate::units::Kib;

/// Path without the leading slash.
pub const PATH: &str = "proc/swaps";

/// `/proc/swaps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swaps {
    /// The areas, highest priority first as the kernel lists them.
    pub areas: Vec<SwapArea>,
}

/// One swap device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    /// Its path; blanks stand as `\040`, as the kernel writes them.
    pub path: String,
    /// `partition` or `file`.
    pub kind: String,
    /// Its size.
    pub size: Kib,
    /// How much of it is in use.
    pub used: Kib,
    /// Higher is used first.
    pub priority: i32,
}

impl Swaps {
    /// Reads the text of `/proc/swaps`.
    ///
    /// # Errors
    /// A line after the heading that is not a path, a type, two sizes and a priority.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let areas = lines(PATH, text).filter(|line| !line.text.starts_with("Filename"));
        let areas = areas.map(|line| SwapArea::parse(&line));
        Ok(Self {
            areas: areas.collect::<Result<_, _>>()?,
        })
    }

    /// The size of all areas.
    #[must_use]
    pub fn size(&self) -> Kib {
        let sizes = self.areas.iter().map(|area| area.size.0);
        Kib(sizes.fold(0, u64::saturating_add))
    }
}

impl SwapArea {
    fn parse(line: &Line<'_>) -> Result<Self, ParseError> {
        let mut words = line.words();
        let (Some(path), Some(kind)) = (words.next(), words.next()) else {
            return Err(line.error(line.text, "\"PATH TYPE SIZE USED PRIORITY\""));
        };
        let mut size = |item| {
            let size = line.next_number(item, &mut words)?;
            line.amount(item, size).map(Kib)
        };
        let (size, used) = (size("Size")?, size("Used")?);
        Ok(Self {
            path: path.into(),
            kind: kind.into(),
            size,
            used,
            priority: line.next_number("Priority", &mut words)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_read_and_summed() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/zram0  partition\t4194300\t\t512\t\t100\n\
                    /swap\\040file  file\t1024\t\t0\t\t-2\n";
        let swaps = Swaps::parse(text).expect("swaps");
        assert_eq!(swaps.areas[0].used, Kib(512));
        assert_eq!(swaps.areas[1].priority, -2);
        assert_eq!(swaps.size(), Kib(4_195_324));
        assert!(
            Swaps::parse("Filename Type Size Used Priority\n").is_ok_and(|s| s.areas.is_empty())
        );
    }

    #[test]
    fn a_malformed_line_is_named() {
        let error = Swaps::parse("/dev/sda2 partition big 0 -2\n").expect_err("no size");
        assert_eq!((error.line, error.item.as_str()), (1, "Size"));
    }
}
