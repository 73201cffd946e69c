# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# The root tree of tests/devstack/run.sh: Debian with the packages of DevStack
# and Ceph, git repositories with nothing but the last commit, and DevStack as
# it is after it was stacked and unstacked once without cinder-tiers. It is
# sourced, after container.sh.

readonly RELEASE=trixie
readonly CERTIFICATES=/etc/ssl/certs/ca-certificates.crt
readonly PROJECTS=(cinder devstack devstack-plugin-ceph glance keystone neutron
    nova placement requirements tempest)
# Of the lists of packages that DevStack has by service, those for what
# local.conf enables.
readonly DEVSTACK_LISTS=(cinder general keystone n-cpu neutron-agent
    neutron-common nova openvswitch os-brick ovn)
# What Debian must have to be a machine; what DevStack installs by name; Ceph.
readonly PACKAGES=(apt-utils bc ca-certificates dbus gawk hostname iproute2 jq
    kmod ksmtuned locales lsb-release net-tools netbase procps systemd systemd-sysv
    libvirt-clients libvirt-daemon-system libvirt-dev mariadb-server mdevctl
    ovmf python3-libvirt qemu-system qemu-system-modules-spice rabbitmq-server
    swtpm swtpm-tools systemd-coredump
    ceph-common ceph-mgr ceph-mon ceph-osd python3-cephfs python3-prettytable
    python3-rados python3-rbd python3-requests qemu-block-extra)
# What a container has no use for.
readonly MASKED=(apt-daily-upgrade.timer apt-daily.timer console-getty.service
    dpkg-db-backup.timer e2scrub_all.timer fstrim.timer getty@.service
    ksm.service man-db.timer nvmf-autoconnect.service ssh.service ssh.socket systemd-logind.service
    systemd-networkd.service systemd-resolved.service
    systemd-timesyncd.service systemd-udevd.service)

# find_mirror PROJECT: print its git directory in the folder of mirrors.
find_mirror() {
    local name
    for name in "$1.git" "openstack/$1.git" "openstack+$1/repo" "$1" \
            "openstack/$1"; do
        if git --git-dir="$MIRRORS/$name" rev-parse --git-dir \
                >/dev/null 2>&1; then
            echo "$MIRRORS/$name"
            return
        elif git --git-dir="$MIRRORS/$name/.git" rev-parse --git-dir \
                >/dev/null 2>&1; then
            echo "$MIRRORS/$name/.git"
            return
        fi
    done
    return 1
}

