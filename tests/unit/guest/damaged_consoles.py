# SPDX-License-Identifier: Apache-2.0


"""A small run of a fleet as consoles, and ways to damage and to forge them.

Small, so that ten thousand of them are judged in a minute: a fio output of
five buckets, in narrow lines.  No two results of a run have the same figures,
so that one that is taken for another shows.
"""

import json
import re

from hypothesis import strategies

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.profile import profile as named_profile
from tests.unit.guest import console_text

PATTERN = fio_pattern.Pattern(
    name='randwrite-4k', rw='randwrite', bs='4k', iodepth=16
)
PROFILE = named_profile.NamedProfile(
    name='mine',
    repeats=2,
    patterns=(PATTERN,),
    source=named_profile.Source(paper='task', where='patterns'),
    method=fio_pattern.Profile(
        region_mib=8, ramp_seconds=2, runtime_seconds=5
    ),
)
PLAN = schedule.plan(
    ['fast'], [PATTERN], PROFILE.method, repeats=2, guest_steps=[1, 2]
)
GUESTS = ('g000', 'g001')
_WIDTH = 120
_ENDED_MS = 1_700_000_000_000
# Numbers and words of JSON and of the log.
_NUMBER = re.compile(r'(\b[0-9.]+\b|\"[^\"]*\")')
_BUCKETS = (100864, 104960, 109056, 113152, 117248)


def fio_output(jobname, scale):
    """What fio prints, as far as it is read, and its five seconds."""
    bins = {str(ns): scale + place for place, ns in enumerate(_BUCKETS)}
    total = sum(bins.values())
    mean = sum(int(ns) * count for ns, count in bins.items()) / total
    idle = {'total_ios': 0, 'clat_ns': {'N': 0}}
    document = {
        'fio version': 'fio-3.33',
        'timestamp_ms': _ENDED_MS,
        'jobs': [
            {
                'jobname': jobname,
                'error': 0,
                'job options': {'iodepth': '16'},
                'read': idle,
                'write': {
                    'total_ios': total,
                    'runtime': 5000,
                    'iops': total / 5,
                    'io_bytes': total * 4096,
                    'bw_bytes': total * 4096 // 5,
                    'clat_ns': {
                        'N': total,
                        'mean': mean,
                        'max': _BUCKETS[-1],
                        'bins': bins,
                    },
                    'lat_ns': {
                        'N': total,
                        'mean': mean + 5000,
                        'max': _BUCKETS[-1] + 5000,
                    },
                    'slat_ns': {'N': total, 'mean': 5000.0, 'max': 9000},
                },
            }
        ],
    }
    log = ''.join(
        f'{_ENDED_MS - 4000 + 1000 * second}, {total // 5}, 1\n'
        for second in range(5)
    )
    return json.dumps(document).encode() + b'\n@series\n' + log.encode()


def outputs(position, run_scale=1):
    """{slot: what a guest sends of it}."""
    return {
        slot.number: fio_output(
            slot.pattern.name,
            run_scale * (20 + 7 * slot.number + 3 * position),
        )
        for slot in PLAN.of_guest('fast', position)
    }


def console(
    position, *, run=console_text.RUN, run_scale=1, sent=None, start_ms=50000
):
    """All lines of a guest.

    :param sent: {slot: fio's output}, else what ``outputs`` gives
    """
    sent = sent or outputs(position, run_scale)
    return console_text.whole_run(
        [
            (slot.number, slot.begin_seconds * 1000, sent[slot.number])
            for slot in PLAN.of_guest('fast', position)
        ],
        guest=GUESTS[position],
        run=run,
        offset_ms=200 + 50 * position,
        start_ms=start_ms,
        width=_WIDTH,
    )


CONSOLES = tuple(
    '[    1.0] Linux\n' + ''.join(console(position)) for position in range(2)
)
OTHER_RUN = ''.join(console(0, run='f' * 16, run_scale=5))
NOISE = (
    '\n',
    '\r',
    '\0',
    '\x1b[2J',
    '\x1c',
    '\x85',
    '\u2028',
    '\ud800',
    '@ctiers ',
    '[   12.3] kernel: something\n',
    '</script>',
    '#' * 900,
)


def _cut(text, first, length):
    return text[:first] + text[first + length :]


def _flip(text, at, how):
    return text[:at] + chr(ord(text[at]) ^ 1 << how % 7) + text[at + 1 :]


def _noise(text, at, how):
    return text[:at] + NOISE[how % len(NOISE)] + text[at:]


def _lines(change):
    """A change of lines as a change of text."""

    def changed(text, at, how):
        lines = text.split('\n')
        at %= len(lines)
        return '\n'.join(change(lines, at, how % len(lines)))

    return changed


def _insert(lines, at, what):
    return [*lines[:at], *what, *lines[at:]]


def _overlay(text, at, how):
    """Two lines printed at once, their characters mixed."""
    others = CONSOLES[how % 2].split('\n')
    other = others[how % len(others)]
    mine = text[at : at + len(other)]
    mixed = ''.join(a + b for a, b in zip(mine, other, strict=False))
    return text[:at] + mixed + text[at + len(mine) :]


