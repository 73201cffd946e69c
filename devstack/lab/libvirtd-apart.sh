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
