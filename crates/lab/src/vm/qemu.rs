//! QEMU's command line.

use std::path::{Path, PathBuf};

use scenario::machine::{Disk, Machine};

use super::outbox;
use answer::bench::BenchError;

/// Disks that a VM can have beside the outbox: as many as the disk module takes.
const DISKS: usize = 15;
/// The first PCI slot for disks; the ones before are the chipset's.
const FIRST_SLOT: usize = 4;

/// CPUs of a machine in virtual time, at most.
pub const MOST_CPUS_BY_TURNS: u32 = 4;

/// What makes the guest's time pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// Its own instructions.
    Virtual,
    /// The host's clock.
    Wall(Accelerator),
}

/// What executes the guest's instructions in wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accelerator {
    /// The processor.
    Kvm,
    /// QEMU's translator, a thread for each CPU.
    Tcg,
}

/// The files of one VM.
#[derive(Debug)]
pub(super) struct Vm {
    pub kernel: PathBuf,
    pub initramfs: PathBuf,
    pub console: PathBuf,
    /// Images in the order of the machine's disks.
    pub disks: Vec<PathBuf>,
    pub outbox: PathBuf,
}

/// Whether QEMU can be such a machine.
///
/// # Errors
/// What it cannot be, and the way out.
pub(super) fn check(machine: &Machine, timing: Timing) -> Result<(), BenchError> {
    let nodes = u64::from(machine.nodes.max(1));
    let problem = if !machine.memory.0.is_multiple_of(nodes << 20) {
        format!(
            "machine: {} of memory on {nodes} nodes is not whole MiB",
            machine.memory
        )
    } else if timing == Timing::Virtual && machine.cpus > MOST_CPUS_BY_TURNS {
        let cpus = machine.cpus;
        format!(
            "machine: virtual time has up to {MOST_CPUS_BY_TURNS} CPUs, not {cpus}: set cpus = \
             {MOST_CPUS_BY_TURNS} or use wall-clock time"
        )
    } else if machine.disks.len() > DISKS {
        format!(
            "machine: {} disks are more than a VM's {DISKS}",
            machine.disks.len()
        )
    } else {
        return Ok(());
    };
    Err(BenchError::Failed(problem))
}

/// All arguments.
pub(super) fn arguments(vm: &Vm, machine: &Machine, timing: Timing) -> Vec<String> {
    let mut arguments = bare();
    arguments.extend(match timing {
        Timing::Virtual => virtual_time(machine.cpus),
        Timing::Wall(accelerator) => wall_time(accelerator, machine),
    });
    arguments.extend(memory(machine));
    arguments.extend(boot(vm, timing, machine.cpus));
    arguments.extend(match timing {
        Timing::Virtual => modelled_disks(vm, machine),
        Timing::Wall(_) => throttled_disks(vm, machine),
    });
    arguments
}

/// A machine in virtual time whose answers come through a second serial port.
#[derive(Debug)]
pub(super) struct Scripted<'a> {
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    pub console: &'a Path,
    pub port: &'a Path,
    pub command_line: &'a str,
}

impl Scripted<'_> {
    /// All arguments but those of its disks.
    pub(super) fn arguments(&self, machine: &Machine) -> Vec<String> {
        let option = |name: &str, value: String| [name.to_owned(), value];
        let words = [
            option("-kernel", self.kernel.display().to_string()),
            option("-initrd", self.initramfs.display().to_string()),
            option("-append", self.command_line.to_owned()),
            option("-serial", console(self.console)),
            option("-serial", console(self.port)),
        ];
        let own = bare().into_iter().chain(virtual_time(machine.cpus));
        own.chain(memory(machine)).chain(words.concat()).collect()
    }
}

/// Nothing that was not asked for: no display, no network, no user's configuration, none of its
/// memory offered to the host's ksmd; a reboot, which is what a panic ends in, ends the VM.
pub(super) fn bare() -> Vec<String> {
    words("-nodefaults -no-user-config -display none -no-reboot -machine pc,mem-merge=off")
}

/// One instruction is one nanosecond and idle time is skipped. Bit-exact runs need all CPUs on one
/// thread, where they share its instructions by turns, a CPU model without a random generator, a
/// clock that starts at a fixed date and follows the guest, and a fixed seed for what QEMU itself
/// draws.
pub(super) fn virtual_time(cpus: u32) -> Vec<String> {
    words(&format!(
        "-accel tcg,thread=single -icount shift=0,sleep=off -smp {cpus} -cpu qemu64 \
         -rtc base=2025-01-01,clock=vm -seed 1"
    ))
}

