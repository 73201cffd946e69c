#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Runs everything that a release needs, on one commit: see usage() below.

set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. tests/processes.sh

usage() {
    cat <<'END_OF_USAGE'
usage: tests/release.sh [-h] [STEP]...
       tests/release.sh --status
       tests/release.sh --table

Runs each STEP, all of them by default, one after another, and notes how each
ended. A step that passed at this commit, or at one that differs from it in
documentation, release notes and long tests of other steps only (for ci and
packages-*, which use these, in the table only), does not run again, so the
same command continues after an interruption or a mend. It goes on after a
failed step. Changes of files that are in git must be committed. Nothing else
should run on the machine. The lab in $CINDER_TIERS_LAB is destroyed by the
steps ci to tiered.

steps:
  ci             .ci/run, from a destroyed lab
  threads        the functional part with Cinder on eventlet
  long-NAME      tests/long/test_NAME.py, a step for each file
  ceph18         the contract part on Ceph 18
  ceph20         the contract part on Ceph 20
  tempest        tests/run.sh tempest
  tiered         Tempest's tests of volumes and rally-openstack's samples with
                 the tiers as pools of one backend
  cinder26       tests/run.sh releases for this Cinder, on each Python but 3.14
  cinder27       the same for Cinder 27
  cinder28       the same for Cinder 28
  cinder29       the same for Cinder 29
  cindernewest   the same for the newest on PyPI
  python314      the same for Cinder 27 to newest on Python 3.14, in a Debian
                 forky
  devstack       tests/devstack/run.sh, which stacks twice; it needs
                 CINDER_TIERS_DEVSTACK_MIRRORS
  demo-bookworm  the demo from nothing in a Debian 12
  demo-trixie    the demo from nothing in a Debian 13
  packages-wheel-bookworm, packages-wheel-trixie
                 tests/packages/run.sh wheel in a Debian 12 and 13
  packages-debian
                 tests/packages/run.sh debian in a Debian 13
  packages-container
                 tests/packages/run.sh container
  benchmarks     those that have a goal; ci or another step of tests/run.sh
                 must have run before

--status prints the table; --table writes it to
doc/source/contributor/release.csv. Once that is committed, another checkout
or machine continues where this one has ended. "unstable:" in a last line names
tests that passed only when run again.

Logs and results are in .tox/release. For the environment variables of the
steps, see tests/run.sh -h and tests/devstack/run.sh -h.

exit status: 0 when each of the steps has passed, and with --status and --table
when all have; 1 otherwise; 2 for a wrong argument or without mirrors; 130 or
143 when interrupted.

examples:
  tests/release.sh                  # a day; again after a mend
  tests/release.sh ci tempest
  tests/release.sh --table
END_OF_USAGE
}

# What is interrupted begins again, so none takes longer than two hours.
STEPS=(ci threads)
for file in tests/long/test_*.py; do
    file=${file##*/test_}
    STEPS+=("long-${file%.py}")
done
readonly STEPS+=(ceph18 ceph20 tempest tiered cinder26 cinder27 cinder28
    cinder29 cindernewest python314 devstack demo-bookworm demo-trixie
    packages-wheel-bookworm packages-wheel-trixie packages-debian
    packages-container benchmarks)
readonly RESULTS=.tox/release
# Not those of devstack/release.sh, which other steps fill with packages.
readonly SYSTEMS=/var/lib/cinder-tiers-release-systems
readonly TABLE=doc/source/contributor/release.csv
# Of a step that has run: outcome, commit, day, minutes and last line.
readonly ROW='^[^,]*,"([^"]*)",([0-9a-f]+),([0-9-]+),([0-9]+),"(.*)"$'

misused() {
    printf 'tests/release.sh: %s\n' "$*" >&2
    usage >&2
    exit 2
}

# fresh RELEASE COMMAND...: in a Debian in which nothing was installed before.
fresh() {
    devstack/release.sh "$1" --remove && devstack/release.sh "$@"
}

# In a folder of its own: the lab of the machine may be in use.
demo() {
    local lab=/var/lib/cinder-tiers-release-$1 status
    local -x CINDER_TIERS_LAB=$lab CINDER_TIERS_RELEASES=$SYSTEMS
    # Of a demo that was interrupted.
    devstack/lab.sh --release "$1" destroy \
        && fresh "$1" devstack/lab.sh demo
    status=$?
    devstack/lab.sh --release "$1" destroy || status=1
    return "$status"
}

eventlet() {
    devstack/lab.sh destroy --keep-downloads \
        && devstack/lab.sh up --threads eventlet \
        && tests/run.sh functional
    local status=$?
    devstack/lab.sh destroy --keep-downloads || status=1
    return "$status"
}

# The first of a run begins from a destroyed lab, as does the next of one that
# failed, which may have left anything.
long() {
    [[ -n $lab_is_whole ]] || devstack/lab.sh destroy --keep-downloads || return
    tests/run.sh "tests/long/test_$1.py"
}

tiered() {
    local lab=${CINDER_TIERS_LAB:-/var/lib/cinder-tiers-lab} status
    devstack/lab.sh destroy --keep-downloads \
        && devstack/lab.sh up \
        && (. "$lab/openrc" && "$lab/venv/bin/openstack" tier backend-config \
            --driver tiered) >"$lab/etc/cinder.d/tiered.conf" \
        && devstack/lab.sh restart cinder-volume cinder-scheduler \
        && tests/tempest.sh --doors on && tests/rally_samples.sh
    status=$?
    devstack/lab.sh destroy --keep-downloads || status=1
    return "$status"
}

packages() {
    local -x CINDER_TIERS_RELEASES=$SYSTEMS
    case $1 in
        wheel-*) fresh "${1#wheel-}" tests/packages/run.sh wheel ;;
        debian) fresh trixie tests/packages/run.sh debian ;;
        container) tests/packages/run.sh container ;;
    esac
}

