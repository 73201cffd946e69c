#!/bin/sh
# shellcheck disable=SC2154,SC2034  # orders and start.sh have the other half
# SPDX-License-Identifier: Apache-2.0

# What a guest of a fleet does: fill its part of the disk, wait for the start
# that all guests share, run fio in its slots, print the results.
#
# Runs as root under any POSIX shell with dd, mkfifo, sha256sum, gzip, base64,
# awk, timeout and a sleep that takes fractions: Debian's busybox 1.35, or
# Debian with cloud-init.  The orders (CT_...), delivery.sh, facts.sh and
# start.sh, the agreement on the start, are put in front of this text by
# guest/orders.py, which also says what each order means; wait.sh is one of
# them.
#
# Everything is reported in framed lines, by the functions of delivery.sh.
# Times are milliseconds since the boot.  The one line without a frame,
# "@start SLOT", is printed when the load begins: who watches a console from
# outside can take the time of it on a clock of his own.
#
# Slots begin at T0 and the seconds that the orders say of each.  fio is
# launched before its time, and waits for it: to launch it takes a second
# where guests are emulated, more in some than in others.
#
# Where the orders name T0 as wall time, fleet_clock.sh takes the place of
# start.sh.  fleet_disk.sh finds disks, and keep.sh is of fleets that are kept.

set -u
export LC_ALL=C
PATH="${PATH:-/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"
export PATH
newline='
'
ticks=0 busy=0 stolen=0
start_device=''
# The first of $targets, for what is told of one.
target=''
targets=''
# How long before its time fio is launched: less than the gap between slots,
# see figures/fleet/schedule.py.
early=3000

# fio SECONDS WORDS: leaves its output in $CT_WORK/out and its status in $?.
# What is from --name on makes a job, one for each of $targets.
run_fio() {
    limit=$1
    job=--name=${2#*--name=}
    words=${2%%--name=*}
    rm -f "$CT_WORK/out"
    set -f
    IFS=$newline
    for each in $targets; do
        words=$words$job$newline--filename=$each$newline
    done
    # shellcheck disable=SC2086  # one word a line, see guest/orders.py
    set -- $words
    unset IFS
    set +f
    timeout -k 5 "$limit" fio --output="$CT_WORK/out" "$@" >"$CT_WORK/err" 2>&1
}

prepare() {
    choose_targets || return 1
    target=${targets%%"$newline"*}
    status=0
    if [ -n "$CT_PREP" ]; then
        run_fio "$CT_PREP_LIMIT" "$CT_PREP"
        status=$?
    elif ! [ -b "$target" ]; then
        # fio would write the file itself, before it reads.
        event BROKEN ": not filled, so '$target' must be a block device"
        return 1
    fi
    read_clock
    if [ "$status" -ne 0 ]; then
        event BROKEN "rc=$status : $(last_line "$CT_WORK/out" "$CT_WORK/err")"
        return 1
    fi
    event PREPARED "at=$now" "target=$target"
    tell_facts
}

# figures/fio/latency_log.py reads it: how long a time is, and of each line of fio,
# which has a column for each bucket, those in which there is something.  An
# empty line before each process.
print_latencies() {
    printf '\n@latencies\n%s\n' "$CT_LATENCY_MS"
    awk -F ', *' 'FNR == 1 { print "" } {
        printf "%s,%s", $1, $2
        for (i = 4; i <= NF; i++) if ($i > 0) printf " %d:%d", i - 4, $i
        print ""
    }' "$CT_WORK"/series_clat_hist*.log
}

