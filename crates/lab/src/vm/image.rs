//! Disk images: ext4 with the machine's files on it, made in no time and sparse.
//!
//! A file's blocks are allocated and never written. Extents that are allocated so are marked as
//! unwritten, and the kernel would read zeros without asking the disk; so the mark is taken off.
//! The image's file is as long as the next power of two, as the PCI memory that shows it must be.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use mm::units::Bytes;
use scenario::machine::{Disk, Machine, SwapBacking};
use scenario::recording::{self, Recorded};

use super::failed::failed;
use super::tools;
use answer::bench::BenchError;
use study::room;

const BLOCK: u64 = 4096;

/// Features by name, so that neither the version nor the configuration of mke2fs has a say.
/// Without backups of the superblock and with one flexible group, all metadata comes first and the
/// rest of the disk is one free piece.
const FEATURES: &str = "none,has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,\
                        extra_isize,sparse_super2,large_file,filetype,dir_index,ext_attr";

/// The guest's clock begins here, and so do the times in the image.
const EPOCH: &str = "1735689600";

/// A file to lay out.
struct Content {
    name: String,
    size: Bytes,
    /// Its first block, which is written; debugfs would leave one of zeros out.
    first: Vec<u8>,
}

/// A piece of a file, in blocks.
#[derive(Debug, PartialEq, Eq)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    unwritten: bool,
}

/// Makes an image for each of the machine's disks, in their order. `recorded` has the files of a
/// recording and the disk that they lie on.
///
/// # Errors
/// A disk that is too small for what shall lie on it, or a missing tool.
pub(super) fn make_all(
    machine: &Machine,
    recorded: Option<(&str, &Recorded)>,
    directory: &Path,
) -> Result<Vec<PathBuf>, BenchError> {
    let mut paths = Vec::new();
    for (index, disk) in machine.disks.iter().enumerate() {
        let path = directory.join(format!("disk-{index}"));
        let mut contents = contents(machine, disk)?;
        if let Some((_, recorded)) = recorded.filter(|(on, _)| *on == disk.name) {
            contents.extend(recorded_files(recorded));
        }
        make(disk, &contents, &path)?;
        paths.push(path);
    }
    Ok(paths)
}

/// Makes the image of a disk with what lies in a directory.
///
/// # Errors
/// mke2fs is missing or refuses.
pub(super) fn of_directory(disk: &Disk, directory: &Path, path: &Path) -> Result<(), BenchError> {
    create(disk, path)?;
    tools::run(format(disk, path)?.arg("-d").arg(directory)).map(drop)
}

fn contents(machine: &Machine, disk: &Disk) -> Result<Vec<Content>, BenchError> {
    let mut contents = Vec::new();
    for file in machine.files.iter().filter(|file| file.disk == disk.name) {
        let first = vec![b'p'; BLOCK as usize];
        contents.push(Content {
            name: checked(&file.name)?,
            size: file.size,
            first,
        });
    }
    for (index, swap) in machine.swaps.iter().enumerate() {
        if swap.backing == SwapBacking::Disk(disk.name.clone()) {
            let size = Bytes(swap.size.0 / BLOCK * BLOCK);
            let first = swap_header(size);
            contents.push(Content {
                name: format!("swap.{index}"),
                size,
                first,
            });
        }
    }
    Ok(contents)
}

/// The files of a recording; one that is empty when it is first met is made beforehand too.
fn recorded_files(recorded: &Recorded) -> impl Iterator<Item = Content> + '_ {
    (0..).zip(&recorded.files).map(|(number, file)| Content {
        name: recording::file_name(number),
        size: file.size,
        first: vec![b'p'; file.size.0.min(BLOCK) as usize],
    })
}

fn checked(name: &str) -> Result<String, BenchError> {
    let wrong = |c: char| c == '/' || c == '"' || c.is_control();
    if name.is_empty() || name.contains(wrong) {
        let text = format!("file {name:?}: the name cannot be that of a file on a VM's disk");
        return Err(BenchError::Failed(text));
    }
    Ok(name.to_owned())
}

