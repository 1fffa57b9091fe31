//! Kernels as folders of modules, whole and damaged.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

/// A module as far as it is looked at: its section table would lie at its end.
fn elf(depends: &str, release: &str) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (bytes[16], bytes[18]) = (1, 62);
    let notes = format!("\0license=GPL\0depends={depends}\0vermagic={release} SMP\0");
    bytes.extend_from_slice(notes.as_bytes());
    let length = bytes.len() as u64;
    bytes[40..48].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn put(kernel: &Kernel, name: &str, content: &[u8]) {
    let folder = kernel.modules.as_ref().expect("its folder");
    fs::write(folder.join("kernel/drivers").join(name), content).unwrap();
}

fn kernel(root: &Path) -> Kernel {
    let modules = root.join("lib/modules/6.1");
    fs::create_dir_all(modules.join("kernel/drivers")).unwrap();
    let built_in = "kernel/fs/ext4/ext4.ko\nkernel/crypto/crc16.ko\n";
    fs::write(modules.join("modules.builtin"), built_in).unwrap();
    let kernel = Kernel {
        release: "6.1".into(),
        build: String::new(),
        image: root.join("boot/vmlinuz"),
        modules: Some(modules),
        headers: None,
    };
    for (name, depends) in [
        ("virtio_blk.ko", "virtio,virtio_ring"),
        ("virtio_pci.ko", "virtio_ring"),
        ("virtio_ring.ko", "virtio"),
        ("virtio.ko", "crc16"),
        ("mq-deadline.ko", ""),
        ("zram.ko", "zs-malloc"),
        ("zs_malloc.ko", ""),
    ] {
        put(&kernel, name, &elf(depends, "6.1"));
    }
    kernel
}

/// Why a kernel is refused whose module `virtio` is this file.
fn refused(name: &str, content: &[u8]) -> String {
    let root = tempfile::tempdir().unwrap();
    let kernel = kernel(root.path());
    let folder = kernel.modules.clone().expect("its folder");
    fs::remove_file(folder.join("kernel/drivers/virtio.ko")).unwrap();
    put(&kernel, name, content);
    let error = of_the_kernel(&kernel, Clock::Wall).unwrap_err().to_string();
    error.replace(&folder.display().to_string(), "DIR")
}

fn zram() -> Swap {
    Swap {
        backing: SwapBacking::Zram { ratio_milli: 3000 },
        size: Bytes::MIB,
    }
}

fn machine(swaps: Vec<Swap>) -> Machine {
    let disk = Disk {
        name: "disk".into(),
        size: Bytes(4 << 30),
        read_bandwidth: Bytes(118_000_000),
        write_bandwidth: Bytes(100_000_000),
        latency: Nanos(100_000),
        seek: Nanos(8_000_000),
        channels: 2,
        queue_depth: 8,
        rotational: true,
    };
    Machine {
        memory: Bytes::GIB,
        cpus: 1,
        nodes: 1,
        disks: vec![disk],
        swaps,
        files: vec![],
        costs: vec![],
        file_system: scenario::machine::FileSystem::Ext4,
        recorded_on: None,
        available: None,
    }
}

