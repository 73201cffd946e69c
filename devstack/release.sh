#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Runs a command in a Debian of another release: see usage() below.

set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$checkout/devstack/machine.sh"

usage() {
    cat <<'END_OF_USAGE'
usage: devstack/release.sh [-h] RELEASE COMMAND [ARGUMENT]...
       devstack/release.sh RELEASE --remove

Runs a command in a Debian of another release, in this folder: bookworm (with
Ceph 16), trixie (Ceph 18) or forky (Ceph 20). The system is made at the first
use, with mmdebstrap, from the Debian mirror of the machine's own apt sources;
it takes about 400 MiB and a minute. All commands for one release share a
mount namespace, which the machine does not see; /dev, /sys and the network
are those of the machine. Its folder .tox is .tox/RELEASE of this checkout;
each checkout has one. Labs in there listen on ports of their own.

--remove removes the system of that release. Nothing may run in it.

environment:
  CINDER_TIERS_RELEASES  folder of the systems
                         (default: /var/lib/cinder-tiers-releases)
  CINDER_TIERS_LAB_PORT_OFFSET
                         added to every port of a lab in there, besides 1000
                         (bookworm), 6000 (trixie) or 7000 (forky)

examples:
  devstack/release.sh trixie tests/run.sh contract
  devstack/release.sh forky cat /etc/os-release

exit status: that of the command; 1 if it could not be run; 2 wrong usage
END_OF_USAGE
}

die() {
    printf 'release.sh: %s\n' "$*" >&2
    exit 1
}

misused() {
    printf 'release.sh: %s\n' "$*" >&2
    usage >&2
    exit 2
}

# Print the process that keeps the namespace, if there is one.
keeper() {
    local pid ticks
    [[ -r $root.keeper ]] || return
    read -r pid ticks <"$root.keeper" || return
    [[ -n $ticks && $(started "$pid") == "$ticks" ]] || return
    echo "$pid"
}

# Open the namespace as file 8. From then on it lasts, whatever ends; it is the
# right one if its keeper was there both before and after that.
open_namespace() {
    local pid
    pid=$(keeper) || return
    { exec 8<"/proc/$pid/ns/mnt"; } 2>/dev/null || return
    [[ $(keeper) == "$pid" ]]
}

