#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A real OpenStack cloud with Ceph on one machine: see "lab.sh --help".
# Here is only what must be done before Python can run the rest.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONDONTWRITEBYTECODE=1

die() {
    printf 'lab.sh: %s\n' "$*" >&2
    exit 1
}

# The interpreter, and its venv module, from Debian. Packages
# install, but start nothing; an owner's own policy-rc.d is left alone.
install_debian_packages() (
    policy=/usr/sbin/policy-rc.d
    # As devstack/lab/host/packages.py: one lab at a time.
    exec 9> /run/cinder-tiers-lab-apt.lock
    flock 9
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$log" "$policy"' EXIT
        cat > "$policy" <<'POLICY'
#!/bin/sh
# Made by the cinder-tiers lab while apt runs; safe to remove.
exit 101
POLICY
        chmod 755 "$policy"
    fi
    echo "installing $*" >&2
    if ! { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@"
    } > "$log" 2>&1; then
        tail -n 8 "$log" >&2
        die "apt-get could not install: $*"
    fi
)

# The whole lab in a Debian of another release, where its folder is, beside the
# one of this machine; ports are those of the machine.
if [ "${1:-}" = --release ]; then
    release=${2:-}
    case $release in
        bookworm | trixie | forky) ;;
        *) die "found --release '$release', expected bookworm, trixie or forky" ;;
    esac
    shift 2
    # Cgroups are the machine's, and named after the folder.
    export CINDER_TIERS_LAB=${CINDER_TIERS_LAB:-/var/lib/cinder-tiers-$release}
    exec "$here/release.sh" "$release" devstack/lab.sh "$@"
fi

distribution=$(. /etc/os-release 2> /dev/null &&
    echo "${ID:-} ${VERSION_CODENAME:-${VERSION_ID:-}}") || distribution=unknown
case $distribution in
    "debian bookworm" | "debian trixie" | "debian forky") ;;
    *) die "this is $distribution, expected debian bookworm or debian trixie" \
        "(or debian forky for up --ceph-only): package names and versions" \
        "are those of Debian. Use such a machine or a container. Nothing was" \
        "changed." ;;
esac
[ "$(id -u)" = 0 ] ||
    die "user id is $(id -u), expected 0: the lab makes loop devices and" \
        "cgroups. Run it as root. Nothing was changed."

missing=()
for package in ca-certificates python3 python3-venv; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) ||
        status=
    [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} != 0 ]; then
    case ${1:-} in
        up | demo) ;;
        *) die "no lab is there: ${missing[*]} missing on this machine." \
            "Start one with devstack/lab.sh up" ;;
    esac
    # An unfit machine is left as it was.
    case " ${missing[*]} " in
        *" python3 "*) ;;
        *) /usr/bin/python3 -m lab.host.preflight ;;
    esac
    install_debian_packages "${missing[@]}"
fi
exec /usr/bin/python3 -m lab "$@"
