//! The package on a Debian with a real systemd: installed, started, killed, upgraded, removed and
//! purged, after which the machine is as it was.
//!
//! `PLIMSOLL_PACKAGE` names the package, which `cargo xtask package` makes otherwise.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Answer, Boot, First};

use super::{boot, debian, disk};

/// Functions that the commands use: `look` prints every setting that the guard may write, and every
/// file that the package manager does not keep for itself.
const FUNCTIONS: &str = "\
export LC_ALL=C
value() { cat /proc/sys/vm/swappiness; }
mlocked() { sed -n 's/^Mlocked: *\\(.*\\) kB/\\1/p' /proc/meminfo; }
until_is() {
    for try in $(seq 400); do [ \"$($1)\" = $2 ] && return; sleep 0.05; done
    echo $1 is not $2 but $($1); journalctl --no-pager -n 20 -u plimsoll-guard
}
locked() {
    grep -q \"action=lock file=[^ ]*/$(stat -c %i $1) $2\" /run/plimsoll/guard.events && echo yes
}
named() { locked $1 '.*why=\"named '; }
main() { systemctl show -p MainPID --value plimsoll-guard; }
look() {
    grep -rs . /proc/sys/vm | grep -v -e stat_refresh -e drop_caches
    grep -rs . /sys/kernel/mm/ksm/run /sys/kernel/mm/lru_gen
    grep -s . /sys/class/bdi/*/*_ratio* /sys/class/bdi/*/strict_limit
    grep -e Mlocked -e Unevictable /proc/meminfo
    find / -xdev -path /plimsoll -prune -o -path '/var/*/dpkg*' -prune -o -print | sort
    ls -A /run/plimsoll 2> /dev/null
}
";

/// The disk is mounted as an administrator's is; a file on it is what the guard will keep. The
/// bench's own command makes way for the package's.
const BEFORE: &str = "\
mkdir /srv/data
echo '/dev/pda /srv/data ext4 defaults 0 0' >> /etc/fstab
systemctl daemon-reload; systemctl start srv-data.mount
head -c 4M /dev/urandom > /srv/data/file; sync
mkdir -p /var/lib/dpkg/updates; touch /var/lib/dpkg/status
rm /usr/bin/plimsoll
look > /plimsoll/before
";

/// What is installed is not started, and does not start before it is configured.
const INSTALL: &str = "\
dpkg --install /plimsoll/1.deb > /plimsoll/log 2>&1 || { cat /plimsoll/log; exit 1; }
plimsoll-guard --version
systemctl is-active plimsoll-guard; systemctl is-enabled plimsoll-guard
systemctl start plimsoll-guard 2> /dev/null && echo started
mkdir /etc/plimsoll
printf '[floor]\\nclean_min = \"64 MiB\"\\nanon_min = \"50 %%\"\\n' > /etc/plimsoll/guard.toml
systemctl start plimsoll-guard; systemctl is-active plimsoll-guard
until_is value 0; value
";

/// The guard's sandbox lets it see what a unit has mapped and whose a page is: a unit is kept, one
/// is excepted, and of one with a limit a quarter of that is locked at most.
const UNITS: &str = "\
printf 'keep = [\"unit:kept.service\"]\\nexcept = [\"unit:quiet.service\"]\\n' \
    >> /etc/plimsoll/guard.toml
cd /srv/data; cp /usr/bin/sleep kept; sync; systemd-run -q -u kept /srv/data/kept 900
systemctl reload plimsoll-guard; until_is \"named kept\" yes; named kept
again='for i in 1 2 3 4; do cat large small > /dev/null; sleep 1; done; sleep 900'
write='head -c 12M /dev/zero > large; head -c 6M /dev/zero > small; sync'
systemd-run -q -u boxed -p MemoryMax=32M --working-directory=/srv/data sh -c \"$write; $again\"
write='head -c 2M /dev/zero > quiet; sync'; again=$(echo \"$again\" | sed 's/large small/quiet/')
systemd-run -q -u quiet --working-directory=/srv/data sh -c \"$write; $again\"
sleep 1; until_is \"locked small\" yes; sleep 5
for file in small large quiet; do echo $file $(locked $file); done
systemctl stop kept boxed quiet; rm kept small large quiet; cd /
";

/// A reload reports a configuration that is refused, and the guard goes on with the old one. In its
/// mount namespace nothing but itself can be run.
const RELOAD: &str = "\
mkdir /etc/plimsoll/guard.toml.d
printf '[floor]\\nclean_min = 1\\n' > /etc/plimsoll/guard.toml.d/wrong.toml
systemctl reload plimsoll-guard 2> /dev/null && echo reloaded
systemctl is-active plimsoll-guard; value
rm -r /etc/plimsoll/guard.toml.d; systemctl reload plimsoll-guard && echo reloaded
nsenter --mount --target $(main) /bin/true 2> /dev/null || echo refused
";

/// Another user holds every lock that may be had: a change that nobody confirms is undone all the
/// same, and the guard starts.
const HOSTILE: &str = "\
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"; }
plimsoll apply vm.page-cluster=0 --confirm 5s > /dev/null
for file in /run/plimsoll /run/plimsoll/*; do
    nobody flock -nF $file sleep 900 2> /dev/null & held=\"$held $!\"
done
sleep 20; cat /proc/sys/vm/page-cluster
systemctl restart plimsoll-guard; systemctl is-active plimsoll-guard; until_is value 0; value
kill $held 2> /dev/null; wait
";

/// The unit's own mount namespace keeps no file system busy, only a locked file does; the unit stops
/// before local file systems are unmounted.
const UNMOUNT: &str = "\
for try in $(seq 40); do
    [ $(mlocked) -ge 6144 ] && break
    cat /srv/data/file > /dev/null; sleep 0.1
done
umount /srv/data 2> /dev/null || echo busy
rm /srv/data/file; sleep 3; umount /srv/data && echo unmounted
systemctl list-dependencies --after --plain plimsoll-guard | grep -o srv-data.mount
systemd-analyze security --threshold=20 plimsoll-guard > /plimsoll/log && echo secure
tail -n 1 /plimsoll/log | tr -dc '0-9.'; echo
cat /proc/$(main)/oom_score_adj
";

/// What was locked is free, but for a batch of the kernel's that it counts later (31 pages at most);
/// `ExecStopPost` restores, systemd starts it again, and it goes on. A stop restores too, and leaves
/// the journal of `plimsoll apply` alone.
const KILL: &str = "\
old=$(main); [ $old -gt 0 ] && kill -9 $old; until_is value 60; value
[ $(mlocked) -lt 128 ] && echo free
until_is value 0; value
[ $(main) != $old ] && echo another; systemctl show -p NRestarts --value plimsoll-guard
echo '[floor]' > /etc/plimsoll/guard.toml.new
printf 'clean_min = \"64 MiB\"\\n' >> /etc/plimsoll/guard.toml.new
mv /etc/plimsoll/guard.toml.new /etc/plimsoll/guard.toml
systemctl reload plimsoll-guard; until_is value 60; value
plimsoll apply vm.page-cluster=0 --confirm 1h > /dev/null
systemctl stop plimsoll-guard; plimsoll undo > /dev/null; cat /proc/sys/vm/page-cluster
";

/// A guard that runs is another one after an upgrade, and one that does not stays off.
const UPGRADE: &str = "\
dpkg --install /plimsoll/2.deb > /plimsoll/log 2>&1 || { cat /plimsoll/log; exit 1; }
systemctl is-active plimsoll-guard
systemctl start plimsoll-guard; old=$(main)
dpkg --install /plimsoll/2.deb > /plimsoll/log 2>&1 || { cat /plimsoll/log; exit 1; }
systemctl is-active plimsoll-guard; [ $(main) != $old ] && echo another
";

/// What is removed is stopped, and no file or setting is other than before when it is purged; dpkg
/// takes empty folders along that no package of this machine owns.
const REMOVE: &str = "\
dpkg --remove plimsoll > /plimsoll/log 2>&1 || { cat /plimsoll/log; exit 1; }
systemctl is-active plimsoll-guard; mlocked; value; ls /etc/plimsoll
mount /srv/data
dpkg --purge plimsoll > /plimsoll/log 2>&1 || { cat /plimsoll/log; exit 1; }
look > /plimsoll/after; diff /plimsoll/before /plimsoll/after | grep '^>'
";

#[test]
fn the_package_installs_runs_and_leaves_nothing_behind() {
    let Some(machine) = debian(Release::Debian13) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let disk = disk(&machine, directory.path());
    let [one, two] = packages(directory.path());
    let mut order = Boot::new(First::Systemd)
        .scratch_disk(&disk)
        .file("plimsoll/1.deb", one)
        .file("plimsoll/2.deb", two);
    let steps = [
        BEFORE, INSTALL, UNITS, RELOAD, HOSTILE, UNMOUNT, KILL, UPGRADE, REMOVE,
    ];
    for step in steps {
        order = order.command(FUNCTIONS.to_owned() + step);
    }
    let answers = boot(&machine, &order).answers;
    for (step, answer) in steps.iter().zip(&answers) {
        println!(
            "{step}-- {:.1} s: {}",
            answer.to - answer.from,
            answer.output
        );
    }
    let [
        before,
        install,
        units,
        reload,
        hostile,
        unmount,
        kill,
        upgrade,
        remove,
    ] = &answers[..]
    else {
        panic!("nine commands answer");
    };
    check(before, "");
    check(
        install,
        "plimsoll-guard 0.1.0\ninactive\ndisabled\nactive\n0\n",
    );
    check(units, "yes\nsmall yes\nlarge\nquiet\n");
    check(reload, "active\n0\nreloaded\nrefused\n");
    check(hostile, "3\nactive\n0\n");
    let (said, figures) = unmount.output.split_once("secure\n").expect("below 2.0");
    assert_eq!(said, "busy\nunmounted\nsrv-data.mount\n");
    assert!(figures.ends_with("\n-1000\n"), "{figures}");
    check(kill, "60\nfree\n0\nanother\n1\n60\n3\n");
    check(upgrade, "inactive\nactive\nanother\n");
    check(remove, "inactive\n0\n60\nguard.toml\n");
}

fn check(answer: &Answer, expected: &str) {
    assert_eq!(answer.output, expected, "status {}", answer.status);
}

/// The package, and the same with a higher version; neither compressed again, for the guest's time.
fn packages(place: &Path) -> [Vec<u8>; 2] {
    let package = package();
    let tree = place.join("tree");
    dpkg_deb(&["--raw-extract".as_ref(), &package, &tree]);
    let control = tree.join("DEBIAN/control");
    let text = std::fs::read_to_string(&control).expect("a control file");
    let version = text.lines().find(|line| line.starts_with("Version: "));
    let version = version.expect("a version");
    [version.to_owned(), format!("{version}+upgrade")].map(|other| {
        std::fs::write(&control, text.replace(version, &other)).expect("a control file");
        let built = place.join("built.deb");
        let build = ["--root-owner-group", "-Znone", "--build"].map(Path::new);
        dpkg_deb(&[&build[..], &[&tree, &built]].concat());
        std::fs::read(built).expect("a package")
    })
}

fn dpkg_deb(arguments: &[&Path]) {
    let status = Command::new("dpkg-deb").args(arguments).status();
    assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
}

fn package() -> PathBuf {
    if let Some(path) = std::env::var_os("PLIMSOLL_PACKAGE") {
        return path.into();
    }
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    let workspace = testkit::checkout("");
    let cargo = cargo.args(["xtask", "package"]).current_dir(workspace);
    let output = cargo.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo xtask package: {said}");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}
