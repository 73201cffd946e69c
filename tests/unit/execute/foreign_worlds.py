# SPDX-License-Identifier: Apache-2.0
"""Clouds that nobody made with a catalog, drawn at random."""

from hypothesis import strategies

from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain import catalogs as plain
from tests.unit.execute import test_plan_apply_always as always

key = always.key

AWKWARD = strategies.sampled_from(
    (
        'a',
        'A',
        'theirs',
        '__DEFAULT__',
        '',
        ' a',
        'a/b',
        'a\nb',
        '\x1b[2J',
        '\u202e',
        '\ud800',
        'null',
        '1e3',
        'x' * 64,
        'x' * 300,
        '<is> True',
        '<or> a <or> b',
        'a,b',
        '#',
        "'",
        '{',
        'é',
    )
)
WORDS = AWKWARD | strategies.text(max_size=5)
BACKENDS = ('rbd-1', 'rbd-2', 'rbd-3', 'lvm', 'tier-a', 'twice', 'far')
KEYS = (
    strategies.sampled_from(
        (
            'volume_backend_name',
            'capabilities:volume_backend_name',
            'multiattach',
            'Volume_Backend_Name',
            'Tiers:x',
            'hp:x',
            'x y',
            'vendor_name',
        )
    )
    | WORDS
)
TYPES = ('gold', 'silver', 'bronze', 'a', 'gold - retired 1', 'a - new')
#: Extra specs of ours, as they might be after years.
MARKS = strategies.fixed_dictionaries(
    {},
    optional={
        'tiers:tags': strategies.sampled_from(
            ('tag', 'tag,other', 'Tag', ',,', '', 'ß' * 200, 'a\nb')
        ),
        'tiers:priority': strategies.sampled_from(('5', '-5', 'x', '9' * 9)),
        'tiers:fallback': strategies.sampled_from(('<is> True', 'no', 'yes')),
        'tiers:overflow': strategies.sampled_from((*TYPES, 'gone')),
        'tiers:other': strategies.just('x'),
        'tiers:follow_image': strategies.sampled_from(
            ('<is> True', 'True', 'no')
        ),
    },
)
VALUES = (
    strategies.sampled_from(
        (
            *BACKENDS,
            '<or> rbd-1 <or> lvm',
            '<is> True',
            '1',
            '-5',
            '10' * 9,
            'tag',
            'tag,other',
        )
    )
    | WORDS
)


def seldom(draw):
    """True in about one of six cases."""
    return draw(strategies.sampled_from((False,) * 5 + (True,)))


@strategies.composite
def type_names(draw):
    return draw(
        WORDS.filter(bool) if seldom(draw) else strategies.sampled_from(TYPES)
    )


@strategies.composite
def volume_types(draw, name, may_be_ours):
    specs = (
        draw(strategies.dictionaries(KEYS, VALUES, max_size=2))
        if seldom(draw)
        else {}
    )
    if not seldom(draw):
        specs['volume_backend_name'] = draw(
            strategies.sampled_from(
                (
                    *['rbd-1'] * 4,
                    'rbd-2',
                    *BACKENDS,
                    '<or> lvm <or> rbd-1',
                    '<or> rbd-1 <or> lvm',
                )
            )
        )
    if may_be_ours and draw(strategies.booleans()):
        specs.update(draw(MARKS))
        if not seldom(draw):
            specs['tiers:name'] = draw(
                strategies.sampled_from((name, name, name, 'renamed', ''))
            )
    is_public = draw(strategies.booleans())
    return cinder_state.VolumeType(
        name=name,
        description=draw(WORDS),
        is_public=is_public,
        extra_specs=specs,
        projects=frozenset()
        if is_public
        else draw(strategies.frozensets(strategies.sampled_from('123'))),
    )


@strategies.composite
def sane_pools(draw, name):
    """Of copies, or with `volumes-data` for the data."""
    data = draw(strategies.sampled_from((None, None, 'volumes-data')))
    if name == 'volumes-data':
        return ceph_state.Pool(
            name=name,
            kind='erasure',
            size=3,
            min_size=2,
            pg_num=32,
            pg_autoscale_mode=draw(strategies.sampled_from(('on', 'off'))),
            crush_rule='coded',
            erasure_code_profile='ec21',
            ec_overwrites=True,
            options={'fast_read': 'true'},
        )
    size = draw(strategies.sampled_from((1, 2, 3)))
    return ceph_state.Pool(
        name=name,
        kind='replicated',
        size=3 if data else size,
        min_size=2 if data else 1,
        pg_num=8,
        crush_rule=draw(strategies.sampled_from(('replicated_rule', 'hdd'))),
        pg_autoscale_mode=draw(strategies.sampled_from(('on', 'off'))),
        rbd_default_data_pool=data if name == 'volumes' else None,
        options=draw(
            strategies.dictionaries(
                strategies.sampled_from(
                    ('noscrub', 'target_size_ratio', 'compression_mode')
                ),
                strategies.sampled_from(('true', '0.1', 'force')),
            )
        ),
    )


