//! File systems, kernel modules and swap: what the machine is made of before a study begins.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use mm::meminfo::Meminfo;
use mm::units::{Bytes, Nanos};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use scenario::machine::{Machine, SwapBacking};

use crate::clock;
use crate::error::Error;
use crate::orders::{Clock, DIRECTORY};
use crate::place::Place;

/// How long a device may take to appear after its module was loaded.
const PATIENCE: Nanos = Nanos(5 * Nanos::SECOND.0);

/// The kernel's own file systems: type and place.
const KERNEL: [(&str, &str); 5] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/tmp"),
    ("cgroup2", "/sys/fs/cgroup"),
];

/// Those that a kernel may lack.
const OPTIONAL: [(&str, &str); 2] = [
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
];

/// No thread of ext4's own reads bitmaps and clears tables of inodes beside the workload: at what
/// moment of the first seconds it would is the boot's chance, which all seeds of an arm share. An
/// older kernel lacks the last: it prefetches no bitmaps.
const QUIET: [&CStr; 2] = [c"noinit_itable,no_prefetch_block_bitmaps", c"noinit_itable"];

/// Mounts the kernel's own file systems.
pub(crate) fn kernel_files() -> Result<(), Error> {
    for (kind, target) in KERNEL {
        mount(kind, target, kind)?;
    }
    for (kind, target) in OPTIONAL {
        // What a kernel was built without is not missed.
        let _ = mount(kind, target, kind);
    }
    Ok(())
}

/// Loads the modules that the bench packed, in its order, and gives their room back.
pub(crate) fn modules() -> Result<(), Error> {
    let order = format!("{DIRECTORY}/modules.order");
    let text = match fs::read_to_string(&order) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::new(order, error)),
    };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (name, parameters) = line.split_once(' ').unwrap_or((line, ""));
        let path = format!("{DIRECTORY}/modules/{name}");
        load(&path, parameters)?;
        fs::remove_file(&path).map_err(|error| Error::new(&path, error))?;
    }
    Ok(())
}

fn load(path: &str, parameters: &str) -> Result<(), Error> {
    let file = File::open(path).map_err(|error| Error::new(path, error))?;
    let parameters = CString::new(parameters).map_err(|error| Error::new(path, error))?;
    match rustix::system::finit_module(&file, &parameters, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(Error::on(format!("loading {path}"))(errno)),
    }
}

/// Mounts the study's disks, each below its name. Access times are not kept: what a file's reader
/// would write is no part of a study.
pub(crate) fn disks(machine: &Machine, clock: Clock, place: &mut Place) -> Result<(), Error> {
    for (index, disk) in machine.disks.iter().enumerate() {
        let device = clock.device(index);
        await_device(&device)?;
        let target = place.disk(&disk.name);
        fs::create_dir_all(&target).map_err(|error| Error::new(target.display(), error))?;
        let target = target.to_string_lossy();
        mount_quietly(&device, &target)?;
        let device = device.trim_start_matches("/dev/").to_owned();
        place.devices.insert(disk.name.clone(), device);
    }
    await_device(&clock.device(machine.disks.len()))
}

/// Mounts a disk with as many of the options as the kernel knows.
fn mount_quietly(device: &str, target: &str) -> Result<(), Error> {
    let options = QUIET.into_iter().map(Some).chain([None]);
    let mut mounts = options.map(|it| mount_with(device, target, "ext4", MountFlags::NOATIME, it));
    let known = mounts.find(|mounted| *mounted != Err(Errno::INVAL));
    let mounted = known.unwrap_or(Err(Errno::INVAL));
    mounted.map_err(|errno| Error::on(format!("mounting {device} on {target}"))(errno))
}

/// Mounts a file system of the kernel's own.
fn mount(source: &str, target: &str, kind: &str) -> Result<(), Error> {
    match mount_with(source, target, kind, MountFlags::empty(), None) {
        // A kernel with CONFIG_DEVTMPFS_MOUNT does not mount it over an initramfs, but may.
        Ok(()) | Err(Errno::BUSY) => Ok(()),
        Err(errno) => Err(Error::on(format!("mounting {source} on {target}"))(errno)),
    }
}

fn mount_with(
    source: &str,
    target: &str,
    kind: &str,
    flags: MountFlags,
    options: Option<&CStr>,
) -> Result<(), Errno> {
    // Where a directory stands already this does nothing; where it cannot be made, mount says so.
    let _ = fs::create_dir_all(target);
    rustix::mount::mount(source, target, kind, flags, options)
}

/// A driver may find its devices some time after it was loaded.
fn await_device(device: &str) -> Result<(), Error> {
    let step = Nanos::MILLI;
    for _ in 0..PATIENCE.0 / step.0 {
        if Path::new(device).exists() {
            return Ok(());
        }
        clock::sleep(step);
    }
    Err(Error::new(device, "no such disk appeared"))
}

