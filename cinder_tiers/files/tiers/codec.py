# SPDX-License-Identifier: Apache-2.0

"""The tiers file, version 1: one table for its schema, reading and writing.

Each key is here once, with the attribute of the catalog that it is, in the
order in which keys are written. Names, words and bounds are those of
`domain.catalog.limits`. Must not know how YAML looks, nor the rules between
tiers.
"""

import dataclasses

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import erasure_code
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain import units
from cinder_tiers.files.tiers import shapes

VERSION = 1

_NAME = shapes.text(limits.NAME, definition='name')
_POOL = shapes.text(limits.POOL, definition='pool')
_USER = shapes.text(limits.USER, definition='user')
_SWITCH = shapes.flag(definition='switch')
_RATIO = shapes.number(limits.RATIO, kind='number', definition='ratio')
# True only: what is not required is left out.
_REQUIRED = shapes.Constant(
    definition='required',
    value=True,
    means=True,
    expected='true; leave it out if it does not matter',
)
_OPTION = shapes.Scalar(
    definition='option',
    expected=limits.OPTION.expected,
    keywords=shapes.text_keywords(limits.OPTION, 'number', 'boolean'),
)
_OSD_OPTIONS = shapes.MapOf(
    definition='osd_options',
    expected='a mapping of options of OSDs, by their names in Ceph, to values',
    names=shapes.text(limits.OSD_OPTION),
    values=_OPTION,
)
_POOL_NUMBER = shapes.Scalar(
    definition='pool_number',
    expected='a number of 0 or more (in bytes or seconds where Ceph uses '
    f'them), or {pool_options.UNSET}',
    keywords={
        'type': ['number', 'string'],
        'minimum': 0,
        'pattern': shapes.whole(pool_options.UNSET),
    },
)
_RECOVERY_PRIORITY = shapes.Scalar(
    expected=pool_options.RECOVERY_PRIORITY_EXPECTED,
    keywords={
        'type': ['number', 'string'],
        'minimum': limits.RECOVERY_PRIORITY.least,
        'maximum': limits.RECOVERY_PRIORITY.most,
        'multipleOf': 1,
        'pattern': shapes.whole(pool_options.UNSET),
    },
)
_POOL_QUOTA = shapes.Scalar(
    definition='pool_quota',
    expected=f'an integer of 0 or more; {pool_options.NO_QUOTA} for no quota',
    keywords={'type': 'integer', 'minimum': 0},
)
_SCHEDULER = shapes.word(limits.IO_SCHEDULERS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Size(shapes.Scalar):
    """Bytes; in the file a number, or with a unit such as 64K."""

    def read(self, value: object) -> object:
        return units.size_bytes(str(value))

    def write(self, value: object) -> object:
        return f'{value // 1024}K'


_ALLOC_SIZE = _Size(
    expected=f'a power of two from {limits.ALLOC_SIZES[0] // 1024}K to '
    f'{limits.ALLOC_SIZES[-1] // 1024}K',
    keywords={
        # To JSON 4096.0 is 4096.
        'type': ['integer', 'string'],
        'enum': [
            spelled
            for size in limits.ALLOC_SIZES
            for spelled in (
                size,
                *(f'{size // 1024}{unit}' for unit in ('K', 'Ki', 'KiB')),
            )
        ],
    },
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Bytes(shapes.Scalar):
    """Bytes; in the file a number, or a text with a unit such as 4Gi."""

    def read(self, value: object) -> object:
        if isinstance(value, str) and value != pool_options.UNSET:
            return units.size_bytes(value)
        return value


_SIZE = '[0-9]{1,6} ?[KMGTP]i?B?'
_SIZE_EXAMPLES = 'a size such as 4G, 4Gi or 4 GiB (units of 1024)'
_POOL_BYTES = _Bytes(
    definition='pool_bytes',
    expected=f'a number of bytes of 0 or more, {_SIZE_EXAMPLES}, or '
    f'{pool_options.UNSET}',
    keywords={
        'type': ['number', 'string'],
        'minimum': 0,
        'pattern': shapes.whole(f'({pool_options.UNSET}|{_SIZE})'),
    },
)
_POOL_QUOTA_BYTES = _Bytes(
    definition='pool_quota_bytes',
    expected=f'an integer of bytes of 0 or more, or {_SIZE_EXAMPLES}; '
    f'{pool_options.NO_QUOTA} for no quota',
    keywords={
        'type': ['integer', 'string'],
        'minimum': 0,
        'pattern': shapes.whole(_SIZE),
    },
)


def _pool_option(name: str) -> shapes.Shape:
    if name in pool_options.BOOLEANS:
        return _SWITCH
    if name in pool_options.IN_BYTES:
        return (
            _POOL_QUOTA_BYTES if name in pool_options.QUOTAS else _POOL_BYTES
        )
    if name in pool_options.QUOTAS:
        return _POOL_QUOTA
    if name == pool_options.RECOVERY_PRIORITY:
        return _RECOVERY_PRIORITY
    if name in pool_options.NUMBERS:
        return _POOL_NUMBER
    return shapes.word((*pool_options.WORDS[name], pool_options.UNSET))


def _cache_setting(name: str) -> shapes.Shape:
    if name in cache_tier.RATIOS:
        return _RATIO
    if name in cache_tier.COUNTS:
        return shapes.number(limits.cache_count(name))
    return shapes.word(cache_tier.HIT_SET_TYPES)


# Settings of a cache that belong together stand together in messages.
_CACHE_GROUPS = ('hit_set_', 'target_', 'cache_target_', 'cache_min_', 'min_')


def _in_groups(names: frozenset[str]) -> list[str]:
    """Settings of a cache by group; within one, as `cache_tier` has them.

    What is in no group comes last.
    """
    counted = (*cache_tier.COUNTS, *cache_tier.RATIOS)
    in_order = (*sorted(names.difference(counted)), *counted)

    def group(name: str) -> int:
        return next(
            (
                number
                for number, prefix in enumerate(_CACHE_GROUPS)
                if name.startswith(prefix)
            ),
            len(_CACHE_GROUPS),
        )

    return sorted(in_order, key=group)


_CLUSTER = shapes.Record(
    kind=catalogs.Cluster,
    definition='cluster',
    expected='a mapping of cluster settings; {} for all defaults',
    fields=(
        shapes.field('conf', shapes.text(limits.CONF)),
        shapes.field('user', _USER),
        shapes.field('cinder_user', _USER),
        shapes.field('images_pool', _POOL),
        shapes.field('secret_uuid', shapes.text(limits.SECRET_UUID)),
        shapes.field(
            'host_osd_options',
            shapes.MapOf(
                expected='a mapping of CRUSH hosts to options of their OSDs',
                names=shapes.text(limits.HOST),
                values=_OSD_OPTIONS,
            ),
        ),
    ),
)

_COPIES = shapes.number(limits.COPIES, more=' copies')
_UNPROTECTED_WRITES = shapes.field(
    'unprotected_writes',
    shapes.flag(
        'true or false; true accepts a min_size with which a write may be '
        'lost with one disk'
    ),
)
_REPLICATED = shapes.Record(
    kind=catalogs.Replicated,
    definition='replicated',
    expected='a mapping with size and, optionally, min_size, single_copy, '
    'unprotected_writes, replicas_per_failure_domain and sub_failure_domain',
    required=('size',),
    fields=(
        shapes.field('size', _COPIES),
        shapes.field('min_size', _COPIES),
        shapes.field(
            'single_copy',
            shapes.flag(
                'true or false; true accepts size 1, which loses data with '
                'the first failed disk'
            ),
        ),
        _UNPROTECTED_WRITES,
        shapes.field(
            'replicas_per_failure_domain',
            shapes.number(
                limits.COPIES_PER_FAILURE_DOMAIN,
                more=' copies in each failure domain',
            ),
        ),
        shapes.field(
            'sub_failure_domain', shapes.text(limits.SUB_FAILURE_DOMAIN)
        ),
    ),
)
_ERASURE_CODED = shapes.Record(
    kind=catalogs.ErasureCoded,
    expected='a mapping with k and m and, optionally, min_size, '
    'unprotected_writes, plugin, technique, stripe_unit_bytes, '
    'failure_domains and osds_per_failure_domain',
    required=('k', 'm'),
    fields=(
        shapes.field(
            'k', shapes.number(limits.DATA_CHUNKS, more=' data chunks')
        ),
        shapes.field(
            'm', shapes.number(limits.CODING_CHUNKS, more=' coding chunks')
        ),
        shapes.field('min_size', shapes.number(limits.CHUNKS, more=' chunks')),
        _UNPROTECTED_WRITES,
        shapes.field('plugin', shapes.word(tuple(erasure_code.TECHNIQUES))),
        shapes.field('technique', shapes.word(erasure_code.ALL_TECHNIQUES)),
        shapes.field(
            'stripe_unit_bytes',
            shapes.Scalar(
                expected='a multiple of 4096 (bytes) from '
                f'{limits.STRIPE_UNIT_BYTES.least} to '
                f'{limits.STRIPE_UNIT_BYTES.most}',
                keywords={
                    'type': 'integer',
                    'minimum': limits.STRIPE_UNIT_BYTES.least,
                    'maximum': limits.STRIPE_UNIT_BYTES.most,
                    'multipleOf': limits.STRIPE_UNIT_BYTES.least,
                },
            ),
        ),
        shapes.field(
            'failure_domains',
            shapes.number(limits.FAILURE_DOMAINS, more=' failure domains'),
            attribute='num_failure_domains',
        ),
        shapes.field(
            'osds_per_failure_domain',
            shapes.number(
                limits.CHUNKS_PER_FAILURE_DOMAIN,
                more=' OSDs in each failure domain',
            ),
        ),
    ),
)
# Of what was complained of already.
_STAND_INS = {'protection': catalogs.Replicated(size=3)}
_POOL_FIELDS = (
    shapes.field('pool', _POOL),
    shapes.field(
        'device_class',
        shapes.text(limits.DEVICE_CLASS, definition='device_class'),
    ),
    shapes.field(
        'crush_root',
        shapes.text(limits.CRUSH_ROOT, definition='crush_root'),
    ),
    shapes.field(
        'failure_domain',
        shapes.text(limits.FAILURE_DOMAIN, definition='failure_domain'),
    ),
    shapes.field(
        'pg_num',
        shapes.number(
            limits.PG_NUM, more=', a power of two', definition='pg_num'
        ),
    ),
    shapes.field('replicated', _REPLICATED, attribute='protection'),
)


def _make_cache(
    *, mode: str, stale_reads: bool, settings: dict, **pool: object
) -> catalogs.Cache:
    """A cache in a cluster that is named only above it."""
    return catalogs.Cache(
        rbd=catalogs.RbdPool(cluster='', **pool),
        mode=mode,
        stale_reads=stale_reads,
        settings=dict(sorted(settings.items())),
    )


def _take_cache(cache: catalogs.Cache) -> dict[str, object]:
    return {**vars(cache.rbd), **vars(cache)}


_CACHE = shapes.Record(
    kind=catalogs.Cache,
    definition='cache',
    expected='a mapping that describes a cache tier in front of the pool '
    'with the data',
    required=('pool', 'mode', 'replicated'),
    stand_ins=_STAND_INS,
    fields=(
        *_POOL_FIELDS,
        shapes.field('mode', shapes.word(tuple(cache_tier.SAFE_MODES_BEFORE))),
        shapes.field(
            'stale_reads',
            shapes.flag(
                'true or false; true accepts mode '
                f'{cache_tier.READONLY}, which may serve stale data'
            ),
        ),
        shapes.field(
            None,
            shapes.Settings(
                expected='settings of a cache',
                known={
                    name: _cache_setting(name)
                    for name in _in_groups(cache_tier.KNOWN)
                },
            ),
            attribute='settings',
        ),
    ),
    more_defaults=lambda cache: {
        'device_class': catalogs.RbdPool.device_class,
        'crush_root': catalogs.RbdPool.crush_root,
        'failure_domain': catalogs.RbdPool.failure_domain,
        'pg_num': catalogs.RbdPool.pg_num,
        'stale_reads': catalogs.Cache.stale_reads,
    },
    make=_make_cache,
    take=_take_cache,
)


def _make_rbd(
    *, cache: catalogs.Cache | None = None, **attributes: object
) -> catalogs.RbdPool:
    if cache is not None:
        cache = dataclasses.replace(
            cache,
            rbd=dataclasses.replace(cache.rbd, cluster=attributes['cluster']),
        )
    return catalogs.RbdPool(cache=cache, **attributes)


_RBD = shapes.Record(
    kind=catalogs.RbdPool,
    definition='rbd',
    expected='a mapping that describes the Ceph pool of the tier',
    required=('cluster', 'pool'),
    one_of=('replicated', 'erasure_coded'),
    stand_ins=_STAND_INS,
    fields=(
        shapes.field('cluster', shapes.any_text('a name under clusters')),
        *_POOL_FIELDS,
        shapes.field(
            'primary_device_class',
            shapes.text(limits.PRIMARY_DEVICE_CLASS),
        ),
        shapes.field('erasure_coded', _ERASURE_CODED, attribute='protection'),
        shapes.field('data_pool', _POOL, attribute='data_pool_name'),
        shapes.field(
            'pool_options',
            shapes.Settings(
                expected='settings of the pool that holds the data, by their '
                'names in Ceph',
                known={
                    name: _pool_option(name)
                    for name in sorted(pool_options.KNOWN)
                },
            ),
            attribute='options',
        ),
        shapes.field('osd_options', _OSD_OPTIONS),
        shapes.field('primary_affinity', _RATIO),
        shapes.field(
            'osd_requirements',
            shapes.Record(
                kind=catalogs.Requirements,
                definition='osd_requirements',
                expected='a mapping of required properties of the OSDs of '
                'the device class, at least one',
                not_empty=True,
                fields=(
                    shapes.field(
                        'object_store', shapes.word(limits.OBJECT_STORES)
                    ),
                    shapes.field('rotational', _SWITCH),
                    shapes.field(
                        'file_system', shapes.word(limits.FILE_SYSTEMS)
                    ),
                    shapes.field('fast_db', _REQUIRED),
                    shapes.field('fast_wal', _REQUIRED),
                    shapes.field('fast_journal', _REQUIRED),
                    shapes.field(
                        'io_scheduler',
                        shapes.ListOf(
                            expected=f'{_SCHEDULER.expected}, or a list of '
                            'different ones',
                            items=_SCHEDULER,
                            min_items=1,
                            alone=f'({"|".join(limits.IO_SCHEDULERS)})',
                            alone_is_item=True,
                        ),
                    ),
                    shapes.field(
                        'alloc_size',
                        _ALLOC_SIZE,
                        attribute='alloc_size_bytes',
                    ),
                    shapes.field(
                        'rocksdb_compression',
                        shapes.word(limits.ROCKSDB_COMPRESSIONS),
                    ),
                ),
            ),
        ),
        shapes.field(
            'rbd_options',
            shapes.MapOf(
                expected='options of librbd, by their names, for all clients '
                'of the pool',
                names=shapes.text(limits.RBD_OPTION),
                values=_OPTION,
            ),
        ),
        shapes.field('cache', _CACHE),
    ),
    make=_make_rbd,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _QosLimit(shapes.Scalar):
    """Text for Cinder; a number in the file where it means the same text."""

    def read(self, value: object) -> object:
        # Cinder keeps text, so 500 and "500" are the same.
        return str(value)

    def write(self, value: object) -> object:
        is_number = (
            value.isascii()
            and value.isdecimal()
            and len(value) < 20
            and int(value) in limits.INTEGER
            and str(int(value)) == value
        )
        return int(value) if is_number else value


_QOS_SPECS = shapes.MapOf(
    definition='qos_specs',
    expected='a mapping of keys of a QoS spec, such as total_iops_sec, to '
    'values, at least one',
    not_empty=True,
    names=shapes.text(limits.QOS_KEY),
    values=_QosLimit(
        expected=limits.QOS_LIMIT.expected,
        keywords={
            **shapes.text_keywords(limits.QOS_LIMIT, 'integer'),
            'minimum': limits.INTEGER.least,
            'maximum': limits.INTEGER.most,
        },
    ),
)
_QUOTA = shapes.number(
    limits.QUOTA,
    definition='quota',
    expected=f'an integer from 0 to {limits.QUOTA.most}, or '
    f'{limits.QUOTA.least} for unlimited',
)
_ENCRYPTION = shapes.Record(
    kind=catalogs.Encryption,
    expected='a mapping with provider, and cipher, key_size_bits, '
    'control_location or some of them',
    required=('provider',),
    fields=(
        shapes.field('provider', shapes.text(limits.ENCRYPTION_PROVIDER)),
        shapes.field('cipher', shapes.text(limits.CIPHER)),
        shapes.field(
            'key_size_bits',
            shapes.number(limits.KEY_SIZE_BITS, more=' bits'),
        ),
        shapes.field(
            'control_location', shapes.word(limits.CONTROL_LOCATIONS)
        ),
    ),
)
_TIER = shapes.Record(
    kind=catalogs.Tier,
    definition='tier',
    expected='a mapping of tier settings',
    fields=(
        shapes.field(
            'take_over',
            shapes.flag(
                'true or false; false: the volume type exists, is not '
                'managed, and is left alone'
            ),
        ),
        shapes.field(
            'volume_type',
            shapes.text(limits.TYPE_NAME),
            attribute='volume_type_name',
        ),
        shapes.field('description', shapes.text(limits.DESCRIPTION)),
        shapes.field(
            'tags',
            shapes.ListOf(
                expected='a list of image tags',
                items=shapes.text(limits.TAG),
                # The rules of tags say it of tags that only look different.
                unique=False,
            ),
        ),
        shapes.field(
            'priority',
            shapes.number(limits.PRIORITY, more='; the highest wins'),
        ),
        shapes.field('fallback', shapes.flag()),
        shapes.field('overflow', shapes.any_text('the name of another tier')),
        shapes.field(
            'access',
            shapes.ListOf(
                expected=f'{catalogs.PUBLIC}, or a list of different projects '
                '(names or IDs)',
                items=shapes.text(limits.PROJECT),
                alone=catalogs.PUBLIC,
            ),
        ),
        shapes.field(
            'default_for',
            shapes.ListOf(
                expected='a list of different projects (names or IDs), of '
                'which the volume type is the default type',
                items=shapes.text(limits.PROJECT),
            ),
        ),
        shapes.field(
            'qos',
            shapes.Record(
                kind=catalogs.Qos,
                expected='a mapping with front_end, back_end or both',
                not_empty=True,
                fields=(
                    shapes.field('name', shapes.text(limits.QOS_NAME)),
                    shapes.field('front_end', _QOS_SPECS),
                    shapes.field('back_end', _QOS_SPECS),
                ),
            ),
        ),
        shapes.field(
            'quotas',
            shapes.Record(
                kind=catalogs.Quotas,
                expected='a mapping with volumes, gigabytes, snapshots or '
                'some of them',
                not_empty=True,
                fields=(
                    shapes.field('volumes', _QUOTA),
                    shapes.field('gigabytes', _QUOTA, attribute='size_gib'),
                    shapes.field('snapshots', _QUOTA),
                ),
            ),
        ),
        shapes.field('encryption', _ENCRYPTION),
        shapes.field(
            'expect',
            shapes.MapOf(
                expected='a mapping of at least one fio pattern name to '
                'limits',
                not_empty=True,
                names=shapes.text(limits.FIO_PATTERN),
                values=shapes.MapOf(
                    definition='limits',
                    expected='a mapping of limits to numbers, at least one',
                    not_empty=True,
                    names=shapes.text(limits.EXPECTATION),
                    values=shapes.Scalar(
                        expected='a number greater than 0',
                        keywords={'type': 'number', 'exclusiveMinimum': 0},
                    ),
                ),
            ),
        ),
        shapes.field(
            'backend', shapes.text(limits.BACKEND), attribute='backend_name'
        ),
        shapes.field(
            'extra_specs',
            shapes.MapOf(
                expected='a mapping of extra specs of the volume type',
                names=shapes.text(limits.EXTRA_SPEC_KEY),
                values=shapes.text(limits.EXTRA_SPEC),
            ),
        ),
        shapes.field('rbd', _RBD),
    ),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Include(shapes.ListOf):
    """Files, which `includes` has read before: a catalog knows none."""

    def is_of(self, value: object) -> bool:
        """Never: nothing is written."""
        return False


#: The whole file.
CATALOG = shapes.Record(
    kind=catalogs.Catalog,
    expected='a mapping with version, tiers and, for tiers with rbd, clusters',
    required=('version', 'tiers'),
    stand_ins={'tiers': ()},
    fields=(
        shapes.Field(
            key='version',
            attribute=None,
            shape=shapes.Constant(
                expected=f'the version of this format, {VERSION}',
                value=VERSION,
            ),
        ),
        shapes.Field(
            key='include',
            attribute=None,
            shape=_Include(
                expected=limits.INCLUDE.expected,
                items=shapes.text(limits.INCLUDE),
                min_items=1,
            ),
        ),
        shapes.field(
            'follow_image_types',
            shapes.ListOf(
                expected='a list of different volume types that follow the '
                "image; Cinder's default type should be one of "
                'them',
                items=shapes.text(limits.TYPE_NAME),
            ),
        ),
        shapes.field(
            'fallback',
            shapes.Constant(
                expected='none: no tier serves untagged images and blank '
                "volumes; they get Cinder's default type",
                value='none',
                means=True,
            ),
            attribute='without_fallback',
        ),
        shapes.field(
            'clusters',
            shapes.Named(
                expected='the Ceph clusters by name, at least one',
                not_empty=True,
                names=_NAME,
                values=_CLUSTER,
            ),
        ),
        shapes.field(
            'tiers',
            shapes.Named(
                expected='the tiers by name; {} for none',
                names=_NAME,
                values=_TIER,
                in_tuple=True,
            ),
        ),
    ),
    more_defaults=lambda catalog: {'clusters': {}},
)


def schema() -> dict[str, object]:
    """The JSON schema (draft 2020-12) of a tiers file."""
    definitions: shapes.Definitions = {}
    described = CATALOG.schema(definitions)
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': f'Storage tiers file (cinder-tiers), version {VERSION}',
        **described,
        '$defs': dict(sorted(definitions.items())),
    }


def read(
    value: dict[str, object], *, source: catalogs.Source
) -> catalogs.Catalog:
    """The catalog that plain values mean.

    :param value: sound by the schema, or without the parts that are not.
    :param source: where they were written.
    """
    return CATALOG.read(value, source=source)


def write(catalog: catalogs.Catalog) -> dict[str, object]:
    """The plain values that mean a catalog, without its defaults.

    :param catalog: a sound one.
    """
    return CATALOG.write(catalog)
