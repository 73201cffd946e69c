#!/bin/sh
# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

# What a guest of a fleet does: fill its part of the disk, wait for the start
# that all guests share, run fio in its slots, print the results.
#
# Runs as root under any POSIX shell with dd, sha256sum, gzip, base64, awk,
# timeout and a sleep that takes fractions: Debian's busybox 1.35, or Debian
# with cloud-init.  The orders (CT_...) are put in front of this text by
# guest/orders.py, which also says what each of them means.
#
# Everything is printed as framed lines; guest/frames.py describes and reads
# them.  Times are hundredths of a second since the boot, as in /proc/uptime.
#
# The start disk is attached to all guests.  It has sectors of 4096 bytes:
# number 0 belongs to the leader (guest 0), number 1 + N to guest N.
#   1. Each guest writes READY (or BROKEN) into its sector.
#   2. When all have, or the time is up, the leader writes BEACON with its own
#      clock again and again.  A guest that reads it knows: my clock minus the
#      leader's is at most the difference.  The smallest one is its offset.
#      The leader reads its own beacon too: the least time that writing and
#      reading take is in its offset as in the others', and cancels out.
#   3. The leader writes GO with T0, on its clock, and who was not ready.
# Slot N begins at T0 + N slots.

set -u
export LC_ALL=C
PATH="${PATH:-/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"
export PATH
newline='
'
sector=4096
event_number=0
now=0
record=''

# File descriptor 3 is the console that Nova records.
open_console() {
    if [ "$CT_CONSOLE" = - ]; then
        exec 3>&1
    elif [ -n "$CT_CONSOLE" ]; then
        exec 3>>"$CT_CONSOLE"
    elif [ -t 1 ]; then
        exec 3>&1
    elif [ -c /dev/ttyS0 ]; then
        exec 3>/dev/ttyS0
    else
        exec 3>/dev/console
    fi
}

