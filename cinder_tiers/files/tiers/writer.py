# SPDX-License-Identifier: Apache-2.0
"""Writes a tiers file: the way back from `reader`.

Defaults are left out. Each text goes through PyYAML, so that it is read back
as it was, whatever is in it. Must not know where the catalog came from.
"""

import collections.abc
import textwrap

import yaml

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain import text as escaping

_WIDTH = 79
_STEP = '  '

#: {place: lines of a comment, which stands before it}.
Comments = collections.abc.Mapping[
    catalogs.Path, collections.abc.Sequence[str]
]
_Value = dict | list | str | int | float | bool


def write(
    catalog: catalogs.Catalog,
    *,
    comments: Comments,
    project_names: collections.abc.Mapping[str, str],
) -> str:
    """The text of a catalog.

    :param catalog: a sound one.
    :param comments: what is not printable in them is escaped, and long lines
        are wrapped; those of the place () come first, and those of a place
        that is not written are left out.
    :param project_names: {id of a project: its name}, which stands behind it.
    :returns: text that `reader` reads as the same catalog.
    """
    content: dict[str, _Value] = {'version': 1}
    if catalog.follow_image_types:
        content['follow_image_types'] = list(catalog.follow_image_types)
    if catalog.without_fallback:
        content['fallback'] = 'none'
    if catalog.clusters:
        content['clusters'] = {
            name: _cluster(one) for name, one in catalog.clusters.items()
        }
    content['tiers'] = {tier.name: _tier(tier) for tier in catalog.tiers}
    writing = _Writing(comments, project_names)
    writing.comment((), '')
    for key, value in content.items():
        if writing.lines:
            writing.lines.append('')
        writing.entry(key, value, (key,), '')
    return '\n'.join(writing.lines) + '\n'


def _cluster(cluster: catalogs.Cluster) -> dict[str, _Value]:
    plain = catalogs.Cluster(name=cluster.name)
    found: dict[str, _Value] = {
        name: value
        for name in (
            'conf',
            'user',
            'cinder_user',
            'images_pool',
            'secret_uuid',
        )
        if (value := getattr(cluster, name)) != getattr(plain, name)
    }
    if cluster.host_osd_options:
        found['host_osd_options'] = {
            host: dict(options)
            for host, options in cluster.host_osd_options.items()
        }
    return found


def _tier(tier: catalogs.Tier) -> dict[str, _Value]:
    found: dict[str, _Value | None] = {
        'take_over': None if tier.take_over else False,
        'description': tier.description,
        'tags': list(tier.tags) or None,
        'priority': tier.priority or None,
        'fallback': tier.fallback or None,
        'overflow': tier.overflow,
        'access': (
            list(tier.access)
            if isinstance(tier.access, tuple)
            else tier.access
        ),
        'qos': tier.qos and _qos(tier.qos),
        'quotas': tier.quotas and _quotas(tier.quotas),
        'encryption': tier.encryption and _encryption(tier.encryption),
        'expect': {
            pattern: dict(limits) for pattern, limits in tier.expect.items()
        }
        or None,
        'backend': tier.backend_name,
        'extra_specs': dict(tier.extra_specs) or None,
        'rbd': tier.rbd and _rbd(tier.rbd),
    }
    return {name: value for name, value in found.items() if value is not None}


def _qos(qos: catalogs.Qos) -> dict[str, _Value]:
    sides = {'front_end': qos.front_end, 'back_end': qos.back_end}
    return {
        side: {key: _limit(text) for key, text in specs.items()}
        for side, specs in sides.items()
        if specs is not None
    }


def _limit(text: str) -> str | int:
    """A number where it means the same text."""
    if (
        text.isascii()
        and text.isdecimal()
        and len(text) < 20
        and (str(int(text)) == text)
    ):
        return int(text)
    return text


def _quotas(quotas: catalogs.Quotas) -> dict[str, _Value]:
    plain = catalogs.Quotas()
    found = {
        'volumes': quotas.volumes,
        'gigabytes': quotas.size_gib,
        'snapshots': quotas.snapshots,
    }
    return {
        name: value for name, value in found.items() if value != plain.volumes
    } or {'volumes': plain.volumes}


def _encryption(encryption: catalogs.Encryption) -> dict[str, _Value]:
    found = {
        'provider': encryption.provider,
        'cipher': encryption.cipher,
        'key_size_bits': encryption.key_size_bits,
        'control_location': encryption.control_location,
    }
    return {name: value for name, value in found.items() if value is not None}


def _rbd(rbd: catalogs.RbdPool) -> dict[str, _Value]:
    found: dict[str, _Value | None] = {
        'cluster': rbd.cluster,
        **_placement(rbd),
        'pool_options': dict(rbd.options) or None,
        'osd_options': dict(rbd.osd_options) or None,
        'primary_affinity': rbd.primary_affinity,
        'osd_requirements': (
            rbd.osd_requirements and _requirements(rbd.osd_requirements)
        ),
        'rbd_options': dict(rbd.rbd_options) or None,
        'cache': rbd.cache and _cache(rbd.cache),
    }
    return {name: value for name, value in found.items() if value is not None}


