//! The parsers of a process's own files: the first byte chooses the file, the rest is what it
//! holds.

use crate::take::take;
use mm::process::{KsmStat, Status};
use mm::text::ParseError;
use mm::{maps, pagemap};

pub(crate) fn target(bytes: &[u8]) {
    let Some(data) = take::<(u8, &[u8])>(bytes) else {
        return;
    };
    let (choice, bytes) = data;
    let text = String::from_utf8_lossy(bytes);
    let read: Result<(), ParseError> = match choice % 4 {
        0 => Status::parse("f", &text).map(drop),
        1 => KsmStat::parse("f", &text).map(drop),
        2 => maps::parse("f", &text).map(|mappings| {
            let mounts = maps::hugetlb_mounts(&text);
            for mapping in mappings {
                assert!(mapping.start < mapping.end);
                let _ = mapping.may_merge(&mounts);
            }
        }),
        _ => {
            for entry in pagemap::entries(bytes) {
                assert!(!(entry.is_anonymous() && entry.is_swapped()));
                assert_ne!(entry.frame(), Some(0));
            }
            Ok(())
        }
    };
    if let Err(error) = read {
        assert!(!error.to_string().contains('\n'));
    }
}