# check_mirrors: say which projects are missing, all at once.
check_mirrors() {
    local project folder missing=()
    if [[ -z $MIRRORS ]]; then
        echo "CINDER_TIERS_DEVSTACK_MIRRORS is not set: expected the folder" \
            "of git mirrors of OpenStack; see tests/devstack/run.sh --help"
        return 1
    fi
    for project in "${PROJECTS[@]}"; do
        if ! folder=$(find_mirror "$project"); then
            missing+=("$project: no git repository")
        elif ! git --git-dir="$folder" rev-parse -q --verify \
                refs/heads/master >/dev/null; then
            missing+=("$project: no branch master in $folder")
        fi
    done
    if ((${#missing[@]} > 0)); then
        echo "in the folder of mirrors, $MIRRORS, is not all that is needed:"
        printf '    %s\n' "${missing[@]}"
        echo "expected PROJECT.git, openstack/PROJECT.git or" \
            "openstack+PROJECT/repo, bare or not, with a branch master"
        return 1
    fi
}

# Print what the tree is made of: another text, another tree.
tree_key() {
    local project
    for project in "${PROJECTS[@]}"; do
        echo "$project $(git --git-dir="$(find_mirror "$project")" \
            rev-parse refs/heads/master)"
    done
    # The other files of inside/ are brought by the steps that run them.
    cat "$HERE/tree.sh" "$HERE"/inside/{*-stand-in.sh,left.sh,local.conf} \
        | sha256sum
}

# Print the packages that DevStack lists, as it reads the lists itself.
devstack_packages() {
    local mirror plugin list
    mirror=$(find_mirror devstack) || return
    plugin=$(find_mirror devstack-plugin-ceph) || return
    {
        for list in "${DEVSTACK_LISTS[@]}"; do
            git --git-dir="$mirror" show "master:files/debs/$list" || return
        done
        git --git-dir="$plugin" show \
            master:devstack/files/debs/devstack-plugin-ceph
    } | awk '!/NOPRIME/ && !/dist:/ { sub(/#.*/, ""); if ($1) print $1 }' \
        | sort -u
}

# make_debian TREE
make_debian() {
    local tree=$1 uri packages
    uri=$(debian_mirror)
    if [[ -z $uri ]]; then
        echo "apt has no source of Debian: run apt-get update, and see" \
            "apt-get indextargets"
        return 1
    fi
    packages=$(devstack_packages) || return
    # shellcheck disable=SC2086
    printf -v packages '%s,' "${PACKAGES[@]}" $packages
    run mmdebstrap --variant=minbase --format=directory \
        --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt=force-unsafe-io --include="${packages%,}" \
        "$RELEASE" "$tree" "deb $uri $RELEASE main" || return
}

# configure_debian TREE: what makes a machine for DevStack of it.
configure_debian() {
    local tree=$1 unit
    echo devstack >"$tree/etc/hostname"
    echo '127.0.0.1 localhost devstack' >"$tree/etc/hosts"
    rm -f "$tree/etc/resolv.conf"
    echo "nameserver $NETWORK.3" >"$tree/etc/resolv.conf"
    for unit in "${MASKED[@]}"; do
        ln -sf /dev/null "$tree/etc/systemd/system/$unit"
    done
    # A machine with a mirror of its own may have its certificate there.
    cp "$CERTIFICATES" "$tree/$CERTIFICATES"
    printf '[global]\ncert = %s\ntimeout = 180\n' "$CERTIFICATES" \
        >"$tree/etc/pip.conf"
    chroot "$tree" useradd -s /bin/bash -d /opt/stack -m stack
    chmod 755 "$tree/opt/stack"
    echo 'stack ALL=(ALL) NOPASSWD: ALL' >"$tree/etc/sudoers.d/stack"
    # The repositories are root's.
    printf '[safe]\n\tdirectory = *\n' >"$tree/etc/gitconfig"
    # There are no kernel modules: Open vSwitch switches packets itself.
    echo 'install openvswitch /bin/true' \
        >"$tree/etc/modprobe.d/devstack.conf"
    mkdir -p "$tree/etc/systemd/system/ovn-controller.service.d"
    cat >"$tree/etc/systemd/system/ovn-controller.service.d/netdev.conf" <<END
[Service]
ExecStartPre=/usr/bin/ovs-vsctl --no-wait set Open_vSwitch . external-ids:ovn-bridge-datapath-type=netdev
END
    # The kernel has no iSCSI for containers, nor has Ceph a use for it; DevStack
    # restarts the service.
    mkdir -p "$tree/etc/systemd/system/iscsid.service.d"
    cat >"$tree/etc/systemd/system/iscsid.service.d/no-kernel.conf" <<END
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStartPre=
ExecStart=
ExecStart=/bin/true
END
    # All of it is thrown away at the end, so nothing waits for a disk.
    cat >"$tree/etc/mysql/mariadb.conf.d/99-no-waiting.cnf" <<END
[mysqld]
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = 0
skip_log_bin
END
    install -m 755 "$HERE/inside/cephadm-stand-in.sh" \
        "$tree/usr/local/lib/cephadm-stand-in"
    # DevStack puts /bin before /usr/local/bin.
    chroot "$tree" dpkg-divert --local --rename --divert /usr/bin/curl.real \
        --add /usr/bin/curl
    install -m 755 "$HERE/inside/curl-stand-in.sh" "$tree/usr/bin/curl"
}

# clone_projects TREE: the last commits, below the tag that pbr looks for.
clone_projects() {
    local tree=$1 project mirror clone tag
    mkdir -p "$tree/srv/git/openstack"
    for project in "${PROJECTS[@]}"; do
        mirror=$(find_mirror "$project") || return
        clone=$tree/srv/git/openstack/$project.git
        git clone -q --bare --depth 1 -b master "file://$mirror" "$clone" \
            || return
        if tag=$(git --git-dir="$mirror" describe --abbrev=0 --tags master \
                2>/dev/null); then
            git --git-dir="$clone" tag -f "$tag" master >/dev/null || return
        fi
    done
}

# install_python_packages LOG: into DevStack's environment, at once, with uv, all
# that stack.sh would have pip install project after project. What is there
# already, it leaves.
install_python_packages() {
    local log=$1
    # shellcheck disable=SC2016
    limited "$STEP_LIMIT_SECONDS" "$log" '
        set -e
        python3 -m venv --system-site-packages data/venv
        data/venv/bin/pip install -q -U pip "setuptools[core]" uv
        mkdir -p wanted && cd wanted
        git=/srv/git/openstack
        # Debian has another setuptools, which DevStack keeps, too.
        git --git-dir=$git/requirements.git show master:upper-constraints.txt |
            sed /^setuptools===/d >constraints
        for project in "$@"; do
            git --git-dir=$git/$project.git show master:requirements.txt \
                >$project.txt
            wanted+=(-r $project.txt)
        done
        export UV_SYSTEM_CERTS=1
        venv=/opt/stack/data/venv
        $venv/bin/uv pip install --python $venv/bin/python \
            --no-cache -c constraints "${wanted[@]}" \
            keystonemiddleware os-testr pymysql python-cinderclient \
            python-glanceclient python-neutronclient python-novaclient \
            python-openstackclient python-swiftclient tox uwsgi
        cd && rm -r wanted
    ' cinder glance keystone neutron nova placement tempest
}

# publish_checkout CHECKOUT REPOSITORY: a branch main that is the last commit
# with all changes since.
publish_checkout() {
    local checkout=$1 repository=$2 tree commit
    git clone -q --bare "$checkout" "$repository" || return
    local git=(git --git-dir="$repository" --work-tree="$checkout"
        -c user.name=devstack -c user.email=devstack@localhost)
    "${git[@]}" add --all || return
    tree=$("${git[@]}" write-tree) || return
    commit=$("${git[@]}" commit-tree "$tree" -p HEAD -m 'as it is') || return
    git --git-dir="$repository" update-ref refs/heads/main "$commit"
    rm "$repository/index"
}

# write_local_conf [LINE]...: of DevStack in the container.
write_local_conf() {
    {
        cat "$HERE/inside/local.conf"
        printf '%s\n' "$@"
    } | sed "s/@HOST_IP@/$HOST_IP/" \
        | inside install -o stack -g stack -m 600 /dev/stdin \
            /opt/stack/devstack/local.conf
}
