# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# The container of tests/devstack/run.sh: systemd in a root tree, with network,
# processes, mounts and cgroups of its own. It is sourced, after processes.sh
# and devstack/machine.sh, with STATE set.
#
# All of it hangs on two processes, systemd-nspawn and slirp4netns: without them
# no mount, no network namespace and no process is left, only empty cgroups and
# files in $STATE. Both end when the script does, however that ends.

# Other addresses than those that DevStack gives to tenants.
readonly NETWORK=192.168.231
# shellcheck disable=SC2034 # tree.sh and run.sh use it
readonly HOST_IP=$NETWORK.100
# Another state folder has another container.
CONTAINER=cinder-tiers-devstack-$(stat -c %i "$STATE")
readonly CONTAINER
readonly BOOT_LIMIT_SECONDS=120
readonly INSIDE_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# remember NAME PID: keep the id of a process in $STATE/NAME.pid.
remember() {
    echo "$2 $(started "$2")" >"$STATE/$1.pid"
}

# remembered NAME: print its id, if it still runs.
remembered() {
    local pid ticks
    [[ -r $STATE/$1.pid ]] || return 1
    read -r pid ticks <"$STATE/$1.pid" || return 1
    [[ -n $ticks && $(started "$pid") == "$ticks" ]] || return 1
    echo "$pid"
}

# end_process NAME: end the process that is remembered, and wait for it.
end_process() {
    local pid
    if pid=$(remembered "$1"); then
        kill -KILL "$pid"
        while started "$pid" >/dev/null; do
            sleep 0.1
        done
    fi
    rm -f "$STATE/$1.pid"
}

# Print the roots of the cgroup hierarchies in which systemd-nspawn works.
cgroup_roots() {
    if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
        echo /sys/fs/cgroup
        return
    fi
    local root
    for root in /sys/fs/cgroup/*/; do
        # Without processors and memory, nothing may be in a cgroup of cpuset.
        if [[ ! -L ${root%/} && $root != */cpuset/ \
            && -e $root/cgroup.procs ]]; then
            echo "${root%/}"
        fi
    done
}

# Print the cgroups of the container.
cgroups() {
    local root
    for root in $(cgroup_roots); do
        if [[ -e $root/$CONTAINER ]]; then
            find "$root/$CONTAINER" -depth -type d
        fi
    done
}

# in_cgroups NAME COMMAND...: in a cgroup below those of the container, where its
# processes are found, and what they cost is counted.
in_cgroups() {
    local name=$1 roots=()
    shift
    mapfile -t roots < <(cgroup_roots)
    # shellcheck disable=SC2016
    exec bash -c '
        cgroup=$1
        shift
        while [[ $1 != -- ]]; do
            mkdir -p "$1/$cgroup" && echo $$ >"$1/$cgroup/cgroup.procs" || exit
            shift
        done
        shift
        exec "$@"
    ' in_cgroups "$CONTAINER/$name" "${roots[@]}" -- "$@"
}

# Print what all processes of the container have cost so far, in seconds of one
# processor; nothing where the kernel does not count it.
cpu_seconds() {
    local file
    for file in "/sys/fs/cgroup/$CONTAINER/cpu.stat" \
            "/sys/fs/cgroup/cpuacct/$CONTAINER/cpuacct.usage"; do
        if [[ -e $file ]]; then
            awk '$1 == "usage_usec" { print int($2 / 1e6); exit }
                NF == 1 { print int($1 / 1e9) }' "$file"
        fi
    done
}

remove_cgroups() {
    local folder
    for folder in $(cgroups); do
        rmdir "$folder" || return 1
    done
}

# Print the processes of the container, by their cgroups; only those that are
# still there when they are asked for.
container_processes() {
    local folder
    for folder in $(cgroups); do
        cat "$folder/cgroup.procs" 2>/dev/null
    done | sort -un
}

# inside COMMAND...: in the container, as root.
inside() {
    local init
    init=$(remembered init) || return 1
    (
        in_cgroups entered nsenter -t "$init" -m -u -i -n -p -C -- env -i \
            PATH="$INSIDE_PATH" HOME=/root LC_ALL=C.UTF-8 TERM=dumb "$@" 9>&-
    )
}

# as_stack SCRIPT [ARGUMENT]...: a shell script in the container, as the user
# of DevStack.
as_stack() {
    local script=$1
    shift
    inside runuser -u stack -- env HOME=/opt/stack USER=stack LOGNAME=stack \
        SHELL=/bin/bash PIP_CERT="$CERTIFICATES" SSL_CERT_FILE="$CERTIFICATES" \
        bash -c "cd; $script" stack "$@"
}

