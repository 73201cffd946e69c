# SPDX-License-Identifier: Apache-2.0


"""What a catalog costs that was made to be expensive.

    python -m benchmarks.hostile_catalogs

gives each hostile text to the reader, which must answer with problems, and
prints the processor time beside that of a sound catalog of 500 tiers, read in
the same run. A ratio far above the others is a way to keep a processor busy
with a small file.
"""

import argparse
import json
import pathlib
import time

from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader

SOUND_TIERS = 500

# What each of them would cost without a bound of its own: 4 to 31 s for the
# last five of the second group.
TEXTS = {
    'an alias bomb': '\n'.join(
        ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
        + [
            f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 9)}]'
            for n in range(1, 30)
        ]
    ),
    'deep lists': '[' * 130_000,
    'a long list': 'a: [' + '1,' * 120_000 + ']',
    'many keys': '\n'.join(f'k{n}: 1' for n in range(24_000)),
    'wrong overflows': 'version: 1\ntiers:\n'
    + ''.join(
        f'  t{n}: {{overflow: zz{n}, backend: x}}\n' for n in range(4000)
    ),
    'a chain of overflows': 'version: 1\ntiers:\n'
    + ''.join(
        f'  t{n}: {{overflow: t{n + 1}, backend: x}}\n' for n in range(4000)
    ),
    'tags that are numbers': 'tiers: {a: {tags: [' + '1,' * 24_900 + ']}}',
    'more of them': 'tiers: {a: {tags: [' + '1,' * 110_000 + ']}}',
    'mappings for names': 'follow_image_types: [' + '{a: 1},' * 12_000 + ']',
    'lists for names': 'follow_image_types: [' + '[],' * 24_900 + ']',
    'a number of base 60': 'a: ' + '1:' * 100_000 + '1',
    'combining characters': 'tiers: {a: {tags: ["'
    + '\u0315\u0300' * 60_000
    + '"]}}',
}


def sound(tiers):
    """A sound catalog of so many tiers."""
    return 'version: 1\ntiers:\n  t0: {fallback: true, backend: b0}\n' + (
        ''.join(
            f'  t{n}: {{tags: [tag{n}], priority: {n}, backend: b{n}}}\n'
            for n in range(1, tiers)
        )
    )


def seconds(text, problems_wanted):
    """Processor seconds of reading a catalog.

    :raises SystemExit: the answer is the wrong one.
    """
    started = time.process_time()
    try:
        reader.read_text(text, file='t.yaml')
        problems = 0
    except errors.ProblemsFound as error:
        problems = len(error.problems)
    spent = time.process_time() - started
    if bool(problems) != problems_wanted:
        raise SystemExit(f'{problems} problems found in {text[:60]!r}')
    return spent


def main():
    """Reads all texts and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--tiers', type=int, default=SOUND_TIERS, help='of the sound catalog'
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    options = parser.parse_args()
    base_s = seconds(sound(options.tiers), False)
    found = {
        name: {'kib': len(text.encode()) / 1024, 'cpu_s': seconds(text, True)}
        for name, text in TEXTS.items()
    }
    print(f'a sound catalog of {options.tiers} tiers: {base_s:.2f} s')
    print(f'{"KiB":>6} {"cpu s":>7} {"ratio":>7}  text')
    for name, row in found.items():
        row['ratio'] = row['cpu_s'] / base_s
        print(
            f'{row["kib"]:>6.0f} {row["cpu_s"]:>7.2f} '
            f'{row["ratio"]:>7.2f}  {name}'
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
