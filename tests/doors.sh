# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# How tests close the lab's doors for a while: what tests/tempest.sh and
# tests/rally_samples.sh share. It is sourced, after processes.sh.

readonly LAB=${CINDER_TIERS_LAB:-/var/lib/cinder-tiers-lab}
# Cinder reads these files by their names: this one is the last.
readonly CLOSED=$LAB/etc/cinder.d/tests-doors-closed.conf
# There until the services run with open doors; no name of a configuration.
readonly OPENING=$CLOSED.opening

restart_doors() {
    run devstack/lab.sh restart cinder-api cinder-scheduler
}

close_doors() {
    cat >"$CLOSED" <<END_OF_CONF || return
# Made by the tests while they run; safe to remove.
[DEFAULT]
api_paste_config = $LAB/venv/etc/cinder/api-paste.ini
scheduler_default_filters = AvailabilityZoneFilter,CapacityFilter,CapabilitiesFilter
scheduler_default_weighers = CapacityWeigher
END_OF_CONF
    restart_doors
}

# Also after a run that was killed.
open_doors() {
    [[ -e $CLOSED || -e $OPENING ]] || return 0
    : >"$OPENING" && rm -f "$CLOSED" && restart_doors && rm "$OPENING"
}

# lab_python ARGUMENT...: the Python of the lab has a client of OpenStack.
lab_python() {
    run "$LAB/venv/bin/python" -B "$@"
}
