#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# What devstack-plugin-ceph gets when it downloads cephadm in the container of
# tests/devstack/run.sh; curl itself for everything else.

case "$*" in
    *https://download.ceph.com/*/cephadm)
        echo "curl: a STAND-IN for cephadm is given, nothing is downloaded" >&2
        cp /usr/local/lib/cephadm-stand-in cephadm
        ;;
    *)
        exec /usr/bin/curl.real "$@"
        ;;
esac
