//! The machine's memory at one moment, through files that are kept open.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use guard::{Group, Memory};
use host::reason;
use mm::catalogue;
use mm::memcg::MemoryStat;
use mm::meminfo::{self, Meminfo};
use mm::units::Bytes;

/// `vm.swappiness`, without the leading slash.
const SWAPPINESS: &str = catalogue::path_of("vm.swappiness");
/// More than `/proc/meminfo` or a `memory.stat` has.
const BUFFER: usize = 16 << 10;
/// More than a line of the files has that are read by [`fill_lines`].
const LINE: usize = 512;

/// The files.
#[derive(Debug)]
pub(crate) struct Sampling {
    meminfo: fs::File,
    swappiness: fs::File,
    groups: Vec<GroupFile>,
    buffer: Vec<u8>,
}

/// A group of the configuration.
#[derive(Debug)]
struct GroupFile {
    /// Below the root of the hierarchy.
    path: String,
    /// `memory.stat`, while the group exists.
    stat: Option<fs::File>,
}

impl Sampling {
    /// Opens the files.
    ///
    /// # Errors
    /// One line: which of them is missing.
    pub(crate) fn new<'a>(groups: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let open = |path: &str| {
            let path = Path::new("/").join(path);
            fs::File::open(&path).map_err(|error| format!("{}: {}", path.display(), reason(&error)))
        };
        let group = |path: &str| GroupFile {
            path: path.trim_matches('/').to_owned(),
            stat: None,
        };
        Ok(Self {
            meminfo: open(meminfo::PATH)?,
            swappiness: open(SWAPPINESS)?,
            groups: groups.map(group).collect(),
            buffer: vec![0; BUFFER],
        })
    }

    /// The machine's memory.
    pub(crate) fn memory(&mut self) -> Result<Memory, String> {
        let text = text(&self.meminfo, &mut self.buffer)
            .map_err(|error| format!("/{}: {}", meminfo::PATH, reason(&error)))?;
        let meminfo = Meminfo::parse(&text).map_err(|error| error.to_string())?;
        Ok(Memory::of(&meminfo))
    }

    /// `vm.swappiness`.
    pub(crate) fn swappiness(&mut self) -> Result<u64, String> {
        let failed = |why: String| format!("/{SWAPPINESS}: {why}");
        let text = text(&self.swappiness, &mut self.buffer);
        let text = text.map_err(|error| failed(reason(&error)))?;
        let number = text.trim().parse();
        number.map_err(|_| failed(format!("\"{}\" is no number", text.trim())))
    }

    /// The groups of the configuration, in its order; `None` for one that does not exist.
    pub(crate) fn groups(&mut self, cgroup2: Option<&Path>, to: &mut Vec<Option<Group>>) {
        let Self { groups, buffer, .. } = self;
        to.extend(
            groups
                .iter_mut()
                .map(|group| group.sample(cgroup2?, buffer)),
        );
    }

    /// The folder of a group.
    pub(crate) fn folder(&self, index: usize, cgroup2: Option<&Path>) -> Option<PathBuf> {
        Some(cgroup2?.join(&self.groups.get(index)?.path))
    }
}

impl GroupFile {
    fn sample(&mut self, cgroup2: &Path, buffer: &mut [u8]) -> Option<Group> {
        if self.stat.is_none() {
            let path = cgroup2.join(&self.path).join("memory.stat");
            self.stat = fs::File::open(path).ok();
        }
        let found = text(self.stat.as_ref()?, buffer).ok();
        let stat = found.and_then(|text| MemoryStat::parse("memory.stat", &text).ok());
        if stat.is_none() {
            // It was removed; one of the same name may come.
            self.stat = None;
        }
        let stat = stat?;
        let sum = |one: Option<u64>, other: Option<u64>| {
            Bytes(one.unwrap_or(0).saturating_add(other.unwrap_or(0)))
        };
        Some(Group {
            file: sum(stat.active_file, stat.inactive_file),
            dirty: sum(stat.file_dirty, stat.file_writeback),
        })
    }
}

/// The whole text of an open file; a name that is no text keeps the rest of it from nobody.
fn text<'a>(file: &fs::File, buffer: &'a mut [u8]) -> io::Result<Cow<'a, str>> {
    let length = fill_lines(file, buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]))
}

/// Reads an open file from its beginning, as far as the buffer goes; how much there was.
pub(crate) fn fill(file: &fs::File, buffer: &mut [u8]) -> io::Result<usize> {
    fill_until(file, buffer, |read| read == 0)
}

/// The same for a file of the kernel whose lines are short. It hands out whole lines, a page of
/// them at most: what leaves room for another was the last. To be told so would cost as much as the
/// text, which the kernel makes again for it.
pub(crate) fn fill_lines(file: &fs::File, buffer: &mut [u8]) -> io::Result<usize> {
    let page = rustix::param::page_size();
    fill_until(file, buffer, |read| read + LINE < page)
}

fn fill_until(
    file: &fs::File,
    buffer: &mut [u8],
    is_last: impl Fn(usize) -> bool,
) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match rustix::io::pread(file, &mut buffer[length..], length as u64) {
            Ok(read) => {
                length += read;
                if is_last(read) {
                    break;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory_and_a_swappiness() {
        let mut sampling = Sampling::new([].into_iter()).expect("the files");
        let memory = sampling.memory().expect("memory");
        assert!(memory.total > memory.file && memory.file > Bytes::ZERO);
        assert!(sampling.swappiness().expect("a number") <= 200);
    }

    #[test]
    fn a_file_of_lines_is_read_as_far_as_it_goes() {
        let lines = |path: &str| {
            let file = fs::File::open(path).expect(path);
            let mut buffers = [vec![0; 1 << 20], vec![0; 1 << 20]];
            let [short, whole] = &mut buffers;
            let lengths = [fill_lines(&file, short), fill(&file, whole)];
            let texts = lengths.map(|length| length.expect(path));
            let count = |(buffer, length): (&Vec<u8>, usize)| {
                buffer[..length]
                    .iter()
                    .filter(|byte| **byte == b'\n')
                    .count()
            };
            [
                count((&buffers[0], texts[0])),
                count((&buffers[1], texts[1])),
            ]
        };
        for path in [
            "/proc/meminfo",
            "/proc/vmstat",
            "/proc/diskstats",
            "/proc/sys/vm/swappiness",
        ] {
            let [short, whole] = lines(path);
            assert!(
                short == whole && whole > 0,
                "{path}: {short} of {whole} lines"
            );
        }
    }

    #[test]
    fn a_group_comes_and_goes() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut sampling = Sampling::new(["/a/b"].into_iter()).expect("the files");
        let mut sample = || {
            let mut groups = Vec::new();
            sampling.groups(Some(directory.path()), &mut groups);
            groups
        };
        assert_eq!(sample(), [None]);
        let folder = directory.path().join("a/b");
        fs::create_dir_all(&folder).expect("a folder");
        let text = "active_file 1\ninactive_file 2\nfile_dirty 3\nfile_writeback 4\n";
        fs::write(folder.join("memory.stat"), text).expect("a file");
        let (file, dirty) = (Bytes(3), Bytes(7));
        assert_eq!(sample(), [Some(Group { file, dirty })]);
    }
}
