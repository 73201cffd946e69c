#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Runs the tests, in parts, from nothing: see usage() below.

set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

usage() {
    cat <<'END'
usage: tests/run.sh [-h] [PART]...

Installs what the tests need (Debian 12: apt packages as root, then a tox of
its own in .tox/runner), runs each part, goes on after a failed one, and ends
with one line "N passed, N failed, N skipped".

parts:
  style       hacking, ruff, doc8, codespell, bashate, shellcheck  (tox -e pep8)
  unit        all unit tests, with the real Cinder and Rally       (tox -e py3)
  pure        domain and bench without any OpenStack package       (tox -e pure)
  docs        the documentation, warnings are errors               (tox -e docs)
  cinder      Cinder's own scheduler tests, ours enabled   (tox -e cinder-tests)
  functional  against the real cloud of devstack/lab.sh     (tox -e functional)
  all         all of them; the default

The lab is brought up for the functional part and, unless it was up before,
taken down at the end. Its state is in $CINDER_TIERS_LAB.

exit status: 0 when every part passed; 1 when a part or a test failed, a part
ran no test, or a test of the lab was skipped; 2 for a wrong argument; 130 or
143 when interrupted.

examples:
  tests/run.sh                 # everything
  tests/run.sh style unit      # before each commit
  devstack/lab.sh up && tests/run.sh functional   # leaves the lab up
END
}

readonly RUNNER=.tox/runner
readonly RUNNER_NEEDS=(bindep 'stestr>=4.1.0' 'tox>=4.21.0' 'tox-uv>=1.16.0')
# A part that hangs must leave the others their time: the whole has an hour.
readonly PART_LIMIT_SECONDS=1200
readonly FUNCTIONAL_LIMIT_SECONDS=2900
# uv brings its own list of authorities; the machine's list is the right one.
export UV_SYSTEM_CERTS=1

failures=()
passed=0
failed=0
skipped=0
child=
lab_is_ours=

# run COMMAND...: in a process group of its own, so that a signal sent only to
# this script (a CI's time limit) reaches everything below it, too.
run() {
    set -m
    "$@" </dev/null &
    child=$!
    set +m
    wait "$child"
    local status=$?
    child=
    return "$status"
}

interrupted() {
    local signal=$1 status=$2
    trap '' INT TERM
    if [[ -n $child ]]; then
        kill -"$signal" -- "-$child"
        wait "$child"
    fi
    failures+=("interrupted by SIG$signal")
    exit "$status"
}

finish() {
    local status=$? failure
    trap '' INT TERM
    trap - EXIT
    if [[ -n $lab_is_ours ]] && ! run devstack/lab.sh down; then
        failures+=("functional: devstack/lab.sh down failed")
    fi
    echo
    for failure in ${failures[@]+"${failures[@]}"}; do
        echo "FAILED $failure"
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    if ((status == 0 && ${#failures[@]} > 0)); then
        status=1
    fi
    exit "$status"
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
    local installed=$RUNNER/installed
    if [[ ! -e $installed ]] \
            || [[ $(<"$installed") != "${RUNNER_NEEDS[*]}" ]]; then
        run /usr/bin/python3 -m venv --clear "$RUNNER" || return
        run "$RUNNER/bin/python" -m pip install -q "${RUNNER_NEEDS[@]}" \
            || return
        echo "${RUNNER_NEEDS[*]}" >"$installed"
    fi
    # bindep's exit status is 1 both when a package is missing, which it then
    # lists, and when it fails itself.
    local listing missing
    if ! listing=$("$RUNNER/bin/bindep" --brief test); then
        mapfile -t missing <<<"$listing"
        [[ -n $listing ]] && apt_install "${missing[@]}" || return
    fi
    # pbr asks git for the version; an unpacked archive has no history.
    if ! git describe --always >/dev/null 2>&1; then
        export PBR_VERSION=${PBR_VERSION:-0.0.0}
    fi
}

run_tox() {
    local part=$1 env=$2 status limit_s=$PART_LIMIT_SECONDS
    [[ $part == functional ]] && limit_s=$FUNCTIONAL_LIMIT_SECONDS
    # A test that hangs must not hang the CI: SIGINT lets tox clean up.
    run timeout --signal=INT --kill-after=60 "$limit_s" \
        "$RUNNER/bin/tox" run -e "$env"
    status=$?
    if ((status == 124)); then
        failures+=("$part: tox -e $env: not done after $limit_s s, stopped")
    elif ((status != 0)); then
        failures+=("$part: tox -e $env: exit status $status")
    fi
    return "$status"
}

# run_tests PART ENV: as run_tox, and adds up the tests that really ran.
run_tests() {
    local part=$1 env=$2 before counts
    before=$("$RUNNER/bin/python" tests/tally.py latest) || return
    run_tox "$part" "$env"
    counts=$("$RUNNER/bin/python" tests/tally.py since "$before") \
        || failures+=("$part: its results cannot be read")
    local part_passed=0 part_failed=0 part_skipped=0
    read -r part_passed part_failed part_skipped <<<"${counts:-0 0 0}"
    passed=$((passed + part_passed))
    failed=$((failed + part_failed))
    skipped=$((skipped + part_skipped))
    if ((part_failed > 0)); then
        failures+=("$part: $part_failed of its tests:
$("$RUNNER/bin/python" tests/tally.py failures "$before")")
    fi
    if ((part_passed + part_failed == 0)); then
        failures+=("$part: no test ran")
    fi
    if [[ $part == functional ]] && ((part_skipped > 0)); then
        failures+=("functional: $part_skipped tests of the lab were skipped")
    fi
}

run_functional() {
    local status
    if ! devstack/lab.sh status >/dev/null 2>&1; then
        lab_is_ours=yes
    fi
    run devstack/lab.sh up
    status=$?
    if ((status != 0)); then
        failures+=("functional: none ran, devstack/lab.sh up: status $status")
        return
    fi
    run_tests functional functional
}

run_part() {
    local part=$1 started=$SECONDS
    echo
    echo "== $part"
    case $part in
        style) run_tox style pep8 ;;
        docs) run_tox docs docs ;;
        unit) run_tests unit py3 ;;
        pure) run_tests pure pure ;;
        cinder) run_tests cinder cinder-tests ;;
        functional) run_functional ;;
    esac
    echo "== $part: $((SECONDS - started)) s"
}

parts=()
for argument in "${@:-all}"; do
    case $argument in
        -h | --help)
            usage
            exit 0
            ;;
        all) parts+=(style unit pure docs cinder functional) ;;
        style | unit | pure | docs | cinder | functional)
            parts+=("$argument")
            ;;
        *)
            echo "tests/run.sh: no part is called '$argument'" >&2
            usage >&2
            exit 2
            ;;
    esac
done

trap finish EXIT
trap 'interrupted INT 130' INT
trap 'interrupted TERM 143' TERM
if ! install_tools; then
    failures+=("the tools that run the tests could not be installed")
    exit 1
fi
for part in "${parts[@]}"; do
    run_part "$part"
done
