# SPDX-License-Identifier: Apache-2.0

"""Changes of a tier since a result of it was measured. Pure."""

from collections.abc import Iterator
from collections.abc import Mapping

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.figures.result import result as run_result

#: A result is a file that anybody may have written.
_MOST_CHARS = 100
_NONE = 'none'
#: Not pg_num, which Ceph changes by itself.
_OF_POOLS = ('kind', 'size', 'min_size', 'crush_rule')


def _differing(
    what: str, before: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[str]:
    for name in sorted(before.keys() | now.keys()):
        old, new = (
            _NONE if each.get(name) is None else str(each[name])
            for each in (before, now)
        )
        if old == new:
            continue
        was, is_now = old[:_MOST_CHARS], new[:_MOST_CHARS]
        yield f'{what}{name[:_MOST_CHARS]} ' + (
            f'changed behind its first {_MOST_CHARS} characters'
            if was == is_now
            else f'was {was} and is {is_now}'
        )


def of_type(
    measured: run_result.TypeAsMeasured,
    tier: catalogs.Tier,
    now: cinder_state.CinderState,
) -> Iterator[str]:
    """Name each difference of a tier's volume type as a clause.

    :param now: state that includes the volume type of the tier.
    """
    name = tier.type_name
    yield from _differing(
        'extra spec ',
        measured.extra_specs,
        {
            key: value
            for key, value in now.volume_types[name].extra_specs.items()
            if not key.startswith(cinder_state.SCOPE)
        },
    )
    qos = next(
        (one for one in now.qos_specs.values() if name in one.volume_types),
        None,
    )
    yield from _differing(
        'QoS ',
        {'consumer': measured.qos_consumer, **measured.qos_specs},
        {'consumer': qos.consumer, **qos.specs} if qos else {},
    )
    # Of other tiers it is not read.
    if tier.encryption is not None:
        found = now.encryptions.get(name)
        fields = (
            (
                found.provider,
                found.cipher,
                found.key_size_bits,
                found.control_location,
            )
            if found
            else ()
        )
        yield from _differing(
            'encryption ',
            measured.encryption,
            dict(zip(run_result.ENCRYPTION, fields, strict=False)),
        )


def of_pools(
    measured: Mapping[str, ceph_result.CephPool],
    pools: tuple[str, ...],
    now: ceph_state.CephState,
) -> Iterator[str]:
    """Name each difference of a tier's pools as a clause.

    :param measured: {name: pool} of a result.
    :param pools: names of those of the tier, first the one that Cinder names.
    """
    for name in pools:
        before, after = measured.get(name), now.pools.get(name)
        if before is None or after is None:
            continue
        rule = now.crush_rules.get(after.crush_rule)
        what = f'pool {name}: '
        yield from _differing(
            what,
            {
                **{field: getattr(before, field) for field in _OF_POOLS},
                'device class': before.device_class,
                'compression': before.compression,
            },
            {
                **{field: getattr(after, field) for field in _OF_POOLS},
                'device class': rule and rule.device_class,
                'compression': ceph_result.compression(after.options),
            },
        )
        # Of others they are not read, and librbd does not heed them.
        if name == pools[0] and not after.rbd_options_unread:
            yield from _differing(
                f'{what}option ', before.rbd_options, after.rbd_options
            )