/// The first page of a swap area: mkswap(8), version 1.
fn swap_header(size: Bytes) -> Vec<u8> {
    let last_page = u32::try_from(size.0 / BLOCK)
        .unwrap_or(u32::MAX)
        .saturating_sub(1);
    let mut page = vec![0; BLOCK as usize];
    page[1024..1028].copy_from_slice(&1_u32.to_le_bytes());
    page[1028..1032].copy_from_slice(&last_page.to_le_bytes());
    page[4086..].copy_from_slice(b"SWAPSPACE2");
    page
}

fn make(disk: &Disk, contents: &[Content], path: &Path) -> Result<(), BenchError> {
    create(disk, path)?;
    check_room(disk, contents, disk.size.0)?;
    tools::run(&mut format(disk, path)?)?;
    check_room(disk, contents, free_bytes(path)?)?;
    allocate(contents, path)
}

fn create(disk: &Disk, path: &Path) -> Result<(), BenchError> {
    File::create_new(path)
        .and_then(|file| file.set_len(disk.size.0.next_power_of_two()))
        .map_err(|error| failed(path, &error))
}

fn check_room(disk: &Disk, contents: &[Content], room: u64) -> Result<(), BenchError> {
    let taken = |content: &Content| content.size.0.next_multiple_of(BLOCK);
    let files: u64 = contents.iter().map(taken).sum();
    if files <= room {
        return Ok(());
    }
    Err(BenchError::Failed(format!(
        "disk \"{}\" is too small: its files take {} and it has room for {}; give it a larger size",
        disk.name,
        Bytes(files),
        Bytes(room)
    )))
}

fn format(disk: &Disk, path: &Path) -> Result<Command, BenchError> {
    let blocks = disk.size.0 / BLOCK;
    let journal_mib = room::journal_mib(disk.size);
    let journal_start = blocks.saturating_sub((journal_mib << 20) / BLOCK);
    let journal = format!("size={journal_mib},location={journal_start}");
    let extended = "lazy_itable_init=0,lazy_journal_init=0,num_backup_sb=0,root_owner=0:0,\
                    hash_seed=00000000-0000-0000-0000-000000000002";
    let mut command = Command::new(tools::find("mke2fs", "e2fsprogs")?);
    command
        .envs([("E2FSPROGS_FAKE_TIME", EPOCH), ("SOURCE_DATE_EPOCH", EPOCH)])
        .args([
            "-q", "-F", "-t", "ext4", "-b", "4096", "-i", "16384", "-I", "256", "-m", "0",
        ])
        .args([
            "-O", FEATURES, "-G", "1048576", "-J", &journal, "-E", extended,
        ])
        .args(["-U", "00000000-0000-0000-0000-000000000001"])
        .arg(path)
        .arg(blocks.to_string());
    Ok(command)
}

/// What the superblock says is free (ext4's `s_free_blocks_count_lo` and `_hi`).
fn free_bytes(path: &Path) -> Result<u64, BenchError> {
    let mut half = [[0; 4]; 2];
    let read = |file: &mut File, at: u64, half: &mut [u8; 4]| {
        file.seek(SeekFrom::Start(1024 + at))?;
        file.read_exact(half)
    };
    let mut file = File::open(path).map_err(|error| failed(path, &error))?;
    read(&mut file, 0x0c, &mut half[0])
        .and_then(|()| read(&mut file, 0x158, &mut half[1]))
        .map_err(|error| failed(path, &error))?;
    let [low, high] = half.map(|bytes| u64::from(u32::from_le_bytes(bytes)));
    Ok((high << 32 | low) * BLOCK)
}

fn allocate(contents: &[Content], path: &Path) -> Result<(), BenchError> {
    let mut script = String::new();
    for (index, content) in contents.iter().enumerate() {
        let first = path.with_file_name(format!("first-{index}"));
        let length = content.size.0.min(BLOCK) as usize;
        fs::write(&first, &content.first[..length]).map_err(|error| failed(&first, &error))?;
        script += &allocation(index, content);
    }
    let extents = debugfs(path, &(script + &listing(contents)))?;
    let script = marking(contents, &extents) + &listing(contents);
    let extents = debugfs(path, &script)?;
    verify(contents, &extents, path)
}