cinder() {
    local -x CINDER_TIERS_TEST_CELLS="$1-py311 $1-py312 $1-py313"
    tests/run.sh releases
}

# Debian forky has Python 3.14, which the pins of Cinder 26 do not know.
python314() {
    local -x CINDER_TIERS_TEST_CELLS
    CINDER_TIERS_TEST_CELLS=$(printf 'cinder%s-py314 ' 27 28 29 newest)
    devstack/release.sh forky tests/run.sh releases
}

benchmarks() {
    # As tests/run.sh does, for a mirror with an authority of its own.
    local -x UV_SYSTEM_CERTS=1
    if [[ ! -x .tox/runner/bin/tox ]]; then
        echo 'found no .tox/runner; run the step ci, which makes it'
        return 1
    fi
    .tox/runner/bin/tox run -q -e benchmarks -- large_cloud --check \
        && .tox/runner/bin/tox run -q -e benchmarks -- driver stats --check
}

run_step() {
    case $1 in
        ci) devstack/lab.sh destroy --keep-downloads && .ci/run ;;
        threads) eventlet ;;
        long-*) long "${1#long-}" ;;
        tempest)
            devstack/lab.sh destroy --keep-downloads && tests/run.sh tempest
            ;;
        tiered) tiered ;;
        ceph18 | ceph20) tests/run.sh "$1" ;;
        cinder*) cinder "$1" ;;
        python314) python314 ;;
        devstack) tests/devstack/run.sh ;;
        demo-*) demo "${1#demo-}" ;;
        packages-*) packages "${1#packages-}" ;;
        benchmarks) benchmarks ;;
    esac
}

# holds STEP COMMIT: whether what it saw at that commit is true of this one.
holds() {
    local aside=(':!doc' ':!releasenotes' ':!tests/long/test_*.py')
    # They build these, and do what pages say.
    [[ $1 != ci && $1 != packages-* ]] || aside=(":!$TABLE")
    git diff --quiet "$2" HEAD -- . "${aside[@]}" 2>/dev/null || return
    [[ $1 != long-* ]] \
        || git diff --quiet "$2" HEAD -- "tests/long/test_${1#long-}.py"
}

# Whether files in git are as committed, the table aside.
is_clean() {
    git diff --quiet HEAD -- . ":!$TABLE"
}

