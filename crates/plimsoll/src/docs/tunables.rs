//! `docs/tunables.md`: the catalogue of tunables.

use std::fmt::Write as _;

use mm::catalogue::{self, Risk, Tunable, Unit};

/// The reference of all tunables, group by group.
pub(super) fn markdown() -> String {
    let mut text = String::from(
        "# Tunables\n\n\
         The catalogue that validation and studies use, made from the code by `cargo xtask docs`.\n\
         Kernels are upstream versions: a distribution may have built a tunable out.\n",
    );
    let mut group = "";
    let of_many = catalogue::of_devices().chain(catalogue::of_page_sizes());
    for tunable in catalogue::all()
        .chain(of_many)
        .chain(catalogue::of_groups())
    {
        if tunable.group() != group {
            group = tunable.group();
            let _ = write!(text, "\n## {group}\n");
            text += note(group);
        }
        entry(&mut text, tunable);
    }
    text
}

/// What is to be said of a group as a whole.
fn note(group: &str) -> &'static str {
    match group {
        "bdi" => {
            "\nEach block device has these for itself. In a study `DEVICE` is the name of a disk \
             of `[machine]`,\nas in `\"bdi.stick.max_ratio\"`.\n"
        }
        "hugetlb" => "\n`SIZE` is a folder's name, as `hugepages-2048kB`.\n",
        "memory" => {
            "\nEach control group has these for itself. systemd owns the groups: set them by \
             `systemctl\nset-property` or a drop-in.\n"
        }
        _ => "",
    }
}

fn entry(text: &mut String, tunable: &Tunable) {
    let _ = write!(text, "\n### {}\n\n{}\n\n", tunable.name, tunable.effect);
    let _ = writeln!(text, "- file: `/{}`", tunable.path);
    let unit = match tunable.unit {
        Unit::None => String::new(),
        unit => format!(", in {unit}"),
    };
    let _ = writeln!(text, "- values: {}{unit}", tunable.values);
    let _ = writeln!(text, "- default: {}", tunable.default);
    if let Some(partner) = tunable.partner {
        let _ = writeln!(
            text,
            "- partner: `{partner}`; writing one switches the other off"
        );
    }
    let list = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    if !tunable.views.is_empty() {
        let views = list(tunable.views);
        let _ = writeln!(text, "- one value: {views}; the first holds it exactly");
    }
    if !tunable.touches.is_empty() {
        let touched = list(tunable.touches);
        let _ = writeln!(text, "- changes with it: {touched}");
    }
    let _ = writeln!(text, "- kernels: {}", tunable.kernels);
    let _ = writeln!(text, "- risk: {}", risk(tunable.risk));
}

fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low, it costs some speed until it is set back",
        Risk::Medium => "medium, it can stall the machine or waste much of its memory",
        Risk::High => "high, allocations can fail and processes be killed",
    }
}
