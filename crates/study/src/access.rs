//! `read`, `write`, `touch` and `access`: a run of accesses to a file or a region.

use mm::units::{Bytes, Nanos};
use scenario::workload::{Access, Pattern, Size, Target, Think, Via};

use super::classes;
use super::names::{Kind, Names};
use super::node::{Node, thousandths};
use super::source::StudyError;
use super::table::Table;
use mm::quantity;

/// `read = {…}` and `write = {…}`: a file, all reads or all writes.
const FILE_ACCESS: &[&str] = &[
    "file", "via", "pattern", "amount", "for", "block", "blocks", "compute", "think", "rate",
];
/// `touch = {…}`: a region.
const TOUCH: &[&str] = &[
    "region",
    "pattern",
    "classes",
    "amount",
    "for",
    "block",
    "blocks",
    "write-percent",
    "compute",
    "think",
    "rate",
];
/// `access = {…}`: either, reads and writes mixed.
const ACCESS: &[&str] = &[
    "file",
    "region",
    "via",
    "pattern",
    "amount",
    "for",
    "block",
    "blocks",
    "write-percent",
    "compute",
    "think",
    "rate",
];

/// A file read in order goes in large blocks unless the study says otherwise; all else by pages.
const LARGE_BLOCK: Bytes = Bytes::MIB;
const PAGE_BLOCK: Bytes = Bytes(4096);
/// The amount of an access that has a time and no amount: the time alone ends it. Once the target's
/// size, as where neither is given, would end it early without a word.
const NO_END: Size = Size::Bytes(Bytes(quantity::LARGEST_SIZE));
/// Blocks of an operation, at most.
const MOST_BLOCKS: i64 = 10_000;
/// Direct I/O must be aligned to the disk's sectors.
const SECTOR: u64 = 512;

const VIA: &[(&str, Via)] = &[
    ("syscall", Via::Syscall),
    ("mmap", Via::Mmap),
    ("direct", Via::Direct),
];

/// Reads the table behind `key`: "read", "write", "touch" or "access".
pub(super) fn access(key: &str, node: &Node<'_>, names: &Names) -> Result<Access, StudyError> {
    let (table, write_percent) = match key {
        "read" => (node.table(FILE_ACCESS)?, 0),
        "write" => (node.table(FILE_ACCESS)?, 100),
        "touch" => write_share(node.table(TOUCH)?)?,
        _ => write_share(node.table(ACCESS)?)?,
    };
    let target = match key {
        "read" | "write" => Target::File(names.known(Kind::File, &table.need("file")?)?),
        "touch" => Target::Region(names.known(Kind::Region, &table.need("region")?)?),
        _ => target(&table, names)?,
    };
    let via = via(key, &table, &target)?;
    let classes = match key {
        "touch" => classes::classes(&table)?,
        _ => Vec::new(),
    };
    let pattern = match classes.is_empty() {
        true => table.or("pattern", Pattern::Sequential, pattern)?,
        false => Pattern::Classes,
    };
    let blocks = table.or("blocks", 1, |n| n.count(1, MOST_BLOCKS))?;
    let amount = table.maybe("amount", |n| n.workload_size())?;
    let time_limit = table.maybe("for", |n| n.some_duration())?;
    Ok(Access {
        block: block(&table, &target, via, pattern)?,
        target,
        via,
        pattern,
        amount: amount.or(time_limit.map(|_| NO_END)),
        time_limit,
        blocks,
        write_percent,
        compute: table.or("compute", Nanos::ZERO, |n| n.duration())?,
        think: table.or("think", Think::NONE, |n| n.think())?,
        rate: table.or("rate", classes::rate(&classes, blocks), |n| {
            n.count(0, i64::from(u32::MAX))
        })?,
        classes,
    })
}