# read_result STEP: sets outcome, commit, day, seconds and last.
read_result() {
    local row elsewhere
    outcome='not run' commit='' day='' seconds='' last=''
    if [[ -r $RESULTS/$1.result ]]; then
        IFS=$'\t' read -r outcome commit day seconds last <"$RESULTS/$1.result"
        holds "$1" "$commit" || outcome="$outcome, of other code"
        [[ $outcome != passed ]] || return 0
    fi
    # It ran on another machine, and the table was committed.
    row=$(git show "HEAD:$TABLE" 2>/dev/null | grep "^$1,") || return 0
    [[ $row =~ $ROW ]] || return 0
    elsewhere=${BASH_REMATCH[1]%, of other code}
    holds "$1" "${BASH_REMATCH[2]}" || elsewhere="$elsewhere, of other code"
    [[ $outcome == 'not run' || $elsewhere == passed ]] || return 0
    outcome=$elsewhere commit=${BASH_REMATCH[2]}
    day=${BASH_REMATCH[3]} seconds=$((60 * BASH_REMATCH[4]))
    last=${BASH_REMATCH[5]//\"\"/\"}
}

# Whether all steps have passed.
print_table() {
    local step status=0
    echo 'Step,Outcome,Commit,Day,Minutes,Last line'
    for step in "${STEPS[@]}"; do
        read_result "$step"
        [[ $outcome == passed ]] || status=1
        printf '%s,"%s",%s,%s,%s,"%s"\n' "$step" "$outcome" "${commit:0:10}" \
            "$day" "${seconds:+$(((seconds + 59) / 60))}" "${last//\"/\"\"}"
    done
    return "$status"
}

# note STEP STATUS SECONDS: the result of a step. The last line of a log is
# ours or a tool's; it becomes a field of a table.
note() {
    local outcome=passed last unstable
    (($2 == 0)) || outcome="failed ($2)"
    # A lab may be destroyed behind the tests.
    last=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$RESULTS/$1.log" \
        | tail -n 1)
    [[ -n $last ]] || last=$(tail -n 1 "$RESULTS/$1.log")
    last=$(LC_ALL=C tr -cd ' -~' <<<"$last" | cut -c 1-200)
    # As tests/run.sh names them: a line of the part, then one of each test.
    unstable=$(awk '/^UNSTABLE/ { named = 1; next }
        /^FAILED|^[0-9]+ passed,/ { named = 0 }
        named { sub(/: .*/, ""); printf "%s%s", comma, $0; comma = ", " }' \
        "$RESULTS/$1.log" | LC_ALL=C tr -cd ' -~' | cut -c 1-400)
    [[ -z $unstable ]] || last="$last; unstable: $unstable"
    printf '%s\t%s\t%s\t%s\t%s\n' "$outcome" "$head" "$(date -u +%F)" "$3" \
        "$last" >"$RESULTS/$1.new"
    mv "$RESULTS/$1.new" "$RESULTS/$1.result"
}

steps=()
while (($# > 0)); do
    case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        --status)
            (($# == 1)) || misused "found '$2' behind --status, expected nothing"
            print_table
            exit
            ;;
        --table)
            (($# == 1)) || misused "found '$2' behind --table, expected nothing"
            table=$(print_table)
            status=$?
            printf '%s\n' "$table" >"$TABLE" || exit 1
            exit "$status"
            ;;
        *)
            [[ " ${STEPS[*]} " == *" $1 "* ]] \
                || misused "found step '$1', expected one of: ${STEPS[*]}"
            steps+=("$1")
            ;;
    esac
    shift
done
((${#steps[@]} > 0)) || steps=("${STEPS[@]}")

head=$(git rev-parse HEAD) || exit 1
if [[ ! -d .git ]]; then
    echo 'tests/release.sh: found a worktree, whose repository the other' \
        'Debians do not see; run it in a clone' >&2
    exit 1
fi
if ! is_clean; then
    git status --short --untracked-files=no -- . ":!$TABLE" >&2
    echo 'tests/release.sh: found changes that are not committed (see above);' \
        'commit them, so that the results belong to a commit' >&2
    exit 1
fi
if [[ " ${steps[*]} " == *' devstack '* \
    && -z ${CINDER_TIERS_DEVSTACK_MIRRORS:-} ]]; then
    read_result devstack
    [[ $outcome == passed ]] || misused 'found no' \
        'CINDER_TIERS_DEVSTACK_MIRRORS, which the step devstack needs (see' \
        'tests/devstack/run.sh -h)'
fi
mkdir -p "$RESULTS" || exit 1
exec 9>"$RESULTS/lock" || exit 1
if ! flock -n 9; then
    echo "tests/release.sh: another one runs with $RESULTS; wait for its end" >&2
    exit 1
fi

trap 'stop_child INT; exit 130' INT
trap 'stop_child TERM; exit 143' TERM

failed=0
lab_is_whole=
for step in "${steps[@]}"; do
    read_result "$step"
    if [[ $outcome == passed ]]; then
        echo "== $step: passed on $day at ${commit:0:10}"
        continue
    fi
    echo "== $step: begins; its output is in $RESULTS/$step.log"
    started=$SECONDS
    run run_step "$step" >"$RESULTS/$step.log" 2>&1
    status=$?
    lab_is_whole=
    [[ $step != long-* ]] || ((status != 0)) \
        || grep -q '^UNSTABLE' "$RESULTS/$step.log" || lab_is_whole=yes
    # Somebody may have worked here meanwhile: the step has seen both.
    if [[ $(git rev-parse HEAD) != "$head" ]] || ! is_clean; then
        echo "tests/release.sh: files changed during $step, so that its" \
            'result belongs to no commit; run it again' >&2
        exit 1
    fi
    note "$step" "$status" "$((SECONDS - started))"
    read_result "$step"
    echo "== $step: $outcome, $(((seconds + 59) / 60)) min: $last"
    ((status == 0)) || failed=1
done
exit "$failed"
