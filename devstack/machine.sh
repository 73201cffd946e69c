# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# What scripts ask of the machine that they run on: devstack/release.sh and
# tests/devstack/run.sh share it. It is sourced.

# started PID: when it was started, in clock ticks since the machine was; a
# process id alone may be given to another process later. Nothing of a process
# that has ended, even if it was not waited for. In what a trap calls, "return"
# needs a status: without one, bash returns that of what ran before the trap.
started() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # The name in parentheses may hold anything.
    read -ra fields <<<"${stat##*) }"
    [[ ${fields[0]} != [ZX] ]] || return 1
    echo "${fields[19]}"
}

# Print the URI of the Debian mirror that this machine uses.
debian_mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI)' \
        'Identifier: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}
