# What the steps of every cause may use.
export PATH=/bin:/lab
mkdir -p /out /data /tmp
mount -t tmpfs -o size=64M out /out
mount -t cgroup2 -o memory_recursiveprot none /sys/fs/cgroup 2>/dev/null ||
    mount -t cgroup2 none /sys/fs/cgroup
for controller in memory pids io cpuset; do
    echo +$controller > /sys/fs/cgroup/cgroup.subtree_control
done 2>/dev/null
mount -t debugfs none /sys/kernel/debug 2>/dev/null
hostname web-1
dmesg -n 1

# MiB of an item of meminfo.
mib() { awk -v item="$1:" '$1 == item { print int($2 / 1024) }' /proc/meminfo; }

# Takes the evidence of this moment.
shot() {
    trouble collect "$1"
    : > /out/shot
}

# Makes a control group, with its parents: group NAME FILE=VALUE...
group() {
    local name=$1 path=/sys/fs/cgroup part
    shift
    for part in $(echo $name | tr / ' '); do
        path=$path/$part
        mkdir -p $path
        [ $path = /sys/fs/cgroup/$name ] || echo "+memory +pids +io" > $path/cgroup.subtree_control
    done
    for part in "$@"; do
        echo "${part#*=}" > $path/${part%%=*} || echo "cause: $part is refused" > /dev/console
    done
}

# Runs a command in a control group.
within() {
    local name=$1
    shift
    sh -c 'echo $$ > /sys/fs/cgroup/$0/cgroup.procs; exec "$@"' "$name" "$@"
}

# Waits until a condition holds, a hundred seconds at most.
await() {
    local left=200
    while [ $left -gt 0 ] && ! eval "$1"; do
        usleep 500000
        left=$((left - 1))
    done
    [ $left -gt 0 ] || echo "cause: waited in vain for: $1" > /dev/console
}

# Takes 3 MiB at a time until a condition holds, three hundred at most.
fill_until() {
    local left=300
    while [ $left -gt 0 ] && ! eval "$1"; do
        trouble anon 3 &
        usleep 100000
        left=$((left - 1))
    done
    [ $left -gt 0 ] || echo "cause: filled in vain for: $1" > /dev/console
}

logged() { dmesg | grep -q "$1"; }
trouble collect start
