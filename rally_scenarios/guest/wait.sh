# shellcheck shell=sh disable=SC2034  # others use some of it
# SPDX-License-Identifier: Apache-2.0

# A guest's clock, and how it waits.  guest/orders.py gives this text to
# fleet.sh, which makes a file of it: processes of fio source it, too, in
# whatever shell is their /bin/sh.

now=0
programs_to_pause=0

# /proc/timer_list says to the nanosecond what /proc/uptime, which every user
# may read, says to 10 ms.  No program is started for either.
# $clock_text reads the clock into $now.
choose_clock() {
    now=''
    { read -r _ && read -r _ && read -r _ _ now _; } \
        2>/dev/null <"$CT_TIMER_LIST"
    case ${now:-x} in
        *[!0-9]*)
            clock_step=10
            clock_text="read -r now _ <'$CT_UPTIME'"
            # 0.08 is no octal number: a fraction has two digits.
            clock_text="$clock_text; now=\$((\${now%.*} * 1000"
            clock_text="$clock_text + 1\${now#*.}0 - 1000))" ;;
        *)
            clock_step=1
            clock_text="{ read -r _; read -r _; read -r _ _ now _; }"
            clock_text="$clock_text <'$CT_TIMER_LIST'; now=\${now%??????}" ;;
    esac
}

read_clock() {
    eval "$clock_text"
}

# Some shells can wait without starting a program, which takes long in an
# emulated guest: reading with a time limit from a pipe that nobody writes to.
choose_pause() {
    [ -p "$CT_WORK/silence" ] || mkfifo "$CT_WORK/silence"
    # shellcheck disable=SC3045  # that is what is tried
    if (echo yes | { read -t 0.5 -r answer && [ "$answer" = yes ]; }) \
        2>/dev/null; then
        pause() {
            # shellcheck disable=SC3045
            read -t "$1" -r _ <>"$CT_WORK/silence"
        }
    else
        pause() { sleep "$1"; }
        programs_to_pause=1
    fi
}

# wait_until TIME
wait_until() {
    read_clock
    while [ "$now" -lt "$1" ]; do
        left=$(($1 - now))
        if [ "$programs_to_pause" -eq 1 ] && [ "$left" -gt 200 ]; then
            # It takes long to start one: the rest in small steps.
            left=$((left - 100))
        elif [ "$programs_to_pause" -eq 1 ] && [ "$left" -gt 50 ]; then
            left=20
        elif [ "$programs_to_pause" -eq 1 ]; then
            left=0
        fi
        fraction=$((1000 + left % 1000))
        [ "$left" -eq 0 ] || pause "$((left / 1000)).${fraction#1}"
        read_clock
    done
}

# at_gate SLOT TIME: what each process of fio does before it begins.
at_gate() {
    # All that is done at the time has then been done before: an emulated
    # processor is slow where it is for the first time.
    wait_until $(($2 - 300))
    echo "@ready $1" >&3
    echo 0 >>"$CT_WORK/began"
    # What CPUs did before it, see facts.sh.
    read -r stat </proc/stat
    echo "$stat" >"$CT_WORK/ticks"
    wait_until "$2"
    echo "$now" >>"$CT_WORK/began"
    echo "@start $1" >&3
}

choose_clock
choose_pause
