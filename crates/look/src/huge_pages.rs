//! Transparent huge pages.

use mm::meminfo::Meminfo;
use mm::snapshot::Snapshot;
use mm::units::Kib;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// How they are set and how much memory they hold.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct HugePages {
    enabled: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    defrag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shmem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anonymous_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shmem_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<u64>,
}

impl HugePages {
    /// `None` on a kernel without them.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (thp, meminfo) = (snapshot.thp.as_ref()?, snapshot.meminfo.as_ref());
        let bytes = |pick: fn(&Meminfo) -> Option<Kib>| Some(pick(meminfo?)?.bytes().0);
        let word = |choice: &mm::choice::Choice| choice.chosen().to_owned();
        Some(Self {
            enabled: word(thp.enabled.as_ref()?),
            defrag: thp.defrag.as_ref().map(word),
            shmem: thp.shmem_enabled.as_ref().map(word),
            size_bytes: thp.size.map(|size| size.0),
            anonymous_bytes: bytes(|meminfo| meminfo.anon_huge_pages),
            shmem_bytes: bytes(|meminfo| meminfo.shmem_huge_pages),
            file_bytes: bytes(|meminfo| meminfo.file_huge_pages),
        })
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Transparent huge pages");
        let about = match self.enabled.as_str() {
            "always" => "any process gets them",
            "madvise" => "where a process asks (madvise)",
            _ => "nobody, unless a size is set apart",
        };
        page.row("enabled", &self.enabled, about);
        if let Some(defrag) = &self.defrag {
            page.row("defrag", defrag, "which faults wait for compaction");
        }
        if let Some(bytes) = self.anonymous_bytes {
            page.amount("anonymous", bytes, "");
        }
        let others = [
            ("shared", self.shmem_bytes),
            ("page cache", self.file_bytes),
        ];
        for (name, bytes) in others {
            if let Some(bytes) = bytes.filter(|&bytes| bytes > 0) {
                page.amount(name, bytes, "");
            }
        }
    }
}