def _placement(rbd: catalogs.RbdPool) -> dict[str, _Value | None]:
    protection: dict[str, dict[str, int | bool]]
    if isinstance(rbd.protection, catalogs.ErasureCoded):
        protection = {
            'erasure_coded': {'k': rbd.protection.k, 'm': rbd.protection.m}
        }
    else:
        copies: dict[str, int | bool] = {'size': rbd.protection.size}
        if rbd.protection.min_size != tier_pools.default_min_size(
            rbd.protection.size
        ):
            copies['min_size'] = rbd.protection.min_size
        if rbd.protection.single_copy:
            copies['single_copy'] = True
        protection = {'replicated': copies}
    return {
        'pool': rbd.pool,
        'device_class': rbd.device_class,
        'failure_domain': (
            None
            if rbd.failure_domain == catalogs.RbdPool.failure_domain
            else rbd.failure_domain
        ),
        'pg_num': rbd.pg_num,
        **protection,
    }


def _cache(cache: catalogs.Cache) -> dict[str, _Value]:
    found = {
        **_placement(cache.rbd),
        'mode': cache.mode,
        'stale_reads': cache.stale_reads or None,
        **cache.settings,
    }
    return {name: value for name, value in found.items() if value is not None}


def _requirements(
    wanted: catalogs.Requirements,
) -> dict[str, _Value]:
    found = {name: getattr(wanted, name) for name in wanted.declared}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.items()
    }


class _Writing:
    """The lines of a file, one after the other."""

    def __init__(
        self,
        comments: Comments,
        project_names: collections.abc.Mapping[str, str],
    ) -> None:
        self.lines: list[str] = []
        self._comments = comments
        self._project_names = project_names

    def comment(self, path: catalogs.Path, indent: str) -> None:
        """The comment of a place."""
        # Of several remarks each is to be seen.
        hanging = _STEP if path else ''
        for text in self._comments.get(path, ()):
            self.lines.extend(
                textwrap.wrap(
                    escaping.printable(text),
                    width=_WIDTH,
                    initial_indent=f'{indent}# ',
                    subsequent_indent=f'{indent}# {hanging}',
                    break_long_words=False,
                    break_on_hyphens=False,
                )
                or [f'{indent}#']
            )

    def entry(
        self, key: str, value: _Value, path: catalogs.Path, indent: str
    ) -> None:
        """A key with its value."""
        if (
            path[0] == 'tiers'
            and len(path) == 2
            and (not self.lines[-1].endswith('tiers:'))
        ):
            self.lines.append('')
        self.comment(path, indent)
        start = f'{indent}{scalar(key)}:'
        is_section = len(path) <= 2 and value and isinstance(value, dict)
        line = (
            f'{start} {_flow(value)}'
            if _is_flat(value) and not is_section
            else ''
        )
        if (
            line
            and not self._is_noted(path, value)
            and (len(line) <= _WIDTH or not isinstance(value, dict | list))
        ):
            self.lines.append(line)
            return
        self.lines.append(start)
        if isinstance(value, dict):
            for below, one in value.items():
                self.entry(below, one, (*path, below), indent + _STEP)
        else:
            for one in value:
                note = (
                    self._project_names.get(one) if _is_access(path) else None
                )
                self.lines.append(
                    f'{indent}- {scalar(one)}'
                    + (f'  # {escaping.printable(note)}' if note else '')
                )

    def _is_noted(self, path: catalogs.Path, value: _Value) -> bool:
        """Whether something is said of a part of it."""
        if _is_access(path) and isinstance(value, list):
            return not self._project_names.keys().isdisjoint(value)
        return any(
            other[: len(path)] == path and other != path
            for other in self._comments
        )


def _is_access(path: catalogs.Path) -> bool:
    return len(path) == 3 and path[0] == 'tiers' and path[2] == 'access'


def _is_flat(value: _Value) -> bool:
    if isinstance(value, dict):
        return not any(
            isinstance(one, dict | list) and one for one in value.values()
        ) and (len(value) <= 4)
    return True


def _flow(value: _Value) -> str:
    if isinstance(value, dict):
        return (
            '{'
            + ', '.join(
                f'{scalar(key)}: {_flow(one)}' for key, one in value.items()
            )
            + '}'
        )
    if isinstance(value, list):
        return f'[{", ".join(map(scalar, value))}]'
    return scalar(value)


def scalar(value: catalogs.Value) -> str:
    r"""One value as YAML, in one line.

    >>> scalar('yes'), scalar('a\nb'), scalar(True)
    ("'yes'", '"a\\nb"', 'true')
    """
    plain = not isinstance(value, str) or value.isprintable()
    text = yaml.safe_dump(
        [value],
        default_flow_style=True,
        width=float('inf'),
        allow_unicode=plain,
        default_style=None if plain else '"',
    )
    return text.strip()[1:-1]
