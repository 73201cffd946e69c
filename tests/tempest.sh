#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Runs Tempest against the lab with and without the doors: see usage() below.

set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. tests/processes.sh
. tests/doors.sh

usage() {
    cat <<'END_OF_USAGE'
usage: tests/tempest.sh [-h] [--doors {both,off,on}] [--concurrency N] [REGEX]
       tests/tempest.sh --ours [--doors {off,on}] [--concurrency N] [REGEX]

Runs tempest.api.volume and cinder-tempest-plugin, or of them the tests that
REGEX finds, against the running lab of devstack/lab.sh: with both doors
closed, then with both open, as the lab has them. Prints how many passed, failed and were skipped, what
failed and why, and compares the two passes.

With --ours, it runs the tests of this project (cinder_tiers/tempest) in their
place, once, with both doors open. With the doors closed, they must fail; it
prints which pass, and fails if one does that is not listed with a reason.

options:
  -h, --help       show this help message and exit
  --doors both     both passes; the default
  --doors off      only the one with both doors closed; its results are kept
  --doors on       only the other; it is compared with the results that are
                   kept, if they are of the same tests
  --ours           the tests of cinder_tiers.tempest
  --concurrency N  processes that run tests (2)

The doors are closed by a file in etc/cinder.d of the lab and a restart of
cinder-api and cinder-scheduler, and opened again at the end, also after a
failure or an interruption. Results, log and the configuration, with the
lab's password, are in the folder tempest of the lab; Tempest itself is in
.tox/tempest. What tests left in the cloud is removed: what has a name that
begins with tempest-, and the volumes of projects that are gone.

exit status: 0 when every test that passes without the doors passes with them,
and each failure is a known one; 1 when not, or when no test ran; 2 for a wrong argument; 130 or 143 when interrupted.

environment:
  CINDER_TIERS_LAB  folder of the lab (/var/lib/cinder-tiers-lab)

examples:
  devstack/lab.sh up && tests/tempest.sh
  tests/tempest.sh --doors on               # after a change of a door
  tests/tempest.sh test_volumes_negative    # one module, both passes; the
                                            # results of all are kept
END_OF_USAGE
}

# Tempest has no stable branches: which tests there are, and what they expect,
# changes with its version. Two passes are alike only with the same one.
readonly TEMPEST='tempest==47.0.0'
readonly CINDER_PLUGIN='cinder-tempest-plugin==1.23.0'
readonly VENV=.tox/tempest
readonly CONSTRAINTS=devstack/lab/constraints.txt
readonly KNOWN=tests/tempest_known_failures.yaml
readonly KNOWN_TIERED=tests/tempest_known_failures_tiered.yaml
readonly PASSING=tests/tempest_without_doors.yaml
readonly STATE=$LAB/tempest
# A test that hangs must not hang the machine that runs this.
readonly PASS_LIMIT_SECONDS=3600

problem=
unclean=

fail() {
    printf 'tests/tempest.sh: %s\n' "$*" >&2
    problem=yes
}

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
    [[ -n $unclean ]] && remove_leftovers
    open_doors || status=1
    exit "$status"
}

