# SPDX-License-Identifier: Apache-2.0

"""Adds a rule to a CRUSH map in Ceph's own encoding.

The commands of Ceph create rules of one part and one level only; others need
the whole map, as `ceph osd getcrushmap` gives it. Only what is needed to find
the place of the new rule is understood here: all other bytes stay as they are.
The encoding is that of CrushWrapper::encode in src/crush/CrushWrapper.cc,
whose beginning is the same in Ceph 16 to 20. Pure.
"""

import collections.abc
import dataclasses
import struct

_MAGIC = 0x00010000
#: Steps of rules (crush_opcodes in src/crush/crush.h).
_TAKE, _CHOOSE_FIRSTN, _EMIT, _CHOOSELEAF_FIRSTN = 1, 2, 4, 6
_REPLICATED = 1
#: Sizes of pools that a rule is for, which Ceph heeds no longer since 17.
_LEAST_SIZE, _MOST_SIZE = 1, 10
#: {algorithm of a bucket: words of 4 bytes for each item, and besides}.
_WEIGHT_WORDS = {1: (0, 1), 2: (2, 0), 4: (2, 0), 5: (1, 0)}
_TREE = 3
_MOST_RULES = 256
#: In place of a rule: the mark that there is none.
_NO_RULE = bytes(4)


class NotUnderstood(Exception):
    """The bytes are no CRUSH map, or lack what the rule needs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RulePart:
    """A part of a rule for copies: where it takes how many OSDs."""

    #: Name of a bucket; a class is taken through its tree, root~class.
    bucket: str
    #: 0 for as many as the pool has copies, -1 for all but one.
    copies: int
    #: Name of a bucket type of which no two copies may share one.
    failure_domain: str
    #: Name of a bucket type above it, of which as many are chosen first as
    #: the pool has copies: `copies` are then placed in each. None: the part
    #: has one level.
    in_each: str | None = None


class _MapReader:
    """A place in the map, which moves on."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, form: str) -> tuple[int, ...]:
        """Numbers, little endian, by their codes in `struct`.

        :raises NotUnderstood: the map ends before.
        """
        try:
            found = struct.unpack_from(f'<{form}', self.data, self.place)
        except struct.error as error:
            raise NotUnderstood(f'it is truncated: {error}') from error
        self.place += struct.calcsize(f'<{form}')
        return found

    def skip(self, size_bytes: int) -> None:
        """Moves on."""
        self.take(f'{size_bytes}x')

    def names(self) -> dict[int, str]:
        """A map of numbers to names.

        :raises NotUnderstood: it is written in another way than by
            `_encoded_names`, such as with the numbers of 64 bits of old maps.
        """
        found, begin = {}, self.place
        for _ in range(*self.take('I')):
            number, length = self.take('iI')
            start = self.place
            self.skip(length)
            found[number] = self.data[start : self.place].decode(
                'utf-8', 'surrogateescape'
            )
        if _encoded_names(found) != self.data[begin : self.place]:
            raise NotUnderstood('its names have an unexpected format')
        return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Map:
    """A map, as far as it is understood."""

    #: Its first two numbers, and the fourth.
    head: tuple[int, ...]
    #: All buckets, and their numbers.
    buckets: bytes
    bucket_ids: frozenset[int]
    #: By their numbers; one that is not there is `_NO_RULE`.
    rules: tuple[bytes, ...]
    types: dict[int, str]
    #: Names of OSDs and buckets.
    names: dict[int, str]
    rule_names: dict[int, str]
    #: All that comes then.
    rest: bytes

    def encoded(self) -> bytes:
        """The map in the encoding of Ceph."""
        magic, buckets, devices = self.head
        return b''.join(
            (
                struct.pack('<IiIi', magic, buckets, len(self.rules), devices),
                self.buckets,
                *self.rules,
                _encoded_names(self.types),
                _encoded_names(self.names),
                _encoded_names(self.rule_names),
                self.rest,
            )
        )


