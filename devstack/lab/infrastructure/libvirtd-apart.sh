#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs libvirtd in a mount namespace of its own: the paths that are built into
# it are folders below $1 there, and unchanged everywhere else.
set -eu
if [ "${2:-}" != inside ]; then
    exec unshare --mount --propagation private /bin/sh "$0" "$1" inside
fi
home=$1
mount --bind "$home/etc" /etc/libvirt
mount --bind "$home/lib" /var/lib/libvirt
mount --bind "$home/cache" /var/cache/libvirt
mount --bind "$home/log" /var/log/libvirt
# QEMU's librbd would read the machine's /etc/ceph/ceph.conf.
mount --bind "$home/ceph" /etc/ceph
# Last, as sockets of the whole machine are hidden by it.
mount --bind "$home/run" /run
rm -f /run/libvirtd.pid
exec /usr/sbin/libvirtd
