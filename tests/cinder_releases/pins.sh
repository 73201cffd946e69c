#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# usage: tests/cinder_releases/pins.sh VERSION DATE
#
# Writes cinder-NN.txt for a version of Cinder: all that it and its tests need,
# as PyPI had it on that day (YYYY-MM-DD), some weeks after the release. That is
# nearest to what clouds of that release run, and needs no other index.
#
# example: tests/cinder_releases/pins.sh 28.0.0 2026-05-01

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
version=${1:?see the first lines of this file}
date=${2:?see the first lines of this file}
# These two take minutes to compile.
{
    cat requirements.txt
    echo "cinder==$version"
    # cursive 0.2.3, of Cinder 28 and before, cannot be imported with 47.
    if [[ ${version%%.*} -le 28 ]]; then
        echo 'cryptography<47'
    fi
    # Debian 13 has this one beside Cinder 26.
    if [[ ${version%%.*} == 26 ]]; then
        echo 'cachetools==5.3.3'
    fi
} | UV_SYSTEM_CERTS=1 ../../.tox/runner/bin/uv pip compile --quiet \
    --universal --python-version 3.11 --exclude-newer "$date" \
    --only-binary lxml --only-binary zstd --no-annotate --no-header \
    --output-file "cinder-${version%%.*}.txt" -
