#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# How a guest reports what it did: in framed lines, which guest/frames.py
# describes and reads.  Part of the script that guest/orders.py puts together.
#
# Lines are printed on the console that Nova records.  All are kept, too, for
# who reads files and for who asks again: in $CT_WORK/log, and those of the
# result of slot N once more in $CT_WORK/sent-N.

event_number=0
now=0 # set by read_clock of wait.sh

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

# Lines of an earlier run in the same folder.
forget_lines() {
    rm -f "$CT_WORK/log" "$CT_WORK"/sent-*
}

# event NAME [KEY=VALUE ...] [: FREE TEXT]
event() {
    event_number=$((event_number + 1))
    text="$CT_RUN $CT_GUEST event $event_number $*"
    # A line end would cut the frame in two, neither of which has its digest;
    # and of other characters none is believed.
    case $text in
        *[!\ -~]*) text=$(printf %s "$text" | tr -c '\40-\176' ' ') ;;
    esac
    digest=$(printf %s "$text" | sha256sum)
    line=$(printf '@ctiers %.16s %s' "$digest" "$text")
    printf '%s\n' "$line" >>"$CT_WORK/log"
    printf '%s\n' "$line" 2>/dev/null >&3 || {
        # A getty that starts hangs up all who have the console open.
        open_console
        printf '%s\n' "$line" >&3
    }
}

# Last words of a failed command, fit for an event.
last_line() {
    # Octal, since busybox's tr does not know [:print:].
    cat "$@" 2>/dev/null | tr -cd '\12\40-\176' | grep . | tail -n 1 |
        cut -c 1-200
}

# send_result SLOT FILE: the file, compressed, as framed lines; line N of
# sent-SLOT is its part N.
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
        printf '@ctiers %.16s %s\n' "$digest" "$text"
    done >"$CT_WORK/sent-$1"
    cat "$CT_WORK/sent-$1" >>"$CT_WORK/log"
    if [ "$CT_RESULTS" = console ]; then
        cat "$CT_WORK/sent-$1" >&3
    fi
}

# Everything once more, for lines that the console lost.  In blocks, since Nova
# keeps 100 KiB, and what comes too fast would push itself out.
print_copies() {
    copy=1
    while [ "$copy" -lt "$CT_COPIES" ]; do
        copy=$((copy + 1))
        awk -v block="$CT_COPY_BLOCK" -v pause="$CT_COPY_PAUSE" '
            { size += length($0) + 1
              if (size > block) {
                  fflush()
                  system("sleep " pause)
                  size = length($0) + 1
              }
              print }' "$CT_WORK/log" >&3
        read_clock
        event REPEATED "copy=$copy" "at=$now"
    done
}
