# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0

# How the guests of a fleet agree on their start: the first part of the script
# that fleet.sh ends, which says what programs it needs.  Times are
# milliseconds since the boot; wait.sh has the clock.
#
# The start disk is attached to all guests.  It has sectors of 4096 bytes:
# number 0 is for what all read, number 1 + N belongs to guest N.  Guest 0 leads;
# if it says nothing in its time, the next one that lives does.
#   1. Each guest writes READY (or BROKEN) into its sector.
#   2. When all have, or the time is up, the leader compares clocks with one
#      guest after the other, so that they have the processors to themselves.
#      It writes ASK with its own clock into sector 0, the guest writes ANSWER
#      with its own there, and the leader reads that.  The guest took its clock
#      between the two of the leader: that bounds the offset from both sides.
#   3. The leader writes GO with T0, on its clock, who was not ready, and the
#      tightest bounds of each guest, which takes the middle of its own.
#
# Any guest can write any text there.  Some shells run a command that stands in
# an arithmetic expression, so that nothing but numbers may get into one.

# shellcheck disable=SC2154,SC2034  # orders and fleet.sh have the other halves
sector=4096
record=''
unchanged=0

# is_count TEXT: whether it is a number that every shell takes for the same: an
# octal one, or one that is too large, ends some of them.
is_count() {
    case $1 in
        ''|*[!0-9]*|0?*|????????????????*) return 1 ;;
    esac
}

# put_record SECTOR TEXT: one write, so others see all of it or nothing.
put_record() {
    printf '%s\n' "$2" | dd of="$start_device" bs="$sector" seek="$1" \
        count=1 conv=sync,notrunc oflag=direct 2>/dev/null
}

# Sector 0, into $record; empty while nothing was written.
# A block device that is not held open is read anew whenever it is opened, so
# that reading needs no program.  Where something else holds it, a record may
# stay as it was: then, and until there is a line to read at all, dd asks.
get_record() {
    last_record=$record
    if [ -n "$record" ]; then
        read -r record <"$start_device"
    fi
    unchanged=$((unchanged + 1))
    if [ "$record" != "$last_record" ]; then
        unchanged=0
    elif [ -z "$record" ] || [ "$unchanged" -ge 50 ]; then
        record=$(dd if="$start_device" bs="$sector" count=1 iflag=direct \
            2>/dev/null | { read -r line && printf %s "$line"; })
        unchanged=0
    fi
}

# Sector 0, whole, without a program: closing a device writes what is left.
put_quickly() {
    printf "%-$((sector - 1))s\n" "$1" 1<>"$start_device"
}

# compare_clocks GUEST: its clock minus ours is from $lower to $upper.  It may
# take its time to see that it is asked, but then answers at once.  What is
# known to 10 ms is good enough, and after some seconds what is known by then:
# who collects the results knows how long this takes at most.
compare_clocks() {
    samples=0 lower=0 upper=0 silences=0
    read_clock
    began=$now
    while [ "$samples" -lt "$CT_EXCHANGES" ] && [ "$silences" -lt 2 ] &&
        [ $((now - began)) -lt $((CT_EXCHANGES_SECONDS * 1000)) ] &&
        { [ "$samples" -lt 4 ] || [ $((upper - lower)) -gt 10 ]; }; do
        read_clock
        asked=$now
        question="$CT_RUN $1 $asked"
        # Quick writing may wait for another guest that has it open.
        if [ "$silences" -eq 0 ]; then
            put_quickly "ASK $question ."
        else
            put_record 0 "ASK $question ."
        fi
        answer=''
        while [ -z "$answer" ] &&
            [ $((now - asked)) -lt $((CT_ANSWER_SECONDS * 1000)) ]; do
            get_record
            read_clock
            case $record in
                "ANSWER $question "*" ."*)
                    answer=${record#"ANSWER $question "}
                    answer=${answer%%" ."*}
                    is_count "$answer" || answer='' ;;
                "ASK $question ."*) ;;
                # a guest was so late that it wrote over the question
                *) put_record 0 "ASK $question ." ;;
            esac
        done
        if [ -z "$answer" ]; then
            silences=$((silences + 1))
            continue
        fi
        if [ "$samples" -eq 0 ] || [ $((answer - asked)) -lt "$upper" ]; then
            upper=$((answer - asked))
        fi
        if [ "$samples" -eq 0 ] || [ $((answer - now)) -gt "$lower" ]; then
            lower=$((answer - now))
        fi
        samples=$((samples + 1))
    done
}

# Answer the question in $record, if it is one and for us.
answer_question() {
    case $record in
        "ASK $CT_RUN $CT_INDEX "*" ."*) ;;
        *) return 1 ;;
    esac
    asked=${record#"ASK $CT_RUN $CT_INDEX "}
    asked=${asked%%" ."*}
    read_clock
    if [ "$asked" != "$last_asked" ]; then
        put_quickly "ANSWER $CT_RUN $CT_INDEX $asked $now ."
        last_asked=$asked last_answered=$now
    elif [ $((now - last_answered)) -gt 500 ]; then
        # The leader has not seen it: not written yet, or written over.
        put_record 0 "ANSWER $CT_RUN $CT_INDEX $asked $now ."
        last_answered=$now
    fi
}