/// The host's clock and as many CPUs as the machine has.
fn wall_time(accelerator: Accelerator, machine: &Machine) -> Vec<String> {
    let mut arguments = words(match accelerator {
        Accelerator::Kvm => "-accel kvm -cpu host",
        Accelerator::Tcg => "-accel tcg,thread=multi -cpu qemu64",
    });
    arguments.extend(["-smp".into(), machine.cpus.to_string()]);
    arguments
}

/// Memory and CPUs spread evenly over the nodes. One node needs no mention; QEMU wants one object
/// for each of several.
fn memory(machine: &Machine) -> Vec<String> {
    let mib = machine.memory.0 >> 20;
    let mut arguments = vec!["-m".into(), format!("{mib}M")];
    for node in 0..machine.nodes {
        if machine.nodes == 1 {
            break;
        }
        let share = mib / u64::from(machine.nodes);
        let object = format!("memory-backend-ram,id=node{node},size={share}M");
        let cpus = cpus_of_node(machine, node);
        let numa = format!("node,nodeid={node},memdev=node{node}{cpus}");
        arguments.extend(["-object".into(), object, "-numa".into(), numa]);
    }
    arguments
}

fn cpus_of_node(machine: &Machine, node: u32) -> String {
    let of_node = |cpu: &u32| cpu % machine.nodes == node;
    let option = |cpu: u32| format!(",cpus={cpu}");
    (0..machine.cpus).filter(of_node).map(option).collect()
}

fn boot(vm: &Vm, timing: Timing, cpus: u32) -> Vec<String> {
    let option = |name: &str, value: String| [name.to_owned(), value];
    [
        option("-kernel", vm.kernel.display().to_string()),
        option("-initrd", vm.initramfs.display().to_string()),
        option("-append", kernel_command_line(timing, cpus)),
        option("-serial", console(&vm.console)),
    ]
    .concat()
}

