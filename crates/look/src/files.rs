//! Whose pages the page cache holds: by file, by program, by control group.

use mm::page_cache::{CachedFile, Group, LeftOut, PageCache, Program};
use mm::snapshot::Snapshot;
use mm::text::counted;
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// Files, programs and groups that are shown.
const FILES: usize = 20;
const OTHERS: usize = 10;

/// Amounts in bytes; the largest of each kind.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Files {
    /// `Cached` without `Shmem`: pages of files on disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_cache_bytes: Option<u64>,
    /// What of it the files hold that processes have open or mapped.
    found_bytes: u64,
    found_files: usize,
    files: Vec<File>,
    programs: Vec<OfProgram>,
    control_groups: Vec<OfGroup>,
    left_out: Without,
}

/// A file that a process has open or mapped.
#[derive(Debug, JsonSchema, Serialize)]
struct File {
    path: String,
    /// Whether its pages are shared memory, which is on no disk.
    shared_memory: bool,
    size_bytes: u64,
    cached_bytes: u64,
    dirty_bytes: u64,
    /// What was evicted so recently that it would count as used if it were read again.
    evicted_recently_bytes: u64,
    programs: Vec<String>,
    /// That of the process that was seen first with it; who pays for its pages is not known.
    control_group: String,
}

/// A file of two programs counts for both.
#[derive(Debug, JsonSchema, Serialize)]
struct OfProgram {
    name: String,
    files: usize,
    cached_bytes: u64,
}

/// What is charged to a group by itself, without those below it.
#[derive(Debug, JsonSchema, Serialize)]
struct OfGroup {
    name: String,
    cached_bytes: u64,
    shared_memory_bytes: u64,
}

/// What is not in the files.
#[derive(Debug, JsonSchema, Serialize)]
struct Without {
    /// Why no file was asked, where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Processes whose files this user may not see.
    processes: usize,
    /// Files whose pages this user may not know.
    refused: usize,
    /// Open files that another program or machine serves, or on a mount that is not in sight.
    served: usize,
    /// Files of an overlayfs, as containers have them.
    overlaid: usize,
    /// Files with a lease.
    leased: usize,
    /// Whether the time was over before all was looked at, or there was too much of it.
    cut: bool,
}

impl Files {
    pub(crate) fn of(found: &PageCache, snapshot: &Snapshot) -> Self {
        let meminfo = snapshot.meminfo.as_ref();
        let page_cache = meminfo.and_then(|it| {
            let cached = it.cached?.bytes();
            Some(cached.saturating_sub(it.shmem?.bytes()).0)
        });
        let on_disks = found.files.iter().filter(|file| !file.is_shared_memory);
        let bytes = on_disks.clone().map(|file| file.cached);
        Self {
            page_cache_bytes: page_cache,
            found_bytes: bytes.sum::<Bytes>().0,
            found_files: on_disks.count(),
            files: found.files.iter().take(FILES).map(File::of).collect(),
            programs: found
                .programs
                .iter()
                .take(OTHERS)
                .map(OfProgram::of)
                .collect(),
            control_groups: found.groups.iter().take(OTHERS).map(OfGroup::of).collect(),
            left_out: Without::of(&found.left_out),
        }
    }

    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Files in the page cache");
        if let Some(bytes) = self.page_cache_bytes {
            page.amount("page cache", bytes, "pages of files: Cached without Shmem");
        }
        let files = counted(self.found_files as u64, "file");
        let about = format!("in {files} that processes have");
        if self.left_out.reason.is_none() {
            page.amount("open or mapped", self.found_bytes, &about);
        }
        self.write_files(page);
        if !self.programs.is_empty() {
            page.line("");
            page.line("      cached  files  program");
        }
        for OfProgram {
            name,
            files,
            cached_bytes,
        } in &self.programs
        {
            page.line(format!("  {:>10}  {files:>5}  {name}", size(*cached_bytes)));
        }
        if !self.control_groups.is_empty() {
            page.line("");
            page.line("      cached  shared memory  control group");
        }
        for group in &self.control_groups {
            let shared = size(group.shared_memory_bytes);
            page.line(format!(
                "  {:>10}  {shared:>13}  {}",
                size(group.cached_bytes),
                group.name
            ));
        }
        let notes = self.left_out.notes();
        if !notes.is_empty() {
            page.line("");
        }
        notes.iter().for_each(|note| page.paragraph(2, note));
    }

    fn write_files(&self, page: &mut Page) {
        if self.files.is_empty() {
            return;
        }
        const COLUMNS: usize = 2 + 10 + 2 + 10 + 2 + 9 + 2 + 15 + 2;
        let room = page.width().saturating_sub(COLUMNS).max(20);
        page.line("");
        page.line("      cached       dirty    evicted  program          file");
        for file in &self.files {
            page.line(format!(
                "  {:>10}  {:>10}  {:>9}  {:<15}  {}",
                size(file.cached_bytes),
                size(file.dirty_bytes),
                size(file.evicted_recently_bytes),
                file.of_whom(),
                end_of(&file.path, room)
            ));
        }
    }
}

impl File {
    fn of(file: &CachedFile) -> Self {
        Self {
            path: file.path.clone(),
            shared_memory: file.is_shared_memory,
            size_bytes: file.size.0,
            cached_bytes: file.cached.0,
            dirty_bytes: file.dirty.0,
            evicted_recently_bytes: file.evicted_recently.0,
            programs: file.programs.clone(),
            control_group: file.group.clone(),
        }
    }