/// The first block is written, the others only allocated.
fn allocation(index: usize, content: &Content) -> String {
    let Content { name, size, .. } = content;
    let last = size.0.div_ceil(BLOCK).saturating_sub(1);
    let mut script = format!("write first-{index} \"{name}\"\n");
    if last > 0 {
        script += &format!("fallocate \"{name}\" 1 {last}\n");
        script += &format!("set_inode_field \"{name}\" size {}\n", size.0);
    }
    script
}

fn listing(contents: &[Content]) -> String {
    let line = |content: &Content| format!("extents \"{}\"\n", content.name);
    contents.iter().map(line).collect()
}

/// Replaces each unwritten extent by the same one without the mark.
fn marking(contents: &[Content], extents: &[Vec<Extent>]) -> String {
    let mut script = String::new();
    for (content, extents) in contents.iter().zip(extents) {
        script += &format!("extent_open \"{}\"\n", content.name);
        for Extent {
            logical,
            physical,
            length,
            ..
        } in extents.iter().filter(|e| e.unwritten)
        {
            script += &format!("goto_block {logical}\n");
            script += &format!("replace_node {logical} {length} {physical}\n");
        }
        script += "extent_close\n";
    }
    script
}

/// debugfs reports no failure in its exit status, so what it made is looked at.
fn verify(contents: &[Content], extents: &[Vec<Extent>], path: &Path) -> Result<(), BenchError> {
    for (index, content) in contents.iter().enumerate() {
        let extents = extents.get(index).map_or(&[][..], Vec::as_slice);
        let blocks: u64 = extents.iter().map(|extent| extent.length).sum();
        if blocks != content.size.0.div_ceil(BLOCK) || extents.iter().any(|e| e.unwritten) {
            return Err(BenchError::Failed(format!(
                "{}: debugfs could not lay out \"{}\" ({} of {} blocks)",
                path.display(),
                content.name,
                blocks,
                content.size.0.div_ceil(BLOCK)
            )));
        }
    }
    Ok(())
}

/// Runs debugfs commands on an image and hands back the extents of each file that they list.
fn debugfs(path: &Path, script: &str) -> Result<Vec<Vec<Extent>>, BenchError> {
    let mut command = Command::new(tools::find("debugfs", "e2fsprogs")?);
    command
        .envs([("E2FSPROGS_FAKE_TIME", EPOCH), ("SOURCE_DATE_EPOCH", EPOCH)])
        .args(["-w", "-f", "-"])
        .arg(path)
        .current_dir(path.parent().unwrap_or(Path::new(".")));
    let output = tools::run_with_input(&mut command, script.as_bytes())?;
    Ok(extents(&String::from_utf8_lossy(&output)))
}

/// debugfs echoes each command and lists extents in lines of nine numbers; those of inner nodes
/// have eight.
fn extents(text: &str) -> Vec<Vec<Extent>> {
    let mut files: Vec<Vec<Extent>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("debugfs: extents ") {
            files.push(Vec::new());
        } else if let (Some(extent), Some(file)) = (leaf(line), files.last_mut()) {
            file.push(extent);
        }
    }
    files
}

