# What the steps of every cause may use.
export PATH=/bin:/lab
mkdir -p /out /data /tmp
# The shell is not killed; `trouble` and `within` take that back.
echo -1000 > /proc/$$/oom_score_adj
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

# MiB free of a node.
free_of() {
    awk -v node="$1," '$1 == "Node" { on = $2 == node } on && $1 == "nr_free_pages" { free += $2 }
        END { print int(free / 256) }' /proc/zoneinfo
}

# A run without its trouble is no evidence: says why, in the evidence's place, and ends.
fail() {
    echo "cause: $1" > /dev/ttyS1
    echo o > /proc/sysrq-trigger
    sleep 60
}

# Whether a counter of vmstat grew by that much since the start: grew NAME COUNT.
grew() {
    awk -v name=$1 -v least=$2 '$1 == name { now = $2 - now } END { exit !(now >= least) }' \
        /out/vmstat /proc/vmstat
}

# Whether tasks stalled in that percentage of the last 10 seconds: stalled memory|io some|full N.
stalled() {
    awk -v kind=$2 -v least=$3 '$1 == kind { split($2, avg, "="); exit !(avg[2] >= least) }' \
        /proc/pressure/$1
}

# An event that a group counted: event GROUP NAME [FILE].
event() { awk -v name=$2 '$1 == name { print $2 }' /sys/fs/cgroup/$1/${3:-memory.events}; }

# MiB of an item of a group's memory.stat.
held() { awk -v name=$2 '$1 == name { print int($2 / 1048576) }' /sys/fs/cgroup/$1/memory.stat; }

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
        echo "${part#*=}" > $path/${part%%=*} || fail "$part is refused"
    done
}

# Runs a command in a control group.
within() {
    local name=$1
    shift
    sh -c 'echo 0 > /proc/$$/oom_score_adj
        echo $$ > /sys/fs/cgroup/$0/cgroup.procs; exec "$@"' "$name" "$@"
}

# Waits until a condition holds, a hundred seconds at most.
await() {
    local left=200
    while [ $left -gt 0 ] && ! eval "$1"; do
        usleep 500000
        left=$((left - 1))
    done
    [ $left -gt 0 ] || fail "waited in vain for: $1"
}

# Takes 3 MiB at a time until a condition holds, three hundred at most.
fill_until() {
    local left=300
    while [ $left -gt 0 ] && ! eval "$1"; do
        trouble anon 3 &
        usleep 100000
        left=$((left - 1))
    done
    [ $left -gt 0 ] || fail "filled in vain for: $1"
}

logged() { dmesg | grep -q "$1"; }
cp /proc/vmstat /out/vmstat
trouble collect start
