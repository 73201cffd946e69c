#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Builds and uses the packages of this tree: see usage() below.

set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
    cat <<'END_OF_USAGE'
usage: tests/packages/run.sh [-h] {wheel | debian | container}

Installs, as root, what Debian needs for it, and runs tests with Debian's own
Python. They see what is committed.

wheel      builds the wheel, and installs and removes it beside Cinder from
           PyPI as the pages say
debian     builds the Debian package, and looks at it; does the same with it
           beside Cinder in a fresh Debian 13; needs Debian 13, such as
           devstack/release.sh trixie tests/packages/run.sh debian
container  builds the container image, from a Debian 13 that mmdebstrap makes
           of the apt mirror of this machine, and runs its commands

exit status: 0 when all tests passed; 1 otherwise; 2 for a wrong argument
END_OF_USAGE
}

case ${1:-} in
    -h | --help)
        usage
        exit 0
        ;;
    wheel) needs=(python3-venv) ;;
    debian)
        needs=(build-essential debhelper debian-archive-keyring dh-python lintian
            mmdebstrap pybuild-plugin-pyproject python3-all python3-pbr
            python3-setuptools)
        ;;
    container)
        needs=(buildah debian-archive-keyring mmdebstrap)
        ;;
    *)
        usage >&2
        exit 2
        ;;
esac
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=400)
"${apt[@]}" update
"${apt[@]}" install --no-install-recommends git python3-fixtures \
    python3-hypothesis python3-testtools "${needs[@]}"
exec /usr/bin/python3 -m testtools.run "tests.packages.test_$1"