@strategies.composite
def odd_pools(draw, name):
    return ceph_state.Pool(
        name=name,
        kind=draw(
            strategies.sampled_from(('replicated', 'replicated', 'erasure'))
        ),
        size=draw(strategies.integers(1, 4)),
        min_size=draw(strategies.integers(1, 2)),
        pg_num=draw(strategies.sampled_from((8, 12, 32))),
        pg_autoscale_mode=draw(strategies.sampled_from(('on', 'warn', 'off'))),
        crush_rule=draw(
            strategies.sampled_from(
                ('replicated_rule', 'ssd', 'odd', 'elsewhere', 'coded')
            )
        ),
        erasure_code_profile=draw(
            strategies.sampled_from((None, 'ec21', 'gone'))
        ),
        ec_overwrites=draw(strategies.booleans()),
        applications=draw(
            strategies.sampled_from(
                (frozenset({'rbd'}), frozenset({'rbd', 'cephfs'}), frozenset())
            )
        ),
        rbd_default_data_pool=draw(
            strategies.sampled_from((None, None, f'{name}-data', 'elsewhere'))
        ),
        options=draw(
            strategies.dictionaries(
                strategies.sampled_from(
                    (
                        'noscrub',
                        'target_size_ratio',
                        'target_size_bytes',
                        'quota_max_bytes',
                        'csum_type',
                        'fast_read',
                    )
                ),
                strategies.sampled_from(
                    ('true', 'false', '0', '0.1', 'unset', '7', '99')
                ),
            )
        ),
        rbd_options=draw(
            strategies.dictionaries(
                strategies.sampled_from(('rbd_cache', 'rbd_Odd', 'rbd_x')),
                VALUES,
            )
        ),
    )


@strategies.composite
def cache_tiers(draw, name):
    return ceph_state.CacheTier(
        name=name,
        cache_pool=draw(
            strategies.sampled_from(('cache',) * 4 + ('vms', 'cache, vms'))
        ),
        mode=draw(
            strategies.sampled_from(
                ('writeback', 'writeback', 'readonly', 'proxy')
            )
        ),
        overlay=not seldom(draw),
        settings={
            'hit_set_type': 'bloom',
            'hit_set_count': '4',
            'hit_set_period': '1200',
            'min_read_recency_for_promote': '1',
            'cache_target_dirty_ratio': '0.4',
            'cache_target_full_ratio': draw(
                strategies.sampled_from(('0.8', '0.8', '1e-06'))
            ),
            'target_max_bytes': draw(
                strategies.sampled_from(('0', *['9'] * 4, str(2**63)))
            ),
        },
    )


RULES = {
    'replicated_rule': ('replicated', 'default', None, 'host'),
    'ssd': ('replicated', 'default', 'ssd', 'osd'),
    'hdd': ('replicated', 'default', 'hdd', 'host'),
    'odd': ('replicated', None, None, None),
    'elsewhere': ('replicated', 'other', None, 'host'),
    'coded': ('erasure', 'default', 'hdd', 'host'),
}


