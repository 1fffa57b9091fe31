//! How old pages are: the generations of the multi-generation LRU, and a new one on request.
//!
//! A new generation is asked for by a write to the table in debugfs. It walks page tables, takes
//! accessed bits away and notes what was accessed since the last one: pages move between
//! generations, so what is reclaimed next may be another page. It changes no setting. Who asks for
//! it says so first.

use std::fs::OpenOptions;
use std::io::{self, Write as _};

use mm::lru_gen::{ENABLED, Enabled, Generation, TABLE, parse_table};

use crate::Root;

/// Why ages cannot be read; `None` where they can.
#[must_use]
pub fn lacking(root: &Root) -> Option<&'static str> {
    let enabled = root.look(ENABLED).ok();
    let enabled = enabled.and_then(|text| Enabled::parse(&text).ok());
    match enabled {
        None => Some("this kernel has no lru_gen"),
        // The table takes the request all the same, and answers with nothing.
        Some(enabled) if !enabled.core() => Some("lru_gen is not enabled"),
        Some(_) if !root.is_file(TABLE) => Some("debugfs is not mounted"),
        Some(_) => None,
    }
}

/// All generations of all groups.
///
/// # Errors
/// The table cannot be read.
pub fn table(root: &Root) -> io::Result<Vec<Generation>> {
    let text = root.look(TABLE)?;
    parse_table(&text).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why.to_string()))
}

/// Begins a generation behind the youngest of a group on a node. A kernel without swap looks at
/// anonymous memory only where it is told to, and makes room for a generation only then.
///
/// # Errors
/// The kernel refuses it, or there is a younger one.
pub fn age(root: &Root, youngest: &Generation) -> io::Result<()> {
    let (id, node, seq) = (youngest.id, youngest.node, youngest.seq);
    let mut table = OpenOptions::new().write(true).open(root.join(TABLE))?;
    table.write_all(format!("+ {id} {node} {seq} 1 1").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_asked_for_where_the_generations_are_in_use() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        assert_eq!(lacking(&root), Some("this kernel has no lru_gen"));
        write(ENABLED, "0x0000\n");
        assert_eq!(lacking(&root), Some("lru_gen is not enabled"));
        write(ENABLED, "0x0007\n");
        assert_eq!(lacking(&root), Some("debugfs is not mounted"));
        write(TABLE, "memcg 7 /a\n node 0\n 3 10 5 6\n");
        assert_eq!(lacking(&root), None);
        let youngest = table(&root).expect("a table").remove(0);
        age(&root, &youngest).expect("a file");
        let said = std::fs::read_to_string(directory.path().join(TABLE)).expect("a file");
        assert!(said.starts_with("+ 7 0 3 1 1"), "{said}");
    }
}
