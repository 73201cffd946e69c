#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Runs rally-openstack's samples against the lab: see usage() below.

set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. tests/processes.sh
. tests/doors.sh

usage() {
    cat <<'END_OF_USAGE'
usage: tests/rally_samples.sh [-h] [REGEX]

Runs the samples of tasks that rally-openstack has for Cinder, and those for
Nova that have a volume, against the running lab of devstack/lab.sh, with both
doors open: each subtask of each, with one iteration of one user. Their images
and flavors are those of the lab. What fails is run again with both doors
closed. Prints what failed and why, and ends with one line "N passed, N failed,
N skipped"; a known failure that fails without the doors, too, is skipped.

REGEX finds the samples, such as cinder/create-volume or ^nova/; by default all
of Cinder and what has "volume" in its name of Nova.

options:
  -h, --help  show this help message and exit

The samples are those of the version that the lab has, from PyPI, in
.tox/rally-samples. The results and the log are in the folder rally-samples of
the lab.
The doors are closed by a file in etc/cinder.d of the lab and a restart of
cinder-api and cinder-scheduler, and opened again at the end.

exit status: 0 when each failure is a known one, and fails without the doors,
too; 1 when not, or when none passed; 2 for a wrong argument; 130 or 143 when
interrupted.

environment:
  CINDER_TIERS_LAB  folder of the lab (/var/lib/cinder-tiers-lab)

examples:
  devstack/lab.sh up && tests/rally_samples.sh
  tests/rally_samples.sh cinder/create-volume
END_OF_USAGE
}

readonly CONSTRAINTS=devstack/lab/constraints.txt
readonly KNOWN=tests/rally_known_failures.yaml
readonly SOURCE=.tox/rally-samples
readonly STATE=$LAB/rally-samples

interrupted() {
    local signal=$1 status=$2
    trap '' INT TERM
    stop_child "$signal"
    exit "$status"
}

finish() {
    local status=$?
    trap '' INT TERM
    trap - EXIT
    open_doors || status=1
    exit "$status"
}

# The wheel has no samples.
fetch_samples() {
    local wanted
    wanted=$(grep '^rally-openstack==' "$CONSTRAINTS") || return
    if [[ -e $SOURCE/fetched && $(<"$SOURCE/fetched") == "$wanted" ]]; then
        return
    fi
    rm -rf "$SOURCE"
    mkdir -p "$SOURCE" || return
    run /usr/bin/python3 -m venv "$SOURCE/venv" \
        && run "$SOURCE/venv/bin/python" -m pip download -q --no-deps \
            --no-binary rally-openstack -d "$SOURCE" "$wanted" \
        && tar -x -z -f "$SOURCE"/rally*.tar.gz -C "$SOURCE" \
            --strip-components 1 --wildcards '*/samples/tasks' \
        && echo "$wanted" >"$SOURCE/fetched"
}

samples() {
    lab_python tests/rally_samples.py "$@" \
        "$LAB" "$SOURCE/samples/tasks/scenarios" "$STATE"
}

# run_samples ARGUMENT...: what Rally says of itself is in a log.
run_samples() {
    if ! samples run "$@" 2>>"$STATE/rally.log"; then
        tail -n 5 "$STATE/rally.log" >&2
        echo "tests/rally_samples.sh: not all ran: $STATE/rally.log" >&2
        return 1
    fi
}

regex='^cinder/|^nova/.*volume'
while (($# > 0)); do
    case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        -*)
            echo "tests/rally_samples.sh: no option is called '$1'" >&2
            usage >&2
            exit 2
            ;;
        *)
            regex=$1
            ;;
    esac
    shift
done

if ! devstack/lab.sh status >/dev/null 2>&1; then
    echo "tests/rally_samples.sh: the lab in $LAB does not run, or not all of" \
        "it; see devstack/lab.sh status, start it with devstack/lab.sh up" >&2
    exit 1
fi
umask 077
mkdir -p "$STATE" .tox || exit 1
exec 9>"$STATE/run.lock"
if ! flock -n 9; then
    echo "tests/rally_samples.sh: another run uses $STATE; waiting until it ends," \
        "90 minutes at most" >&2
    if ! flock -w 5400 9; then
        echo "tests/rally_samples.sh: another run still uses $STATE" >&2
        exit 1
    fi
fi
trap finish EXIT
trap 'interrupted INT 130' INT
trap 'interrupted TERM 143' TERM
fetch_samples || exit 1
rm -f "$STATE"/*.json "$STATE"/rally.log
open_doors && run_samples --doors on --regex "$regex" || exit 1
if samples failed; then
    close_doors && run_samples --doors off --failed || exit 1
fi
# Before the last line, for it says what it does.
open_doors || exit 1
samples judge --known "$KNOWN"