    /// The first of its programs, and how many more there are.
    fn of_whom(&self) -> String {
        let more = self.programs.len().saturating_sub(1);
        let name = self.programs.first().map_or("", String::as_str);
        let short = |room| name.chars().take(room).collect::<String>();
        match more {
            0 => short(15),
            more => format!("{} +{more}", short(15 - 2 - more.to_string().len())),
        }
    }
}

impl OfProgram {
    fn of(program: &Program) -> Self {
        Self {
            name: program.name.clone(),
            files: program.files,
            cached_bytes: program.cached.0,
        }
    }
}

impl OfGroup {
    fn of(group: &Group) -> Self {
        Self {
            name: group.path.clone(),
            cached_bytes: group.cached.0,
            shared_memory_bytes: group.shared_memory.0,
        }
    }
}

impl Without {
    fn of(left_out: &LeftOut) -> Self {
        Self {
            reason: left_out.none.clone(),
            processes: left_out.processes,
            refused: left_out.refused,
            served: left_out.served,
            overlaid: left_out.overlaid,
            leased: left_out.leased,
            cut: left_out.is_cut,
        }
    }

    /// What is missing, and the way to it where there is one.
    fn notes(&self) -> Vec<String> {
        let some = |count: usize, one: &str, about: &str| {
            (count > 0).then(|| format!("{} {about}", counted(count as u64, one)))
        };
        let processes = (self.processes > 0).then(|| {
            format!(
                "Hidden from this user: the files of {} of the processes; root sees all.",
                self.processes
            )
        });
        let rest = "The rest is of files that no process has open.".to_owned();
        let notes = [
            Some(match &self.reason {
                Some(reason) => format!("No file is shown: {reason}."),
                None => rest,
            }),
            self.cut.then(|| {
                "Not all: there was no time to look at more, or too much of it.".to_owned()
            }),
            processes,
            some(
                self.refused,
                "file",
                "whose pages are hidden from this user; root sees them.",
            ),
            some(
                self.served,
                "open file",
                "not asked: another program or machine serves them, or their mount is not in \
                 sight.",
            ),
            some(
                self.overlaid,
                "file",
                "of containers not shown: on an overlayfs the pages are those of the file below. \
                 Their control groups have them.",
            ),
            some(
                self.leased,
                "file",
                "with a lease, which opening would break: not asked.",
            ),
        ];
        notes.into_iter().flatten().collect()
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0 => "-".to_owned(),
        bytes => Bytes(bytes).to_string(),
    }
}

/// The end of a path says more than its beginning.
fn end_of(path: &str, room: usize) -> String {
    let length = path.chars().count();
    match length <= room {
        true => path.to_owned(),
        false => format!(
            "..{}",
            path.chars().skip(length + 2 - room).collect::<String>()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Canvas, Charset};
    use mm::capture::Frame;

    fn found() -> PageCache {
        let file = |path: &str, mib: u64, programs: &[&str]| CachedFile {
            path: path.to_owned(),
            is_shared_memory: path.starts_with("/dev/shm"),
            size: Bytes(mib << 21),
            cached: Bytes(mib << 20),
            dirty: Bytes::ZERO,
            evicted_recently: Bytes(4096),
            programs: programs.iter().map(|&it| it.to_owned()).collect(),
            group: "/db".to_owned(),
        };
        let long = format!("/srv/{}/table", "deep/".repeat(20));
        PageCache {
            files: vec![
                file(&long, 300, &["postgres-with-a-long-name", "a", "b"]),
                file("/dev/shm/x", 9, &["x"]),
            ],
            programs: vec![Program {
                name: "postgres".to_owned(),
                files: 1,
                cached: Bytes(300 << 20),
            }],
            groups: vec![Group {
                path: "/db".to_owned(),
                cached: Bytes(1 << 30),
                shared_memory: Bytes::ZERO,
            }],
            left_out: LeftOut {
                processes: 7,
                served: 2,
                ..LeftOut::default()
            },
        }
    }

    fn text(found: &PageCache) -> String {
        let meminfo = "MemTotal: 4000000 kB\nMemFree: 9 kB\nCached: 1058816 kB\nShmem: 10240 kB\n";
        let files = [("proc/meminfo".to_owned(), meminfo.to_owned())];
        let frame = Frame {
            at: mm::units::Nanos(0),
            label: None,
            files: files.into(),
        };
        let mut page = Page::new(Canvas {
            width: 80,
            charset: Charset::Ascii,
        });
        Files::of(found, &Snapshot::parse(&frame)).write(&mut page);
        page.into_text()
    }

    #[test]
    fn files_programs_and_groups_fit_into_80_columns() {
        let text = text(&found());
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        for part in [
            "page cache                     1 GiB",
            "open or mapped               300 MiB  in 1 file that",
            "300 MiB           -      4 KiB  postgres-wit +2  ..ep/deep/",
            "300 MiB      1  postgres",
            "1 GiB              -  /db",
            "the files of 7 of the processes",
            "2 open files not asked",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("lease"), "{text}");
    }

    #[test]
    fn a_kernel_that_counts_no_pages_of_files_is_named() {
        let none = Some("this kernel does not".to_owned());
        let left_out = LeftOut {
            none,
            ..LeftOut::default()
        };
        let text = text(&PageCache {
            files: vec![],
            programs: vec![],
            left_out,
            ..found()
        });
        assert!(
            text.contains("No file is shown: this kernel does not."),
            "{text}"
        );
        assert!(
            !text.contains("open or mapped") && text.contains("/db"),
            "{text}"
        );
    }
}
