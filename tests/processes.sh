# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# What tests/run.sh, release.sh, tempest.sh and rally_samples.sh share. It is
# sourced.

child=

# start COMMAND...: in a process group of its own, so that a signal sent only
# to the script (a CI's time limit) reaches everything below it, too. Without
# file descriptor 9, which is a lock of the script. Its id is in $!.
start() {
    set -m
    "$@" </dev/null 9>&- &
    set +m
}

# run COMMAND...: start it, and wait for its end.
run() {
    start "$@"
    child=$!
    wait "$child"
    local status=$?
    child=
    return "$status"
}

# stop_child SIGNAL: end what run() waits for, and everything below it.
stop_child() {
    if [[ -n $child ]]; then
        kill -"$1" -- "-$child"
        wait "$child"
    fi
}

# install_venv FOLDER ARGUMENT...: a virtual environment with what pip installs
# for these arguments, unless it has just that.
install_venv() {
    local folder=$1
    shift
    if [[ -e $folder/installed && $(<"$folder/installed") == "$*" ]]; then
        return
    fi
    run /usr/bin/python3 -m venv --clear "$folder" \
        && run "$folder/bin/python" -m pip install -q "$@" || return
    echo "$*" >"$folder/installed"
}