# Print the processes that run in the system, but the one that keeps it.
inhabitants() {
    local link
    for link in /proc/[0-9]*/root; do
        # The path is that of its own namespace.
        if [[ $(readlink "$link") == "$root" ]]; then
            link=${link#/proc/}
            echo "${link%/root}"
        fi
    done
}

make_system() {
    [[ ! -e $root/.made ]] || return 0
    local uri source
    if ! command -v mmdebstrap >/dev/null; then
        echo "installing mmdebstrap" >&2
        { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y \
            -o DPkg::Lock::Timeout=300 --no-install-recommends \
            install mmdebstrap debian-archive-keyring
        } >"$root.log" 2>&1 || {
            tail -n 8 "$root.log" >&2
            die "apt-get could not install mmdebstrap"
        }
    fi
    uri=$(debian_mirror)
    [[ -n $uri ]] || die "apt has no source of Debian: run apt-get update," \
        "and see apt-get indextargets"
    echo "making Debian $release, about a minute" >&2
    rm -rf --one-file-system "$root"
    source="deb $uri $release main"
    # No release yet: a mirror that is a snapshot of it is soon too old.
    [[ $release != forky ]] ||
        source="deb [check-valid-until=no] $uri $release main"
    mmdebstrap --variant=minbase --dpkgopt=force-unsafe-io \
        --include=ca-certificates,git,python3,python3-venv \
        "$release" "$root" "$source" >"$root.log" 2>&1 || {
        tail -n 8 "$root.log" >&2
        die "mmdebstrap could not make Debian $release; see $root.log"
    }
    # Packages install, but start nothing.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    touch "$root/.made"
}

# start_keeper COMMAND...: start what keeps the namespace, and wait for it to
# say that it does. It is no child of the command that comes after, which would
# not wait for it. Fails when it ends instead.
start_keeper() {
    local pid
    rm -f "$root.ready" "$root.keeper"
    pid=$(setsid "$@" >"$root.ready" 2>"$root.log" </dev/null \
        8<&- 9>&- & echo $!)
    until [[ -s $root.ready ]]; do
        started "$pid" >/dev/null || return
        sleep 0.1
    done
    echo "$pid $(started "$pid")" >"$root.keeper"
}

# What runs in there must see the system as /, as a mount point, and the same
# mounts as all other commands: loop devices show the paths of theirs.
keep_namespace() {
    ! open_namespace || return 0
    local inhabitant
    for inhabitant in $(inhabitants); do
        # Its keeper was killed, and not what runs in there.
        ! start_keeper nsenter --target "$inhabitant" --mount \
            /bin/bash -c 'echo kept; exec sleep infinity' \
            || ! open_namespace || return 0
    done
    # A symbolic link there would lead out of the system.
    rm -f "$root/etc/resolv.conf"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    cp /etc/hosts "$root/etc/hosts"
    # A machine with a mirror of its own may have its certificate there.
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    # shellcheck disable=SC2016
    start_keeper unshare --mount --propagation private /bin/bash -c '
        set -e
        root=$1
        mount --rbind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        echo kept
        exec sleep infinity
    ' keeper "$root" \
        || die "its mounts failed: $(tail -n 3 "$root.log")"
    open_namespace || die "nothing keeps its mounts: see $root.log"
}

# A checkout may have been removed, and another one made at its path, since it
# was mounted.
mount_checkout() {
    local tox=$checkout/.tox/$release
    mkdir -p "$tox"
    # shellcheck disable=SC2016
    nsenter --mount=/proc/self/fd/8 /bin/bash -c '
        set -e
        checkout=$1 tox=$2 inside=$3
        if [[ $checkout -ef $inside && $tox -ef $inside/.tox ]]; then
            exit
        fi
        mkdir -p "$inside"
        for folder in "$inside/.tox" "$inside"; do
            while mountpoint -q "$folder"; do
                umount --lazy "$folder"
            done
        done
        mount --bind "$checkout" "$inside"
        mount --bind "$tox" "$inside/.tox"
    ' mount "$checkout" "$tox" "$root$checkout" >"$root.log" 2>&1 9>&- \
        || die "$checkout could not be mounted: $(tail -n 3 "$root.log")"
}

remove() {
    local running pid
    running=$(inhabitants | tr '\n' ' ')
    [[ -z $running ]] || die "processes run in $root: $running." \
        "End them (a lab: devstack/lab.sh --release $release down)." \
        "Nothing was removed."
    if pid=$(keeper); then
        kill "$pid"
        while started "$pid" >/dev/null; do
            sleep 0.1
        done
    fi
    rm -rf --one-file-system "$root"
    rm -f "$root.keeper" "$root.log" "$root.ready"
}

case ${1:-} in
    -h | --help)
        usage
        exit 0
        ;;
    # No port of one is a port of another, with or without the lab of the
    # contract tests: see tests/unit/lab/test_release.py.
    bookworm) release=$1 ports=1000 ;;
    trixie) release=$1 ports=6000 ;;
    forky) release=$1 ports=7000 ;;
    '') misused "no release is named" ;;
    *) misused "found release '$1', expected bookworm, trixie or forky" ;;
esac
shift
[[ $# -gt 0 ]] || misused "no command is named"
[[ $(id -u) == 0 ]] || die "user id is $(id -u), expected 0: it mounts." \
    "Run it as root."
offset=${CINDER_TIERS_LAB_PORT_OFFSET:-0}
[[ $offset =~ ^[0-9]{1,5}$ ]] \
    || misused "found CINDER_TIERS_LAB_PORT_OFFSET=$offset, expected a number"
export CINDER_TIERS_LAB_PORT_OFFSET=$((10#$offset + ports))
releases=${CINDER_TIERS_RELEASES:-/var/lib/cinder-tiers-releases}
mkdir -p "$releases"
root=$(cd "$releases" && pwd -P)/$release

# One at a time makes or removes it; commands run side by side.
exec 9>"$root.lock"
flock 9
if [[ $1 == --remove ]]; then
    remove
    exit 0
fi
make_system
keep_namespace
mount_checkout

# Folders of this machine are not there.
case ${PIP_FIND_LINKS:-} in
    /* | file:*) unset PIP_FIND_LINKS ;;
esac
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C.UTF-8
unset TMPDIR VIRTUAL_ENV PYTHONPATH PYTHONHOME
# It gives up the lock when it is in there, where --remove sees it.
# shellcheck disable=SC2016
exec nsenter --mount=/proc/self/fd/8 chroot "$root" /bin/bash -c '
    exec 8<&- 9>&-
    cd "$1" && shift && exec "$@"
' release "$checkout" "$@"
