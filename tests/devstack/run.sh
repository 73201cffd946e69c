#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Runs DevStack with the plugin, from stack.sh to clean.sh: see usage() below.

set -u -o pipefail

usage() {
    cat <<'END_OF_USAGE'
usage: tests/devstack/run.sh [-h] [--keep]
       tests/devstack/run.sh {enter [COMMAND [ARGUMENT]...] | stop | clean}

The whole of DevStack with the plugin of this tree, uncommitted changes
included, in a Debian 13 of its own, on a Debian 12 or 13 machine, as root:

  stack          DevStack with Ceph, Cinder, Glance, Keystone, Nova, Placement
                 and Neutron, with devstack-plugin-ceph and cinder-tiers
  tempest        the tests of cinder_tiers.tempest
  placement      volumes of tagged images, and Ceph asked for the pool of each
  unstack        cinder.conf and api-paste.ini must be, byte for byte, what
                 DevStack alone has written, except for the ids of Cinder's
                 internal project, which each stack makes anew; a difference
                 is printed
  stack again    and the same cinder.conf and api-paste.ini as the first time
  placement      once more
  clean          clean.sh; no process, unit, mount, network or file is left
                 that it does not leave of DevStack alone
  stop           and none of the container on this machine

The Debian is a container with systemd, with a network of its own that reaches
only the package mirrors; nothing listens on this machine. It is made at the
first run: packages, git repositories, and DevStack stacked once without
cinder-tiers, which is what DevStack alone writes. It stays for the next runs,
each of which throws away what it changed; it is made again when a mirror has
another commit, or a file of tests/devstack that it is made of has changed.

What is not real: cephadm. Its container images are from elsewhere, so a
STAND-IN, which says so, runs the daemons of Debian's packages.
What does not run: Horizon, noVNC, etcd3, the metadata agent, cinder-backup.
Open vSwitch and OVN run without the kernel's part, guests without KVM.

commands:
  enter     run a command, or a shell, in the container of a run that goes on
            or was kept
  stop      end the container of a run that was kept or killed
  clean     stop, and remove all files

options:
  -h, --help  show this help message and exit
  --keep      leave the container running, for "enter", also after a failure

environment:
  CINDER_TIERS_DEVSTACK_MIRRORS
            folder with git mirrors of cinder, devstack, devstack-plugin-ceph,
            glance, keystone, neutron, nova, placement, requirements and
            tempest, with a branch master: PROJECT.git,
            openstack/PROJECT.git or openstack+PROJECT/repo. Required.
  CINDER_TIERS_DEVSTACK
            folder of all files (default: /var/lib/cinder-tiers-devstack).
            logs/ in it has the output of each step.

examples:
  export CINDER_TIERS_DEVSTACK_MIRRORS=/srv/mirrors
  tests/devstack/run.sh                       # before a change of devstack/
  tests/devstack/run.sh --keep; tests/devstack/run.sh enter
  tests/devstack/run.sh enter runuser -u stack -- /bin/bash
  tests/devstack/run.sh clean

exit status: 0 when every step passed; 1 when one did not, or something cannot
be done here; 2 for a wrong argument or without mirrors; 130 or 143 when
interrupted. "enter" has that of the command.
END_OF_USAGE
}

misused() {
    printf 'tests/devstack/run.sh: %s\n' "$*" >&2
    usage >&2
    exit 2
}

die() {
    printf 'tests/devstack/run.sh: %s\n' "$*" >&2
    exit 1
}

keep=
action=run
while (($# > 0)); do
    case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        --keep) keep=yes ;;
        enter)
            action=enter
            shift
            break
            ;;
        stop | clean)
            [[ $action == run ]] || misused "$action and $1: expected one"
            action=$1
            ;;
        *) misused "no command or option is called '$1'" ;;
    esac
    shift
done
[[ -z $keep || $action == run ]] || misused "--keep is not for $action"

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly HERE CHECKOUT=${HERE%/tests/devstack}
# shellcheck disable=SC2034 # tree.sh uses it
readonly MIRRORS=${CINDER_TIERS_DEVSTACK_MIRRORS:-}
readonly STATE=${CINDER_TIERS_DEVSTACK:-/var/lib/cinder-tiers-devstack}
# What marks a folder as one that this script has made, and may empty.
readonly MARK=$STATE/of-tests-devstack-run
readonly MOST_MEMORY_MIB=6144
readonly STACK_LIMIT_SECONDS=5400
readonly STEP_LIMIT_SECONDS=3600
readonly LINES_OF_A_LOG=40
# In the container: what DevStack alone has written, and was there before it.
readonly ALONE=/srv/devstack-alone

. "$HERE/../processes.sh"
. "$CHECKOUT/devstack/machine.sh"