/// The serial port into a file: unlike a pipe it never makes QEMU wait, which the guest could
/// notice. It is no list of options: a comma is a comma.
pub(super) fn console(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// The kernel's command line.
///
/// The first line is about failures: a panic or an oops ends the VM at once, and the console says
/// why. The second keeps what the kernel would draw at random fixed and the mitigations, of which
/// an emulated CPU needs none, out of the costs. The third saves time at boot, as measured on
/// Debian's 6.12: self-tests of cryptography 0.45 s of virtual time, the initcalls named 0.4 s.
/// The last is for virtual time, where calibrating the APIC timer takes 2.6 s of the host's CPU; of
/// several CPUs only the first would have precise timers without it, and disks answer by those.
///
/// Some distributions' kernels measure pressure only where they are told to, with `psi=1`.
pub(super) fn kernel_command_line(timing: Timing, cpus: u32) -> String {
    let always = "console=ttyS0 quiet panic=-1 oops=panic \
                  nokaslr norandmaps mitigations=off \
                  cryptomgr.notests initcall_blacklist=jent_mod_init,init_kprobe_trace,\
                  load_system_certificate_list,trace_eval_init";
    match timing {
        Timing::Virtual if cpus > 1 => format!("{always} no_timer_check tsc=reliable"),
        Timing::Virtual => format!("{always} noapictimer no_timer_check tsc=reliable"),
        Timing::Wall(_) => format!("{always} psi=1"),
    }
}

/// Disks for `disk-module/`: memory that the guest sees and the module serves in the guest's time.
/// A private mapping leaves the image as it was; the outbox alone is shared, and its file is read
/// when QEMU has ended, so nothing of the host's timing reaches the guest.
fn modelled_disks(vm: &Vm, machine: &Machine) -> Vec<String> {
    let mut arguments = Vec::new();
    for (index, (disk, path)) in machine.disks.iter().zip(&vm.disks).enumerate() {
        let size = disk.size.0.next_power_of_two();
        arguments.extend(shared_memory(index, path, size, "off"));
    }
    arguments.extend(shared_memory(
        machine.disks.len(),
        &vm.outbox,
        outbox::SIZE,
        "on",
    ));
    arguments
}

/// A disk of the bench's own module; what is written to a shared one (`on`) stays in its file.
pub(super) fn shared_memory(index: usize, path: &Path, size: u64, share: &str) -> [String; 4] {
    let path = escaped(path);
    let object = format!(
        "memory-backend-file,id=disk{index},mem-path={path},size={size},share={share},reserve=off"
    );
    let device = format!(
        "ivshmem-plain,memdev=disk{index},addr={:#x}",
        FIRST_SLOT + index
    );
    ["-object".into(), object, "-device".into(), device]
}

/// virtio disks, throttled by QEMU on the host's clock. QEMU cannot tell a request that seeks from
/// one that follows another, so only a disk without seeks has its number of requests limited.
fn throttled_disks(vm: &Vm, machine: &Machine) -> Vec<String> {
    let mut arguments = Vec::new();
    for (index, (disk, path)) in machine.disks.iter().zip(&vm.disks).enumerate() {
        let options = format!("snapshot=on{}", throttling(disk));
        arguments.extend(virtio_disk(index, path, &options));
    }
    arguments.extend(virtio_disk(machine.disks.len(), &vm.outbox, "snapshot=off"));
    arguments
}

fn throttling(disk: &Disk) -> String {
    let mut options = format!(
        ",throttling.bps-read={},throttling.bps-write={}",
        disk.read_bandwidth.0, disk.write_bandwidth.0
    );
    if disk.seek.0 == 0 && disk.latency.0 > 0 {
        let requests = u64::from(disk.channels) * 1_000_000_000 / disk.latency.0;
        options += &format!(",throttling.iops-total={}", requests.max(1));
    }
    options
}

/// Where the host's disk is full QEMU would pause the VM: the guest gets an error instead.
fn virtio_disk(index: usize, path: &Path, options: &str) -> [String; 4] {
    let path = escaped(path);
    let drive = format!(
        "file={path},if=none,id=disk{index},format=raw,cache=unsafe,werror=report,rerror=report,\
         {options}"
    );
    let device = format!(
        "virtio-blk-pci,drive=disk{index},addr={:#x}",
        FIRST_SLOT + index
    );
    ["-drive".into(), drive, "-device".into(), device]
}

/// In QEMU's options a comma ends a value unless it is doubled.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use mm::units::{Bytes, Nanos};

    use super::*;

    fn disk(name: &str, seek: u64) -> Disk {
        Disk {
            name: name.into(),
            size: Bytes(5 << 30),
            read_bandwidth: Bytes(118_000_000),
            write_bandwidth: Bytes(100_000_000),
            latency: Nanos(100_000),
            seek: Nanos(seek),
            channels: 2,
            queue_depth: 8,
            rotational: true,
        }
    }

    fn machine() -> Machine {
        Machine {
            memory: Bytes(3840 << 20),
            cpus: 1,
            nodes: 1,
            disks: vec![disk("hdd", 8_000_000), disk("ssd", 0)],
            swaps: vec![],
            files: vec![],
            costs: vec![],
            file_system: scenario::machine::FileSystem::Ext4,
            recorded_on: None,
            available: None,
        }
    }

    fn told(machine: &Machine, timing: Timing) -> String {
        let vm = Vm {
            kernel: "/boot/vmlinuz".into(),
            initramfs: "/run/a,b/initramfs".into(),
            console: "/run/a,b/console".into(),
            disks: vec!["/run/a,b/disk-0".into(), "/run/a,b/disk-1".into()],
            outbox: "/run/a,b/outbox".into(),
        };
        arguments(&vm, machine, timing).join("\n")
    }

    #[test]
    fn virtual_time_has_modelled_disks_and_a_shared_outbox() {
        expect![[r#"
            -nodefaults
            -no-user-config
            -display
            none
            -no-reboot
            -machine
            pc,mem-merge=off
            -accel
            tcg,thread=single
            -icount
            shift=0,sleep=off
            -smp
            1
            -cpu
            qemu64
            -rtc
            base=2025-01-01,clock=vm
            -seed
            1
            -m
            3840M
            -kernel
            /boot/vmlinuz
            -initrd
            /run/a,b/initramfs
            -append
            console=ttyS0 quiet panic=-1 oops=panic nokaslr norandmaps mitigations=off cryptomgr.notests initcall_blacklist=jent_mod_init,init_kprobe_trace,load_system_certificate_list,trace_eval_init noapictimer no_timer_check tsc=reliable
            -serial
            file:/run/a,b/console
            -object
            memory-backend-file,id=disk0,mem-path=/run/a,,b/disk-0,size=8589934592,share=off,reserve=off
            -device
            ivshmem-plain,memdev=disk0,addr=0x4
            -object
            memory-backend-file,id=disk1,mem-path=/run/a,,b/disk-1,size=8589934592,share=off,reserve=off
            -device
            ivshmem-plain,memdev=disk1,addr=0x5
            -object
            memory-backend-file,id=disk2,mem-path=/run/a,,b/outbox,size=67108864,share=on,reserve=off
            -device
            ivshmem-plain,memdev=disk2,addr=0x6"#]].assert_eq(&told(&machine(), Timing::Virtual));
    }

    #[test]
    fn several_cpus_in_virtual_time_share_a_thread_and_have_timers_of_their_own() {
        let two = Machine {
            cpus: 2,
            ..machine()
        };
        let (one, two) = (
            told(&machine(), Timing::Virtual),
            told(&two, Timing::Virtual),
        );
        let differs = one.lines().zip(two.lines()).filter(|(one, two)| one != two);
        let differs: Vec<_> = differs.collect();
        let [(one, two), (with, without)] = differs[..] else {
            panic!("{differs:?}");
        };
        assert_eq!((one, two), ("1", "2"));
        assert_eq!(with.replace("noapictimer ", ""), without);
    }

    #[test]
    fn wall_time_has_throttled_disks() {
        expect![[r#"
            -nodefaults
            -no-user-config
            -display
            none
            -no-reboot
            -machine
            pc,mem-merge=off
            -accel
            kvm
            -cpu
            host
            -smp
            1
            -m
            3840M
            -kernel
            /boot/vmlinuz
            -initrd
            /run/a,b/initramfs
            -append
            console=ttyS0 quiet panic=-1 oops=panic nokaslr norandmaps mitigations=off cryptomgr.notests initcall_blacklist=jent_mod_init,init_kprobe_trace,load_system_certificate_list,trace_eval_init psi=1
            -serial
            file:/run/a,b/console
            -drive
            file=/run/a,,b/disk-0,if=none,id=disk0,format=raw,cache=unsafe,werror=report,rerror=report,snapshot=on,throttling.bps-read=118000000,throttling.bps-write=100000000
            -device
            virtio-blk-pci,drive=disk0,addr=0x4
            -drive
            file=/run/a,,b/disk-1,if=none,id=disk1,format=raw,cache=unsafe,werror=report,rerror=report,snapshot=on,throttling.bps-read=118000000,throttling.bps-write=100000000,throttling.iops-total=20000
            -device
            virtio-blk-pci,drive=disk1,addr=0x5
            -drive
            file=/run/a,,b/outbox,if=none,id=disk2,format=raw,cache=unsafe,werror=report,rerror=report,snapshot=off
            -device
            virtio-blk-pci,drive=disk2,addr=0x6"#]].assert_eq(&told(&machine(), Timing::Wall(Accelerator::Kvm)));
    }

    #[test]
    fn nodes_share_memory_and_cpus() {
        let machine = Machine {
            nodes: 2,
            cpus: 3,
            ..machine()
        };
        expect![[r#"
            -m
            3840M
            -object
            memory-backend-ram,id=node0,size=1920M
            -numa
            node,nodeid=0,memdev=node0,cpus=0,cpus=2
            -object
            memory-backend-ram,id=node1,size=1920M
            -numa
            node,nodeid=1,memdev=node1,cpus=1"#]]
        .assert_eq(&memory(&machine).join("\n"));
        let machine = Machine { cpus: 1, ..machine };
        let last = memory(&machine).pop();
        assert_eq!(last.as_deref(), Some("node,nodeid=1,memdev=node1"));
    }

    #[test]
    fn what_qemu_cannot_be_is_refused() {
        let refused = |machine: Machine| check(&machine, Timing::Virtual).unwrap_err().to_string();
        assert!(
            refused(Machine {
                cpus: 5,
                ..machine()
            })
            .contains("up to 4 CPUs, not 5")
        );
        assert!(
            refused(Machine {
                memory: Bytes(4097),
                ..machine()
            })
            .contains("whole MiB")
        );
        let disks = vec![disk("many", 0); 16];
        assert!(refused(Machine { disks, ..machine() }).contains("16 disks"));
        assert!(check(&machine(), Timing::Virtual).is_ok());
        assert!(
            check(
                &Machine {
                    cpus: 5,
                    ..machine()
                },
                Timing::Wall(Accelerator::Tcg)
            )
            .is_ok()
        );
    }
}
