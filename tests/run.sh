#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Runs the tests, in parts, from nothing: see usage() below.

set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. tests/processes.sh

usage() {
    cat <<'END_OF_USAGE'
usage: tests/run.sh [-h] [PART | TESTS]...

Installs what the tests need (Debian 12, 13: apt packages as root, then tox of
its own in .tox/runner), runs each part, goes on after a failed one, and ends
with one line "N passed, N failed, N skipped". The parts that use the lab run
one after another, and beside them all other parts, one after another; of all,
the unit part runs beside both.

TESTS is a file of tests, its module, a folder, or one test by its id, in
tests/unit, browser, horizon, contract, functional or long; of tests/cinder_own
all run.
They run as their part does: those of tests/unit/domain and figures as a part
of pure, which has the fewest packages and needs nothing of Debian for them.

parts:
  style       hacking, ruff, doc8, codespell, bashate, shellcheck  (tox -e pep8)
  unit        all unit tests, with the real Cinder and Rally       (tox -e py3);
              without those of the next part where that runs, too
  pure        domain, figures and what else is pure (see pyproject.toml), without
              any OpenStack package                             (tox -e pure)
  browser     the report of results in Chromium                 (tox -e browser)
  horizon     the panels in Horizon, and in Chromium            (tox -e horizon)
  docs        the documentation, warnings are errors               (tox -e docs)
  cinder      Cinder's own tests of its scheduler and its RBD driver, with ours
                                                           (tox -e cinder-tests)
  contract    against a real Ceph of their own              (tox -e contract)
  functional  against the real cloud of devstack/lab.sh     (tox -e functional)
  all         all of these; the default
  long        programmes, most against the lab, in 140 minutes  (tox -e long),
              and after them ceph18 and ceph20
  tempest     Tempest's tests of volumes with and without the doors, and those
              of this project, against the lab            (tests/tempest.sh)
  ceph18      the contract part in a Debian 13, with Ceph 18 and Python 3.13
  ceph20      the contract part in a Debian forky, with Ceph 20 and Python 3.14
  releases    what meets Cinder, and Cinder's own scheduler tests, with each
              release of Cinder on each Python (tests/cinder_releases)

The lab is brought up for the functional, the long and the tempest part and,
unless it was up before, taken down at the end. Its state is in
$CINDER_TIERS_LAB. If a run was killed while it tested a lab that it had
brought up, the next one destroys that lab first; so does one for which a lab
of an earlier run does not come up. The contract part makes a
lab of its own that has only Ceph, in a folder beside it whose name ends in
-contract, and removes all of it but uv and supervisord.
Another Debian is made by devstack/release.sh, and stays for the next time.

The part releases tries the cells that CINDER_TIERS_TEST_CELLS names, such as
"cinder28-py312 cindernewest-py313", without it all but those of Python 3.14,
which Debian forky has; with CINDER_TIERS_TEST_DEPTH=all it runs all unit tests
in each, and not only those of the API middleware, the scheduler filter and the
checks. It uses the Pythons on the path and those of pyenv. What came of each
cell is a file in .tox/results/cinder-releases; the table of the documentation
is made of them by "tests/cinder_releases/matrix.py --table FILE", which keeps
the rows of other cells.

Up to three failed tests of a part run once more at its end. One that passes
then counts as passed, and is named as UNSTABLE with the reason of its failure.

The output of each part is in .tox/results/PART.log. Printed are the time of
each part, what failed, and the ten slowest tests and fixtures.

exit status: 0 when every part passed; 1 when a part or a test failed, a part
ran no test, or a test of the lab was skipped; 2 for a wrong argument; 130 or
143 when interrupted.

examples:
  tests/run.sh                 # everything that the CI runs
  tests/run.sh tests/unit/domain/test_tags.py     # a file, in seconds
  tests/run.sh tests.unit.loop.sweep.test_kept tests/contract/test_real_crush.py
  tests/run.sh style unit      # before each commit
  tests/run.sh long            # before a release, after a change of a door
  devstack/lab.sh up && tests/run.sh functional   # leaves the lab up
  tests/run.sh contract ceph18 ceph20             # each Ceph that is supported
  tests/run.sh tempest         # after a change of a door, or of Cinder's version
  CINDER_TIERS_TEST_CELLS=cinder28-py312 tests/run.sh releases
END_OF_USAGE
}

