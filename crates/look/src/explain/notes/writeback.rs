//! The dirty limits, of the machine and of devices.

use super::note::{Myth, Note, myth};

const OF_WHAT: Myth = myth(
    "The ratio is not one of RAM: it is of free and file pages, which a full machine has few of.",
    "vm.rst; CachyOS/CachyOS-Settings#22",
);
const ZFS: Myth = myth(
    "It does not govern ZFS, which has limits of its own.",
    "openzfs/zfs#3945",
);

pub(super) const NOTES: &[Note] = &[
    Note {
        of: &["vm.dirty_ratio", "vm.dirty_bytes"],
        with: &[
            (
                "vm.dirty_background_ratio",
                "writing begins there; not below this, it counts as half of it",
            ),
            ("bdi.DEVICE.max_ratio", "bounds a slow device alone"),
        ],
        costs: &[
            "High: one flush of all that takes the device that long, and every writer waits \
             for it.",
            "Low: writers run at the device's speed, and short-lived files are written that could \
             have died in memory.",
        ],
        does_not: &[
            OF_WHAT,
            myth(
                "0 bytes is no reset: the kernel refuses it. To go back, write the ratio.",
                "slacka/WoeUSB#191",
            ),
            ZFS,
        ],
    },
    Note {
        of: &["vm.dirty_background_ratio", "vm.dirty_background_bytes"],
        with: &[
            (
                "vm.dirty_ratio",
                "the limit above it; half of that is the most this counts as",
            ),
            (
                "vm.dirty_expire_centisecs",
                "what is older is written whatever the amount",
            ),
        ],
        costs: &["Low values write early and often; the device has less to merge."],
        does_not: &[
            OF_WHAT,
            myth(
                "Both at the same value does not mean that writing begins there: it begins at \
                 half.",
                "domain_dirty_limits; alibaba/rocketmq#453",
            ),
            ZFS,
        ],
    },
    Note {
        of: &["vm.dirty_expire_centisecs", "vm.dirty_writeback_centisecs"],
        with: &[(
            "vm.dirty_background_ratio",
            "writes earlier where more is dirty",
        )],
        costs: &["Longer times lose more at a crash; shorter ones wake the disk more often."],
        does_not: &[myth(
            "They are no deadline: a page is written at the flusher's next turn after its time.",
            "vm.rst",
        )],
    },
    Note {
        of: &[
            "bdi.DEVICE.max_ratio",
            "bdi.DEVICE.max_ratio_fine",
            "bdi.DEVICE.max_bytes",
        ],
        with: &[
            (
                "bdi.DEVICE.strict_limit",
                "makes it hold however little is dirty elsewhere",
            ),
            ("vm.dirty_ratio", "the threshold that it is a share of"),
        ],
        costs: &["The device's writers are slowed earlier; others no longer wait for them."],
        does_not: &[myth(
            "It does not hold while the machine is below the middle of its thresholds.",
            "usb-copy study",
        )],
    },
];