# Each takes the text, a place in it, and a number that says how.
DAMAGES = {
    'flip': _flip,
    'noise': _noise,
    'overwrite': lambda text, at, how: (
        text[:at] + NOISE[how % len(NOISE)] + text[at + 1 + how % 9 :]
    ),
    'lose some': lambda text, at, how: _cut(text, at, how % 300),
    'cut the end': lambda text, at, how: text[:at],
    'cut the beginning': lambda text, at, how: text[at:],
    'again': lambda text, at, how: text + text[at : at + how % 3000],
    'lose a line': _lines(lambda lines, at, how: lines[:at] + lines[at + 1 :]),
    'double a line': _lines(
        lambda lines, at, how: _insert(lines, how, [lines[at]])
    ),
    'move a line': _lines(
        lambda lines, at, how: _insert(
            lines[:at] + lines[at + 1 :], how, [lines[at]]
        )
    ),
    'reverse': _lines(
        lambda lines, at, how: (
            lines[:at] + lines[at : at + how][::-1] + lines[at + how :]
        )
    ),
    'glue': _lines(
        lambda lines, at, how: [
            *lines[:at],
            ''.join(lines[at : at + 2]),
            *lines[at + 2 :],
        ]
    ),
    'no controls': lambda text, at, how: (
        text[:at]
        + text[at : at + how % 2000].replace('\n', '')
        + text[at + how % 2000 :]
    ),
    'carriage returns': lambda text, at, how: text.replace('\n', '\r\n'),
    'another guest': lambda text, at, how: (
        text[:at] + CONSOLES[how % 2][how % 999 :][: how % 4000] + text[at:]
    ),
    'another run': lambda text, at, how: (
        text[:at] + OTHER_RUN[: how % 9000] + text[at:]
    ),
    'overlay': _overlay,
}


def damages(most=6, without=()):
    """Lists of damages, to be done one after another.

    :param without: kinds of DAMAGES
    """
    return strategies.lists(
        strategies.tuples(
            strategies.sampled_from(sorted(DAMAGES.keys() - set(without))),
            strategies.integers(0, 10**5),
            strategies.integers(0, 10**5),
        ),
        min_size=1,
        max_size=most,
    )


def damaged(text, drawn):
    """The text after all damages of such a list."""
    for kind, at, how in drawn:
        if text:
            text = DAMAGES[kind](text, at % len(text), how)
    return text


def readings(text, width, step):
    """What a reader of the console sees who forgets the beginning."""
    for end in range(step, len(text) + step, step):
        yield text[max(0, end - width) : end]


# In place of a number or text of a fio output or an event.
NONSENSE = (
    '-1',
    '0',
    '1',
    'NaN',
    'Infinity',
    '-Infinity',
    '1e308',
    '1e999',
    '9' * 12,
    '9' * 400,
    '9' * 5000,
    str(2**63),
    str(2**64 - 1),
    '-' + '9' * 11,
    '0.5',
    'true',
    'null',
    '"x"',
    '"</script>"',
    '"\\ud800\\u0000"',
    '[]',
    '{}',
    '[' * 2000,
    '"' + '9' * 6 + '"',
)
EVENTS = (
    'GO start=1 offset=0 samples=5',
    'GO start=50000 offset=200',
    'GO start=50000 offset=250 error=-7 samples=5',
    'END slot=0 planned=50200 real=50210 end=99999999',
    'END slot=1 planned=1 real=2 end=3',
    'DONE',
    'FAILED : </script>',
    'LATE : \x1c\ud800',
    'BOOT a=\x1cb',
    'END slot=2',
    'FIO-FAILED slot=0 rc=7 : </script><b>',
    'LEADING missing=-',
)


def _words_forged(line, at, nonsense):
    """A line with one of its values replaced, and its digest right."""
    words = line[:-1].split(' ')[2:]
    values = [place for place, word in enumerate(words) if '=' in word]
    if values:
        place = values[at % len(values)]
        words[place] = words[place].split('=')[0] + '=' + nonsense
    return console_text.frame(' '.join(words))


def forged(events, documents, more, start_ms):
    """The console of a guest that can compute digests, and lies.

    :param events: [(which line, which of its values, nonsense), ...]
    :param documents: [(slot, which number of fio's output, nonsense), ...]
    :param more: [(number of an event, words), ...], printed first
    :param start_ms: T0, of which all its times speak
    """
    sent = outputs(1)
    for slot, at, nonsense in documents:
        number = sorted(sent)[slot % len(sent)]
        sent[number] = _output_forged(sent[number], at, nonsense)
    lines = console(1, sent=sent, start_ms=start_ms)
    heads = [place for place, line in enumerate(lines) if ' event ' in line]
    for which, at, nonsense in events:
        place = heads[which % len(heads)]
        lines[place] = _words_forged(lines[place], at, nonsense)
    return ''.join(
        [
            console_text.frame(
                f'{console_text.RUN} g001 event {number} {words}'
            )
            for number, words in more
        ]
        + lines
    )


def _output_forged(output, at, nonsense):
    """fio's output, or its log, with one number replaced."""
    text = output.decode()
    tokens = _NUMBER.split(text)
    place = at % (len(tokens) // 2) * 2 + 1
    tokens[place] = nonsense
    return ''.join(tokens).encode('utf-8', 'replace')