fn leaf(line: &str) -> Option<Extent> {
    let unwritten = line.trim_end().ends_with("Uninit");
    let numbers: Vec<u64> = line
        .trim_end()
        .trim_end_matches("Uninit")
        .split(['/', '-', ' '])
        .filter(|word| !word.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let [_, _, _, _, logical, _, physical, _, length] = numbers[..] else {
        return None;
    };
    Some(Extent {
        logical,
        physical,
        length,
        unwritten,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use mm::units::Nanos;
    use scenario::machine::{self, Swap};

    use super::*;

    fn machine(disk_mib: u64, files_mib: &[u64]) -> Machine {
        let file = |(index, mib): (usize, &u64)| machine::File {
            name: format!("file {index}"),
            disk: "disk".into(),
            size: Bytes(mib << 20),
        };
        Machine {
            memory: Bytes::GIB,
            cpus: 1,
            nodes: 1,
            disks: vec![Disk {
                name: "disk".into(),
                size: Bytes(disk_mib << 20),
                read_bandwidth: Bytes(1),
                write_bandwidth: Bytes(1),
                latency: Nanos(1),
                seek: Nanos(1),
                channels: 1,
                queue_depth: 1,
                rotational: true,
            }],
            swaps: vec![Swap {
                backing: SwapBacking::Disk("disk".into()),
                size: Bytes::MIB,
            }],
            files: files_mib.iter().enumerate().map(file).collect(),
            costs: vec![],
            file_system: scenario::machine::FileSystem::Ext4,
            recorded_on: None,
            available: None,
        }
    }

    #[test]
    fn files_are_written_contiguous_and_take_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let machine = machine(4096, &[2355, 1, 0]);
        let paths = make_all(&machine, None, directory.path()).unwrap();
        let contents = contents(&machine, &machine.disks[0]).unwrap();
        let extents = debugfs(&paths[0], &listing(&contents)).unwrap();
        assert_eq!(extents.len(), 4);
        // One block in between holds the file's own extents.
        let gaps = extents[0]
            .windows(2)
            .filter(|pair| pair[0].physical + pair[0].length != pair[1].physical);
        assert!(gaps.count() <= 1, "{extents:?}");
        let metadata = fs::metadata(&paths[0]).unwrap();
        assert_eq!(metadata.len(), 4 << 30);
        assert!(
            metadata.blocks() * 512 < 80 << 20,
            "{} sectors",
            metadata.blocks()
        );
        let check = Command::new(tools::find("e2fsck", "e2fsprogs").unwrap());
        tools::run({ check }.arg("-fn").arg(&paths[0])).unwrap();
    }

    #[test]
    fn the_same_machine_makes_the_same_bytes() {
        let image = || {
            let directory = tempfile::tempdir().unwrap();
            let paths = make_all(&machine(24, &[4]), None, directory.path()).unwrap();
            fs::read(&paths[0]).unwrap()
        };
        assert!(image() == image());
    }

    #[test]
    fn disks_of_many_sizes_can_be_made() {
        for (disk, file) in [(12, 1), (300, 200), (1000, 900), (200_000, 150_000)] {
            let directory = tempfile::tempdir().unwrap();
            make_all(&machine(disk, &[file]), None, directory.path()).unwrap();
        }
    }

    /// So a study is refused where no VM could make its disk, before one boots.
    #[test]
    fn what_a_study_counts_as_room_is_what_the_file_system_has() {
        for mib in [
            9, 12, 64, 128, 129, 130, 300, 512, 513, 1000, 4096, 10_000, 65_536,
        ] {
            let directory = tempfile::tempdir().unwrap();
            let machine = machine(mib, &[]);
            let path = directory.path().join("disk");
            let disk = &machine.disks[0];
            make(disk, &[], &path).unwrap();
            let counted = room::room(disk.size);
            assert_eq!(counted, Bytes(free_bytes(&path).unwrap()), "{mib} MiB");
            let enough = room::enough_mib(counted);
            assert!(enough <= mib + 1 && room::room(Bytes(enough << 20)) >= counted);
        }
    }

    #[test]
    fn a_disk_too_small_is_refused_in_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let error = make_all(&machine(64, &[100]), None, directory.path())
            .unwrap_err()
            .to_string();
        let begin = "disk \"disk\" is too small: its files take 101 MiB and it has room for 64 MiB";
        assert!(error.starts_with(begin), "{error}");
        let directory = tempfile::tempdir().unwrap();
        let error = make_all(&machine(64, &[62]), None, directory.path())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("disk \"disk\" is too small"), "{error}");
    }

    #[test]
    fn a_swap_area_has_its_signature_at_the_end_of_the_first_page() {
        let page = swap_header(Bytes(1 << 20));
        assert_eq!(page.len(), 4096);
        assert_eq!(&page[4086..], b"SWAPSPACE2");
        assert_eq!(page[1028], 255);
    }

    #[test]
    fn a_name_that_no_file_can_have_is_refused() {
        for name in ["", "a/b", "a\"b", "a\nb"] {
            assert!(checked(name).is_err(), "{name:?}");
        }
    }
}
