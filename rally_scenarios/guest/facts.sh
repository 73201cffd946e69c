#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# What a guest says of itself beside its figures: functions that fleet.sh calls.
#
# Mostly builtins: to start a process takes long in an emulated guest.
# shellcheck disable=SC2034,SC2154  # fleet.sh sets or uses them

# $disk: the kernel's name of the disk below $target, or empty.
find_disk() {
    disk=$target
    if ! [ -b "$disk" ]; then
        disk=$(df -P "$target" 2>/dev/null |
            { read -r _ && read -r disk _ && printf %s "$disk"; })
    fi
    [ -h "$disk" ] && disk=$(readlink -f "$disk")
    disk=${disk##*/}
    for file in /sys/block/*/"$disk"/partition; do
        [ -e "$file" ] || continue
        disk=${file#/sys/block/}
        disk=${disk%%/*}
    done
    for file in "/sys/block/$disk/slaves/"*; do
        [ -e "$file" ] && disk=${file##*/}
    done
    [ -n "$disk" ] && [ -e "/sys/block/$disk" ] || disk=''
}

# $bus: how the disk is attached, by its place in the tree of devices.
find_bus() {
    case $(cd -P "/sys/block/$disk" 2>/dev/null && pwd) in
        */virtio[0-9]*/host[0-9]*) bus=virtio-scsi ;;
        */virtio[0-9]*) bus=virtio-blk ;;
        */nvme/*) bus=nvme ;;
        */ata[0-9]*) bus=ata ;;
        */usb[0-9]*) bus=usb ;;
        */vbd-*) bus=xen ;;
        */host[0-9]*) bus=scsi ;;
        *) bus='' ;;
    esac
}

# first_line FILE: into $line; empty if it cannot be read.
first_line() {
    line=''
    [ -r "$1" ] && read -r line <"$1"
}

# fact KEY VALUE: adds a word to $facts; what cannot be seen is left out.
fact() {
    key=$1
    set -f
    # shellcheck disable=SC2086  # its words, to be joined by _
    set -- $2
    set +f
    IFS=_
    [ -z "$*" ] || facts="$facts $key=$*"
    unset IFS
}

# What a figure depends on in here, by the keys of guest/guest_facts.py.
tell_facts() {
    facts='' model='' cpus=0 os='' os_version=''
    while read -r name _; do
        case $name in
            cpu) ;;
            cpu*) cpus=$((cpus + 1)) ;;
            *) break ;;
        esac
    done </proc/stat
    while IFS=: read -r name line; do
        case $name in model\ name*) model=$line && break ;; esac
    done </proc/cpuinfo
    if [ -r /etc/os-release ]; then
        while IFS='=' read -r name line; do
            line=${line#\"}
            case $name in
                ID) os=${line%\"} ;;
                VERSION_ID) os_version=${line%\"} ;;
            esac
        done </etc/os-release
    fi
    find_disk
    find_bus
    fact cpus "$cpus"
    fact os "$os $os_version"
    fact bus "$bus"
    first_line "/sys/block/$disk/queue/write_cache"
    fact cache "$line"
    first_line "/sys/block/$disk/queue/scheduler"
    line=${line#*\[}
    fact scheduler "${line%]*}"
    sources=/sys/devices/system/clocksource/clocksource0
    first_line $sources/current_clocksource
    fact clock "$line"
    first_line $sources/available_clocksource
    fact clocks "$line"
    first_line /sys/class/dmi/id/sys_vendor
    fact vendor "$line"
    event FACTS "$(printf %s "${facts# } : ${model# }" |
        tr -cd '\40-\176' | cut -c 1-600)"
}

# read_ticks FILE: of all CPUs since the boot: $busy, $stolen, $ticks.  The file
# is /proc/stat, or has its first line.
read_ticks() {
    read -r _ user nice system idle iowait irq softirq stolen _ <"$1"
    busy=$((user + nice + system + irq + softirq))
    ticks=$((busy + idle + iowait + stolen))
}
