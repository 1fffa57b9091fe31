//! `cargo xtask truth`: studies that nobody chose, on both benches.

mod dice;
pub(crate) mod draw;
mod drawn;
mod text;

use anyhow::{Result, bail};

/// `cargo xtask truth`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [option, seed] if option == "--text" => {
            print!("{}", draw::study(seed.parse()?));
            Ok(())
        }
        [option, seed] if option == "--small" => {
            print!("{}", draw::small(seed.parse()?));
            Ok(())
        }
        _ => bail!("truth: --text SEED or --small SEED"),
    }
}