@strategies.composite
def foreign_cinders(draw, may_be_ours):
    """Volume types, quotas and QoS specs that no catalog made."""
    names = draw(
        strategies.lists(type_names(), unique=True, min_size=1, max_size=4)
    )
    found = {
        key(actions.Kind.VOLUME_TYPE, name): draw(
            volume_types(name, may_be_ours)
        )
        for name in names
    }
    for name in names:
        if draw(strategies.booleans()):
            found[key(actions.Kind.TYPE_QUOTA, name)] = cinder_state.TypeQuota(
                name=name, volumes=draw(strategies.integers(-1, 2**40))
            )
        if draw(strategies.booleans()):
            found[key(actions.Kind.TYPE_ENCRYPTION, name)] = (
                cinder_state.TypeEncryption(
                    name=name,
                    provider=draw(strategies.sampled_from(('luks', '', 'é'))),
                    cipher=draw(strategies.sampled_from((None, '', 'aes'))),
                    key_size_bits=draw(
                        strategies.sampled_from((None, 0, 256))
                    ),
                    control_location=draw(
                        strategies.sampled_from(('front-end', 'back-end'))
                    ),
                )
            )
    left = [*names]
    for name in ('gold', *(f'tier-{one}' for one in names[:1])):
        having = frozenset(
            draw(strategies.lists(strategies.sampled_from(left), max_size=2))
            if left
            else ()
        )
        left = [one for one in left if one not in having]
        found[key(actions.Kind.QOS_SPEC, name)] = cinder_state.QosSpec(
            name=name,
            consumer=draw(
                strategies.sampled_from(('front-end', 'back-end', 'both'))
            ),
            specs=draw(
                strategies.dictionaries(WORDS, WORDS, max_size=2)
                | always.LIMITS
            ),
            volume_types=having,
        )
    return found


@strategies.composite
def foreign_osd_settings(draw):
    """Options and affinities of OSDs that no catalog made."""
    found = {}
    for name in draw(strategies.sampled_from(((), ('hdd', 'ssd')))):
        found[key(actions.Kind.OSD_OPTIONS, name, 'ceph')] = (
            ceph_state.OsdOptions(
                name=name,
                values=draw(
                    strategies.dictionaries(
                        strategies.sampled_from(
                            ('osd_max_backfills', 'osd_op_queue')
                        ),
                        strategies.sampled_from(('1', '5', 'wpq')),
                        max_size=2,
                    )
                ),
            )
        )
    for host in draw(strategies.sampled_from(((), ('a', 'x/y', 'gone')))):
        found[key(actions.Kind.HOST_OSD_OPTIONS, host, 'ceph')] = (
            ceph_state.OsdOptions(
                name=host, values={'bluestore_cache_size_ssd': '1024'}
            )
        )
    for name in draw(strategies.sampled_from(((), ('hdd',), ('hdd',)))):
        value = draw(strategies.sampled_from(('0', '0.7', '1')))
        spared = 3 if seldom(draw) else None
        found[key(actions.Kind.PRIMARY_AFFINITY, name, 'ceph')] = (
            ceph_state.PrimaryAffinity(
                name=name,
                value=value,
                by_osd={
                    osd.osd_id: value
                    for osd in plain.osds()
                    if osd.device_class == name and osd.osd_id != spared
                },
            )
        )
    return found


@strategies.composite
def foreign_worlds(draw, may_be_ours=False):
    """A cloud that nobody made with a catalog."""
    found = draw(foreign_cinders(may_be_ours)) | draw(foreign_osd_settings())
    for name, (kind, root, device_class, domain) in RULES.items():
        found[key(actions.Kind.CRUSH_RULE, name, 'ceph')] = (
            ceph_state.CrushRule(
                name=name,
                kind=kind,
                root=root,
                device_class=device_class,
                failure_domain=domain,
            )
        )
    found[key(actions.Kind.ERASURE_CODE_PROFILE, 'ec21', 'ceph')] = (
        ceph_state.ErasureCodeProfile(
            name='ec21',
            k=2,
            m=1,
            root='default',
            device_class=None,
            failure_domain='osd',
        )
    )
    for name in ('volumes', 'volumes-data', 'vms', 'cache'):
        found[key(actions.Kind.POOL, name, 'ceph')] = draw(
            odd_pools(name) if seldom(draw) else sane_pools(name)
        )
    for name in draw(
        strategies.sampled_from(((), ('volumes',), ('volumes-data',)))
    ):
        found[key(actions.Kind.CACHE_TIER, name, 'ceph')] = draw(
            cache_tiers(name)
        )
    found[key(actions.Kind.CEPHX_USER, 'client.cinder', 'ceph')] = (
        ceph_state.CephxUser(
            name='client.cinder',
            caps=draw(
                strategies.sampled_from(
                    (
                        {},
                        {'osd': 'profile rbd-read-only pool=vms'},
                        {
                            'mon': 'profile rbd',
                            'osd': 'profile rbd, '
                            'profile rbd-read-only pool=vms',
                            'mgr': 'profile rbd',
                        },
                        {
                            'mon': 'profile rbd',
                            'osd': 'profile rbd',
                            'mgr': 'profile rbd',
                        },
                    )
                )
            ),
        )
    )
    return found
