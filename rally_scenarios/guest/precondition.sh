#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# Writes in rounds until they are steady, before a guest says that it is ready:
# a function that fleet.sh calls.  The rule and its limits are those of
# figures/stats/rounds.py, which judges the same rounds again on the host.
# shellcheck disable=SC2154,SC2034  # fleet.sh and orders have the other half

# is_steady KIB...: of all rounds so far; only the last ones count.
is_steady() {
    printf '%s\n' "$@" | awk -v window="$CT_ROUND_WINDOW" \
        -v excursion="$CT_ROUND_EXCURSION" -v slope="$CT_ROUND_SLOPE" '
        { value[NR] = $1 }
        END {
            if (NR < window) exit 1
            least = most = value[NR]
            for (n = 1; n <= window; n++) {
                v = value[NR - window + n]
                x = n - (window + 1) / 2
                sum += v; rise += x * v; squares += x * x
                if (v < least) least = v
                if (v > most) most = v
            }
            average = sum / window
            rise = rise / squares * (window - 1)
            if (rise < 0) rise = -rise
            if (average <= 0 || (most - least) * 100 > excursion * average ||
                rise * 100 > slope * average) exit 1
        }'
}

precondition() {
    round=0 rounds='' steady=no
    while [ "$round" -lt "$CT_ROUNDS" ] && [ "$steady" = no ]; do
        round=$((round + 1))
        run_fio "$CT_ROUND_LIMIT" "$CT_ROUND"
        status=$?
        # KiB that were written, see fio(1) on terse output, version 3.
        kib=$(awk -F ';' '/^3;/ { print $47; exit }' "$CT_WORK/out" \
            2>/dev/null)
        case $status$kib in
            0 | *[!0-9]* | [!0]*)
                event BROKEN "rc=$status : round $round before the" \
                    "measurement: $(last_line "$CT_WORK/out" "$CT_WORK/err")"
                return 1 ;;
        esac
        event ROUND "round=$round" "kib=$kib"
        rounds="$rounds $kib"
        # shellcheck disable=SC2086  # one for each round
        is_steady $rounds && steady=yes
    done
    read_clock
    event PRECONDITIONED "at=$now" "rounds=$round" "steady=$steady"
}