# run_pass DOORS: one pass; its results are in a folder of its own.
run_pass() {
    local doors=$1 status started=$SECONDS
    local folder=$results/$doors
    echo
    echo "== doors $doors"
    if [[ $doors == off ]]; then
        close_doors
    else
        open_doors
    fi || return
    lab_python tests/tempest_conf.py --doors "$doors" "$LAB/clouds.yaml" \
        "$STATE" || return
    rm -rf "$folder"
    mkdir -p "$folder" || return
    local site
    site=$("$VENV/bin/python" -c 'import sysconfig
print(sysconfig.get_path("purelib"))') || return
    cat >"$folder/.stestr.conf" <<END_OF_CONF || return
[DEFAULT]
test_path=$site/tempest/test_discover
top_dir=$site
group_regex=([^\.]*\.)*
END_OF_CONF
    local python=$PWD/$VENV/bin/python
    unclean=yes
    run env -C "$folder" TEMPEST_CONFIG_DIR="$STATE" PYTHON="$python" \
        timeout --signal=INT --kill-after=60 "$PASS_LIMIT_SECONDS" \
        "$python" -m stestr run --concurrency "$concurrency" \
        "$package\..*($regex)"
    status=$?
    echo "== doors $doors: $((SECONDS - started)) s"
    if ((status == 124)); then
        fail "doors $doors: not done after $PASS_LIMIT_SECONDS s, stopped"
    fi
    # stestr's own status says that tests failed; their comparison is below.
    printf '%s\n' "$regex" >"$folder/regex"
    remove_leftovers
}

# What tests left that failed or were stopped, and the flavor made for them.
remove_leftovers() {
    unclean=
    # The lab's Neutron lacks extensions that Tempest would clean up, and a
    # flavor that the configuration names it would keep.
    sed 's/^neutron = .*/neutron = False/; /^flavor_ref/d' \
        "$STATE/tempest.conf" >"$STATE/cleanup.conf" || return
    if ! { run env -C "$STATE" "$PWD/$VENV/bin/python" -m tempest.cmd.main \
            cleanup --prefix tempest- --config-file "$STATE/cleanup.conf" \
            && lab_python tests/tempest_leftovers.py "$LAB/clouds.yaml" \
                "$LAB/ceph/ceph.conf"
    } >"$STATE/cleanup.log" 2>&1; then
        fail "what tests left is not all removed: $STATE/cleanup.log"
    fi
}

# same_tests: both passes were of the same tests.
same_tests() {
    cmp -s "$results/off/regex" "$results/on/regex"
}

compare() {
    local folders=("$results/$1") expected=(--known "$KNOWN")
    if grep -qs TieredRBDDriver "$LAB"/etc/cinder.d/*.conf; then
        expected+=(--known "$KNOWN_TIERED")
    fi
    if [[ -n $ours ]]; then
        [[ $1 == off ]] && expected=(--without-doors "$PASSING")
    elif [[ $1 == on ]] && same_tests; then
        folders=("$results/off" "$results/on")
    fi
    run "$VENV/bin/python" -B tests/tempest_compare.py \
        "${expected[@]}" "${folders[@]}"
}

doors=both
package='^(tempest\.api\.volume|cinder_tempest_plugin)'
ours=
concurrency=2
regex=
while (($# > 0)); do
    case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        --doors | --concurrency)
            if (($# < 2)); then
                echo "tests/tempest.sh: $1 needs a value" >&2
                exit 2
            fi
            if [[ $1 == --doors ]]; then
                doors=$2
            else
                concurrency=$2
            fi
            shift
            ;;
        --ours)
            ours=yes
            package='^cinder_tiers\.tempest\.tests'
            ;;
        -*)
            echo "tests/tempest.sh: no option is called '$1'" >&2
            usage >&2
            exit 2
            ;;
        *)
            regex=$1
            ;;
    esac
    shift
done
# A few tests do not replace the results of all.
results=$STATE
[[ -n $regex ]] && results=$STATE/some
if [[ -n $ours ]]; then
    results=$STATE/ours
    [[ $doors == both ]] && doors=on
fi
case $doors in
    both) passes=(off on) ;;
    off | on) passes=("$doors") ;;
    *)
        echo "tests/tempest.sh: --doors $doors: both, off or on" >&2
        exit 2
        ;;
esac
if ! [[ $concurrency =~ ^[1-9][0-9]?$ ]]; then
    echo "tests/tempest.sh: --concurrency $concurrency: 1 to 99" >&2
    exit 2
fi

if ! devstack/lab.sh status >/dev/null 2>&1; then
    echo "tests/tempest.sh: the lab in $LAB does not run, or not all of it;" \
        "see devstack/lab.sh status, start it with devstack/lab.sh up" >&2
    exit 1
fi
umask 077
mkdir -p "$STATE" .tox || exit 1
exec 9>"$STATE/run.lock"
if ! flock -n 9; then
    echo "tests/tempest.sh: another run uses $STATE; waiting until it ends," \
        "90 minutes at most" >&2
    if ! flock -w 5400 9; then
        echo "tests/tempest.sh: another run still uses $STATE" >&2
        exit 1
    fi
fi
trap finish EXIT
trap 'interrupted INT 130' INT
trap 'interrupted TERM 143' TERM
# Of this tree, so that a change of ours needs no new installation.
install_venv "$VENV" -c "$CONSTRAINTS" "$TEMPEST" "$CINDER_PLUGIN" -e . \
    || exit 1
for pass in "${passes[@]}"; do
    if ! run_pass "$pass"; then
        fail "doors $pass: none ran, see above"
        exit 1
    fi
done
compare "${passes[-1]}" || exit 1
[[ -z $problem ]]
