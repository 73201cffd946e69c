# shellcheck shell=sh disable=SC2154  # orders, start.sh and wait.sh have the others
# SPDX-License-Identifier: Apache-2.0

# What a guest of a kept fleet does after its run: it waits for the orders of
# the next one, and carries them out.
#
# Orders come on a disk that is attached to one guest.  That guest copies them
# to the start disk, on which all others look for them: so it takes one disk
# for any number of guests.  guest/next_orders.py says what is on it, in units
# of 64 KiB: a line "ORDERS RUN GUESTS DIGEST,DIGEST,... ." in the first one,
# then the script of each guest.  On the start disk the first one is number 64
# and is written last.  Any guest can write there, so that a digest begins with
# a secret of the guest, which its first orders had.
unit=65536
first_unit=64
known_disks=''
seen_disks=''
looks=0

# read_head DEVICE UNIT: its first line, into $head.
read_head() {
    head=$(dd if="$1" bs="$unit" skip="$2" count=1 iflag=direct 2>/dev/null |
        tr -d '\0' | { read -r line && printf %s "$line"; })
    case $head in
        "ORDERS "*" ."*) ;;
        *) head='' ;;
    esac
}

# list_disks: NAME:SERIAL of each into $disks, and takes out of $known_disks what
# is gone.  The disk of the next orders often has the name of the one before,
# and may be there before anybody has looked for that one again.
list_disks() {
    disks='' still_known=''
    for file in "$CT_BLOCKS"/*/serial; do
        [ -e "$file" ] || continue
        serial=''
        read -r serial _ 2>/dev/null <"$file"
        case $serial in
            *[!A-Za-z0-9_-]*) serial='' ;;
        esac
        file=${file%/serial}
        disk=${file##*/}:$serial
        disks="$disks $disk"
        case "$known_disks " in
            *" $disk "*) still_known="$still_known $disk" ;;
        esac
    done
    known_disks=$still_known
}

# copy_orders DEVICE: status 0 if it has orders, which then all guests can see.
copy_orders() {
    read_head "$1" 0
    [ -n "$head" ] || return 1
    set -f
    # shellcheck disable=SC2086  # words
    set -- "$1" $head
    set +f
    case $4 in
        ''|*[!0-9]*) return 1 ;;
    esac
    dd if="$1" of="$start_device" bs="$unit" skip=1 \
        seek=$((first_unit + 1)) count="$4" iflag=direct oflag=direct \
        conv=notrunc 2>/dev/null &&
        dd if="$1" of="$start_device" bs="$unit" seek="$first_unit" count=1 \
            iflag=direct oflag=direct conv=notrunc 2>/dev/null
}

# Looks at disks that were not there before; some need a moment to be readable.
look_at_new_disks() {
    list_disks
    [ "$disks" != "$known_disks" ] || return 0
    [ "$disks" = "$seen_disks" ] || looks=0
    seen_disks=$disks
    looks=$((looks + 1))
    for disk in $disks; do
        case "$known_disks " in
            *" $disk "*) continue ;;
        esac
        if copy_orders "$CT_DEVICES/${disk%%:*}"; then
            looks=15
        fi
    done
    if [ "$looks" -ge 15 ]; then
        known_disks=$disks looks=0
    fi
}

# take_orders: status 0 if $CT_WORK/orders is the script of the run $next_run.
take_orders() {
    read_head "$start_device" "$first_unit"
    [ -n "$head" ] || return 1
    set -f
    # shellcheck disable=SC2086  # words
    set -- $head
    # Any guest writes what it likes: without a word, the shell would end.
    if [ "$#" -ne 5 ]; then
        set +f
        return 1
    fi
    next_run=$2
    IFS=,
    # shellcheck disable=SC2086  # one for each guest
    set -- $4
    unset IFS
    set +f
    [ "$next_run" != "$last_run" ] || return 1
    [ "$#" -gt "$CT_INDEX" ] || return 1
    shift "$CT_INDEX"
    dd if="$start_device" bs="$unit" skip=$((first_unit + 1 + CT_INDEX)) \
        count=1 iflag=direct 2>/dev/null >"$CT_WORK/orders"
    found=$({
        printf '%s %s\n' "$CT_KEEP_KEY" "$next_run"
        cat "$CT_WORK/orders"
    } | sha256sum | cut -c 1-16)
    [ "$found" = "$1" ]
}

keep() {
    [ -n "$start_device" ] || return 0
    last_run=$CT_RUN
    list_disks
    known_disks=$disks
    event KEPT
    while :; do
        pause "$CT_LOOK_SECONDS"
        look_at_new_disks
        if take_orders; then
            last_run=$next_run
            # They do not have it.
            CT_KEEP_KEY=$CT_KEEP_KEY /bin/sh "$CT_WORK/orders" </dev/null
        fi
    done
}
