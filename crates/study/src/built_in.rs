//! The studies that the binary carries.

/// The built-in studies: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    (
        "min-free-kbytes",
        include_str!("../../../studies/min-free-kbytes.toml"),
    ),
    (
        "memory-hogs",
        include_str!("../../../studies/memory-hogs.toml"),
    ),
    (
        "memory-hogs-full-size",
        include_str!("../../../studies/memory-hogs-full-size.toml"),
    ),
    (
        "memory-hogs-writing",
        include_str!("../../../studies/memory-hogs-writing.toml"),
    ),
    ("usb-copy", include_str!("../../../studies/usb-copy.toml")),
    (
        "cache-ceiling",
        include_str!("../../../studies/cache-ceiling.toml"),
    ),
    (
        "working-set",
        include_str!("../../../studies/working-set.toml"),
    ),
    ("writeback", include_str!("../../../studies/writeback.toml")),
    ("ksm", include_str!("../../../studies/ksm.toml")),
    (
        "ksm-full-size",
        include_str!("../../../studies/ksm-full-size.toml"),
    ),
    ("bursts", include_str!("../../../studies/bursts.toml")),
    ("file-copy", include_str!("../../../studies/file-copy.toml")),
];
