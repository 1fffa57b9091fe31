//! What Linux 2.4 logs where no page was left: that an allocation failed, and whom a page fault
//! killed. It prints no zones and not who asked.

use super::text::leading_number;

/// The order in "__alloc_pages: 0-order allocation failed (gfp=0x1d2/0)".
pub(super) fn order(text: &str) -> Option<i32> {
    let (order, rest) = leading_number(text.strip_prefix("__alloc_pages: ")?)?;
    let failed = rest.starts_with("-order allocation failed");
    i32::try_from(order).ok().filter(|_| failed)
}

/// The task in "VM: killing process NAME": the one that faulted.
pub(super) fn victim(text: &str) -> Option<&str> {
    let name = text.strip_prefix("VM: killing process ")?;
    Some(name.trim_ascii()).filter(|name| !name.is_empty())
}
