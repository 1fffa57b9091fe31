//! The guard's configuration: a file and a drop-in.

use guard::{Config, text};

use crate::take::take;

pub(crate) fn target(bytes: &[u8]) {
    let Some((file, drop_in)) = take::<(&str, &str)>(bytes) else {
        return;
    };
    let files = [("guard.toml", file), ("guard.toml.d/a.toml", drop_in)];
    let said = match text::of_files(files) {
        Ok(pairs) => Config::of(&pairs).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(said) = said {
        assert!(!said.contains('\n'), "{said}");
    }
}