readonly RUNNER=.tox/runner
readonly RUNNER_NEEDS=(bindep 'stestr>=4.1.0' 'tox>=4.21.0' 'tox-uv>=1.16.0')
# Of each part: its log, and when it has ended .seconds, .counts (of its
# tests), .slowest and, if something failed, .failed or .unstable.
readonly RESULTS=.tox/results
# A part that hangs must leave the others their time. The lanes share two cores,
# so that each part takes half as long again as alone.
readonly PART_LIMIT_SECONDS=4200
readonly FUNCTIONAL_LIMIT_SECONDS=4600
readonly LONG_LIMIT_SECONDS=10800
readonly RELEASES_LIMIT_SECONDS=86400
readonly MOST_LINES_OF_A_LOG=60
readonly MOST_SLOWEST=10
readonly LAB=${CINDER_TIERS_LAB:-/var/lib/cinder-tiers-lab}
# There while tests change a lab that this command brought up.
readonly UNDER_TEST=$LAB.under-test
# The lab of the contract part, and what is added to the ports of the other.
readonly CONTRACT_LAB=$LAB-contract
readonly CONTRACT_PORT_OFFSET=$((${CINDER_TIERS_LAB_PORT_OFFSET:-0} + 500))
# uv brings its own list of authorities; the machine's list is the right one.
export UV_SYSTEM_CERTS=1

parts=()
# Of a part that does not run as a whole: regular expressions of its tests,
# each behind a blank.
declare -A tests_of=()
# Where the selected tests of the part unit are: to find tests, all modules of
# a folder are imported.
unit_folder=
lanes=()
failures=()
lab_is_ours=

interrupted() {
    local signal=$1 status=$2 lane
    trap '' INT TERM
    stop_child "$signal"
    for lane in ${lanes[@]+"${lanes[@]}"}; do
        kill -"$signal" "$lane" 2>/dev/null
        wait "$lane"
    done
    failures+=("FAILED: interrupted by SIG$signal")
    exit "$status"
}

