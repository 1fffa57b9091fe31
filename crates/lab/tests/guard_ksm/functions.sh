# What the commands use. `look` prints every setting of samepage merging.
export LC_ALL=C
ksm=/sys/kernel/mm/ksm
group=/sys/fs/cgroup/system.slice
unit=
look() {
    for name in advisor_mode run pages_to_scan sleep_millisecs smart_scan use_zero_pages; do
        echo $name $(cat $ksm/$name)
    done
}
# Starts stand-ins from one number to another, and waits until their memory is filled.
start() {
    for number in $(seq $1 $2); do
        qemu-system-x86_64 /plimsoll/guest.pl $number 96 -enable-kvm &
    done
    for number in $(seq $1 $2); do
        until [ -e /run/filled.$number ]; do sleep 0.1; done
    done
}
# A line: seconds, pages saved, CPU nanoseconds of ksmd, CPU microseconds of the daemon.
sample() {
    read uptime rest < /proc/uptime
    read sharing < $ksm/pages_sharing
    read zero < $ksm/ksm_zero_pages
    read cpu rest < /proc/$ksmd/schedstat
    daemon=0
    [ $unit ] && read name daemon < $group/$unit.service/cpu.stat
    echo $uptime $((sharing + zero)) $cpu $daemon
}
# Samples for that many minutes.
watch() {
    echo phase
    sample
    for try in $(seq $(($1 * 12))); do sleep 5; sample; done
}
# What a program does over the workload. What follows `end` is what it left.
pass() {
    ksmd=$(pgrep -x ksmd)
    start 1 17
    begin || { journalctl --no-pager -n 20; exit 1; }
    watch 5
    start 18 18
    watch 3
    pkill -USR1 qemu-system
    watch 4
    end
    echo end
    pkill -9 qemu-system; wait 2> /dev/null
    rm /run/filled.*
    echo none > $ksm/advisor_mode
    echo 2 > $ksm/run
    echo 100 > $ksm/pages_to_scan; echo 20 > $ksm/sleep_millisecs; echo 0 > $ksm/run
    look | diff /plimsoll/before -
}
