# SPDX-License-Identifier: Apache-2.0

"""Abilities of the erasure code plugins of Ceph, by k and m.

A pool keeps its erasure code for ever, so a code that Ceph would refuse, or
warn of, is reported before a pool is created. Pure. Must not know of pools.
"""

import collections.abc
import dataclasses
import types

from cinder_tiers.domain.catalog import model as catalogs

#: Technique that both plugins have, and use by default.
REED_SOLOMON = 'reed_sol_van'
_RAID_6 = 'reed_sol_r6_op'
#: {plugin: its techniques}. Left out are plugins with parameters of their own
#: (lrc, shec and clay) and techniques that Ceph 20 deprecates or that are only
#: right for some values of w (liberation, blaum_roth, liber8tion).
TECHNIQUES: collections.abc.Mapping[str, tuple[str, ...]] = (
    types.MappingProxyType(
        {
            'jerasure': (REED_SOLOMON, _RAID_6, 'cauchy_orig', 'cauchy_good'),
            'isa': (REED_SOLOMON, 'cauchy'),
        }
    )
)
#: Techniques of all plugins, each once.
ALL_TECHNIQUES = tuple(
    dict.fromkeys(
        name for techniques in TECHNIQUES.values() for name in techniques
    )
)
#: Multiple that chunks of the Cauchy techniques of jerasure must be: w *
#: packetsize * sizeof(int) with the defaults of 8 and 2048
#: (ErasureCodeJerasure.cc, get_alignment).
_CAUCHY_UNIT_BYTES = 8 * 2048 * 4
#: Limits of Reed-Solomon in the plugin isa, within which any m chunks can be
#: computed (ErasureCodeIsa.cc, parse).
_ISA_MOST_CODING = 4
_ISA_MOST_DATA_WITH_4 = 21


@dataclasses.dataclass(frozen=True, kw_only=True)
class ErasureCodeFault:
    """A setting that Ceph would refuse, or that would lose data."""

    #: Key of the setting.
    key: str
    found: str
    expected: str
    remedy: str


def faults(
    protection: catalogs.ErasureCoded,
) -> collections.abc.Iterator[ErasureCodeFault]:
    """Yield problems between the settings of an erasure code.

    >>> wide = catalogs.ErasureCoded(k=4, m=5, plugin='isa')
    >>> [fault.expected for fault in faults(wide)]
    ['m of at most 4, so that any m chunks may be lost']
    """
    plugin, technique = protection.plugin, protection.technique
    known = TECHNIQUES.get(plugin or '')
    if technique is not None and known is None:
        yield ErasureCodeFault(
            key='technique',
            found=f'{technique} without a plugin',
            expected='plugin as well: the default plugin depends on the '
            'Ceph release',
            remedy='add plugin, or remove technique',
        )
    elif technique is not None and known and technique not in known:
        yield ErasureCodeFault(
            key='technique',
            found=f'{technique} with plugin {plugin}',
            expected=f'one of {", ".join(known)}',
            remedy='fix technique, or plugin',
        )
    if plugin == 'isa' and technique in (None, REED_SOLOMON):
        yield from _of_isa(protection)
    if technique == _RAID_6 and protection.m != 2:
        yield ErasureCodeFault(
            key='m',
            found=f'{protection.m} with technique {technique}',
            expected='m of 2, as in RAID 6',
            remedy='change m to 2, or name another technique',
        )
    unit_bytes = protection.stripe_unit_bytes
    if (
        unit_bytes is not None
        and plugin == 'jerasure'
        and technique in ('cauchy_orig', 'cauchy_good')
        and unit_bytes % _CAUCHY_UNIT_BYTES
    ):
        yield ErasureCodeFault(
            key='stripe_unit_bytes',
            found=f'{unit_bytes} with technique {technique}',
            expected=f'a multiple of {_CAUCHY_UNIT_BYTES}; Ceph accepts '
            'no other',
            remedy='raise it',
        )
    yield from _of_shared_domains(protection)


def _of_shared_domains(
    protection: catalogs.ErasureCoded,
) -> collections.abc.Iterator[ErasureCodeFault]:
    """Yield faults of chunks that share failure domains."""
    domains = protection.num_failure_domains
    each = protection.osds_per_failure_domain
    if domains is None and each is None:
        return
    if domains is None or each is None:
        there, lacking = 'failure_domains', 'osds_per_failure_domain'
        if domains is None:
            there, lacking = lacking, there
        yield ErasureCodeFault(
            key=there,
            found=f'{domains or each} without {lacking}',
            expected='both, or neither',
            remedy=f'add {lacking}, or remove {there}',
        )
        return
    if domains * each < protection.size:
        yield ErasureCodeFault(
            key='failure_domains',
            found=f'{domains} with {each} OSDs in each',
            expected=f'at least {protection.size} OSDs, one for each chunk',
            remedy='raise failure_domains or osds_per_failure_domain',
        )
    elif (domains - 1) * each >= protection.size:
        yield ErasureCodeFault(
            key='failure_domains',
            found=f'{domains} with {each} OSDs in each',
            expected=f'no more than {-(-protection.size // each)}: '
            f'{protection.size} chunks would leave failure '
            'domains without one',
            remedy='lower failure_domains or osds_per_failure_domain',
        )
    if each > protection.m:
        yield ErasureCodeFault(
            key='osds_per_failure_domain',
            found=f'{each} with m={protection.m}',
            expected=f'at most {protection.m}: losing a failure domain '
            'loses that many chunks',
            remedy='lower it, or raise m',
        )


def _of_isa(
    protection: catalogs.ErasureCoded,
) -> collections.abc.Iterator[ErasureCodeFault]:
    k, m = protection.k, protection.m
    if m > _ISA_MOST_CODING:
        yield ErasureCodeFault(
            key='m',
            found=f'{m} with plugin isa',
            expected=f'm of at most {_ISA_MOST_CODING}, so that any m chunks '
            'may be lost',
            remedy='lower m, or name technique cauchy',
        )
    elif m == _ISA_MOST_CODING and k > _ISA_MOST_DATA_WITH_4:
        yield ErasureCodeFault(
            key='k',
            found=f'{k} with m={m} and plugin isa',
            expected=f'k of at most {_ISA_MOST_DATA_WITH_4}, so that any m '
            'chunks may be lost',
            remedy='lower k or m, or name technique cauchy',
        )


def has_optimizations(protection: catalogs.ErasureCoded) -> bool:
    """Return whether Ceph has fast erasure coding for the technique.

    It has, if the technique is left to Ceph.
    """
    return protection.technique in (None, REED_SOLOMON)
