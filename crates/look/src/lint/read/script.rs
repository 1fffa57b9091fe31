//! Commands: shell scripts, start files, what a page says to type, and the recipes of images.

use conf::scripts::{is_filled_in, of_script};

use super::line::Read;
use crate::lint::setting::{Setting, Writer};

/// Reads a text.
pub(super) fn read(text: &str, index: usize) -> Read {
    let writes = of_script(text, "").into_iter();
    let known = writes.filter(|write| !is_filled_in(&write.value));
    let settings = known.map(|write| Setting {
        text: index,
        ..Setting::of(write, Writer::Script)
    });
    Read {
        settings: settings.collect(),
        ..Read::default()
    }
}

/// Whether a text sets anything by commands.
pub(super) fn is_script(text: &str) -> bool {
    let words = ["sysctl", "/proc/sys/", "/sys/"];
    words.iter().any(|word| text.contains(word)) && !of_script(text, "").is_empty()
}

/// Whether a name is that of an image's recipe.
pub fn is_image(name: &str) -> bool {
    let ends = |whole: &str| whole.eq_ignore_ascii_case("dockerfile");
    let names = ["Dockerfile", "Containerfile"];
    let named = names.iter().any(|it| {
        let rest = name.strip_prefix(it);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    });
    named || name.rsplit('.').next().is_some_and(ends)
}