finish() {
    local status=$? part failure passed=0 failed=0 skipped=0
    local some_passed some_failed some_skipped
    trap '' INT TERM
    trap - EXIT
    destroy_interrupted_contract_lab
    if [[ -n $lab_is_ours ]] && ! run devstack/lab.sh down; then
        failures+=("FAILED devstack/lab.sh down")
    fi
    echo
    for part in ${parts[@]+"${parts[@]}"}; do
        if [[ -e $RESULTS/$part.failed ]]; then
            failures+=("$(<"$RESULTS/$part.failed")")
        fi
        if ((${#lanes[@]} > 0)) && [[ ! -e $RESULTS/$part.seconds ]]; then
            failures+=("FAILED $part: did not end")
        fi
        if [[ -e $RESULTS/$part.counts ]]; then
            read -r some_passed some_failed some_skipped \
                <"$RESULTS/$part.counts"
            passed=$((passed + some_passed))
            failed=$((failed + some_failed))
            skipped=$((skipped + some_skipped))
        fi
    done
    print_slowest
    for part in ${parts[@]+"${parts[@]}"}; do
        if [[ -e $RESULTS/$part.unstable ]]; then
            cat "$RESULTS/$part.unstable"
        fi
    done
    for failure in ${failures[@]+"${failures[@]}"}; do
        echo "$failure"
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    if ((status == 0 && ${#failures[@]} > 0)); then
        status=1
    fi
    exit "$status"
}

print_slowest() {
    local part files=()
    for part in ${parts[@]+"${parts[@]}"}; do
        if [[ -s $RESULTS/$part.slowest ]]; then
            files+=("$RESULTS/$part.slowest")
        fi
    done
    if ((${#files[@]} > 0)); then
        echo "the slowest tests and fixtures:"
        sort -rn "${files[@]}" | head -n "$MOST_SLOWEST"
        echo
    fi
}

apt_install() {
    if ((EUID != 0)); then
        echo "missing: $*. Install them, or run this as root." >&2
        return 1
    fi
    local apt=(apt-get -q -y -o DPkg::Lock::Timeout=400)
    export DEBIAN_FRONTEND=noninteractive
    run "${apt[@]}" update \
        && run "${apt[@]}" install --no-install-recommends "$@"
}

# Debian's python3 without python3-venv has venv, but not ensurepip.
install_tools() {
    if ! command -v git >/dev/null \
            || ! /usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null; then
        apt_install ca-certificates git python3-venv || return
    fi
    install_venv "$RUNNER" "${RUNNER_NEEDS[@]}" || return
    # Tests of these that need a program are skipped without it.
    [[ ${parts[*]} == pure && -v tests_of[pure] ]] || install_packages || return
    # pbr asks git for the version; an unpacked archive has no history.
    if ! git describe --always >/dev/null 2>&1; then
        export PBR_VERSION=${PBR_VERSION:-0.0.0}
    fi
}

install_packages() {
    # bindep's exit status is 1 both when a package is missing, which it then
    # lists, and when it fails itself.
    local listing missing
    if ! listing=$("$RUNNER/bin/bindep" --brief test); then
        mapfile -t missing <<<"$listing"
        [[ -n $listing ]] && apt_install "${missing[@]}"
    fi
}

tally() {
    "$RUNNER/bin/python" tests/tally.py "$@"
}

fail() {
    local part=$1
    shift
    printf 'FAILED %s: %s\n' "$part" "$*" >>"$RESULTS/$part.failed"
}

end_of_log() {
    tail -n "$MOST_LINES_OF_A_LOG" "$RESULTS/$1.log" | cut -c 1-400
}

# run_tox PART ENV [ARGUMENT]...: no test of it is counted. The arguments are
# those of stestr run.
run_tox() {
    local part=$1 env=$2 status limit_s=$PART_LIMIT_SECONDS
    shift 2
    case $part in
        functional) limit_s=$FUNCTIONAL_LIMIT_SECONDS ;;
        long) limit_s=$LONG_LIMIT_SECONDS ;;
    esac
    # A test that hangs must not hang the CI: SIGINT lets tox clean up.
    run timeout --signal=INT --kill-after=60 "$limit_s" \
        "$RUNNER/bin/tox" run -e "$env" ${1+--} "$@" \
        >>"$RESULTS/$part.log" 2>&1
    status=$?
    if ((status == 124)); then
        fail "$part" "tox -e $env: not done after $limit_s s, stopped"
    elif ((status != 0)); then
        fail "$part" "tox -e $env: exit status $status"
    fi
    return "$status"
}

# run_tests PART ENV REPOSITORY [ARGUMENT]...: as run_tox with the selected
# tests of the part, and adds up the tests that really ran, by the stestr
# repository in that folder. A few that failed run once more: on a busy machine
# OpenStack or Ceph may answer too late, which says nothing of what is tested.
run_tests() {
    local part=$1 env=$2 repository=$3 before selected status again=()
    local passed failed skipped failures
    shift 3
    read -r -a selected <<<"${tests_of[$part]-}"
    set -- "$@" ${selected[@]+"${selected[@]}"}
    if ! before=$(tally latest "$repository"); then
        fail "$part" "its results cannot be read"
        return
    fi
    run_tox "$part" "$env" "$@"
    status=$?
    if ((status == 1)); then
        mapfile -t again < <(tally again "$repository" "$before")
    fi
    if ((${#again[@]} > 0)); then
        echo "== $part: ${#again[@]} of its tests failed and run once more"
        rm -f "$RESULTS/$part.failed"
        run_tox "$part" "$env" "${again[@]}"
        failures=$(tally unstable "$repository" "$before")
        [[ -z $failures ]] || echo "UNSTABLE $part: passed when run again:
$failures" >"$RESULTS/$part.unstable"
    fi
    if ! tally counts "$repository" "$before" >"$RESULTS/$part.counts"; then
        fail "$part" "its results cannot be read"
        echo 0 0 0 >"$RESULTS/$part.counts"
        return
    fi
    read -r passed failed skipped <"$RESULTS/$part.counts"
    tally slowest "$repository" "$before" "$part" >"$RESULTS/$part.slowest"
    if ((failed > 0)); then
        failures=$(tally failures "$repository" "$before")
        fail "$part" "$failed of its tests:
$failures"
        tally details "$repository" "$before"
        # What the process said when it died is in no result.
        [[ $failures != *'its process died'* ]] || end_of_log "$part"
    fi
    if ((passed + failed == 0)); then
        fail "$part" "no test ran"
    fi
    if [[ $part == @(contract|functional|long) ]] && ((skipped > 0)); then
        fail "$part" "$skipped tests of the lab were skipped"
    fi
    # What tests alone do not explain: where the last lines are what is kept
    # of a run, it is not known otherwise.
    if ((failed == 0)) && [[ -e $RESULTS/$part.failed ]]; then
        fail "$part" "the end of its log:
$(end_of_log "$part" | tail -n 20)"
    fi
}

# bring_lab_up PART ARGUMENT...: the arguments are those of lab.sh up. What a
# busy machine did not do in time is done by a second try, which goes on where
# the first one ended; a lab of an earlier run, which may be what is wrong, is
# made anew.
bring_lab_up() {
    local part=$1 status started=$SECONDS earlier=
    shift
    if [[ -n $lab_is_ours && -e $LAB/lab.json ]]; then
        earlier=yes
    fi
    # One at a time: both install packages, and keep Debian from starting them.
    local up=(flock --close "$RESULTS/lab-up.lock" devstack/lab.sh up "$@")
    run "${up[@]}" >>"$RESULTS/$part.log" 2>&1
    status=$?
    if ((status != 0)); then
        echo "== lab of $part: not up after $((SECONDS - started)) s, once more"
        end_of_log "$part"
        [[ -z $earlier ]] || run devstack/lab.sh destroy --keep-downloads \
            >>"$RESULTS/$part.log" 2>&1
        run "${up[@]}" >>"$RESULTS/$part.log" 2>&1
        status=$?
    fi
    echo "== lab of $part: up after $((SECONDS - started)) s"
    if ((status != 0)); then
        fail "$part" "none ran, devstack/lab.sh up: status $status
$(end_of_log "$part" | tail -n 20)"
    fi
    return "$status"
}

# run_lab_tests PART ARGUMENT...: the arguments are those of lab.sh up.
run_lab_tests() {
    bring_lab_up "$@" && run_tests "$1" "$1" ".tox/$1"
}

# in_lab FUNCTION PART: what a killed run left in a lab of its own, such as
# tiers of its tests, would be in the way of the next one.
in_lab() {
    local function=$1 part=$2
    if [[ -n $lab_is_ours ]]; then
        if [[ -e $LAB && -e $UNDER_TEST ]]; then
            echo "== lab of $part: destroyed, a run was killed in it"
            run devstack/lab.sh destroy --keep-downloads \
                >>"$RESULTS/$part.log" 2>&1 \
                || fail "$part" 'devstack/lab.sh destroy: see its log'
        fi
        mkdir -p "$(dirname "$LAB")" && : >"$UNDER_TEST"
    fi
    "$function" "$part"
    if [[ -n $lab_is_ours ]]; then
        rm -f "$UNDER_TEST"
    fi
}

# add_counts PART: what the last line of its log says, to its counts.
add_counts() {
    local part=$1 last passed=0 failed=0 skipped=0
    local line='^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'
    last=$(tail -n 1 "$RESULTS/$part.log")
    if [[ -e $RESULTS/$part.counts ]]; then
        read -r passed failed skipped <"$RESULTS/$part.counts"
    fi
    if [[ $last =~ $line ]]; then
        echo "$((passed + BASH_REMATCH[1]))" "$((failed + BASH_REMATCH[2]))" \
            "$((skipped + BASH_REMATCH[3]))" >"$RESULTS/$part.counts"
    fi
}

# What Tempest skips, or is known to fail, the lab does not have.
run_tempest_tests() {
    local part=$1 command status
    bring_lab_up "$part" || return
    for command in 'tests/tempest.sh' 'tests/tempest.sh --ours'; do
        # shellcheck disable=SC2086
        run $command >>"$RESULTS/$part.log" 2>&1
        status=$?
        add_counts "$part"
        if ((status != 0)); then
            fail "$part" "$command: exit status $status"
            end_of_log "$part"
        fi
    done
}

# It takes half a minute to make it again.
destroy_contract_lab() {
    [[ -e $CONTRACT_LAB ]] || return 0
    CINDER_TIERS_LAB=$CONTRACT_LAB run devstack/lab.sh destroy \
        --keep-downloads >>"$RESULTS/contract.log" 2>&1 \
        || fail contract 'devstack/lab.sh destroy: see its log'
}

# Whether any service of the lab runs: one with a broken service is up, too.
lab_runs() {
    [[ $(devstack/lab.sh status -f json 2>/dev/null) == *'"pid": '[1-9]* ]]
}

# A cluster of its own, so that the part may run beside the functional one, and
# one for all checkouts of the machine, so one after another.
run_contract_tests() {
    mkdir -p "$(dirname "$CONTRACT_LAB")" || return
    exec 8>"$CONTRACT_LAB.lock" || return
    if ! flock -n 8; then
        echo "== contract: waits for another run to end with $CONTRACT_LAB"
        run flock 8
    fi
    : >"$RESULTS/contract.has-lab"
    # What is started here and stays must not hold the lock.
    test_with_contract_lab 8>&-
    rm "$RESULTS/contract.has-lab"
    exec 8>&-
}

test_with_contract_lab() {
    destroy_contract_lab
    local -x CINDER_TIERS_LAB=$CONTRACT_LAB
    local -x CINDER_TIERS_LAB_PORT_OFFSET=$CONTRACT_PORT_OFFSET
    run_lab_tests contract --ceph-only
    destroy_contract_lab
}

# After an interruption, and unless another run was faster.
destroy_interrupted_contract_lab() {
    [[ -e $RESULTS/contract.has-lab ]] || return 0
    exec 8>"$CONTRACT_LAB.lock" || return
    if flock -n 8; then
        destroy_contract_lab 8>&-
    fi
    exec 8>&-
}

# run_release_tests PART RELEASE: the contract part in there.
run_release_tests() {
    local part=$1 release=$2 status failures
    # As devstack/lab.sh --release has it.
    run env CINDER_TIERS_LAB="/var/lib/cinder-tiers-$release" \
        devstack/release.sh "$release" tests/run.sh contract \
        >>"$RESULTS/$part.log" 2>&1
    status=$?
    add_counts "$part"
    awk '/^UNSTABLE/ { named = 1 }
        /^FAILED|^[0-9]+ passed,/ { named = 0 }
        named' "$RESULTS/$part.log" >"$RESULTS/$part.unstable"
    if ((status != 0)); then
        failures=$(grep -A "$MOST_LINES_OF_A_LOG" '^FAILED' \
            "$RESULTS/$part.log")
        fail "$part" "in Debian $release: status $status
${failures:-its log is in $RESULTS/$part.log}"
        end_of_log "$part"
    fi
}

run_release_matrix() {
    local part=releases status cells=() depth=() missing=()
    # Not a part of the profile "test": only this part needs servers.
    mapfile -t missing < <("$RUNNER/bin/bindep" --brief releases)
    if ((${#missing[@]} > 0)) && ! apt_install "${missing[@]}" \
            >>"$RESULTS/$part.log" 2>&1; then
        fail "$part" "not installed: ${missing[*]}"
        return
    fi
    read -r -a cells <<<"${CINDER_TIERS_TEST_CELLS:-}"
    [[ ${CINDER_TIERS_TEST_DEPTH:-doors} == all ]] && depth=(--all)
    run timeout --signal=INT --kill-after=60 "$RELEASES_LIMIT_SECONDS" \
        "$RUNNER/bin/python" tests/cinder_releases/matrix.py \
        ${depth[@]+"${depth[@]}"} ${cells[@]+"${cells[@]}"} \
        >>"$RESULTS/$part.log" 2>&1
    status=$?
    echo 0 0 0 >"$RESULTS/$part.counts"
    add_counts "$part"
    if ((status != 0)); then
        fail "$part" "status $status
$(grep '^FAILED' "$RESULTS/$part.log" || end_of_log "$part")"
    fi
}

run_part() {
    local part=$1 started=$SECONDS counts='' passed failed skipped
    echo "== $part: begins; its output is in $RESULTS/$part.log"
    case $part in
        style | docs)
            local env=$part
            [[ $part == style ]] && env=pep8
            run_tox "$part" "$env" || end_of_log "$part"
            ;;
        unit)
            local without=()
            if [[ -v tests_of[unit] ]]; then
                local -x TESTS_DIR=./$unit_folder
            elif [[ " ${parts[*]} " == *' pure '* && ! -v tests_of[pure] ]]; then
                # The same tests, in an environment that has less.
                without=(--exclude-regex
                    "$("$RUNNER/bin/python" tests/pure/__init__.py)")
            fi
            run_tests unit py3 . ${without[@]+"${without[@]}"}
            ;;
        pure) run_tests pure pure .tox/pure ;;
        browser | horizon) run_tests "$part" "$part" ".tox/$part" ;;
        cinder) run_tests cinder cinder-tests .tox/cinder-tests ;;
        contract) run_contract_tests ;;
        functional | long) in_lab run_lab_tests "$part" ;;
        tempest) in_lab run_tempest_tests "$part" ;;
        ceph18) run_release_tests "$part" trixie ;;
        ceph20) run_release_tests "$part" forky ;;
        releases) run_release_matrix ;;
    esac
    if [[ -e $RESULTS/$part.counts ]]; then
        read -r passed failed skipped <"$RESULTS/$part.counts"
        counts=", $passed passed, $failed failed, $skipped skipped"
    fi
    echo "$((SECONDS - started))" >"$RESULTS/$part.seconds"
    echo "== $part: $((SECONDS - started)) s$counts"
}

# run_lane PART...: one after another.
run_lane() {
    child=
    trap 'stop_child INT; exit 130' INT
    trap 'stop_child TERM; exit 143' TERM
    local part
    for part in "$@"; do
        run_part "$part"
    done
}

# has_tests PATH REST: whether the file or folder of a path without .py has
# tests, and REST, such as .SweepTestCase.test_no_step, if there is any, too.
has_tests() {
    local path=$1 class test
    if [[ -d $path ]]; then
        [[ -z $2 && -n $(find "$path" -name 'test_*.py' -print -quit) ]]
        return
    fi
    IFS=. read -r class test <<<"${2#.}"
    [[ ${path##*/} == test_* && -f $path.py ]] \
        && { [[ -z $class ]] || grep -q "^class $class\\>" "$path.py"; } \
        && { [[ -z $test ]] \
            || grep -q -r --include='*.py' "def ${test%%_[0-9]*}" tests; }
}

# select_tests ARGUMENT: adds what it names to the tests of their part.
select_tests() {
    local path=${1#"$PWD/"} rest='' part folder regex
    path=${path#./}
    path=${path%/}
    path=${path%.py}
    [[ $path == */* ]] || path=${path//.//}
    while [[ $path == */* && ! -d $path && ! -f $path.py ]]; do
        rest=.${path##*/}$rest
        path=${path%/*}
    done
    has_tests "$path" "$rest" || return
    case $path/$rest in
        tests/unit/domain/* | tests/unit/figures/*)
            part=pure
            ;;
        tests/unit/*)
            part=unit
            folder=$path
            [[ -d $path ]] || folder=${path%/*}
            unit_folder=${unit_folder:-$folder}
            while [[ $folder/ != "$unit_folder"/* ]]; do
                unit_folder=${unit_folder%/*}
            done
            ;;
        tests/browser/* | tests/horizon/* | tests/contract/* \
            | tests/functional/* | tests/long/*)
            part=${path#tests/}
            part=${part%%/*}
            ;;
        tests/cinder_own/ | tests/cinder_own/test_*/)
            tests_of[cinder]=
            return
            ;;
        *)
            return 1
            ;;
    esac
    regex=${path//\//.}$rest
    # Behind it are a dot, or what ddt adds to the name of a test.
    tests_of[$part]+=" ^${regex//./\\.}(\W|_[0-9]+(_|$)|$)"
}

with_lab=()
with_ceph=()
without_lab=()
if (($# == 0)); then
    set -- all
fi
for argument in "$@"; do
    case $argument in
        -h | --help)
            usage
            exit 0
            ;;
        all)
            # The contract part waits for Ceph most of its time, and has a lab
            # of its own, which comes up when the other one is. What is short,
            # or has one process, is before and behind it, so that the three
            # lanes end at about the same time.
            without_lab+=(unit)
            with_lab+=(functional)
            with_ceph+=(style contract pure browser horizon docs cinder)
            ;;
        style | unit | pure | browser | horizon | docs | cinder | contract \
            | ceph18 | ceph20 | releases)
            without_lab+=("$argument")
            ;;
        functional | tempest)
            with_lab+=("$argument")
            ;;
        long)
            with_lab+=(long ceph18 ceph20)
            ;;
        *)
            if ! select_tests "$argument"; then
                cat <<END_OF_MESSAGE >&2
tests/run.sh: '$argument' is neither a part nor has tests
expected: a part, which tests/run.sh -h lists, or a file, a module, a folder or
an id of tests in tests/unit, browser, horizon, contract, functional, long or
cinder_own
END_OF_MESSAGE
                exit 2
            fi
            ;;
    esac
done
for part in "${!tests_of[@]}"; do
    if [[ " ${without_lab[*]} ${with_ceph[*]} ${with_lab[*]} " == *" $part "* ]]
    then
        # All of it was asked for, too.
        unset "tests_of[$part]"
    elif [[ $part == @(functional|long) ]]; then
        with_lab+=("$part")
    else
        without_lab+=("$part")
    fi
done
parts=(${without_lab[@]+"${without_lab[@]}"}
    ${with_ceph[@]+"${with_ceph[@]}"} ${with_lab[@]+"${with_lab[@]}"})

mkdir -p "$RESULTS"
for part in "${parts[@]}"; do
    rm -f "$RESULTS/$part".*
done
trap finish EXIT
trap 'interrupted INT 130' INT
trap 'interrupted TERM 143' TERM
if ! install_tools; then
    failures+=("FAILED: the tools that run the tests could not be installed")
    exit 1
fi
if ((${#with_lab[@]} > 0)); then
    if ! lab_runs; then
        lab_is_ours=yes
    fi
    start run_lane "${with_lab[@]}"
    lanes+=("$!")
fi
if ((${#with_ceph[@]} > 0)); then
    start run_lane "${with_ceph[@]}"
    lanes+=("$!")
fi
if ((${#without_lab[@]} > 0)); then
    start run_lane "${without_lab[@]}"
    lanes+=("$!")
fi
for lane in "${lanes[@]}"; do
    wait "$lane"
done
echo "== all of it: $SECONDS s"
