# SPDX-License-Identifier: Apache-2.0

"""Console text as a guest's script would print it, without the guest.

``test_fleet_script`` runs the real script; here its lines are made by hand,
so that they can be damaged on purpose.
"""

import base64
import gzip
import hashlib

RUN = '0123456789abcdef'


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def frame(text):
    return f'@ctiers {digest(text.encode("utf-8", "replace"))} {text}\n'


def event(number, words, *, guest='g000', run=RUN):
    return frame(f'{run} {guest} event {number} {words}')


def result(slot, output, *, guest='g000', run=RUN, packed=None, width=480):
    """Framed lines of a result, one string each.

    :param output: what fio wrote, bytes
    :param packed: sent in place of the gzip data of ``output``
    """
    if packed is None:
        packed = gzip.compress(output, mtime=0)
    text = base64.b64encode(packed).decode()
    parts = [text[at : at + width] for at in range(0, len(text), width)]
    whole = digest(packed)
    return [
        frame(f'{run} {guest} data {slot} {seq}/{len(parts)} {whole} {part}')
        for seq, part in enumerate(parts, start=1)
    ]


def whole_run(
    slots, *, guest='g000', run=RUN, start_ms=50000, offset_ms=200, width=480
):
    """Lines of a guest that does all of its slots and is done.

    :param slots: [(slot number, planned start in ms after T0, fio output),
        ...]
    """
    lines = [
        event(1, 'BOOT at=9000 kernel=6.1.0', guest=guest, run=run),
        event(2, 'PREPARED at=12000 target=/dev/vda2', guest=guest, run=run),
        event(3, 'READY', guest=guest, run=run),
        event(
            4,
            f'GO start={start_ms} offset={offset_ms} error=7 samples=30',
            guest=guest,
            run=run,
        ),
    ]
    number = 4
    for slot, after_ms, output in slots:
        planned = start_ms + offset_ms + after_ms
        number += 2
        lines += [
            event(
                number - 1,
                f'START slot={slot} planned={planned} at={planned - 3000}',
                guest=guest,
                run=run,
            ),
            event(
                number,
                f'END slot={slot} planned={planned}'
                f' real={planned + 10} end={planned + 9000}',
                guest=guest,
                run=run,
            ),
            *result(slot, output, guest=guest, run=run, width=width),
        ]
    return [*lines, event(number + 1, 'DONE', guest=guest, run=run)]
