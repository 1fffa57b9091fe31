//! Swappiness, and how much a swap-in reads.

use crate::lint::machine::Swap;
use crate::lint::rule::{Answer, when};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

/// Anonymous memory is not swapped until nearly no file page is left.
pub(in crate::lint) fn zero_with_swap(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.number() != Some(0) {
        return Ok(None);
    }
    let has_swap = scope.machine.swap()? != Swap::None;
    when(has_swap, || {
        let size = scope.machine.swap_size().ok();
        let size = size.map_or_else(
            || "the swap space".to_owned(),
            |size| format!("{size} of swap"),
        );
        format!(
            "{size} is used only when free and file pages are below the high mark: processes can \
             be killed while it is free"
        )
    })
}

/// Only anonymous memory is reclaimed.
pub(in crate::lint) fn two_hundred(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.number() == Some(200), || {
        "file pages weigh nothing: reclaim takes anonymous pages alone as long as there is swap, \
         even those in use, and leaves a cache that nobody reads"
            .to_owned()
    })
}

/// More than a kernel before 5.8 takes.
pub(in crate::lint) fn range(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some(number) = setting.number().filter(|&number| number > 100) else {
        return Ok(None);
    };
    let release = scope.machine.release()?;
    when(release.is_before(5, 8), || {
        format!("Linux {release} refuses {number}: before 5.8 the largest value is 100")
    })
}

/// There is no swap.
pub(in crate::lint) fn dead(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.by == Writer::Live {
        return Ok(None);
    }
    let none = scope.machine.swap()? == Swap::None;
    when(none, || {
        "there is no swap space, so nothing reads it".to_owned()
    })
}

/// A comment that says at which use of memory swapping begins.
pub(in crate::lint) fn percent(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.name != "vm.swappiness" {
        return Ok(None);
    }
    let comment = comment_of(setting, scope).to_lowercase();
    let states = ["used", "usage", "full", "left", "free", "remain", "reach"];
    let myth = has_percentage(&comment) && states.iter().any(|word| comment.contains(word));
    when(myth, || {
        "the comment takes it for a share of memory in use at which swapping begins: it is a \
         weight between anonymous and file pages"
            .to_owned()
    })
}

/// The comments on a setting's line and right above it.
fn comment_of(setting: &Setting, scope: &Scope<'_>) -> String {
    let text = scope.text_of(setting);
    let above = (1..setting.line)
        .rev()
        .map(|number| text.line(number).trim());
    let mut comment: Vec<&str> = above
        .take_while(|line| line.starts_with(['#', ';']))
        .collect();
    comment.reverse();
    let behind = text.line(setting.line).split_once('#');
    comment.extend(behind.map(|(_, comment)| comment));
    comment.join(" ")
}

fn has_percentage(text: &str) -> bool {
    let mut before = ' ';
    text.chars().any(|c| {
        let found = c == '%' && before.is_ascii_digit();
        if !c.is_whitespace() {
            before = c;
        }
        found
    })
}

/// Swap in compressed memory is weighed as if it were a disk.
pub(in crate::lint) fn zram_low(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some(number) = setting.number().filter(|number| (1..=60).contains(number)) else {
        return Ok(None);
    };
    let in_memory = scope.machine.swap()? == Swap::Zram;
    let takes_more = !scope.machine.release()?.is_before(5, 8);
    when(in_memory && takes_more, || {
        format!(
            "all swap is zram, and {number} weighs it as if it were slower than the disk that \
             file pages are read from again"
        )
    })
}

/// Pages are read ahead from compressed memory.
pub(in crate::lint) fn zram_readahead(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some(number) = setting.number().filter(|number| (1..32).contains(number)) else {
        return Ok(None);
    };
    let in_memory = scope.machine.swap()? == Swap::Zram;
    when(in_memory, || {
        format!(
            "all swap is zram: each swap-in may decompress {} pages where one is asked for",
            1u64 << number
        )
    })
}

/// A power of two, read as a number of pages.
pub(in crate::lint) fn cluster_large(setting: &Setting, _: &Scope<'_>) -> Answer {
    let Some(number) = setting.number().filter(|number| (6..32).contains(number)) else {
        return Ok(None);
    };
    Ok(Some(
        format!(
            "each swap-in may read {} pages: the value is a power of two",
            1u64 << number
        )
        .into(),
    ))
}
