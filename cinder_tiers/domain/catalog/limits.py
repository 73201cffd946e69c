# SPDX-License-Identifier: Apache-2.0

"""Allowed names, values and ranges of the tiers file, each defined once.

The schema of the file is generated from them; `export` and the command line
check their output against them. Must not know how the file is laid out, nor
what exists in a cloud.
"""

import dataclasses
import functools
import re

from cinder_tiers.domain.catalog import expectations


@dataclasses.dataclass(frozen=True, kw_only=True)
class Text:
    """Texts that a place in the file may have."""

    #: Completes "expected ..." of a message.
    expected: str
    #: Regular expression of the whole text; None: any text.
    pattern: str | None = None
    min_chars: int = 0
    max_chars: int | None = None

    def fits(self, text: str) -> bool:
        """Return whether a text is allowed."""
        return (
            len(text) >= self.min_chars
            and (self.max_chars is None or len(text) <= self.max_chars)
            and (
                self.pattern is None
                or _compiled(self.pattern).fullmatch(text) is not None
            )
        )


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers that a place in the file may have, both ends included.

    >>> 7 in Range(1, 10), 0 in Range(1, 10)
    (True, False)
    """

    least: int
    most: int

    def __contains__(self, number: float) -> bool:
        return self.least <= number <= self.most


#: C0 and C1, which steer terminals; what ends a line for YAML, and what
#: changes the order of letters. A class of the regular expressions of both
#: Python and JSON Schema.
_NOT_PRINTABLE = r'\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069'
_PRINTABLE = f'[^{_NOT_PRINTABLE}]'
# What Cinder prints (_is_printable, cinder/api/validation/parameter_types.py,
# 29.0.0), which knows no character above U+FFFF. Which characters are not
# assigned depends on the Python under Cinder; those of no known version are
# left out.
_PRINTED_BY_CINDER = (
    r'[ -~\xa0-\xac\xae-\u05ff\u0606-\u061b\u061d-\u06dc\u06de-\u070e'
    r'\u0710-\u088f\u0892-\u08e1\u08e3-\u180d\u180f-\u200a\u2010-\u2027'
    r'\u202f-\u205f\u2070-\ud7ff\uf900-\ufdcf\ufdf0-\ufefe\uff00-\uffef'
    r'\ufffc\ufffd]'
)
_LONG = 255
# Characters after the first letter or digit.
_MORE_CHARS = 62
_BACKEND_MORE_CHARS = 99
_PROJECT_CHARS = 64
_WORD = '[A-Za-z0-9._-]{1,63}'
_NAME = f'[A-Za-z0-9][A-Za-z0-9._-]{{0,{_MORE_CHARS}}}'
_NAME_CHARS = (
    f"a letter or digit, then at most {_MORE_CHARS} letters, digits, '.', "
    "'_' or '-'"
)
_SPEC_KEY = f'[A-Za-z0-9._:-]{{1,{_LONG}}}'
_GRAPHIC = f'[!-~]{{1,{_LONG}}}'
_GRAPHIC_CHARS = f'up to {_LONG} printable characters without spaces'
_OSD_PREFIXES = (
    'bluefs',
    'bluestore',
    'bdev',
    'filestore',
    'journal',
    'osd',
    'rocksdb',
    'throttler',
)

#: Name of a tier or a cluster.
NAME = Text(
    pattern=_NAME,
    expected=f'{_NAME_CHARS} (the name is used for a volume type and in a '
    'section of cinder.conf)',
)
POOL = Text(pattern=_NAME, expected=f'a pool name: {_NAME_CHARS}')
#: Name of a volume type in Cinder.
TYPE_NAME = Text(
    pattern=rf'[^\s{_NOT_PRINTABLE}]({_PRINTABLE}*[^\s{_NOT_PRINTABLE}])?',
    max_chars=_LONG,
    expected=f'a volume type name of 1 to {_LONG} printable characters, '
    'without white space at its ends',
)
#: Name of a QoS spec in Cinder.
QOS_NAME = dataclasses.replace(
    TYPE_NAME,
    expected=f'a QoS spec name of 1 to {_LONG} printable characters, without '
    'white space at its ends',
)
USER = Text(
    pattern=rf'(?!client\.){_WORD}',
    expected="a cephx user without 'client.': letters, digits, '.', '_' or "
    "'-'",
)
INCLUDE = Text(
    pattern=f'(?!/){_PRINTABLE}+',
    expected='a list of paths of YAML files, relative to the file that has it',
)
CONF = Text(
    pattern=f'/{_PRINTABLE}+', expected='the absolute path of a ceph.conf'
)
SECRET_UUID = Text(
    pattern='[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}',
    expected='the UUID of a libvirt secret',
)
HOST = Text(
    pattern=f'[A-Za-z0-9._-]{{1,{_LONG}}}',
    expected="the name of a CRUSH host: letters, digits, '.', '_' or '-'",
)
DEVICE_CLASS = Text(
    pattern=_WORD,
    expected='a CRUSH device class, such as ssd; without it OSDs of all '
    'classes',
)
PRIMARY_DEVICE_CLASS = Text(
    pattern=_WORD,
    expected='the CRUSH device class of the first copy, such as ssd; '
    'device_class has the others',
)
CRUSH_ROOT = Text(
    pattern=_WORD,
    expected='the CRUSH root below which the pool lies, such as default',
)
FAILURE_DOMAIN = Text(
    pattern=_WORD, expected='a CRUSH bucket type, such as host'
)
SUB_FAILURE_DOMAIN = Text(
    pattern=_WORD,
    expected='a CRUSH bucket type below failure_domain, such as host',
)
#: As in Cinder's schema, a line break may only be the last character.
DESCRIPTION = Text(
    pattern=rf'{_PRINTED_BY_CINDER}*\n?',
    max_chars=_LONG,
    expected=f'text of at most {_LONG} characters in one line, without '
    'tabs, invisible characters and emoji, which Cinder does not '
    'accept',
)
#: A tag as typed; there are more rules between tags.
TAG = Text(max_chars=_LONG, expected=f'a tag: text of 1 to {_LONG} characters')
PROJECT = Text(
    pattern=f'{_PRINTABLE}+',
    max_chars=_PROJECT_CHARS,
    expected=f'the name or ID of a project: text of 1 to {_PROJECT_CHARS} '
    'printable characters',
)
BACKEND = Text(
    pattern=f'[A-Za-z0-9][A-Za-z0-9._@#-]{{0,{_BACKEND_MORE_CHARS}}}',
    expected='the volume_backend_name of storage that exists: a letter or '
    f'digit, then at most {_BACKEND_MORE_CHARS} letters, digits, '
    "'.', '_', '@', '#' or '-'",
)
EXTRA_SPEC_KEY = Text(
    pattern=_SPEC_KEY,
    expected=f"a key of 1 to {_LONG} letters, digits, '.', '_', ':' or '-'",
)
EXTRA_SPEC = Text(
    max_chars=_LONG,
    expected=f"text of at most {_LONG} characters, such as '<is> True'",
)
QOS_KEY = Text(
    pattern=f'(?!(consumer|name)$){_SPEC_KEY}',
    expected='a key of a QoS spec (not consumer or name): letters, digits, '
    "'.', '_', ':' or '-'",
)
#: Signed 64-bit integer, as in libvirt, librbd and Ceph's monitors.
INTEGER = Range(0, 2**63 - 1)
QOS_LIMIT = Text(
    min_chars=1,
    max_chars=_LONG,
    expected=f'an integer of 0 or more, at most {INTEGER.most} (a key '
    f'that only a storage driver knows may have a word, up to {_LONG} '
    'characters)',
)
ENCRYPTION_PROVIDER = Text(
    pattern=_GRAPHIC,
    expected="the format of Cinder's encryption, such as luks: "
    f'{_GRAPHIC_CHARS}',
)
CIPHER = Text(
    pattern=_GRAPHIC,
    expected=f'a cipher, such as aes-xts-plain64: {_GRAPHIC_CHARS}',
)
OSD_OPTION = Text(
    pattern=f'({"|".join(_OSD_PREFIXES)})_[a-z0-9_]{{1,60}}',
    expected='the name of an option of the OSDs: '
    + ', '.join(f'{one}_' for one in _OSD_PREFIXES[:-1])
    + f" or {_OSD_PREFIXES[-1]}_, then lower case letters, digits and '_'",
)
RBD_OPTION = Text(
    pattern='rbd_[a-z0-9_]{1,60}',
    expected='the name of an option of librbd: rbd_, then lower case '
    "letters, digits and '_'",
)
#: Text as the value of an option of OSDs or of librbd.
OPTION = Text(
    pattern=f'{_PRINTABLE}+',
    max_chars=_LONG,
    expected=f'text of 1 to {_LONG} printable characters, a number, true or '
    'false',
)
FIO_PATTERN = Text(
    pattern=expectations.PATTERN.pattern,
    expected='the name of a fio pattern: up to 40 lower case letters, '
    "digits, '.' or '-', the first a letter or digit",
)
#: Limits of a pattern.
EXPECTATION = Text(
    pattern=f'({expectations.NAME.pattern})',
    expected=expectations.NAMES_EXPECTED,
)

#: Currency of prices, as people write it after them.
CURRENCY = dataclasses.replace(
    TYPE_NAME,
    max_chars=16,
    expected='the currency of the prices, such as EUR: 1 to 16 printable '
    'characters, without white space at its ends',
)
#: A price as text, so that it has the decimals that were typed.
PRICE_TEXT = Text(
    pattern=r'[0-9]{1,9}(\.[0-9]{1,9})?',
    expected='a price of 0 or more, at most 999999999, such as 0.08',
)
PRICE = Range(0, 999_999_999)

OBJECT_STORES = ('bluestore', 'filestore', 'kstore', 'memstore', 'seastore')
FILE_SYSTEMS = ('btrfs', 'ext4', 'xfs', 'zfs')
CONTROL_LOCATIONS = ('front-end', 'back-end')
#: Powers of two that BlueStore may allocate in, in bytes.
ALLOC_SIZES = tuple(2**power for power in range(12, 21))
ROCKSDB_COMPRESSIONS = ('lz4', 'none', 'snappy', 'zlib', 'zstd')
IO_SCHEDULERS = ('bfq', 'kyber', 'mq-deadline', 'none')

PRIORITY = Range(-1_000_000, 1_000_000)
#: Integer of Cinder's database; -1 is unlimited.
QUOTA = Range(-1, 2**31 - 1)
#: Size of an encryption key in Cinder's database.
KEY_SIZE_BITS = Range(1, 2**31 - 1)
COPIES = Range(1, 10)
#: Ceph takes no other multiples without force (OSDMonitor.cc,
#: parse_erasure_code_profile); an RBD object has 4 MiB by default.
STRIPE_UNIT_BYTES = Range(4096, 4 * 2**20)
DATA_CHUNKS = Range(2, 32)
CODING_CHUNKS = Range(1, 16)
#: Number over which chunks are spread, if several share one.
FAILURE_DOMAINS = Range(2, 24)
CHUNKS_PER_FAILURE_DOMAIN = Range(2, 16)
#: At most half of the copies, which are in at least two failure domains.
COPIES_PER_FAILURE_DOMAIN = Range(2, COPIES.most // 2)
#: Number of data and coding chunks.
CHUNKS = Range(2, 48)
PG_NUM = Range(1, 65536)
#: Primary affinity, or fill ratio of a cache.
RATIO = Range(0, 1)
#: Priority of the recovery of a pool (OSD_POOL_PRIORITY_MIN and _MAX,
#: src/osd/osd_types.h).
RECOVERY_PRIORITY = Range(-10, 10)

_UNSIGNED_32 = Range(0, 2**32 - 1)
_SIGNED_64 = Range(0, 2**63 - 1)
_OF_64_BITS = frozenset({'target_max_bytes', 'target_max_objects'})


def cache_count(name: str) -> Range:
    """Return the range of a count among the settings of a cache tier.

    :param name: one of `cache_tier.COUNTS`.
    """
    return _SIGNED_64 if name in _OF_64_BITS else _UNSIGNED_32
