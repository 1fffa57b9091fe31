//! How much room a study's records take: they are committed, so there is a limit.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// All records of a study together.
const MOST_MIB: u64 = 8;

/// Prints the room that a study's records take.
///
/// # Errors
/// It is more than may be committed.
pub(super) fn check(study: &str, records: &Path) -> Result<()> {
    let sizes = sizes(records)?;
    let line = summary(study, &sizes);
    if sizes.iter().sum::<u64>() > MOST_MIB << 20 {
        bail!(
            "{line}: more than {MOST_MIB} MiB; a longer `sample` in studies/{study}.toml takes \
             fewer samples, or lower its `repetitions`"
        );
    }
    println!("{line}");
    Ok(())
}

fn summary(study: &str, sizes: &[u64]) -> String {
    let kib = |bytes: u64| bytes.div_ceil(1024);
    format!(
        "{study}: {} records, {} KiB, the largest {} KiB",
        sizes.len(),
        kib(sizes.iter().sum()),
        kib(sizes.iter().copied().max().unwrap_or(0))
    )
}

fn sizes(records: &Path) -> Result<Vec<u64>> {
    let mut sizes = Vec::new();
    for entry in fs::read_dir(records).with_context(|| records.display().to_string())? {
        sizes.push(entry?.metadata()?.len());
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_to_commit_is_refused_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, length: u64| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_len(length).unwrap();
        };
        write("a", 1024);
        write("b", 1025);
        let sizes = sizes(folder.path()).unwrap();
        assert_eq!(
            summary("x", &sizes),
            "x: 2 records, 3 KiB, the largest 2 KiB"
        );
        assert!(check("x", folder.path()).is_ok());
        write("c", MOST_MIB << 20);
        let error = check("x", folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("a longer `sample` in studies/x.toml"),
            "{error}"
        );
    }
}
