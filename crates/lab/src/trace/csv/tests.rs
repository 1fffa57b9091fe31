//! Which column is read, and what is said where none can be.

use super::*;

fn read_by(asked: Option<&str>, text: impl AsRef<[u8]>) -> Result<Vec<u64>, String> {
    let asked = asked.map(|asked| asked.parse().unwrap());
    let mut objects = Vec::new();
    let result = read(text.as_ref(), asked.as_ref(), |batch| {
        objects.extend_from_slice(batch);
        Ok(())
    });
    result.map(|_| objects).map_err(|error| error.to_string())
}

fn read_all(text: impl AsRef<[u8]>) -> Result<Vec<u64>, String> {
    read_by(None, text)
}

#[test]
fn the_object_is_where_the_header_says() {
    assert_eq!(read_all("size,Object,time\n1,7,3\n1,8,4\n"), Ok(vec![7, 8]));
    assert_eq!(read_all("\"page\"\r\n7\r\n"), Ok(vec![7]));
    assert_eq!(read_all("# time, obj-id, size\n1, 7, 3\n"), Ok(vec![7]));
    for name in [
        "object",
        "obj_id",
        "obj-id",
        "id",
        "KEY",
        "lbn",
        "LBA",
        "offset",
        "block",
        "Object ID",
    ] {
        let text = format!("version,time,op,size,{name}\n1,2,2a,512,7\n");
        assert_eq!(read_all(text), Ok(vec![7]), "{name}");
    }
}

#[test]
fn a_plain_name_goes_before_one_that_may_mean_something_else() {
    assert_eq!(read_all("id,obj_id\n1,7\n"), Ok(vec![7]));
    let error = read_all("id,lba,size\n1,7,512\n").unwrap_err();
    assert_eq!(
        error,
        "line 1: each of these may be the object's column: `id`, `lba`; say which with --object \
         COLUMN"
    );
}

#[test]
fn a_column_is_asked_for_by_name_or_number() {
    let text = "time,sector,size\n1,7,512\n2,8,512\n";
    assert_eq!(read_by(Some("Sector"), text), Ok(vec![7, 8]));
    assert_eq!(read_by(Some("2"), text), Ok(vec![7, 8]));
    assert_eq!(read_by(Some("2"), "1,7\n2,8\n"), Ok(vec![7, 8]));
    assert_eq!(
        read_by(Some("7"), "5,7\n1,8\n").unwrap_err(),
        "line 1: there is no column 7; the columns are `5`, `7`"
    );
    assert_eq!(
        read_by(Some("lbn"), text).unwrap_err(),
        "line 1: no column is called `lbn`; the columns are `time`, `sector`, `size`"
    );
    assert!(
        read_by(Some("lbn"), "1,7\n")
            .unwrap_err()
            .contains("no header to look for `lbn`")
    );
    assert!(
        read_by(Some("a"), "a,A\n1,2\n")
            .unwrap_err()
            .contains("several columns")
    );
    for wrong in ["", "0", " "] {
        assert!(wrong.parse::<Column>().is_err(), "{wrong:?}");
    }
}

#[test]
fn a_time_or_a_size_is_never_taken_for_the_object() {
    let error = read_all("time,size\n1,2\n").unwrap_err();
    assert!(
        error.contains("the columns are `time`, `size`; say which"),
        "{error}"
    );
    let error = read_all("100,7,4096\n101,8,4096\n").unwrap_err();
    assert_eq!(
        error,
        "line 1: 3 columns and no header that names them; the columns are `100`, `7`, `4096`; say \
         which is the object's with --object N"
    );
}

#[test]
fn other_separators_quotes_and_damage_of_the_edges_do_no_harm() {
    for text in [
        "time;lbn\n1;7\n2;8\n",
        "time\tlbn\n1\t7\n2\t8\n",
        "time|lbn\n1|7\n2|8\n",
        "time  lbn\n 1   7\n 2   8\n",
        "\u{feff}time,lbn\r\n1,7\r\n2,8\r\n",
        "\"a, b\",\"lbn\"\n\"1, 2\",\"7\"\n\"x\",8\n",
        "time,lbn\n1,7\n2,8\n\0\0\0",
    ] {
        assert_eq!(read_all(text), Ok(vec![7, 8]), "{text:?}");
    }
    assert_eq!(read_all("7\n0x1f\n"), Ok(vec![7, 31]));
    assert_eq!(read_all("# a comment\n\n7\n"), Ok(vec![7]));
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
        read_all("1\nx\n").unwrap_err(),
        "line 2: \"x\" is no object id: column 1 must hold whole numbers below 2^64"
    );
    assert_eq!(
        read_all("op,lbn\n2a,x\n").unwrap_err(),
        "line 2: \"x\" is no object id: column 2 (`lbn`) must hold whole numbers below 2^64; the \
         columns are `2a`, `x`; another is chosen with --object COLUMN"
    );
    assert_eq!(
        read_by(Some("2"), "1,2\n3\n").unwrap_err(),
        "line 2: no column 2"
    );
    let not_text = read_all([b'1', b'\n', 0xff, b'\n']).unwrap_err();
    assert!(not_text.starts_with("line 2: not text"), "{not_text}");
    let long = "1".repeat(usize::try_from(LINE_MAX).unwrap() + 1);
    assert!(read_all(long).unwrap_err().contains("longer than"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic_the_reader(bytes: Vec<u8>) {
        let _ = read_all(bytes);
    }

    #[test]
    fn no_text_panics_the_reader(text in "[a-z0-9,;\"# \t|\n]{0,80}", asked in "[a-z0-9]{1,3}") {
        let _ = (read_all(&text), asked.parse::<Column>().map(|_| read_by(Some(&asked), &text)));
    }
}