[[ $(id -u) == 0 ]] || die "user id is $(id -u), expected 0: it starts a" \
    "container. Run it as root."
if [[ $action == clean && ! -e $STATE ]]; then
    echo "nothing is there: $STATE"
    exit 0
fi
[[ $action != stop && $action != enter || -e $MARK ]] \
    || die "no run has been made in $STATE"
if [[ -e $STATE && ! -e $MARK && -n $(ls -A "$STATE") ]]; then
    die "$STATE has files that are not from this script, expected none:" \
        "set CINDER_TIERS_DEVSTACK to another folder"
fi
umask 022
mkdir -p "$STATE/logs" || exit 1
touch "$MARK" || exit 1

. "$HERE/container.sh"
. "$HERE/tree.sh"

if [[ $action == enter ]]; then
    remembered init >/dev/null || die "no container runs: see --help, --keep"
    [[ $# -gt 0 ]] || set -- /bin/bash -l
    inside "$@"
    exit
fi

exec 9>"$STATE/lock"
flock -n 9 || die "another run uses $STATE"

readonly TREE=$STATE/tree
# What a run has changed in the tree, and where it is seen as one.
readonly LAYER=$STATE/layer
sampler=
follower=
passed=0
failed=0
skipped=0
failures=()
times=()

say() {
    printf '%(%H:%M:%S)T %5d s  %s\n' -1 "$SECONDS" "$*"
}

# remove_files: what is left of a run, but the tree and its logs.
remove_files() {
    rm -rf --one-file-system "$STATE"/{layer,tree.new,memory}
}

interrupted() {
    local signal=$1 status=$2
    trap '' INT TERM
    failures+=("interrupted by SIG$signal")
    keep=
    stop_child "$signal"
    exit "$status"
}

finish() {
    local status=$? failure
    trap '' INT TERM
    trap - EXIT
    end_follower
    end_sampler
    if [[ -n $keep ]] && remembered init >/dev/null; then
        echo
        echo "the container runs: tests/devstack/run.sh enter, then stop"
    elif ! { stop_container && remove_files; }; then
        failures+=("not all of the container could be removed from $STATE")
    fi
    echo
    if ((${#times[@]} > 0)); then
        printf '%s\n' "${times[@]}"
        printf '%7d s  all of it\n' "$SECONDS"
    fi
    if ((cpu_s > 0)); then
        echo "processor: $cpu_s s in the container; load now:" \
            "$(cut -d ' ' -f 1-3 /proc/loadavg)"
    fi
    if ((most_mib > 0)); then
        echo "most memory: $most_mib MiB, of at most $MOST_MEMORY_MIB"
    fi
    for failure in ${failures[@]+"${failures[@]}"}; do
        echo "FAILED: $failure"
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    if ((status == 0 && ${#failures[@]} > 0)); then
        status=1
    fi
    exit "$status"
}
most_mib=0
cpu_s=0

start_sampler() {
    set -m
    watch_memory </dev/null >/dev/null 2>&1 9>&- &
    set +m
    sampler=$!
}

# The cgroups that count are removed with the container.
end_sampler() {
    local now
    if now=$(cpu_seconds) && [[ -n $now && -n $sampler ]]; then
        cpu_s=$((cpu_s + now))
    fi
    if [[ -n $sampler ]]; then
        kill -KILL -- "-$sampler"
        wait "$sampler" 2>/dev/null
        sampler=
        now=$(cat "$STATE/memory" 2>/dev/null) || now=0
        if ((now > most_mib)); then
            most_mib=$now
        fi
    fi
}

# Print what the containers of this run have cost so far, in seconds.
cpu_total() {
    local now
    now=$(cpu_seconds)
    printf "%d\n" "$((cpu_s + ${now:-0}))"
}

# step NAME COMMAND...: one that counts, or is the last one.
step() {
    local name=$1 log began=$SECONDS cpu_began
    cpu_began=$(cpu_total)
    shift
    log=$STATE/logs/$(printf '%02d' "$((${#times[@]} + 1))")-${name// /-}.log
    say "$name: begins; its output is in $log"
    : >"$log"
    if "$@" "$log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures+=("$name: see $log")
        tail -n "$LINES_OF_A_LOG" "$log" | cut -c 1-300
        exit 1
    fi
    times+=("$(printf '%7d s  %7d s of a processor  %s' \
        "$((SECONDS - began))" "$(($(cpu_total) - cpu_began))" "$name")")
    say "$name: $((SECONDS - began)) s"
}

# limited SECONDS LOG SCRIPT [ARGUMENT]...: a shell script in the container, as
# the user of DevStack.
limited() {
    local limit_s=$1 log=$2 status
    shift 2
    export -f as_stack cgroup_roots in_cgroups inside remembered started
    export STATE CERTIFICATES CONTAINER INSIDE_PATH
    run timeout --kill-after=30 "$limit_s" bash -c 'as_stack "$@"' limited \
        "$@" >>"$log" 2>&1
    status=$?
    if ((status == 124)); then
        echo "not done after $limit_s s" >>"$log"
    fi
    return "$status"
}

# follow LOG: print the lines by which stack.sh says what it does.
follow() {
    tail -n 0 -F --pid="$$" "$1" 2>/dev/null | stdbuf -oL awk '
        /^[0-9-]+ [0-9:.]+ \| / {
            printf "%s          %s\n", substr($2, 1, 8), substr($0, index($0, "|") + 2)
        }'
}

# stack LOG: stack.sh, with the local.conf that is there.
stack() {
    local log=$1 status
    set -m
    follow "$log" </dev/null 9>&- &
    set +m
    follower=$!
    limited "$STACK_LIMIT_SECONDS" "$log" 'devstack/stack.sh'
    status=$?
    end_follower
    return "$status"
}

end_follower() {
    if [[ -n $follower ]]; then
        kill -- "-$follower"
        wait "$follower" 2>/dev/null
        follower=
    fi
}

make_tree() {
    local log=$1
    remove_files
    rm -rf --one-file-system "$TREE" "$TREE.key"
    say "    Debian $RELEASE with packages"
    make_debian "$TREE.new" >>"$log" 2>&1 || return
    say "    git repositories"
    configure_debian "$TREE.new" >>"$log" 2>&1 || return
    clone_projects "$TREE.new" >>"$log" 2>&1 || return
    start_container "$TREE.new" >>"$log" || return
    start_sampler
    # shellcheck disable=SC2016
    inside bash -c 'mkdir -p "$1" && bash /dev/stdin >"$1/left"' make_tree \
        "$ALONE" <"$HERE/inside/left.sh" || return
    limited "$STEP_LIMIT_SECONDS" "$log" \
        'git clone -q file:///srv/git/openstack/devstack.git devstack' || return
    write_local_conf || return
    say "    Python packages"
    install_python_packages "$log" || return
    say "    DevStack without cinder-tiers"
    stack "$log" || return
    inside cp /etc/cinder/cinder.conf /etc/cinder/api-paste.ini "$ALONE" \
        || return
    say "    Tempest"
    limited "$STEP_LIMIT_SECONDS" "$log" '
        git clone -q file:///srv/git/openstack/tempest.git tempest &&
            data/venv/bin/pip install -q -e tempest \
                -c requirements/upper-constraints.txt' || return
    limited "$STEP_LIMIT_SECONDS" "$log" 'devstack/unstack.sh' || return
    end_sampler
    power_off || return
    mv "$TREE.new" "$TREE" && tree_key >"$TREE.key"
}

# start_run LOG: the container of this run, with this checkout in it.
start_run() {
    local log=$1
    remove_files
    mkdir -p "$LAYER"/{files,work,tree} || return
    publish_checkout "$CHECKOUT" \
        "$LAYER/files/srv/git/x/cinder-tiers" >>"$log" 2>&1 \
        || return
    start_container "$LAYER/tree" "$TREE" "$LAYER/files" "$LAYER/work" \
        >>"$log" || return
    start_sampler
    write_local_conf \
        'enable_plugin cinder-tiers file:///srv/git/x/cinder-tiers main' \
        'CINDER_TIERS_ON_ERROR=fail' >>"$log" 2>&1
}

# keep_configuration NAME: what Cinder's services have read, in the container.
keep_configuration() {
    inside bash -c "mkdir -p /srv/$1 &&
        cp /etc/cinder/cinder.conf /etc/cinder/api-paste.ini /srv/$1"
}

stack_first() {
    stack "$1" && keep_configuration first
}

# add_counts LOG: what the last line of a log says, to what is printed last.
add_counts() {
    local line='^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'
    if [[ $(tail -n 1 "$1") =~ $line ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + BASH_REMATCH[3]))
        say "    $(tail -n 1 "$1")"
        if ((BASH_REMATCH[1] > 0)); then
            return
        fi
    fi
    echo "no test ran" >>"$1"
    return 1
}

tempest() {
    local log=$1 status
    inside install -m 755 /dev/stdin /srv/tempest.sh \
        <"$HERE/inside/tempest.sh" || return
    # shellcheck disable=SC2016
    limited "$STEP_LIMIT_SECONDS" "$log" '/srv/tempest.sh "$1"' "$HOST_IP"
    status=$?
    add_counts "$log" && return "$status"
}

placement() {
    local log=$1 status
    inside install -m 644 /dev/stdin /srv/placement.py \
        <"$HERE/inside/placement.py" || return
    limited "$STEP_LIMIT_SECONDS" "$log" \
        'data/venv/bin/python /srv/placement.py'
    status=$?
    add_counts "$log" && return "$status"
}

# compare LOG FOLDER: cinder.conf and api-paste.ini with those in a folder of
# the container; the difference is printed. Each run of stack.sh makes the
# project of images that Cinder keeps, and its user, with another id.
readonly OTHER_IDS='s/^(cinder_internal_tenant_[a-z]+_id = )[0-9a-f]{32}$/\1ID/'
compare() {
    local log=$1 folder=$2 file status=0
    for file in cinder.conf api-paste.ini; do
        # shellcheck disable=SC2016
        if inside bash -c '
            cat "$2" "$3" >/dev/null && diff -u --label "$2" --label "$3" \
                <(sed -E "$1" "$2") <(sed -E "$1" "$3")
        ' compare "$OTHER_IDS" "$folder/$file" "/etc/cinder/$file" \
                >"$STATE/difference" 2>&1; then
            say "    /etc/cinder/$file: no difference to $folder"
        else
            say "    /etc/cinder/$file: differs from $folder:"
            cat "$STATE/difference"
            status=1
        fi
        cat "$STATE/difference" >>"$log"
    done
    rm -f "$STATE/difference"
    return "$status"
}

unstack() {
    limited "$STEP_LIMIT_SECONDS" "$1" 'devstack/unstack.sh' || return
    compare "$1" "$ALONE"
}

stack_again() {
    stack "$1" && compare "$1" /srv/first
}

# What clean.sh leaves of DevStack alone, too: a bridge, one link to a unit, and
# units without a file that systemd remembers as failed.
readonly LEFT_BY_DEVSTACK='^(link br-ex|unit devstack@.*|unit file .*/devstack@openstack-cli-server\.service)$'
clean_devstack() {
    local log=$1 left
    limited "$STEP_LIMIT_SECONDS" "$log" 'devstack/clean.sh' || return
    # shellcheck disable=SC2016
    left=$(inside bash -c '
        bash /dev/stdin >"$1/left-now" && grep -q "^mount " "$1/left-now" &&
            comm -13 "$1/left" "$1/left-now"
    ' left "$ALONE" <"$HERE/inside/left.sh" 2>>"$log") || return
    left=$(grep -vE "$LEFT_BY_DEVSTACK" <<<"$left")
    if [[ -n $left ]]; then
        printf 'this is left:\n%s\n' "$left" >>"$log"
        return 1
    fi
}

# stop_run LOG: nothing of the container is left on this machine.
stop_run() {
    local log=$1 left
    end_sampler
    if ((most_mib > MOST_MEMORY_MIB)); then
        failures+=("memory: $most_mib MiB, expected at most $MOST_MEMORY_MIB")
    fi
    stop_container && remove_files || return
    left=$(
        container_processes
        cgroups
        grep -F " $STATE/" /proc/self/mountinfo
        find "$STATE" -mindepth 1 -maxdepth 1 \
            ! -name tree ! -name tree.key ! -name logs ! -name lock \
            ! -name "${MARK##*/}"
    )
    if [[ -n $left ]]; then
        printf 'left on this machine:\n%s\n' "$left" >>"$log"
        return 1
    fi
}

trap finish EXIT
trap 'interrupted INT 130' INT
trap 'interrupted TERM 143' TERM
# Of a run that was killed.
stop_container || die "a container that was left could not be ended"
case $action in
    stop)
        trap - EXIT
        remove_files
        exit
        ;;
    clean)
        trap - EXIT
        rm -rf --one-file-system "$STATE"
        exit
        ;;
esac
if ! check_mirrors >&2; then
    trap - EXIT
    exit 2
fi
rm -f "$STATE"/logs/*
missing=()
for package in debian-archive-keyring mmdebstrap slirp4netns \
        systemd-container; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null \
        | grep -q 'ok installed' || missing+=("$package")
done
if ((${#missing[@]} > 0)); then
    say "installing ${missing[*]}"
    { run apt-get -q update && DEBIAN_FRONTEND=noninteractive run apt-get \
        -q -y -o DPkg::Lock::Timeout=400 --no-install-recommends install \
        "${missing[@]}"
    } >"$STATE/logs/apt.log" 2>&1 || die "apt-get: see $STATE/logs/apt.log"
fi
if [[ ! -e $TREE.key || $(<"$TREE.key") != "$(tree_key)" ]]; then
    step 'make the tree' make_tree
fi
step 'start' start_run
step 'stack' stack_first
step 'tempest' tempest
step 'placement' placement
step 'unstack' unstack
step 'stack again' stack_again
step 'placement again' placement
step 'clean' clean_devstack
step 'stop' stop_run
