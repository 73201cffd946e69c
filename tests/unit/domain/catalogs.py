# SPDX-License-Identifier: Apache-2.0

"""Catalogs and clusters for the tests of the domain, as plain values."""

import dataclasses

from cinder_tiers.domain.catalog import model as catalog
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state


def rbd(**changes):
    """An RBD pool of three copies on ssd, changed in some fields."""
    plain = catalog.RbdPool(
        cluster='ceph',
        pool='tier-database',
        device_class='ssd',
        pg_num=32,
        protection=catalog.Replicated(size=3, min_size=2),
    )
    return dataclasses.replace(plain, **changes)


def tier(name='database', **changes):
    """A tier with a pool of its own, changed in some fields."""
    plain = catalog.Tier(name=name, rbd=rbd(pool=f'tier-{name}'))
    return dataclasses.replace(plain, **changes)


def other_tier(name='other', **changes):
    """A tier on storage that exists, changed in some fields."""
    plain = catalog.Tier(name=name, backend_name=f'backend-{name}')
    return dataclasses.replace(plain, **changes)


def cache(pool='cache', **changes):
    """A writeback cache of two copies on ssd, changed in some fields."""
    plain = catalog.Cache(
        mode='writeback',
        settings={'target_max_bytes': 10**9},
        rbd=rbd(
            pool=pool,
            pg_num=8,
            protection=catalog.Replicated(
                size=2, min_size=1, unprotected_writes=True
            ),
        ),
    )
    return dataclasses.replace(plain, **changes)


def three_tiers():
    """database on ssd, general (fall-back) on hdd, archive 2+1 on hdd."""
    return (
        tier('database', tags=('database',), priority=20),
        tier(
            'general',
            fallback=True,
            rbd=rbd(pool='tier-general', device_class='hdd'),
        ),
        tier(
            'archive',
            tags=('archive',),
            priority=10,
            rbd=rbd(
                pool='tier-archive',
                device_class='hdd',
                protection=catalog.ErasureCoded(k=2, m=1),
            ),
        ),
    )


def tiers_of_all_kinds():
    """Tiers that have between them all that a tier can ask of Cinder."""
    database, general, archive = three_tiers()
    return (
        dataclasses.replace(
            database,
            overflow='general',
            description='Fast',
            qos=catalog.Qos(
                front_end={
                    'total_iops_sec': '500',
                    'total_bytes_sec': '9000000',
                }
            ),
        ),
        dataclasses.replace(
            general, qos=catalog.Qos(back_end={'read_iops_sec': '100'})
        ),
        dataclasses.replace(
            archive,
            access=('alpha', 'b' * 32),
            rbd=dataclasses.replace(
                archive.rbd,
                primary_affinity=0.7,
                cache=cache('tier-archive-cache'),
            ),
        ),
        other_tier(
            'lvm',
            default_for=('alpha',),
            quotas=catalog.Quotas(volumes=10, size_gib=200),
            encryption=catalog.Encryption(
                provider='luks', cipher='aes-xts-plain64', key_size_bits=256
            ),
            extra_specs={'multiattach': '<is> True', 'hp3par:persona': '1'},
        ),
        other_tier(
            'any', backend_name=None, extra_specs={'vendor_name': 'somebody'}
        ),
    )


def of(
    *tiers,
    follow_image_types=('image-tier',),
    without_fallback=False,
    **cluster,
):
    """A catalog of these tiers, on one cluster named ceph.

    :param cluster: fields of the cluster.
    """
    return catalog.Catalog(
        tiers=tiers,
        follow_image_types=follow_image_types,
        without_fallback=without_fallback,
        clusters={'ceph': catalog.Cluster(name='ceph', **cluster)},
    )


def osds(hosts=('a', 'b', 'c'), classes=('ssd', 'hdd')):
    """One OSD of each class on each host, under the root default."""
    return tuple(
        ceph_state.Osd(
            osd_id=number,
            device_class=name,
            location={'osd': f'osd.{number}', 'host': host, 'root': 'default'},
        )
        for number, (host, name) in enumerate(
            (host, name) for host in hosts for name in classes
        )
    )


def empty_cluster(**changes):
    """A cluster with OSDs and an images pool, and nothing of ours."""
    images = ceph_state.Pool(
        name='images',
        kind='replicated',
        size=3,
        min_size=2,
        pg_num=8,
        pg_autoscale_mode='on',
        crush_rule='replicated_rule',
    )
    plain = ceph_state.CephState(
        crush_rules={},
        erasure_code_profiles={},
        pools={'images': images},
        users={},
        osds=osds(),
    )
    return dataclasses.replace(plain, **changes)


def nothing(ceph=None, volume_types=(), projects=()):
    """A cloud without tiers; projects are {name: id}."""
    return actual_state.ActualState(
        cinder=cinder_state.CinderState(
            volume_types={one.name: one for one in volume_types}
        ),
        ceph={'ceph': ceph or empty_cluster()},
        projects={
            name: frozenset({ident}) for name, ident in dict(projects).items()
        },
    )
