#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# The disks of a guest: the start disk, and what fio works on.  Stands in front
# of guest/fleet.sh.
# shellcheck disable=SC2034  # fleet.sh uses $targets and $start_device

# find_device SERIAL: $device.  By its serial number only: a guess would write
# to a disk in use.
find_device() {
    device=''
    tries=50
    while [ -z "$device" ] && [ "$tries" -gt 0 ]; do
        for file in "$CT_BLOCKS"/*/serial; do
            [ -r "$file" ] || continue
            serial=$(tr -cd 'A-Za-z0-9-' <"$file")
            # virtio-blk keeps 20 characters of Nova's serial, the volume id.
            if [ "$serial" = "$(printf %.20s "$1")" ] ||
                [ "$serial" = "$1" ]; then
                file=${file%/serial}
                device=$CT_DEVICES/${file##*/}
            fi
        done
        for file in "$CT_DEVICES/disk/by-id/"*"$1"; do
            [ -b "$file" ] && device=$(readlink -f "$file")
        done
        tries=$((tries - 1))
        [ -n "$device" ] || sleep 0.2
    done
    [ -n "$device" ]
}

find_start_device() {
    start_device=$CT_START_DEVICE
    [ -z "$start_device" ] || return 0
    find_device "$CT_START_SERIAL" || return 1
    start_device=$device
}

# A clone of the image that a guest boots from has the same file systems: it
# may have been taken for the guest's own.
choose_data_disks() {
    for wanted in $CT_TARGET_SERIALS; do
        if ! find_device "$wanted"; then
            event BROKEN ": found no disk with the serial $wanted"
            return 1
        fi
        if mounted=$(grep "^$device\(p\{0,1\}[0-9]*\) " "$CT_MOUNTS"); then
            event BROKEN ": the data disk $device is mounted: $mounted;" \
                "boot from another image"
            return 1
        fi
        # Of LVM, software RAID or encryption: /proc/mounts names theirs.
        for holder in "$CT_BLOCKS/${device##*/}"/holders/* \
            "$CT_BLOCKS/${device##*/}"/*/holders/*; do
            if [ -e "$holder" ]; then
                event BROKEN ": the data disk $device is in use by" \
                    "${holder##*/}; boot from another image"
                return 1
            fi
        done
        targets=$targets${targets:+$newline}$device
    done
}

# $targets: what fio works on at once, one a line.
choose_targets() {
    targets=$CT_TARGET
    if [ -z "$targets" ] && [ -n "$CT_TARGET_SERIALS" ]; then
        choose_data_disks
        return
    fi
    choose_target
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
    targets=${target:-/var/tmp/cinder-tiers.fio}
}

