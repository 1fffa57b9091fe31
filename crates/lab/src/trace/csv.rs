//! CSV: one access a line, fields between commas, ids as decimal or `0x` hexadecimal numbers.
//!
//! The object is found by the header, a column called `page`, `object`, `object_id`, `obj_id` or
//! `id`. Without a header it is the only column, or the second of several, where libCacheSim's
//! traces have it (`time,object,size`). Empty lines and lines that begin with `#` mean nothing.

use std::io::BufRead;

use super::{BATCH, Problem};

const NAMES: &[&str] = &["page", "object", "object_id", "obj_id", "id"];

/// Longest line that is read, so that a file of another kind cannot fill memory.
const LINE_MAX: u64 = 1 << 16;

/// What is said of a last line that lacks columns and its end.
const CUT: &str = "the file was cut off in the middle of this line; copy it anew, or drop the line";

/// Gives the objects of the lines to `each`.
pub(super) fn read(
    mut input: impl BufRead,
    mut each: impl FnMut(&[u64]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut column = None;
    let mut commas = None;
    let mut text = Vec::new();
    let mut objects = Vec::with_capacity(BATCH);
    for line in 1.. {
        text.clear();
        let wrong = |what| Problem::Line { line, what };
        let length = next_line(&mut input, &mut text)?;
        if length == 0 {
            break;
        }
        let fields = line_of(&text).map_err(wrong)?;
        if fields.is_empty() || fields.starts_with('#') {
            continue;
        }
        let most = *commas.get_or_insert_with(|| fields.matches(',').count());
        if !text.ends_with(b"\n") && fields.matches(',').count() < most {
            return Err(wrong(CUT.to_owned()));
        }
        let header = column.is_none().then(|| header(fields)).flatten();
        let column = *column.get_or_insert_with(|| header.unwrap_or_else(|| usual_column(fields)));
        if header.is_none() {
            objects.push(object(fields, column).map_err(wrong)?);
        }
        if objects.len() == BATCH {
            each(&objects)?;
            objects.clear();
        }
    }
    each(&objects)
}

fn next_line(input: &mut impl BufRead, text: &mut Vec<u8>) -> std::io::Result<usize> {
    use std::io::Read as _;
    input.take(LINE_MAX).read_until(b'\n', text)
}

fn line_of(text: &[u8]) -> Result<&str, String> {
    if text.len() as u64 == LINE_MAX {
        return Err(format!(
            "longer than {LINE_MAX} bytes: is this a binary trace?"
        ));
    }
    let text = std::str::from_utf8(text).map_err(|_| "not text: is this a binary trace?")?;
    Ok(text.trim())
}

/// The column of the object where the first line is a header, which has no number in it.
fn header(fields: &str) -> Option<usize> {
    let names = || fields.split(',').map(|name| name.trim().trim_matches('"'));
    if names().any(|name| number(name).is_some()) {
        return None;
    }
    names().position(|name| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

fn usual_column(fields: &str) -> usize {
    usize::from(fields.contains(','))
}

fn object(fields: &str, column: usize) -> Result<u64, String> {
    let field = fields.split(',').nth(column).map(str::trim);
    let field = field.ok_or_else(|| format!("no column {}", column + 1))?;
    number(field).ok_or_else(|| {
        let shown: String = field.chars().filter(|c| !c.is_control()).take(40).collect();
        format!(
            "\"{shown}\" is no object id: column {} must hold whole numbers below 2^64 \
             (a header names the column \"object\")",
            column + 1
        )
    })
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: impl AsRef<[u8]>) -> Result<Vec<u64>, String> {
        let mut objects = Vec::new();
        let result = read(text.as_ref(), |batch| {
            objects.extend_from_slice(batch);
            Ok(())
        });
        result.map(|()| objects).map_err(|error| error.to_string())
    }

    #[test]
    fn the_object_is_where_the_header_says() {
        assert_eq!(read_all("size,Object,time\n1,7,3\n1,8,4\n"), Ok(vec![7, 8]));
        assert_eq!(read_all("\"page\"\r\n7\r\n"), Ok(vec![7]));
    }

    #[test]
    fn without_a_header_it_is_the_only_or_the_second_column() {
        assert_eq!(read_all("7\n0x1f\n"), Ok(vec![7, 31]));
        assert_eq!(
            read_all("# a comment\n\n100, 7, 4096\n101, 8, 4096"),
            Ok(vec![7, 8])
        );
    }

    #[test]
    fn a_file_that_ends_inside_a_line_says_so() {
        let whole = "time,object,size\n1,70,4096\n2,71,4096";
        assert_eq!(
            read_all(whole),
            Ok(vec![70, 71]),
            "only the line's end lacks"
        );
        for length in whole.len() - 8..whole.len() - 4 {
            let error = read_all(&whole[..length]).unwrap_err();
            assert_eq!(error, format!("line 3: {CUT}"));
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        assert_eq!(
            read_all("1,2\n1,x\n").unwrap_err(),
            "line 2: \"x\" is no object id: column 2 must hold whole numbers below 2^64 \
             (a header names the column \"object\")"
        );
        assert_eq!(read_all("1,2\n3\n").unwrap_err(), "line 2: no column 2");
        assert!(
            read_all("time,key\n1,2\n")
                .unwrap_err()
                .starts_with("line 1: \"key\"")
        );
        assert!(
            read_all([b'1', b'\n', 0xff, b'\n'])
                .unwrap_err()
                .starts_with("line 2: not text")
        );
        let long = "1".repeat(usize::try_from(LINE_MAX).unwrap() + 1);
        assert!(read_all(long).unwrap_err().contains("longer than"));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic_the_reader(bytes: Vec<u8>) {
            let _ = read_all(bytes);
        }
    }
}