/// Switches swap on: the first device gets the highest priority.
pub(crate) fn swap(machine: &Machine, place: &Place) -> Result<(), Error> {
    let mut zrams = 0;
    for (index, swap) in machine.swaps.iter().enumerate() {
        let path = match &swap.backing {
            SwapBacking::Disk(disk) => {
                let path = place.disk(disk).join(format!("swap.{index}"));
                path.to_string_lossy().into_owned()
            }
            SwapBacking::Zram { .. } => {
                let device = zrams;
                zrams += 1;
                zram(place, device, swap.size)?
            }
        };
        swap_on(&path)?;
    }
    check_swap(machine, place)
}

/// Whether the kernel has as much swap as the study asks for; a page of each device is its header.
fn check_swap(machine: &Machine, place: &Place) -> Result<(), Error> {
    if machine.swaps.is_empty() {
        return Ok(());
    }
    let page = rustix::param::page_size() as u64;
    let usable = |swap: &scenario::machine::Swap| (swap.size.0 / page).saturating_sub(1) * page;
    let asked = Bytes(machine.swaps.iter().map(usable).sum());
    let text = place.root.read("proc/meminfo").unwrap_or_default();
    let total = Meminfo::parse(&text).ok().and_then(|info| info.swap_total);
    let total = Bytes(total.map_or(0, |total| total.0 << 10));
    if total >= asked {
        return Ok(());
    }
    let why = format!("the kernel has {total} of the {asked} that the study asks for");
    Err(Error::new(
        "swap",
        format!("{why}; give it a larger disk, or ask for less"),
    ))
}

/// Makes a zram device of that size, with a swap header on it.
fn zram(place: &Place, index: usize, size: Bytes) -> Result<String, Error> {
    let directory = format!("sys/block/zram{index}");
    if !place.root.is_directory(&directory) {
        // Reading it adds a device.
        let added = place.root.read("sys/class/zram-control/hot_add");
        added.map_err(|error| Error::new("/sys/class/zram-control/hot_add", error))?;
    }
    let path = place.root.join(&format!("{directory}/disksize"));
    fs::write(&path, size.0.to_string()).map_err(|error| Error::new(path.display(), error))?;
    let device = format!("/dev/zram{index}");
    await_device(&device)?;
    write_swap_header(&device, size).map_err(|error| Error::new(&device, error))?;
    Ok(device)
}

/// The first page of a swap area: mkswap(8), version 1.
fn write_swap_header(device: &str, size: Bytes) -> std::io::Result<()> {
    let page = rustix::param::page_size();
    let last = u32::try_from(size.0 / page as u64)
        .unwrap_or(u32::MAX)
        .saturating_sub(1);
    let mut header = vec![0; page];
    header[1024..1028].copy_from_slice(&1_u32.to_ne_bytes());
    header[1028..1032].copy_from_slice(&last.to_ne_bytes());
    header[page - 10..].copy_from_slice(b"SWAPSPACE2");
    let file = File::options().write(true).open(device)?;
    file.write_all_at(&header, 0)?;
    file.sync_all()
}

fn swap_on(path: &str) -> Result<(), Error> {
    let name = CString::new(path).map_err(|error| Error::new(path, error))?;
    #[expect(unsafe_code, reason = "swapon, which rustix lacks")]
    // SAFETY: the name is a string that ends with a zero byte.
    let result = unsafe { libc::swapon(name.as_ptr(), 0) };
    match result {
        0 => Ok(()),
        _ => {
            let why = std::io::Error::last_os_error();
            let way_out = "a swap device has 2 pages or more, on a disk with room for it";
            Err(Error::new(
                format!("swapon {path}"),
                format!("{why}; {way_out}"),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::machine::Swap;

    #[test]
    fn less_swap_than_asked_is_one_line_with_the_way_out() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = Place {
            root: host::Root::new(directory.path()),
            disks: directory.path().to_owned(),
            ..Place::default()
        };
        fs::create_dir(directory.path().join("proc")).expect("a directory");
        let has = |kib: u64| {
            let text = format!("MemTotal: 9 kB\nSwapTotal: {kib} kB\n");
            fs::write(directory.path().join("proc/meminfo"), text).expect("a file");
        };
        let swap = Swap {
            backing: SwapBacking::Zram { ratio_milli: 3000 },
            size: Bytes(1 << 20),
        };
        let mut machine = Machine {
            memory: Bytes::GIB,
            cpus: 1,
            nodes: 1,
            disks: vec![],
            swaps: vec![swap],
            files: vec![],
            costs: vec![],
            file_system: scenario::machine::FileSystem::Ext4,
            recorded_on: None,
            available: None,
        };
        has(1020);
        assert_eq!(check_swap(&machine, &place), Ok(()), "all but the header");
        has(512);
        let error = check_swap(&machine, &place).expect_err("half of it is missing");
        let expected = "swap: the kernel has 512 KiB of the 1020 KiB that the study asks for; \
                        give it a larger disk, or ask for less";
        assert_eq!(error.to_string(), expected);
        machine.swaps.clear();
        assert_eq!(check_swap(&machine, &place), Ok(()));
    }
}