# run_slot NUMBER:BEGIN:LENGTH, the times in seconds
run_slot() {
    slot=${1%%:*}
    slot_times=${1#*:}
    eval "words=\$CT_FIO_$slot"
    planned=$((start + offset + ${slot_times%:*} * 1000))
    # fio counts its own delay from when it was launched.
    delay=0
    case $words in
        *--startdelay=*)
            delay=${words#*--startdelay=}
            delay=$((${delay%%"$newline"*} * 1000)) ;;
    esac
    # For the first slot at once: the guests of a fleet need longest then.
    ahead=$CT_LEAD_SECONDS
    [ "${slot_times%:*}" -eq 0 ] || ahead=$((early / 1000))
    wait_until $((planned - ahead * 1000))
    rm -f "$CT_WORK"/series* "$CT_WORK/began"
    # At the gate it is written again.
    read -r line </proc/stat
    echo "$line" >"$CT_WORK/ticks"
    # Its processes wait for the time when all is set up (wait.sh).  No log of
    # the ramp, one value a second; latencies of longer times, whose lines do
    # not say of which process they are, so that each has a file.
    run_fio $((${slot_times#*:} + CT_OVERTIME + ahead)) "$words
--exec_prerun=cd '$CT_WORK'; . ./wait.sh; at_gate $slot $((planned + delay))
--write_iops_log=$CT_WORK/series
--write_bw_log=$CT_WORK/series
--write_hist_log=$CT_WORK/series
--log_avg_msec=1000
--log_hist_msec=$CT_LATENCY_MS
--log_hist_coarseness=$CT_LATENCY_COARSENESS
--log_unix_epoch=1
--per_job_logs=1" &
    event START "slot=$slot" "planned=$planned" "at=$now"
    wait $!
    status=$?
    read_clock
    # Of several processes, all run from the last one's beginning.
    real=$planned
    while read -r began; do
        [ $((began - delay)) -gt "$real" ] && real=$((began - delay))
    done 2>/dev/null <"$CT_WORK/began"
    times="planned=$planned real=$real end=$now"
    read_ticks "$CT_WORK/ticks"
    set -- "$ticks" "$busy" "$stolen"
    read_ticks /proc/stat
    used="ticks=$((ticks - $1)) busy=$((busy - $2)) steal=$((stolen - $3))"
    if [ "$status" -ne 0 ]; then
        event FIO-FAILED "slot=$slot" "$times" "rc=$status" \
            ": $(last_line "$CT_WORK/out" "$CT_WORK/err")"
        return
    fi
    # shellcheck disable=SC2086  # seven words
    event END "slot=$slot" $times $used "stolen=$stolen"
    # figures/fio/iops_log.py and latency_log.py read it: time, value and
    # direction of each second, and the counters of longer times that are not 0.
    {
        # Before it, fio notes that it kept what a process printed.
        sed -n '/^{/,$p' "$CT_WORK/out"
        printf '\n@series\n'
        cut -d , -f 1-3 "$CT_WORK"/series_iops*.log
        printf '\n@bandwidth\n'
        cut -d , -f 1-3 "$CT_WORK"/series_bw*.log
        print_latencies
    } >"$CT_WORK/result" 2>/dev/null
    send_result "$slot" "$CT_WORK/result"
}

main() {
    open_console
    dmesg -n 1 2>/dev/null
    # The user that logs in to read may be another one.
    umask 022
    mkdir -p "$CT_WORK"
    forget_lines
    printf '%s\n' "$CT_WAIT" >"$CT_WORK/wait.sh"
    export CT_WORK CT_TIMER_LIST CT_UPTIME
    . "$CT_WORK/wait.sh"
    read_clock
    deadline=$((now + CT_READY_SECONDS * 1000))
    event BOOT "at=$now" "kernel=$(uname -r)"
    if [ "$CT_START_BY" = volume ] && ! find_start_device; then
        event FAILED ": found no disk with the serial $CT_START_SERIAL"
        return 1
    fi
    state=READY
    prepare || state=BROKEN
    if [ "$state" = READY ] && [ "$CT_ROUNDS" -gt 0 ]; then
        precondition || state=BROKEN
    fi
    "start_by_$CT_START_BY" || return 1
    for slot in $CT_SLOTS; do
        run_slot "$slot"
    done
    event DONE "copies=$CT_COPIES"
    [ "$CT_COPIES" -gt 1 ] || return 0
    # No guest measures any longer: printing takes CPU from fio.
    wait_until $((start + offset + CT_END * 1000))
    print_copies
}

main
[ "$CT_KEEP" = no ] || keep
