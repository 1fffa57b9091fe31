# Runs one program on the disk, for busybox's shell. What is set above: LIMIT, ZRAM, BACKUP,
# SETTINGS and whether to RECORD. Answers go to the second port, each a line; the recording comes
# last.
say() { echo "$@" > /dev/ttyS1; }
counters() {
    say $1 $(cut -d ' ' -f 1 /proc/uptime) \
        $(awk '/^(pgpg(in|out)|pswpin) / { print $2 }' /proc/vmstat) \
        $(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
}
inside() { chroot /data /bin/sh -e -s < /plimsoll/$1 > /plimsoll/$1.said 2>&1; }
mkdir -p /data
mount -t ext4 /dev/pda /data
mount -t proc proc /data/proc
mount -t devtmpfs dev /data/dev
mount -t tmpfs run /data/run
ifconfig lo 127.0.0.1
mount -t cgroup2 none /sys/fs/cgroup
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/load
for setting in $SETTINGS; do
    name=$(echo ${setting%%=*} | tr . /)
    case $name in
    lru_gen/*) echo ${setting#*=} > /sys/kernel/mm/$name ;;
    *) echo ${setting#*=} > /proc/sys/$name ;;
    esac
done
mount -t debugfs none /sys/kernel/debug
if [ -n "$ZRAM" ]; then
    echo $ZRAM > /sys/block/zram0/disksize
    mkswap /dev/zram0 > /dev/null
    swapon /dev/zram0
fi
[ -z "$LIMIT" ] || echo $LIMIT > /sys/fs/cgroup/load/memory.max
(echo 0 > /sys/fs/cgroup/load/cgroup.procs; inside begin) || { say failed; cat /plimsoll/begin.said > /dev/ttyS1; }
sync
echo 3 > /proc/sys/vm/drop_caches
if [ -n "$RECORD" ]; then
    /plimsoll/plimsoll record --for 1h -o /plimsoll/load.rec > /plimsoll/said 2>&1 & recorder=$!
    until grep -qs ^recording /plimsoll/said; do sleep 0.1; done
fi
counters before
[ -z "$BACKUP" ] || { dd if=/dev/pda of=/dev/null bs=1M count=$BACKUP 2> /dev/null & backup=$!; }
(echo 0 > /sys/fs/cgroup/load/cgroup.procs; inside load) || { say failed; cat /plimsoll/load.said > /dev/ttyS1; }
counters after
[ -z "$BACKUP" ] || kill $backup
say group $(grep -E '^(anon|file|file_mapped|slab|kernel_stack|pagetables|sock) ' \
    /sys/fs/cgroup/load/memory.stat)
if [ -n "$RECORD" ]; then
    say recorder $(cut -d ' ' -f 14,15 /proc/$recorder/stat)
    kill -INT $recorder
    wait $recorder
    sed 's/^/said /' /plimsoll/said > /dev/ttyS1
    say recording
    base64 /plimsoll/load.rec > /dev/ttyS1
fi
