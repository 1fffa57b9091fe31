//! The keys of charts: what each line and bar stands for.

use super::chart::Ink;

/// The keys in a row.
pub(super) fn legend(keys: &[String]) -> String {
    format!("<ul class=\"legend\">{}</ul>\n", keys.concat())
}

/// A drawing and what it stands for.
pub(super) fn key(drawing: &str, words: &str) -> String {
    format!(
        "<li><svg class=\"key\" viewBox=\"0 0 36 12\" aria-hidden=\"true\">{drawing}</svg> \
         {words}</li>"
    )
}

/// A line, dashed where `dashes` are not empty.
pub(super) fn line(ink: Ink, width: u32, dashes: &str) -> String {
    let color = ink.hex();
    format!(
        "<line x1=\"0\" x2=\"34\" y1=\"6\" y2=\"6\" stroke=\"{color}\" stroke-width=\"{width}\" \
         stroke-dasharray=\"{dashes}\"/>"
    )
}

/// A broad line.
pub(super) fn broad(ink: Ink, opacity: f64) -> String {
    let color = ink.hex();
    format!(
        "<line x1=\"0\" x2=\"34\" y1=\"6\" y2=\"6\" stroke=\"{color}\" stroke-width=\"8\" \
         opacity=\"{opacity}\"/>"
    )
}

/// A piece of a bar.
pub(super) fn bar(ink: Ink, height: u32) -> String {
    let (color, top) = (ink.hex(), 6 - height / 2);
    format!("<rect y=\"{top}\" width=\"34\" height=\"{height}\" fill=\"{color}\"/>")
}
