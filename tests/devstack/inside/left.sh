#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Prints what is in the container of tests/devstack/run.sh that stack.sh makes
# and clean.sh must remove, a line each; as root. Before DevStack has run, and
# after clean.sh, the outputs must be the same.

processes() {
    ps -e -o user=,args= | awk '
        $1 == "stack" && !/runuser|left.sh/ { print }
        / (ceph-(mon|mgr|osd)|qemu-system|ovs-vswitchd|ovn-)/ { print }'
}

{
    processes | sed 's/^/process /'
    systemctl list-units --all --plain --no-legend 'devstack@*' \
        'cephadm-stand-in-*' | awk '{ print "unit", $1 }'
    find /etc/systemd/system -name 'devstack@*' -printf 'unit file %p\n'
    # The container has mounts of its own, all others are DevStack's.
    awk '{ print "mount", $5 }' /proc/self/mountinfo
    ip netns list | sed 's/^/network namespace /'
    ip -o link | awk -F': ' '{ print "link", $2 }'
    find /etc/cinder /etc/glance /etc/keystone /etc/neutron /etc/nova \
        /etc/placement /etc/ceph /opt/stack/data /var/lib/cephadm-stand-in \
        -mindepth 1 -maxdepth 1 -printf 'file %p\n' 2>/dev/null
    find / -xdev -name '*cinder-tiers*' -not -path '/srv/git/*' \
        -not -path '/opt/stack/cinder-tiers*' -not -path '/proc/*' \
        -printf 'file %p\n' 2>/dev/null
} | sort -u
