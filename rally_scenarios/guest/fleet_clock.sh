#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# The start by wall time, for clouds whose guests have good clocks.  Stands in
# front of guest/fleet.sh in place of start.sh.  Times are milliseconds.
# shellcheck disable=SC2034,SC2154  # and sets $now and $state, uses $offset
#
# The orders name T0 as wall time.  A guest finds once, when it is ready, at
# which wall time its /proc/uptime was 0, and from then on looks at
# /proc/uptime alone.  Whether the wall clock itself is right, it can only ask
# who keeps it; it repeats what it was given.

# relate_clocks: $wall_low and $wall_high, between which the wall time lies at
# which the uptime was 0.  Each reading of the wall clock stands between two of
# the uptime, and all are cut off, so it gives an interval; each of them holds
# the truth, so their common part does.  Where date knows whole seconds only,
# the interval gets narrow around the turn of a second; such a date may ask
# time(2), as that of busybox does, which tells the time of the kernel's last
# tick: up to 10 ms ago.
relate_clocks() {
    wall_low='' wall_high=''
    case $(date +%N) in
        '' | *[!0-9]*) format=%s step=1010 reading_tenths=22 ;;
        *) format=%s%N step=1 reading_tenths=2 ;;
    esac
    read_clock
    readings_end=$((now + reading_tenths * 100))
    while [ "$now" -lt "$readings_end" ]; do
        read_clock
        before=$now
        wall=$(date "+$format")
        read_clock
        if [ "$format" = %s ]; then
            wall=$((wall * 1000))
        else
            wall=$((wall / 1000000))
        fi
        low=$((wall - now - clock_step))
        high=$((wall + step - before))
        if [ -z "$wall_low" ] || [ "$low" -gt "$wall_low" ]; then
            wall_low=$low
        fi
        if [ -z "$wall_high" ] || [ "$high" -lt "$wall_high" ]; then
            wall_high=$high
        fi
    done
    # Not so if the clock was set meanwhile.
    [ "$wall_low" -lt "$wall_high" ]
}

# ask_clock: $sync, who keeps the clock: chrony, timedatectl, kernel, nobody
# or unknown; $bound_us, how far it may be off as chrony says, else '-'.
ask_clock() {
    sync=unknown bound_us=-
    if command -v chronyc >/dev/null; then
        # Time offset, root delay and root dispersion in seconds; chronyc(1)
        # gives the formula under "Root dispersion".
        bound_us=$(timeout 5 chronyc -n -c tracking 2>/dev/null | awk -F , '
            # 7F7F0101: chrony keeps it by itself alone.
            NF >= 14 && $14 != "Not synchronised" && $1 != "7F7F0101" {
                off = $5 < 0 ? -$5 : $5
                printf "%d", (off + $12 + $11 / 2) * 1000000 + 1 }')
        if [ -n "$bound_us" ]; then
            sync=chrony
            return
        fi
        bound_us=-
    fi
    if command -v timedatectl >/dev/null; then
        case $(timeout 5 timedatectl show -p NTPSynchronized --value \
            2>/dev/null) in
            yes) sync=timedatectl ;;
            no) sync=nobody ;;
        esac
    fi
    if [ "$sync" = unknown ] && command -v adjtimex >/dev/null; then
        case $(adjtimex 2>/dev/null) in
            *"not synchronized"* | *UNSYNC*) sync=nobody ;;
            *"return value"*) sync=kernel ;;
        esac
    fi
}

# GO has T0 and the offset, the uptime minus the wall time; in microseconds
# half of the interval in which the offset lies, and chrony's bound.
start_by_clock() {
    if [ "$state" = BROKEN ]; then
        event FAILED ": could not prepare, see BROKEN"
        return 1
    fi
    # Milliseconds since the epoch do not fit 32 bits; mksh has no more.
    if [ $((2147483647 + 1)) -lt 0 ]; then
        event FAILED ": its shell reckons in 32 bits and cannot count wall time"
        return 1
    fi
    event READY
    # Clocks are often set soon after a boot: then they are read once more.
    if ! relate_clocks && ! relate_clocks && ! relate_clocks; then
        event FAILED ": its clock was set while it was read, three times"
        return 1
    fi
    offset=$((0 - (wall_low + wall_high) / 2))
    start=$((CT_START_AT * 1000))
    read_clock
    behind=$((CT_ORDERED_AT - (now - offset) / 1000))
    if [ "$behind" -gt 0 ]; then
        event FAILED ": its clock is $behind s before the time at which its" \
            "orders were written: it is wrong, or that of Rally's host is"
        return 1
    fi
    ask_clock
    read_clock
    over=$(((now - offset - start) / 100))
    if [ $((now - offset)) -ge "$start" ]; then
        event LATE ": ready $((over / 10)).$((over % 10)) s after the start" \
            "by its clock"
        return 1
    fi
    event GO "start=$start" "offset=$offset" "samples=0" by=clock \
        "reading=$(((wall_high - wall_low) * 500))" \
        "sync=$sync" "bound=$bound_us"
}

