# SPDX-License-Identifier: Apache-2.0

"""Tiers file -> catalog, or all that is wrong with it at once.

Joins the three views: the YAML text (`document`), its structure
(`structure`) and the rules between its parts (`domain.validation.catalog`).
"""

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.files import read_bounded as content
from cinder_tiers.files.tiers import schema as structure
from cinder_tiers.files.tiers import yaml_document as document


def read_file(path: str) -> catalogs.Catalog:
    """Reads a tiers file.

    :raises errors.ProblemsFound: when it cannot be read or is not sound.
    """
    return read_text(text_of(path), file=path)


def text_of(path: str) -> str:
    """The text of a tiers file.

    :raises errors.ProblemsFound: when it cannot be read.
    """
    try:
        # One byte more than allowed is enough to know.
        found = content.read(path, max_bytes=document.MAX_SIZE_BYTES + 1)
        if len(found) > document.MAX_SIZE_BYTES:
            raise errors.ProblemsFound(
                [
                    errors.Problem(
                        where=path,
                        found='a file that is too big',
                        expected=f'at most {document.MAX_SIZE_BYTES} bytes',
                        remedy='is this the right file?',
                    )
                ]
            )
        return found.decode('utf-8')
    except OSError as error:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=path,
                    found=f'it cannot be read: {error.strerror}',
                    expected='a tiers file',
                    remedy='name one with --catalog or CINDER_TIERS_CATALOG',
                )
            ]
        ) from error
    except UnicodeDecodeError as error:
        line = found.count(b'\n', 0, error.start) + 1
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=f'{path}:{line}',
                    found='bytes that are not UTF-8',
                    expected='UTF-8 text',
                    remedy='save the file as UTF-8',
                )
            ]
        ) from error


def read_text(text: str, *, file: str) -> catalogs.Catalog:
    """Reads the text of a tiers file.

    :param file: name for messages.
    :raises errors.ProblemsFound: with all problems, in the order of the file.
    """
    read = document.read(text, file=file)
    sound, structural = structure.check(read.value, read.source)
    catalog = _catalog(sound, read.source)
    problems = [*read.problems, *structural, *catalog_rules.check(catalog)]
    if problems:
        raise errors.ProblemsFound(sorted(problems, key=_line))
    return catalog


def _line(problem: errors.Problem) -> int:
    line = problem.where.rpartition(':')[2]
    return int(line) if line.isdecimal() else 0


def _catalog(value: dict, source: catalogs.Source) -> catalogs.Catalog:
    """The catalog of a sound document, of which parts may be missing."""
    return catalogs.Catalog(
        source=source,
        follow_image_types=tuple(
            name
            for name in value.get('follow_image_types', ())
            if isinstance(name, str)
        ),
        without_fallback='fallback' in value,
        clusters={
            name: _cluster(name, declared)
            for name, declared in value.get('clusters', {}).items()
        },
        tiers=tuple(
            _tier(name, declared)
            for name, declared in value.get('tiers', {}).items()
        ),
    )


def _cluster(name: str, value: dict) -> catalogs.Cluster:
    defaults = catalogs.Cluster(name=name)
    return catalogs.Cluster(
        name=name,
        user=value.get('user', defaults.user),
        cinder_user=value.get('cinder_user', defaults.cinder_user),
        images_pool=value.get('images_pool'),
        conf=value.get('conf'),
        secret_uuid=value.get('secret_uuid'),
        host_osd_options=value.get('host_osd_options', {}),
    )


def _tier(name: str, value: dict) -> catalogs.Tier:
    # What is no text was complained of; it keeps its place in the list.
    return catalogs.Tier(
        name=name,
        take_over=value.get('take_over', True),
        description=value.get('description'),
        tags=tuple(str(tag) for tag in value.get('tags', ())),
        priority=value.get('priority', 0),
        fallback=value.get('fallback', False),
        overflow=value.get('overflow'),
        access=_access(value.get('access')),
        qos=_qos(value.get('qos')),
        quotas=_quotas(value.get('quotas')),
        encryption=_encryption(value.get('encryption')),
        expect=value.get('expect', {}),
        rbd=_rbd(value.get('rbd')),
        backend_name=value.get('backend'),
        extra_specs=value.get('extra_specs', {}),
    )


def _access(value: str | list | None) -> str | tuple[str, ...] | None:
    if isinstance(value, list):
        return tuple(str(name) for name in value)
    return value


def _qos(value: dict | None) -> catalogs.Qos | None:
    if not value:
        return None
    # Cinder keeps text, so 500 and "500" are the same.
    return catalogs.Qos(
        **{
            side: {key: str(limit) for key, limit in specs.items()}
            for side, specs in value.items()
        }
    )


def _quotas(value: dict | None) -> catalogs.Quotas | None:
    if not value:
        return None
    defaults = catalogs.Quotas()
    return catalogs.Quotas(
        volumes=value.get('volumes', defaults.volumes),
        size_gib=value.get('gigabytes', defaults.size_gib),
        snapshots=value.get('snapshots', defaults.snapshots),
    )


def _encryption(value: dict | None) -> catalogs.Encryption | None:
    if not value or 'provider' not in value:
        return None
    return catalogs.Encryption(
        provider=value['provider'],
        cipher=value.get('cipher'),
        key_size_bits=value.get('key_size_bits'),
        control_location=value.get('control_location', 'front-end'),
    )


def _rbd(value: dict | None) -> catalogs.RbdPool | None:
    if value is None or not {'cluster', 'pool'} <= value.keys():
        return None
    # Stand-ins take the place of what was complained of already.
    protection: catalogs.Replicated | catalogs.ErasureCoded
    protection = catalogs.Replicated(size=3, min_size=2)
    match value:
        case {'replicated': {'size': size, **rest}}:
            protection = catalogs.Replicated(
                size=size,
                min_size=rest.get(
                    'min_size', tier_pools.default_min_size(size)
                ),
                single_copy=rest.get('single_copy', False),
            )
        case {'erasure_coded': {'k': k, 'm': m}}:
            protection = catalogs.ErasureCoded(k=k, m=m)
    return catalogs.RbdPool(
        cluster=value['cluster'],
        pool=value['pool'],
        device_class=value.get('device_class'),
        protection=protection,
        failure_domain=value.get('failure_domain', 'host'),
        pg_num=value.get('pg_num'),
        options=value.get('pool_options', {}),
        osd_options=value.get('osd_options', {}),
        osd_requirements=_requirements(value.get('osd_requirements')),
        primary_affinity=value.get('primary_affinity'),
        rbd_options=value.get('rbd_options', {}),
        cache=_cache(value.get('cache'), cluster=value['cluster']),
    )


def _cache(value: dict | None, *, cluster: str) -> catalogs.Cache | None:
    if value is None or not {'pool', 'mode'} <= value.keys():
        return None
    return catalogs.Cache(
        rbd=_rbd({'cluster': cluster, **value}),
        mode=value['mode'],
        stale_reads=value.get('stale_reads', False),
        settings={
            name: value[name]
            for name in sorted(cache_tier.KNOWN & value.keys())
        },
    )


def _requirements(value: dict | None) -> catalogs.Requirements | None:
    if not value:
        return None
    schedulers = value.get('io_scheduler', ())
    if isinstance(schedulers, str):
        schedulers = [schedulers]
    # What is no text was complained of; it keeps its place in the list.
    return catalogs.Requirements(
        **{**value, 'io_scheduler': tuple(map(str, schedulers))}
    )