read_clock() {
    read -r uptime _ <"$CT_UPTIME"
    # The 1 in front keeps 08 and 09 from being read as octal numbers.
    now=$((${uptime%.*} * 100 + 1${uptime#*.} - 100))
}

# event NAME [KEY=VALUE ...] [: FREE TEXT]
event() {
    event_number=$((event_number + 1))
    text="$CT_RUN $CT_GUEST event $event_number $*"
    digest=$(printf %s "$text" | sha256sum)
    printf '@ctiers %.16s %s\n' "$digest" "$text" >&3
}

# Last words of a failed command, fit for an event.
last_line() {
    # Octal, since busybox's tr does not know [:print:].
    cat "$@" 2>/dev/null | tr -cd '\12\40-\176' | grep . | tail -n 1 |
        cut -c 1-200
}

# send_result SLOT FILE: the file, compressed, as framed lines.
send_result() {
    gzip -c <"$2" >"$CT_WORK/payload"
    payload_digest=$(sha256sum <"$CT_WORK/payload" | cut -c 1-16)
    base64 -w 480 <"$CT_WORK/payload" >"$CT_WORK/lines"
    rm -rf "$CT_WORK/frames"
    mkdir "$CT_WORK/frames"
    # One file for each line, so that one sha256sum does for all of them:
    # starting a process takes long in an emulated guest.
    awk -v head="$CT_RUN $CT_GUEST data $1" -v digest="$payload_digest" \
        -v total="$(grep -c . "$CT_WORK/lines")" -v frames="$CT_WORK/frames" '
        { file = sprintf("%s/%05d", frames, NR)
          # No line end: the digest is of the text alone.
          printf "%s %d/%d %s %s", head, NR, total, digest, $0 >file
          close(file) }' "$CT_WORK/lines"
    sha256sum "$CT_WORK/frames"/* | while read -r digest file; do
        read -r text <"$file" # fails for want of a line end, but reads
        printf '@ctiers %.16s %s\n' "$digest" "$text" >&3
    done
}

# By its serial number only: a guess would write to a disk in use.
find_start_device() {
    start_device=$CT_START_DEVICE
    tries=50
    while [ -z "$start_device" ] && [ "$tries" -gt 0 ]; do
        for file in /sys/block/*/serial; do
            [ -r "$file" ] || continue
            serial=$(tr -cd 'A-Za-z0-9-' <"$file")
            # virtio-blk keeps 20 characters of Nova's serial, the volume id.
            if [ "$serial" = "$(printf %.20s "$CT_START_SERIAL")" ] ||
                [ "$serial" = "$CT_START_SERIAL" ]; then
                file=${file%/serial}
                start_device=/dev/${file##*/}
            fi
        done
        for file in "/dev/disk/by-id/"*"$CT_START_SERIAL"; do
            [ -b "$file" ] && start_device=$file
        done
        tries=$((tries - 1))
        [ -n "$start_device" ] || sleep 0.2
    done
    [ -n "$start_device" ]
}

# put_record SECTOR TEXT: one write, so others see all of it or nothing.
put_record() {
    printf '%s\n' "$2" | dd of="$start_device" bs="$sector" seek="$1" \
        count=1 conv=sync,notrunc oflag=direct 2>/dev/null
}

# The leader's sector, into $record; empty while nothing was written.
get_record() {
    record=$(dd if="$start_device" bs="$sector" count=1 iflag=direct \
        2>/dev/null | { read -r line && printf %s "$line"; })
}

# Take the offset from the beacon in $record, if it is one.
note_beacon() {
    case $record in
        "BEACON $CT_RUN "*" .") ;;
        *) return 1 ;;
    esac
    read_clock
    beacon=${record#"BEACON $CT_RUN "}
    difference=$((now - ${beacon%" ."}))
    if [ "$samples" -eq 0 ] || [ "$difference" -lt "$offset" ]; then
        offset=$difference
    fi
    samples=$((samples + 1))
}

# $missing: numbers of the guests that are not ready; $waiting: how many of
# them have not said that they never will be.
count_ready() {
    records=$(dd if="$start_device" bs=$((sector * (CT_GUESTS + 1))) count=1 \
        iflag=direct 2>/dev/null | tr -d '\0')
    missing='' waiting=0 number=0
    while [ "$number" -lt "$CT_GUESTS" ]; do
        case $newline$records$newline in
            *"${newline}READY $CT_RUN $number .$newline"*) ;;
            *"${newline}BROKEN $CT_RUN $number .$newline"*)
                missing=$missing,$number ;;
            *)
                missing=$missing,$number
                waiting=$((waiting + 1)) ;;
        esac
        number=$((number + 1))
    done
    missing=${missing#,}
}

lead() {
    count_ready
    read_clock
    # Seldom: to poll takes CPU from those that still boot, most of all where
    # guests are emulated.
    while [ "$waiting" -gt 0 ] && [ "$now" -lt "$deadline" ]; do
        sleep 1
        count_ready
        read_clock
    done
    event LEADING "missing=${missing:--}"
    read_clock
    beacons_end=$((now + CT_BEACON_SECONDS * 100))
    while [ "$now" -lt "$beacons_end" ]; do
        put_record 0 "BEACON $CT_RUN $now ."
        get_record
        note_beacon
        sleep 0.05
        read_clock
    done
    start=$((now + CT_LEAD_SECONDS * 100))
    put_record 0 "GO $CT_RUN $start ${missing:--} ."
}

follow() {
    pause=1.5
    start=''
    # The leader may have booted later, and then waits as long as we do.
    while [ -z "$start" ]; do
        get_record
        if note_beacon; then
            pause=0.1
        fi
        case $record in
            "GO $CT_RUN "*" .")
                go=${record#"GO $CT_RUN "}
                go=${go%" ."}
                start=${go% *}
                missing=${go#* } ;;
            *)
                read_clock
                if [ "$now" -ge $((deadline + CT_READY_SECONDS * 100)) ]; then
                    event FAILED ": no start signal from the leader"
                    return 1
                fi
                sleep "$pause" ;;
        esac
    done
    case ,$missing, in
        *",$CT_INDEX,"*)
            event LATE ": the leader gave the start before we were ready"
            return 1 ;;
    esac
    if [ "$samples" -eq 0 ]; then
        event LATE ": saw the start, but no beacon to set the clock by"
        return 1
    fi
}