/// The file or the region that a table names.
pub(super) fn target(table: &Table<'_>, names: &Names) -> Result<Target, StudyError> {
    let (key, node) = table.one_of(&["file", "region"])?;
    if key == "file" {
        names.known(Kind::File, &node).map(Target::File)
    } else {
        names.known(Kind::Region, &node).map(Target::Region)
    }
}

fn write_share(table: Table<'_>) -> Result<(Table<'_>, u8), StudyError> {
    let share = table.or("write-percent", 0, |n| n.percent())?;
    Ok((table, share))
}

fn via(key: &str, table: &Table<'_>, target: &Target) -> Result<Via, StudyError> {
    if key == "touch" {
        return Ok(Via::Mmap);
    }
    match (target, table.get("via")?) {
        (Target::Region(_), None) => Ok(Via::Mmap),
        (Target::Region(_), Some(node)) => Err(node.error(
            "a region is always reached through its mapping",
            "drop `via`",
        )),
        (Target::File(_), node) => node.map_or(Ok(Via::Syscall), |node| node.choice(VIA)),
    }
}

/// `"sequential"`, `"random"` or `"zipf 0.99"`.
fn pattern(node: &Node<'_>) -> Result<Pattern, StudyError> {
    let text = node.text()?;
    let zipf = text.strip_prefix("zipf ").map(str::trim);
    match (text, zipf) {
        ("sequential", _) => Ok(Pattern::Sequential),
        ("random", _) => Ok(Pattern::Random),
        (_, Some(exponent)) => {
            let exponent_milli = thousandths(exponent).filter(|milli| *milli <= 4000);
            let exponent_milli = exponent_milli
                .ok_or_else(|| node.expected("an exponent from 0 to 4, as in \"zipf 0.99\""))?;
            Ok(Pattern::Zipf { exponent_milli })
        }
        _ => Err(node.expected("\"sequential\", \"random\" or \"zipf 0.99\"")),
    }
}

fn block(
    table: &Table<'_>,
    target: &Target,
    via: Via,
    pattern: Pattern,
) -> Result<Bytes, StudyError> {
    let Some(node) = table.get("block")? else {
        let large = matches!(target, Target::File(_)) && pattern == Pattern::Sequential;
        return Ok(if large { LARGE_BLOCK } else { PAGE_BLOCK });
    };
    let block = node.some_size()?;
    if block > Bytes::GIB {
        return Err(node.expected("a block of at most 1 GiB"));
    }
    if via == Via::Direct && !block.0.is_multiple_of(SECTOR) {
        return Err(node.expected("a multiple of 512 B, as direct I/O needs"));
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access_of(keys: &str) -> Access {
        let text = format!(
            "name = \"a\"\ntitle = \"a\"\nquestion = \"a\"\n[machine]\nmemory = \"1 GiB\"\n\
             [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\nsteps = [\
             {{ map = {{ region = \"r\", size = \"4 MiB\" }} }}, \
             {{ touch = {{ region = \"r\"{keys} }} }}]\n"
        );
        let study = crate::Study::parse(&text, "test").unwrap();
        match &study.arms[0].workload.processes[0].steps[1].action {
            scenario::workload::Action::Access(access) => access.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_time_alone_is_not_cut_short_by_the_size_of_the_target() {
        assert_eq!(access_of("").amount, None);
        assert_eq!(access_of(", for = \"3 s\"").amount, Some(NO_END));
        let both = access_of(", for = \"3 s\", amount = \"1 MiB\"");
        assert_eq!(both.amount, Some(Size::Bytes(Bytes::MIB)));
    }

    #[test]
    fn thousandths_keep_three_places() {
        assert_eq!(thousandths("0.99"), Some(990));
        assert_eq!(thousandths("1"), Some(1000));
        assert_eq!(thousandths("3.125"), Some(3125));
        for text in ["", ".", "1.", "-1", "0.9999", "1e3", "9999999"] {
            assert_eq!(thousandths(text), None, "{text}");
        }
    }
}
