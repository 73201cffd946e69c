# SPDX-License-Identifier: Apache-2.0

"""Asks Ceph in which pool the volumes of tagged images are.

For tests/devstack/run.sh, in the container, with DevStack's Python as its
user. Cinder says that it made a volume; librbd says where it is. The exit
status is 1 if one is in another pool than the tiers file of DevStack's plugin
says, or in more than one.
"""

import sys
import uuid

import openstack
import rados
import rbd

CEPH_CONF = '/etc/ceph/ceph.conf'
# A cephx user that the plugin made, which may read every pool.
CEPH_USER = 'cinder-tiers'
WAIT_SECONDS = 120
IMAGE_BYTES = 1 << 20
# (tag of the image, None for no image; volume type, None for none named;
# expected pool). The type "ceph" is DevStack's own.
CASES = (
    ('database', None, 'tier-database'),
    ('archive', None, 'tier-archive'),
    ('other', None, 'tier-general'),
    (None, None, 'tier-general'),
    ('database', 'image-tier', 'tier-database'),
    ('database', 'general', 'tier-general'),
    ('database', 'ceph', 'volumes'),
)


def make_image(cloud, tag):
    """An image with a tag, with data of its own; its id."""
    return cloud.create_image(
        f'placement-{tag}-{uuid.uuid4()}',
        data=uuid.uuid4().bytes * (IMAGE_BYTES // 16),
        disk_format='raw',
        container_format='bare',
        tags=[tag],
        wait=True,
    ).id


def pools_of(volume_id):
    """Names of the pools that hold a volume."""
    with rados.Rados(conffile=CEPH_CONF, rados_id=CEPH_USER) as cluster:
        found = []
        for pool in cluster.list_pools():
            if pool.startswith('.'):
                continue
            with cluster.open_ioctx(pool) as ioctx:
                if f'volume-{volume_id}' in rbd.RBD().list(ioctx):
                    found.append(pool)
        return found


def main():
    cloud = openstack.connect(cloud='devstack-admin')
    store = cloud.block_storage
    tags = {tag for tag, *_ in CASES if tag}
    images = {tag: make_image(cloud, tag) for tag in sorted(tags)}
    wrong = 0
    made = []
    for tag, volume_type, expected in CASES:
        volume = store.create_volume(
            size=1, image_id=images.get(tag), volume_type=volume_type
        )
        made.append((tag, volume_type, expected, volume))
    for tag, volume_type, expected, volume in made:
        volume = store.wait_for_status(
            volume, failures=['error'], interval=1, wait=WAIT_SECONDS
        )
        pools = pools_of(volume.id)
        right = pools == [expected]
        wrong += not right
        print(
            f'{"ok" if right else "WRONG"}: image tag {tag}, type named '
            f'{volume_type}: type {volume.volume_type}, in pool '
            f'{", ".join(pools) or "none"}, expected {expected}'
        )
    for *_, volume in made:
        store.delete_volume(volume)
    for *_, volume in made:
        store.wait_for_delete(volume, interval=1, wait=WAIT_SECONDS)
    for image in images.values():
        cloud.delete_image(image)
    print(f'{len(CASES) - wrong} passed, {wrong} failed, 0 skipped')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