/// What the guest is told, in its order.
fn order(modules: &[Module], machine: &Machine) -> Vec<String> {
    let mut archive = Archive::new();
    pack(modules, machine, &mut archive);
    let bytes = archive.finish();
    let text = String::from_utf8_lossy(&bytes);
    let (_, order) = text.split_once("plimsoll/modules.order\0").unwrap();
    let lines = order.trim_start_matches('\0').lines();
    let lines = lines.take_while(|line| line.ends_with(".ko"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_module_comes_after_those_it_depends_on() {
    let root = tempfile::tempdir().unwrap();
    let modules = of_the_kernel(&kernel(root.path()), Clock::Wall).unwrap();
    let expected = [
        "mq-deadline.ko",
        "virtio.ko",
        "virtio_ring.ko",
        "virtio_pci.ko",
        "virtio_blk.ko",
    ];
    assert_eq!(order(&modules, &machine(vec![])), expected);
    let with_zram = order(&modules, &machine(vec![zram()]));
    assert_eq!(with_zram[5..], ["zs_malloc.ko", "zram.ko"]);
}

#[test]
fn what_a_kernel_lacks_is_said_with_the_way_out() {
    let root = tempfile::tempdir().unwrap();
    let kernel = kernel(root.path());
    let folder = kernel.modules.clone().expect("its folder");
    let lacks = |name: &str| {
        format!(
            "Linux 6.1 has no {name}, neither built in nor in {}: install the rest of its \
                 modules or give another kernel to --kernel",
            folder.display()
        )
    };
    fs::remove_file(folder.join("kernel/drivers/zram.ko")).unwrap();
    let modules = of_the_kernel(&kernel, Clock::Wall).unwrap();
    let swaps = machine(vec![zram()]);
    let error = check(&kernel, &modules, &swaps).unwrap_err().to_string();
    assert_eq!(error, lacks("zram"));
    check(&kernel, &modules, &machine(vec![])).unwrap();
    fs::remove_file(folder.join("kernel/drivers/virtio_ring.ko")).unwrap();
    let error = of_the_kernel(&kernel, Clock::Wall).unwrap_err().to_string();
    assert_eq!(error, lacks("virtio_ring"));
    of_the_kernel(&kernel, Clock::Virtual).unwrap();
    fs::remove_file(folder.join("modules.builtin")).unwrap();
    of_the_kernel(&kernel, Clock::Wall).unwrap();
}

#[test]
fn a_module_that_cannot_be_loaded_is_refused_before_a_vm_boots() {
    assert_eq!(
        refused("virtio.ko", &elf("", "6.12")),
        "DIR/kernel/drivers/virtio.ko: a module of Linux 6.12, and the kernel is Linux 6.1: \
             give the folder of its own to --modules"
    );
    assert_eq!(
        refused("virtio.ko", &elf("virtio_pci", "6.1")),
        "DIR/kernel/drivers/virtio_pci.ko: it needs itself, by way of virtio_pci.ko, \
             virtio_ring.ko, virtio.ko; install the kernel's modules again"
    );
    let whole = elf("", "6.1");
    for length in 0..whole.len() {
        let error = refused("virtio.ko", &whole[..length]);
        assert_eq!(
            error,
            "DIR/kernel/drivers/virtio.ko: not a whole kernel module; install the kernel's \
                 modules again"
        );
    }
}

#[test]
fn a_kernel_without_modules_needs_none() {
    let mut kernel = kernel(tempfile::tempdir().unwrap().path());
    kernel.modules = None;
    assert_eq!(of_the_kernel(&kernel, Clock::Virtual).unwrap(), []);
}

#[test]
fn the_outbox_is_the_last_disk_and_costs_nothing() {
    expect_test::expect![[r#"size=4294967296,67108864 latency=100000,0 seek=8000000,0 read_rate=118000000,0 write_rate=100000000,0 channels=2,1 depth=8,64 rotational=1,0"#]]
            .assert_eq(&parameters(&machine(vec![]).disks));
}

const COMPRESSED: [(&str, &[u8]); 3] = [
    ("virtio.ko.gz", include_bytes!("fixtures/a.ko.gz")),
    ("virtio.ko.xz", include_bytes!("fixtures/a.ko.xz")),
    ("virtio.ko.zst", include_bytes!("fixtures/a.ko.zst")),
];

#[test]
fn compressed_modules_are_unpacked() {
    for (name, bytes) in COMPRESSED {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(name);
        fs::write(&path, bytes).unwrap();
        let module = Module::read(&path, Purpose::Machine).unwrap();
        assert_eq!(module.name, "virtio.ko");
        assert_eq!(module.content, elf("", "6.1"), "{name}");
    }
}

#[test]
fn a_compressed_module_cut_short_is_refused() {
    for (name, bytes) in COMPRESSED {
        for length in 0..bytes.len() - 8 {
            let error = refused(name, &bytes[..length]);
            let begin = format!("DIR/kernel/drivers/{name}: ");
            assert!(error.starts_with(&begin), "{length}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn a_module_of_another_machine_and_a_program_are_refused() {
    for (at, byte) in [(18, 183), (16, 2)] {
        let mut other = elf("", "6.1");
        other[at] = byte;
        assert_eq!(
            refused("virtio.ko", &other),
            "DIR/kernel/drivers/virtio.ko: not a kernel module for x86-64; install the \
                 kernel's modules again"
        );
    }
}

#[test]
fn what_is_no_regular_file_is_refused_and_not_read() {
    for place in ["kernel/drivers/virtio.ko", "modules.builtin"] {
        let root = tempfile::tempdir().unwrap();
        let kernel = kernel(root.path());
        let path = kernel.modules.clone().expect("its folder").join(place);
        let error = || {
            let error = of_the_kernel(&kernel, Clock::Wall).unwrap_err().to_string();
            error.replace(&path.display().to_string(), "PATH")
        };
        let only = "and only a regular file is read";
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert_eq!(error(), format!("PATH: it is a device, {only}"));
        fs::remove_file(&path).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(error(), format!("PATH: it is a pipe, {only}"));
        fs::remove_file(&path).unwrap();
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(error(), "PATH: file too large");
    }
}

#[test]
fn copies_beside_a_module_are_none() {
    let root = tempfile::tempdir().unwrap();
    let kernel = kernel(root.path());
    for ending in [".bak", ".orig", "~", ".sig", ".xz.sig", ".gz~", "x"] {
        put(&kernel, &format!("virtio.ko{ending}"), b"a copy");
        put(&kernel, &format!("nothing.ko{ending}"), b"a copy");
    }
    assert_eq!(if_modular(&kernel, "virtio").unwrap().len(), 1);
    assert_eq!(if_modular(&kernel, "nothing").unwrap(), []);
}

/// How a kernel ends whose modules each need the next, from `m1` to the last.
fn chain(count: usize, size: u64) -> Result<usize, String> {
    let root = tempfile::tempdir().unwrap();
    let kernel = kernel(root.path());
    for index in 1..=count {
        let next = match index < count {
            true => format!("m{}", index + 1),
            false => String::new(),
        };
        let name = format!("m{index}.ko");
        put(&kernel, &name, &elf(&next, "6.1"));
        let folder = kernel.modules.as_ref().expect("its folder");
        let file = fs::File::options()
            .write(true)
            .open(folder.join("kernel/drivers").join(name));
        file.unwrap().set_len(size).unwrap();
    }
    let modules = if_modular(&kernel, "m1").map_err(|error| error.to_string())?;
    Ok(modules.len())
}

#[test]
fn modules_are_bounded_in_number_and_in_size() {
    let too_much = "a VM loads up to 100 modules of 256 MiB together: give another kernel";
    assert_eq!(chain(100, 256), Ok(100));
    let error = chain(101, 256).unwrap_err();
    assert!(error.contains(&format!("m101.ko: {too_much}")), "{error}");
    assert_eq!(chain(4, 63 << 20), Ok(4));
    let error = chain(5, 63 << 20).unwrap_err();
    assert!(error.contains(&format!("m5.ko: {too_much}")), "{error}");
}
