//! What runs in the guest: one script as process 1 before systemd, and one that runs the commands.
//!
//! Answers go out through the second serial port, as `answer STATUS FROM TO BYTES` and the output
//! itself. A line there says at once what was done, so nothing that was said is lost when the
//! machine is.

use mm::units::Nanos;

use super::{Boot, Disposal, First};

/// The unit that runs the commands when the system is up.
pub(super) const UNIT: &str = "\
[Unit]
Description=Commands of a test
After=multi-user.target
IgnoreOnIsolate=yes
[Service]
Type=oneshot
ExecStart=/bin/sh /plimsoll/commands
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
";

const MOUNT: &str = "\
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
";

const DRIVER: &str = "\
while read module parameters; do
    insmod /plimsoll/modules/$module $parameters
done < /plimsoll/modules.order
";

/// Directories are persistent as copies on the disk that are mounted over the root's: they begin as
/// the root's and stay what the guest made of them. A copy that was cut short is made again.
const STATE: &str = "\
mkdir -p /disk
mount -t ext4 /dev/pda /disk || echo 'plimsoll: no disk' > /dev/console
for place in /etc /var/lib; do
    copy=/disk$place
    if ! [ -e $copy.whole ]; then
        rm -rf $copy
        mkdir -p $copy
        cp -a $place/. $copy
        sync
        : > $copy.whole
        sync
    fi
    mount --bind $copy $place
done
";

/// systemd mounts `/run` unless it is mounted already; what a test put there must be seen.
const RUNTIME: &str = "\
mkdir /plimsoll/runtime
mount -t tmpfs -o mode=755 run /plimsoll/runtime
cp -a /run/. /plimsoll/runtime
mount --move /plimsoll/runtime /run
";

const RUN: &str = "\
stty -F /dev/ttyS1 raw -echo
run() {
    read from rest < /proc/uptime
    /bin/sh /plimsoll/command.$1 > /run/plimsoll.output 2>&1 < /dev/null
    status=$?
    read to rest < /proc/uptime
    echo answer $status $from $to $(stat -c %s /run/plimsoll.output) > /dev/ttyS1
    cat /run/plimsoll.output > /dev/ttyS1
}
";

/// Process 1: loads the disk, puts the persistent directories in their places, and becomes what was
/// asked for.
pub(super) fn init(boot: &Boot) -> String {
    let (driver, state) = match &boot.disk {
        Some((Disposal::State, _)) => (DRIVER, STATE),
        Some((Disposal::Commands, _)) => (DRIVER, ""),
        None => ("", ""),
    };
    let rest = match boot.first {
        First::Systemd => "exec /sbin/init\n",
        First::Shell => "exec /bin/sh /plimsoll/commands\n",
    };
    [MOUNT, RUNTIME, driver, state, &boot.early, rest].concat()
}

/// Runs each command in a shell of its own, answers, and takes the power away.
///
/// The power goes at once: what the guest has not written back is lost, as at every end of a
/// machine that is not asked to shut down.
pub(super) fn commands(boot: &Boot) -> String {
    let mut script = String::from(RUN);
    for index in 0..boot.commands.len() {
        script += &format!("run {index}\n");
    }
    script + "echo o > /proc/sysrq-trigger\nsleep 60\n"
}

/// Sets the kernel's watchdog, which nobody will feed. It counts whole seconds, so the next command
/// is kept waiting for the rest of one.
pub(super) fn watchdog(after: Nanos) -> String {
    let seconds = after.0.div_ceil(Nanos::SECOND.0).max(1);
    let rest = Nanos(seconds * Nanos::SECOND.0 - after.0);
    format!(
        "insmod /plimsoll/modules/watchdog.ko\n\
         insmod /plimsoll/modules/softdog.ko soft_margin={seconds} nowayout=1\n\
         : > /dev/watchdog\n\
         sleep {:.9}\n",
        rest.seconds()
    )
}
