//! `docs/benchmarks.md`: words by people around figures by the program.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const BEGIN: &str = "<!-- figures: written by cargo xtask bench -->\n";
const END: &str = "<!-- end of figures -->\n";

/// Puts the figures between the marks of the page.
pub(super) fn write(path: &Path, figures: &str) -> Result<()> {
    let place = || path.display().to_string();
    let page = fs::read_to_string(path).with_context(place)?;
    let page = replace(&page, figures).with_context(|| format!("{}: no marks", place()))?;
    fs::write(path, page).with_context(place)?;
    println!("{figures}\nwritten into {}", path.display());
    Ok(())
}

fn replace(page: &str, figures: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!(
        "{before}{BEGIN}\n{}\n\n{END}{after}",
        figures.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_figures_change() {
        let page = format!("# A\n\n{BEGIN}old\n{END}\nlast\n");
        let new = replace(&page, "new\n").unwrap();
        assert_eq!(new, format!("# A\n\n{BEGIN}\nnew\n\n{END}\nlast\n"));
        assert_eq!(replace(&new, "new").as_ref(), Some(&new));
        assert_eq!(replace("# A\n", "new"), None);
    }
}