def _read(data: bytes) -> _Map:
    """A map of its encoding.

    :raises NotUnderstood: it is none, or would not be encoded so again.
    """
    read = _MapReader(data)
    magic, buckets, rules, devices = read.take('IiIi')
    if magic != _MAGIC:
        raise NotUnderstood('it does not start like a CRUSH map')
    start = read.place
    ids = frozenset(
        number
        for number in [_skip_bucket(read) for _ in range(buckets)]
        if number is not None
    )
    end_of_buckets = read.place
    found = []
    for _ in range(rules):
        begin = read.place
        if read.take('I')[0]:
            (steps,) = read.take('I')
            read.skip(4 + 12 * steps)
        found.append(data[begin : read.place])
    understood = _Map(
        head=(magic, buckets, devices),
        buckets=data[start:end_of_buckets],
        bucket_ids=ids,
        rules=tuple(found),
        types=read.names(),
        names=read.names(),
        rule_names=read.names(),
        rest=data[read.place :],
    )
    if understood.encoded() != data:
        raise NotUnderstood('it has an unexpected format')
    return understood


def with_rule(
    data: bytes, name: str, parts: collections.abc.Iterable[RulePart]
) -> bytes:
    """Return a CRUSH map with one more rule, for replicated pools.

    A monitor that gets a broken map crashes, and so does the next one. So the
    new map is read again, and must differ by nothing but the rule.

    :param name: name of the rule, which no other rule has.
    :param parts: parts of the rule, in order: the first copy is the primary.
    :raises NotUnderstood: this cannot be done safely.
    """
    before = _read(data)
    if name in before.rule_names.values():
        raise NotUnderstood(f'it already has a rule {name}')
    number = next(
        (
            place
            for place, rule in enumerate(before.rules)
            if rule == _NO_RULE and place not in before.rule_names
        ),
        len(before.rules),
    )
    if number >= _MOST_RULES:
        raise NotUnderstood(f'it already has {_MOST_RULES} rules, the maximum')
    rules = [*before.rules]
    rules[number : number + 1] = [_encoded(number, parts, before)]
    after = dataclasses.replace(
        before,
        rules=tuple(rules),
        rule_names={**before.rule_names, number: name},
    )
    encoded = after.encoded()
    if _read(encoded) != after:
        raise NotUnderstood('it cannot be read any more with the rule')
    return encoded


def _skip_bucket(read: _MapReader) -> int | None:
    """Moves behind a bucket and returns its number; None without one."""
    (exists,) = read.take('I')
    if not exists:
        return None
    number, _type, algorithm, _hash, _weight, size = read.take('iHBBII')
    read.skip(4 * size)
    if algorithm == _TREE:
        (nodes,) = read.take('B')
        read.skip(4 * nodes)
    elif algorithm in _WEIGHT_WORDS:
        each, besides = _WEIGHT_WORDS[algorithm]
        read.skip(4 * (each * size + besides))
    else:
        raise NotUnderstood(f'it has a bucket with algorithm {algorithm}')
    return number


def _encoded(
    number: int,
    parts: collections.abc.Iterable[RulePart],
    found: _Map,
) -> bytes:
    """A rule, with the mark that there is one."""
    ids = {name: one for one, name in found.names.items()}
    types = {name: one for one, name in found.types.items()}
    steps = []
    for part in parts:
        wanted = [*filter(None, (part.in_each, part.failure_domain))]
        if ids.get(part.bucket) not in found.bucket_ids or not (
            types.keys() >= set(wanted)
        ):
            raise NotUnderstood(
                f'it has no bucket {part.bucket}, or no bucket type '
                f'{" or ".join(wanted)}'
            )
        kind = types[part.failure_domain]
        steps += [
            (_TAKE, ids[part.bucket], 0),
            *(
                [(_CHOOSE_FIRSTN, 0, types[part.in_each])]
                if part.in_each
                else []
            ),
            (
                _CHOOSELEAF_FIRSTN if kind else _CHOOSE_FIRSTN,
                part.copies,
                kind,
            ),
            (_EMIT, 0, 0),
        ]
    return struct.pack(
        '<IIBBBB', 1, len(steps), number, _REPLICATED, _LEAST_SIZE, _MOST_SIZE
    ) + b''.join(struct.pack('<Iii', *step) for step in steps)


def _encoded_names(names: collections.abc.Mapping[int, str]) -> bytes:
    """A map of numbers to names, by number."""
    parts = [struct.pack('<I', len(names))]
    for number, name in sorted(names.items()):
        text = name.encode('utf-8', 'surrogateescape')
        parts.append(struct.pack('<iI', number, len(text)) + text)
    return b''.join(parts)