# fio SECONDS WORDS: leaves its output in $CT_WORK/out and its status in $?.
run_fio() {
    limit=$1
    words=$2
    rm -f "$CT_WORK/out"
    set -f
    IFS=$newline
    # shellcheck disable=SC2086  # one word a line, see guest/orders.py
    set -- $words
    unset IFS
    set +f
    timeout -k 5 "$limit" fio --filename="$target" --output="$CT_WORK/out" \
        "$@" >"$CT_WORK/err" 2>&1
}

choose_target() {
    target=$CT_TARGET
    if [ -z "$target" ] && [ -e /etc/cinder-tiers/scratch-device ]; then
        read -r target </etc/cinder-tiers/scratch-device
        if ! [ -b "$target" ]; then
            event BROKEN ": /etc/cinder-tiers/scratch-device names" \
                "'$target', which is no block device"
            return 1
        fi
    fi
    target=${target:-/var/tmp/cinder-tiers.fio}
}

prepare() {
    choose_target || return 1
    run_fio "$CT_PREP_LIMIT" "$CT_PREP"
    status=$?
    read_clock
    if [ "$status" -ne 0 ]; then
        event BROKEN "rc=$status : $(last_line "$CT_WORK/out" "$CT_WORK/err")"
        return 1
    fi
    event PREPARED "at=$now" "target=$target"
}

sleep_until() {
    read_clock
    while [ "$now" -lt "$1" ]; do
        left=$(($1 - now))
        # The last hundredths without sleeping: to start a sleep takes longer.
        if [ "$left" -gt 20 ]; then
            tenths=$(((left - 10) / 10))
            sleep $((tenths / 10)).$((tenths % 10))
        elif [ "$left" -gt 5 ]; then
            sleep 0.02
        fi
        read_clock
    done
}

run_slot() {
    slot=$1
    eval "words=\$CT_FIO_$slot"
    planned=$((start + offset + slot * CT_SLOT_SECONDS * 100))
    sleep_until "$planned"
    real=$now
    run_fio "$CT_SLOT_LIMIT" "$words" &
    event START "slot=$slot" "planned=$planned" "real=$real"
    wait $!
    status=$?
    read_clock
    times="planned=$planned real=$real end=$now"
    if [ "$status" -ne 0 ]; then
        event FIO-FAILED "slot=$slot" "$times" "rc=$status" \
            ": $(last_line "$CT_WORK/out" "$CT_WORK/err")"
        return
    fi
    # shellcheck disable=SC2086  # three words
    event END "slot=$slot" $times
    send_result "$slot" "$CT_WORK/out"
}

main() {
    open_console
    dmesg -n 1 2>/dev/null
    mkdir -p "$CT_WORK"
    read_clock
    deadline=$((now + CT_READY_SECONDS * 100))
    event BOOT "at=$now" "kernel=$(uname -r)"
    if ! find_start_device; then
        event FAILED ": found no disk with the serial $CT_START_SERIAL"
        return 1
    fi
    offset=0 samples=0 start=0 missing=''
    state=READY
    prepare || state=BROKEN
    if ! put_record $((CT_INDEX + 1)) "$state $CT_RUN $CT_INDEX ."; then
        event FAILED ": could not write to the start disk $start_device"
        return 1
    fi
    [ "$state" = READY ] && event READY
    # A leader without a disk to measure can still lead.
    if [ "$CT_INDEX" -eq 0 ]; then
        lead
    elif [ "$state" = READY ]; then
        follow || return 1
    fi
    if [ "$state" = BROKEN ]; then
        event FAILED ": could not prepare, see BROKEN"
        return 1
    fi
    event GO "start=$start" "offset=$offset" "samples=$samples"
    for slot in $CT_SLOTS; do
        run_slot "$slot"
    done
    event DONE
}

main