# start_container TREE [LOWER UPPER WORK]: boot the tree; with the others, what
# it holds are the files of LOWER, and what is changed goes to UPPER.
start_container() {
    local tree=$1 init='' child pid left overlay=''
    left=$((BOOT_LIMIT_SECONDS * 5))
    shift
    if (($# > 0)); then
        overlay="lowerdir=$1,upperdir=$2,workdir=$3"
    fi
    local with=(setpriv --pdeathsig KILL)
    [[ -z $keep ]] || with=()
    # The mounts are in a namespace that ends with the last process in it.
    # shellcheck disable=SC2016
    SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 start in_cgroups container \
        ${with[@]+"${with[@]}"} unshare --mount --propagation private -- \
        bash -c '
        set -e
        tree=$1 overlay=$2
        shift 2
        if [[ -n $overlay ]]; then
            mount -t overlay -o "$overlay" overlay "$tree"
        fi
        exec "$@"
    ' container "$tree" "$overlay" \
        systemd-nspawn --boot --register=no --keep-unit --quiet \
        --directory="$tree" --machine=devstack --private-network \
        --resolv-conf=off --timezone=off --link-journal=no --console=pipe \
        --capability=all --bind=/dev/net/tun \
        >"$STATE/logs/container.log" 2>&1
    pid=$!
    # Bash would report that it was killed, which is how it ends.
    disown "$pid"
    remember container "$pid"
    until [[ -n $init ]]; do
        if ((left-- <= 0)) || ! started "$pid" >/dev/null; then
            echo "the container did not start:"
            tail -n 5 "$STATE/logs/container.log"
            return 1
        fi
        sleep 0.2
        for child in $(pgrep -P "$pid"); do
            # Process 1 of a namespace of its own.
            if grep -qs '^NSpid:.*[[:space:]]1$' "/proc/$child/status"; then
                init=$child
            fi
        done
    done
    remember init "$init"
    start ${with[@]+"${with[@]}"} slirp4netns --configure --mtu=1500 \
        --cidr="$NETWORK.0/24" --disable-host-loopback --netns-type=path \
        "/proc/$init/ns/net" tap0 >"$STATE/logs/network.log" 2>&1
    disown "$!"
    remember network "$!"
    # Before systemd is ready, systemctl fails.
    until inside systemctl is-system-running --wait \
            >"$STATE/logs/boot.log" 2>&1 \
            || [[ $(<"$STATE/logs/boot.log") == degraded ]]; do
        if ((left-- <= 0)); then
            echo "systemd in the container is not up:" \
                "$(<"$STATE/logs/boot.log")"
            return 1
        fi
        sleep 0.2
    done
    until [[ -n $(inside ip -4 -o address show dev tap0 2>/dev/null) ]]; do
        if ((left-- <= 0)); then
            echo "the container has no network:"
            tail -n 5 "$STATE/logs/network.log"
            return 1
        fi
        sleep 0.2
    done
}

# power_off: end the container as a machine is switched off, for the files that
# databases write at their end; then all the rest of it.
power_off() {
    local init left=300
    if init=$(remembered init); then
        kill -s RTMIN+4 "$init"
        while ((left-- > 0)) && started "$init" >/dev/null; do
            sleep 0.2
        done
    fi
    stop_container
}

# stop_container: end all of it at once, also what a killed run left.
stop_container() {
    end_process network
    end_process container
    end_process init
    local left=100
    while [[ -n $(container_processes) ]] && ((left-- > 0)); do
        sleep 0.1
    done
    remove_cgroups
}

# Print the memory of the container, in MiB: of each process what it has alone
# and its share of what it has with others, and the files in memory.
memory_mib() {
    # shellcheck disable=SC2016
    inside bash -c '
        { cat /proc/[0-9]*/smaps_rollup 2>/dev/null
          df -k --output=used,fstype 2>/dev/null |
              awk "\$2 == \"tmpfs\" { print \"Pss:\", \$1 }"
        } | awk "\$1 == \"Pss:\" { sum += \$2 } END { print int(sum / 1024) }"
    '
}

# watch_memory: keep the most that memory_mib has said in $STATE/memory, for as
# long as the container runs.
watch_memory() {
    local most=0 now
    echo 0 >"$STATE/memory"
    while sleep 5 && remembered container; do
        now=$(memory_mib) || continue
        if ((now > most)); then
            most=$now
            echo "$most" >"$STATE/memory"
        fi
    done
}
