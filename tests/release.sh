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
documentation and release notes only, does not run again, so the same command
continues after an interruption or a mend. It goes on after a failed step.
Changes of files that are in git must be committed. Nothing else should run on
the machine. The lab in $CINDER_TIERS_LAB is destroyed by the steps ci and
threads.

steps:
  ci             .ci/run, from a destroyed lab
  threads        the functional part with Cinder on eventlet
  long           the tests of tests/run.sh long
  ceph18         the contract part on Ceph 18
  ceph20         the contract part on Ceph 20
  tempest        tests/run.sh tempest
  cinder26       tests/run.sh releases for this Cinder, on each Python but 3.14
  cinder27       the same for Cinder 27
  cinder28       the same for Cinder 28
  cinder29       the same for Cinder 29
  cindernewest   the same for the newest on PyPI
  python314      the same for Cinder 27 to newest on Python 3.14, in a Debian
                 forky
  devstack       tests/devstack/run.sh, which stacks twice
  demo-bookworm  the demo from nothing in a Debian 12
  demo-trixie    the demo from nothing in a Debian 13
  packages       tests/packages/run.sh: the wheel in a Debian 12 and 13, the
                 Debian package in a Debian 13, the image
  benchmarks     those that have a goal; ci or another step of tests/run.sh
                 must have run before

--status prints the table; --table writes it to
doc/source/contributor/release.csv. Once that is committed, another checkout
or machine continues where this one has ended.

Logs and results are in .tox/release. For the environment variables of the
steps, see tests/run.sh -h and tests/devstack/run.sh -h.

exit status: 0 when each of the steps has passed, and with --status and --table
when all have; 1 otherwise; 2 for a wrong argument; 130 or 143 when interrupted.

examples:
  tests/release.sh                  # a day; again after a mend
  tests/release.sh ci tempest
  tests/release.sh --table
END_OF_USAGE
}

# None takes longer than three hours: what is interrupted begins again.
readonly STEPS=(ci threads long ceph18 ceph20 tempest cinder26 cinder27
    cinder28 cinder29 cindernewest python314 devstack demo-bookworm demo-trixie
    packages benchmarks)
readonly RESULTS=.tox/release
readonly TABLE=doc/source/contributor/release.csv
# Of a step that has run: outcome, commit, day, minutes and last line.
readonly ROW='^[^,]*,"([^"]*)",([0-9a-f]+),([0-9-]+),([0-9]+),"(.*)"$'

misused() {
    printf 'tests/release.sh: %s\n' "$*" >&2
    usage >&2
    exit 2
}

# In a folder of its own: the lab of the machine may be in use.
demo() {
    local lab=/var/lib/cinder-tiers-release-$1 status
    local -x CINDER_TIERS_LAB=$lab
    # Of a demo that was interrupted.
    devstack/lab.sh --release "$1" destroy \
        && devstack/lab.sh --release "$1" demo
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

packages() {
    devstack/release.sh bookworm tests/packages/run.sh wheel \
        && devstack/release.sh trixie tests/packages/run.sh wheel \
        && devstack/release.sh trixie tests/packages/run.sh debian \
        && tests/packages/run.sh container
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
    if [[ ! -x .tox/runner/bin/tox ]]; then
        echo 'found no .tox/runner; run the step ci, which makes it'
        return 1
    fi
    .tox/runner/bin/tox run -q -e benchmarks -- large_cloud --check
}

run_step() {
    case $1 in
        ci) devstack/lab.sh destroy --keep-downloads && .ci/run ;;
        threads) eventlet ;;
        # By its folder, or Ceph 18 and 20 would be there, too.
        long) tests/run.sh tests/long ;;
        ceph18 | ceph20 | tempest) tests/run.sh "$1" ;;
        cinder*) cinder "$1" ;;
        python314) python314 ;;
        devstack) tests/devstack/run.sh ;;
        demo-*) demo "${1#demo-}" ;;
        packages) packages ;;
        benchmarks) benchmarks ;;
    esac
}

# holds COMMIT: whether what was seen at that commit is true of this one.
holds() {
    git diff --quiet "$1" HEAD -- . ':!doc' ':!releasenotes' 2>/dev/null
}

# read_result STEP: sets outcome, commit, day, seconds and last.
read_result() {
    local row
    outcome='not run' commit='' day='' seconds='' last=''
    if [[ -r $RESULTS/$1.result ]]; then
        IFS=$'\t' read -r outcome commit day seconds last <"$RESULTS/$1.result"
    else
        # It ran on another machine, and the table was committed.
        row=$(git show "HEAD:$TABLE" 2>/dev/null | grep "^$1,") || return 0
        [[ $row =~ $ROW ]] || return 0
        outcome=${BASH_REMATCH[1]%, of other code} commit=${BASH_REMATCH[2]}
        day=${BASH_REMATCH[3]} seconds=$((60 * BASH_REMATCH[4]))
        last=${BASH_REMATCH[5]//\"\"/\"}
    fi
    holds "$commit" || outcome="$outcome, of other code"
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
    local outcome=passed last
    (($2 == 0)) || outcome="failed ($2)"
    last=$(tail -n 1 "$RESULTS/$1.log" | LC_ALL=C tr -cd ' -~' | cut -c 1-200)
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
if ! git diff --quiet HEAD --; then
    git status --short --untracked-files=no >&2
    echo 'tests/release.sh: found changes that are not committed (see above);' \
        'commit them, so that the results belong to a commit' >&2
    exit 1
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
    # Somebody may have committed meanwhile: the step has seen both.
    if [[ $(git rev-parse HEAD) != "$head" ]]; then
        echo "tests/release.sh: the commit changed during $step, so that its" \
            'result belongs to none; run it again' >&2
        exit 1
    fi
    note "$step" "$status" "$((SECONDS - started))"
    read_result "$step"
    echo "== $step: $outcome, $(((seconds + 59) / 60)) min: $last"
    ((status == 0)) || failed=1
done
exit "$failed"