# $missing: numbers of the guests that are not ready; $waiting: how many of
# them have not said that they never will be; $led: whether a guest leads.
count_ready() {
    records=$(dd if="$start_device" bs=$((sector * (CT_GUESTS + 1))) count=1 \
        iflag=direct 2>/dev/null | tr -d '\0')
    missing='' waiting=0 number=0 led=no
    case $records in
        "ASK $CT_RUN "*|"ANSWER $CT_RUN "*|"GO $CT_RUN "*) led=yes ;;
    esac
    while [ "$number" -lt "$CT_GUESTS" ]; do
        case $newline$records$newline in
            *"${newline}READY $CT_RUN $number .$newline"*) ;;
            *"${newline}BROKEN $CT_RUN $number .$newline"*)
                missing=$missing,$number ;;
            *)
                missing=$missing,$number
                waiting=$((waiting + 1)) ;;
        esac
        number=$((number + 1))
    done
    missing=${missing#,}
}

# Status 2: another guest leads already.
lead() {
    count_ready
    read_clock
    # Seldom: to poll takes CPU from those that still boot, most of all where
    # guests are emulated.
    while [ "$led$waiting" != no0 ] && [ "$now" -lt "$deadline" ]; do
        [ "$led" = no ] || return 2
        pause 1
        count_ready
        read_clock
    done
    [ "$led" = no ] || return 2
    event LEADING "missing=${missing:--}"
    clocks='' number=0
    while [ "$number" -lt "$CT_GUESTS" ]; do
        samples=0
        case ,$missing,$CT_INDEX, in
            *",$number,"*) ;;
            *) compare_clocks "$number" ;;
        esac
        if [ "$samples" -gt 0 ]; then
            clocks="$clocks,$lower:$((upper - lower)):$samples"
        else
            clocks="$clocks,-"
        fi
        number=$((number + 1))
    done
    offset=0 error=0 samples=0
    read_clock
    start=$((now + CT_LEAD_SECONDS * 1000))
    go="GO $CT_RUN $start ${missing:--} ${clocks:--} ."
    put_record 0 "$go"
    # Who answers late may write over it.
    guarded=$((now + 2000))
    while [ "$now" -lt "$guarded" ]; do
        pause 0.3
        get_record
        case $record in
            "$go"*) ;;
            *) put_record 0 "$go" ;;
        esac
        read_clock
    done
    return 0
}

# Status 2: no guest leads, and it is this one's turn to.
follow() {
    record='' last_asked='' last_answered=0
    turn=$((deadline + CT_INDEX * CT_SUCCESSION_SECONDS * 1000))
    # The leader may have booted later, and then waits as long as we do.
    while :; do
        get_record
        case $record in
            "GO $CT_RUN "*" ."*)
                case ${record#"GO $CT_RUN "} in
                    *[!0-9,:.\ -]*) pause 0.3 ;;
                    *) break ;;
                esac ;;
            "ASK $CT_RUN $CT_INDEX "*|"ANSWER $CT_RUN $CT_INDEX "*)
                answer_question
                # Our turn: a program would only take from the time.
                [ "$programs_to_pause" -eq 1 ] || pause 0.005
                continue ;;
            "ASK $CT_RUN "*|"ANSWER $CT_RUN "*)
                # By dd after a second, see get_record.
                unchanged=$((unchanged + 12))
                pause 0.3 ;;
            *)
                [ "$now" -lt "$turn" ] || return 2
                pause 1.5 ;;
        esac
        read_clock
        if [ "$now" -ge $((deadline + CT_READY_SECONDS * 1000)) ]; then
            event FAILED ": no start signal from the leader"
            return 1
        fi
    done
    # shellcheck disable=SC2086  # words
    set -- $record
    if [ "$#" -ne 6 ]; then
        event FAILED ": the start signal is not what a leader writes"
        return 1
    fi
    start=$3 missing=$4 clocks=${5#,}
    case ,$missing, in
        *",$CT_INDEX,"*)
            event LATE ": the leader gave the start before we were ready"
            return 1 ;;
    esac
    IFS=,
    # shellcheck disable=SC2086  # one for each guest
    set -- $clocks
    unset IFS
    if [ "$#" -le "$CT_INDEX" ]; then
        event FAILED ": the start signal has no clock of this guest"
        return 1
    fi
    shift "$CT_INDEX"
    case ${1:--} in
        -)
            event LATE ": no answer of ours reached the leader's clock in time"
            return 1 ;;
    esac
    width=${1#*:}
    samples=${width#*:}
    width=${width%:*}
    lower=${1%%:*}
    # Of a clock that counts in 10 ms, an answer may be older than it says, and
    # the bounds cross by as much.
    for count in "$start" "${lower#-}" "${width#-}" "$samples"; do
        if ! is_count "$count"; then
            event FAILED ": the start signal is not what a leader writes"
            return 1
        fi
    done
    if [ "$width" -lt -20 ]; then
        event FAILED ": the bounds of its clock cross by ${width#-} ms"
        return 1
    fi
    offset=$((lower + width / 2))
    # Either clock may have lost most of a step.
    error=$((width / 2 + clock_step))
    # That of the leader may be the coarse one.
    [ "$error" -gt 0 ] || error=10
}

start_by_volume() {
    offset=0 error=- samples=0 start=0 missing=''
    if ! put_record $((CT_INDEX + 1)) "$state $CT_RUN $CT_INDEX ."; then
        event FAILED ": could not write to the start disk $start_device"
        return 1
    fi
    [ "$state" = READY ] && event READY
    # A leader without a disk to measure can still lead.
    part=follow status=2
    [ "$CT_INDEX" -ne 0 ] || part=lead
    while [ "$status" -eq 2 ] && [ "$state$part" != BROKENfollow ]; do
        "$part"
        status=$?
        case $status$part in
            2lead) part=follow ;;
            2follow) part=lead ;;
            1*) return 1 ;;
        esac
    done
    if [ "$state" = BROKEN ]; then
        event FAILED ": could not prepare, see BROKEN"
        return 1
    fi
    event GO "start=$start" "offset=$offset" "error=$error" "samples=$samples"
}
