# SPDX-License-Identifier: Apache-2.0

"""What TieredRBDDriver does with volumes, on whatever cluster.

The same on a real Ceph and on `tests.worlds.ceph_bindings`.
"""

import contextlib
import json
import threading
from uuid import uuid4

from cinder import exception
from cinder import objects
from cinder.volume import qos_specs
import fixtures

from cinder_tiers.driver import moving
from cinder_tiers.driver import unfinished
from tests.contract import driver_case

CONTENT = (b'what the tenant wrote', b'what came later', b'and in the end')

#: Limits by size that are none, or of which none can be made.
UNMADE = (
    *(
        {'total_iops_sec_per_gb': value}
        for value in (
            *('3.5', '3k', '3K', '1e3', 'NaN', '-3', '+3', '1_000'),
            *(' 3', '', '\N{ARABIC-INDIC DIGIT THREE}', '9' * 200),
        )
    ),
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_per_gb_min': '1e3'},
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '0'},
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '-1'},
    {'total_iops_sec': '1e3'},
    {'read_bytes_sec_per_gb_min': '1048576'},
)


class Families(driver_case.DriverCase):
    """Volumes with snapshots and a clone."""

    def make_family(self, service, tier):
        """A volume with three snapshots, and a clone of the second."""
        volume = self.make(service, tier, CONTENT[0])
        snapshots = []
        for content in CONTENT:
            self.write(tier, volume.name, content, 2**22)
            snapshots.append(self.snapshot(service, volume))
        self.write(tier, volume.name, b'now', 2**23)
        clone = self.add(tier)
        service.driver.create_volume_from_snapshot(clone, snapshots[1])
        return volume, snapshots, clone

    def sums_of(self, tier, volume, snapshots):
        return [
            self.sum_of(tier, volume.name),
            *(self.sum_of(tier, volume.name, one.name) for one in snapshots),
        ]

    def assert_nothing_left(self, *tiers):
        for tier in tiers:
            self.assertEqual([], self.names_in(tier), tier)
            self.assertEqual(0, self.images_in_trash(tier), tier)
            self.assertEqual([], self.marks_in(tier), tier)


class DriverContract(Families):
    # One pool at a time

    def test_a_volume_is_in_the_pool_of_its_host(self):
        service = self.serve()
        for tier in self.types:
            volume = self.make(service, tier)
            self.assertEqual([volume.name], self.names_in(tier))
            connection = service.driver.initialize_connection(volume, {})
            self.assertEqual(
                f'{self.rados_pools[tier]}/{volume.name}',
                connection['data']['name'],
            )
            service.driver.extend_volume(volume, 2)
            with self.image(tier, volume.name, read_only=True) as image:
                self.assertEqual(2 * driver_case.GIB, image.size())
            service.driver.delete_volume(volume)
            self.assert_nothing_left(tier)

    def test_a_host_without_a_pool_is_refused_and_named(self):
        service = self.serve()
        for host in ('node@ceph', 'node@ceph#other'):
            volume = self.add('fast')
            volume.host = host
            volume.save()
            error = self.assertRaises(
                exception.InvalidHost, service.driver.create_volume, volume
            )
            self.assertIn(host, str(error))
            self.assertIn('tier-fast, tier-slow', str(error))
        self.assert_nothing_left(*self.types)

    def test_a_volume_whose_host_has_no_pool_is_found(self):
        service = self.serve()
        volume = self.make(service, 'slow')
        volume.host = driver_case.HOST
        self.assertEqual('tier-slow', service.driver.get_pool(volume))
        self.assertIsNone(service.driver.get_pool(self.add('slow')))

    def stats_of(self, service):
        """What is reported once the monitors know the new pools."""
        over = threading.Event()
        for _ in range(int(driver_case.MOST_S / driver_case.POLL_S)):
            stats = service.driver.get_volume_stats(refresh=True)
            if all(one['backend_state'] == 'up' for one in stats['pools']):
                return stats
            over.wait(driver_case.POLL_S)
        return self.fail(f'No sizes of pools: {stats}')

    def test_each_pool_reports_itself(self):
        stats = self.stats_of(self.serve())
        self.assertEqual('up', stats['backend_state'])
        self.assertEqual(
            ['tier-fast', 'tier-slow'],
            [pool['pool_name'] for pool in stats['pools']],
        )
        for (tier, rados_pool), pool in zip(
            self.rados_pools.items(), stats['pools'], strict=True
        ):
            self.assertEqual(f'tier-{tier}', pool['volume_backend_name'])
            self.assertTrue(pool['location_info'].endswith(f':{rados_pool}'))
            self.assertEqual(5, len(pool['location_info'].split(':')))
            self.assertGreater(pool['free_capacity_gb'], 0)
            self.assertGreaterEqual(
                pool['total_capacity_gb'], pool['free_capacity_gb']
            )
            self.assertTrue(pool['qos_support'])
            self.assertTrue(pool['qos_per_gb_support'])

    def test_sizes_are_those_of_the_driver_of_cinder(self):
        service = self.serve()
        pools = {
            pool['pool_name']: pool for pool in self.stats_of(service)['pools']
        }
        for name, driver in service.driver._drivers.items():
            free, total = driver._get_pool_stats()
            self.assertAlmostEqual(
                free, pools[name]['free_capacity_gb'], delta=0.1
            )
            self.assertAlmostEqual(
                total, pools[name]['total_capacity_gb'], delta=0.1
            )

    def test_a_volume_goes_back_to_a_snapshot(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        snapshot = self.snapshot(service, volume)
        self.write('slow', volume.name, CONTENT[1])
        service.driver.revert_to_snapshot(self.context, volume, snapshot)
        self.assertEqual(before, self.sum_of('slow', volume.name))

    def test_images_of_all_pools_can_be_managed(self):
        service = self.serve()
        made = {
            tier: self.make(service, tier, CONTENT[0]) for tier in self.types
        }
        with self.ioctx('slow') as ioctx:
            self.rbd.RBD().rename(ioctx, made['slow'].name, 'of-others')
        found = service.driver.get_manageable_volumes(
            [{'id': made['fast'].id}], None, 10, 0, ['size'], ['asc']
        )
        self.assertEqual(
            {
                (made['fast'].name, self.host_of('fast'), False),
                ('of-others', self.host_of('slow'), True),
            },
            {
                (
                    one['reference']['source-name'],
                    one['extra_info'],
                    one['safe_to_manage'],
                )
                for one in found
            },
        )
        reference = {'source-name': 'of-others'}
        size = service.driver.manage_existing_get_size(made['slow'], reference)
        self.assertEqual(1, size)
        service.driver.manage_existing(made['slow'], reference)
        self.assertEqual([made['slow'].name], self.names_in('slow'))

    def test_an_image_with_another_id_in_its_name_is_managed_already(self):
        """So it is once Cinder has copied a volume that was in use."""
        service = self.serve()
        volume = self.add('slow', _name_id=str(uuid4()))
        service.driver.create_volume(volume)
        (found,) = service.get_manageable_volumes(
            self.context, None, 10, 0, ['size'], ['asc']
        )
        self.assertEqual(
            ({'source-name': volume.name}, False),
            (found['reference'], found['safe_to_manage']),
        )

    def test_a_snapshot_can_be_managed(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        with self.image('slow', volume.name) as image:
            image.create_snap('of-others')
        self.write('slow', volume.name, CONTENT[1])
        snapshot = self.snapshot_of(volume)
        # By cinder-volume, which names the parameters of the driver.
        service.manage_existing_snapshot(
            self.context, snapshot, {'source-name': 'of-others'}
        )
        self.assertEqual('available', snapshot.status)
        self.assertEqual(
            before, self.sum_of('slow', volume.name, snapshot.name)
        )

    def test_a_burst_of_all_io_has_its_own_limit(self):
        service = self.serve()
        volume = self.make(service, 'fast')
        service.driver.update_rbd_image_qos(
            volume, {'total_iops_sec_max': '7', 'total_bytes_sec_max': '8192'}
        )
        expected = {
            'rbd_qos_iops_limit': '400',
            'rbd_qos_iops_burst': '7',
            'rbd_qos_bps_burst': '8192',
        }
        self.assertEqual(expected, self.limits_of('fast', volume.name))
        for _ in range(2):
            service.driver.delete_rbd_image_qos_keys(
                volume, ['total_iops_sec_max', 'total_bytes_sec_max']
            )
        self.assertEqual(
            {'rbd_qos_iops_limit': '400'},
            self.limits_of('fast', volume.name),
        )

    def test_a_limit_by_size_grows_with_the_volume(self):
        self.types['fast'] = self.make_type(
            'by-size',
            '5',
            backend='tier-fast',
            total_iops_sec_per_gb='30',
            total_iops_sec_max='70',
            read_bytes_sec='8192',
        )
        service = self.serve()
        volume = self.make(service, 'fast')
        for size_gib, limit in ((1, '30'), (2, '60'), (3, '70')):
            if size_gib > volume.size:
                service.driver.extend_volume(volume, size_gib)
                volume.size = size_gib
                volume.save()
            self.assertEqual(
                {
                    'rbd_qos_iops_limit': limit,
                    'rbd_qos_read_bps_limit': '8192',
                },
                self.limits_of('fast', volume.name),
            )
        self.retype(service, volume, 'slow')
        self.settle(service, volume, 'slow')
        self.assertEqual(
            {'rbd_qos_iops_limit': '40'}, self.limits_of('slow', volume.name)
        )
        self.retype(service, volume, 'fast')
        self.settle(service, volume, 'fast')
        self.assertEqual(
            {'rbd_qos_iops_limit': '70', 'rbd_qos_read_bps_limit': '8192'},
            self.limits_of('fast', volume.name),
        )

    def test_a_managed_image_has_the_limit_of_its_size(self):
        self.types['fast'] = self.make_type(
            'by-size', '5', backend='tier-fast', total_iops_sec_per_gb='30'
        )
        service = self.serve()
        volume = self.make(service, 'fast')
        service.driver.extend_volume(volume, 3)
        with self.ioctx('fast') as ioctx:
            self.rbd.RBD().rename(ioctx, volume.name, 'of-others')
        with self.image('fast', 'of-others') as image:
            image.config_remove('rbd_qos_iops_limit')
        # As the API of Cinder makes it.
        volume.size = 0
        volume.save()
        service.driver.manage_existing(volume, {'source-name': 'of-others'})
        self.assertEqual(
            {'rbd_qos_iops_limit': '90'}, self.limits_of('fast', volume.name)
        )

    def test_a_limit_by_size_goes_with_its_type(self):
        """To a type whose limits are kept elsewhere, in the same pool."""
        self.types['fast'] = self.make_type(
            'by-size', None, backend='tier-fast', total_iops_sec_per_gb='30'
        )
        service = self.serve()
        volume = self.make(service, 'fast')
        self.types['fast'] = self.make_type(
            'of-servers',
            None,
            backend='tier-fast',
            consumer='front-end',
            total_iops_sec_per_gb='30',
        )
        self.retype(service, volume, 'fast', 'never')
        self.assertEqual({}, self.limits_of('fast', volume.name))

    def test_a_qos_spec_that_is_gone_does_not_stop_an_extension(self):
        service = self.serve()
        volume = self.make(service, 'fast')
        # Cinder has read it with the volume.
        spec = volume.volume_type.qos_specs_id
        qos_specs.delete(self.context, spec, force=True)
        log = self.capture_log()
        service.driver.extend_volume(volume, 2)
        self.assertIn('has the limits of its old size', log.output)
        with self.image('fast', volume.name, read_only=True) as image:
            self.assertEqual(2 * driver_case.GIB, image.size())

    def test_a_limit_with_a_unit_does_not_stop_a_retype(self):
        service = self.serve()
        volume = self.make(service, 'fast')
        with self.image('fast', volume.name) as image:
            image.config_set('rbd_qos_bps_limit', '100M')
        self.types['fast'] = self.make_type(
            'of-limits', '5', backend='tier-fast'
        )
        self.retype(service, volume, 'fast', 'never')
        self.assertEqual(
            {'rbd_qos_iops_limit': '5'}, self.limits_of('fast', volume.name)
        )

    def test_a_limit_that_cannot_be_made_does_not_stop_an_extension(self):
        """The image keeps the limit of its old size."""
        service = self.serve()
        volume = self.make(service, 'fast')
        volume.volume_type = self.make_type(
            'broken', '5', backend='tier-fast', total_iops_sec_per_gb='3k'
        )
        log = self.capture_log()
        service.driver.extend_volume(volume, 2)
        self.assertIn("total_iops_sec_per_gb '3k'", log.output)
        self.assertIn('openstack tier repair --kind limits', log.output)
        with self.image('fast', volume.name, read_only=True) as image:
            self.assertEqual(2 * driver_case.GIB, image.size())
        self.assertEqual(
            {'rbd_qos_iops_limit': '400'}, self.limits_of('fast', volume.name)
        )

    def test_no_volume_is_made_without_the_limit_of_its_type(self):
        """Of values that Python, but not Ceph, may take for a number."""
        service = self.serve()
        snapshot = self.snapshot(service, self.make(service, 'fast'))
        with self.ioctx('fast') as ioctx:
            self.rbd.RBD().create(ioctx, 'of-others', 1)
        before = self.names_in('fast')
        log = self.capture_log()
        for number, specs in enumerate(UNMADE):
            with self.subTest(specs):
                self.types['fast'] = self.make_type(
                    f'broken-{number}', '5', backend='tier-fast', **specs
                )
                error = self.assertRaises(
                    exception.InvalidQoSSpecs, self.make, service, 'fast'
                )
                self.assertIn(list(specs)[-1], str(error))
                self.assertRaises(
                    exception.CinderException,
                    service.driver.create_volume_from_snapshot,
                    *(self.add('fast'), snapshot),
                )
                self.assertRaises(
                    exception.InvalidQoSSpecs,
                    service.driver.manage_existing,
                    *(self.add('fast'), {'source-name': 'of-others'}),
                )
                self.assertEqual(before, self.names_in('fast'))
        self.assertIn(f'Volume {self.newest().id} would have no', log.output)

    def newest(self):
        """The volume that was added last."""
        return objects.VolumeList.get_all(
            self.context, sort_keys=['created_at'], sort_dirs=['desc']
        )[0]

    def test_a_volume_keeps_its_limit_when_its_new_type_has_none(self):
        """In its pool, and to another one."""
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        for tier in ('slow', 'fast'):
            with self.subTest(tier):
                self.types[tier] = self.make_type(
                    f'broken-{tier}',
                    None,
                    backend=f'tier-{tier}',
                    total_iops_sec_per_gb='-3',
                )
                log = self.capture_log()
                self.assertRaises(
                    exception.VolumeMigrationFailed,
                    self.retype,
                    *(service, volume, tier, 'never'),
                )
                self.assertIn("total_iops_sec_per_gb '-3'", log.output)
                volume.refresh()
                self.assertEqual('available', volume.status)
                self.assertEqual(self.host_of('slow'), volume.host)
                self.assertEqual(
                    {'rbd_qos_iops_limit': '40'},
                    self.limits_of('slow', volume.name),
                )
                self.assertEqual(before, self.sum_of('slow', volume.name))
        self.assert_nothing_left('fast')
        self.assertEqual([], self.marks_in('slow'))

    def test_a_clone_in_another_pool_is_a_copy(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        snapshot = self.snapshot(service, volume)
        expected = self.sum_of('slow', volume.name)
        clones = [self.add('fast'), self.add('fast')]
        service.driver.create_volume_from_snapshot(clones[0], snapshot)
        service.driver.create_cloned_volume(clones[1], volume)
        for clone in clones:
            self.assertEqual(expected, self.sum_of('fast', clone.name))
            with self.image('fast', clone.name, read_only=True) as image:
                self.assertRaises(self.rbd.ImageNotFound, image.parent_info)
            self.assertEqual(
                {'rbd_qos_iops_limit': '400'},
                self.limits_of('fast', clone.name),
            )
        with self.image('slow', volume.name, read_only=True) as image:
            self.assertEqual(
                [snapshot.name], [one['name'] for one in image.list_snaps()]
            )
        for clone in clones:
            service.driver.delete_volume(clone)
        service.delete_snapshot(self.context, snapshot)
        service.driver.delete_volume(volume)
        self.assert_nothing_left(*self.types)

    def test_a_whole_copy_has_the_limits_of_its_type(self):
        service = self.serve(rbd_max_clone_depth=0)
        volume = self.make(service, 'slow', CONTENT[0])
        copy = self.add('slow')
        service.driver.create_cloned_volume(copy, volume)
        self.assertEqual(
            self.sum_of('slow', volume.name), self.sum_of('slow', copy.name)
        )
        self.assertEqual(
            {'rbd_qos_iops_limit': '40'}, self.limits_of('slow', copy.name)
        )
        self.types['slow'] = self.make_type('broken', '1e3')
        self.assertRaises(
            exception.InvalidQoSSpecs,
            service.driver.create_cloned_volume,
            *(self.add('slow'), volume),
        )
        self.assertEqual({volume.name, copy.name}, set(self.names_in('slow')))

    def test_an_encrypted_volume_has_the_limits_of_its_type(self):
        service = self.serve()
        with fixtures.MonkeyPatch(
            'cinder.volume.drivers.rbd.RBDDriver._create_encrypted_volume',
            self.make_encrypted,
        ):
            volume = self.add('slow', encryption_key_id=str(uuid4()))
            service.driver.create_volume(volume)
            self.assertEqual(
                {'rbd_qos_iops_limit': '40'},
                self.limits_of('slow', volume.name),
            )
            self.types['slow'] = self.make_type('broken', '1e3')
            self.assertRaises(
                exception.InvalidQoSSpecs,
                service.driver.create_volume,
                self.add('slow', encryption_key_id=str(uuid4())),
            )
        self.assertEqual([volume.name], self.names_in('slow'))

    def test_an_encrypted_volume_is_not_copied_without_its_end(self):
        service = self.serve()
        volume, extended, plain = (self.make(service, 'slow') for _ in '012')
        volume.encryption_key_id = extended.encryption_key_id = str(uuid4())
        with self.image('slow', volume.name) as image:
            image.resize(driver_case.GIB + 2**21)
        copy = self.add('fast')
        error = self.assertRaises(
            exception.VolumeMigrationFailed,
            service.driver.before_volume_copy,
            *(self.context, volume, copy, 'dest'),
        )
        self.assertIn(f'the last {2**21} bytes', str(error))
        for each in (extended, plain):
            service.driver.before_volume_copy(self.context, each, copy, 'dest')

    def make_encrypted(self, _driver, volume, _context):
        """The image that Cinder makes of a file of qemu-img, without one."""
        with self.ioctx(volume.host.partition('#tier-')[2]) as ioctx:
            self.rbd.RBD().create(ioctx, volume.name, driver_case.GIB)

    def test_a_larger_copy_has_the_size_that_was_asked_for(self):
        service = self.serve()
        volume = self.make(service, 'slow')
        clone = self.add('fast', size=3)
        service.driver.create_cloned_volume(clone, volume)
        with self.image('fast', clone.name, read_only=True) as image:
            self.assertEqual(3 * driver_case.GIB, image.size())

    def test_a_retype_moves_the_family_at_once(self):
        service = self.serve()
        volume, snapshots, clone = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        of_clone = self.sum_of('slow', clone.name)
        self.retype(service, volume, 'fast')
        self.assertEqual('available', volume.status)
        self.assertEqual(self.host_of('fast'), volume.host)
        self.assertEqual(self.types['fast'].id, volume.volume_type_id)
        self.assertEqual('success', volume.migration_status)
        self.assertEqual([volume.name], self.names_in('fast'))
        self.assertEqual([clone.name], self.names_in('slow'))
        self.assertEqual(before, self.sums_of('fast', volume, snapshots))
        self.assertEqual(of_clone, self.sum_of('slow', clone.name))
        self.assertEqual(
            {'rbd_qos_iops_limit': '400'},
            self.limits_of('fast', volume.name),
        )
        self.settle(service, volume, 'fast')
        self.assertEqual(0, self.images_in_trash('slow'))
        self.assertEqual([], self.marks_in('slow'))
        self.assertEqual(before, self.sums_of('fast', volume, snapshots))
        self.assertEqual(of_clone, self.sum_of('slow', clone.name))
        self.assert_family_goes(service, volume, snapshots, clone)

    def assert_family_goes(self, service, volume, snapshots, clone):
        """Delete it, with the clone in another pool than its parent."""
        service.delete_snapshot(self.context, snapshots[1])
        for snapshot in snapshots[::2]:
            service.delete_snapshot(self.context, snapshot)
        for one in (clone, volume):
            service.driver.delete_volume(
                objects.Volume.get_by_id(self.context, one.id)
            )
        self.assert_nothing_left(*self.types)

    def test_a_parent_in_another_pool_goes_with_its_last_clone(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        clone = self.add('slow')
        service.driver.create_cloned_volume(clone, volume)
        expected = self.sum_of('slow', clone.name)
        self.retype(service, volume, 'fast')
        self.settle(service, volume, 'fast')
        second = self.add('slow')
        service.driver.create_cloned_volume(second, clone)
        self.assertEqual(expected, self.sum_of('slow', second.name))
        service.driver.delete_volume(volume)
        self.assertEqual([f'{volume.name}.deleted'], self.names_in('fast'))
        self.assertEqual(expected, self.sum_of('slow', clone.name))

    def test_a_parent_that_moves_keeps_the_snapshot_of_a_clone_that_goes(self):
        for moves in (False, True):
            with self.subTest(moves=moves):
                service = self.serve()
                volume = self.make(service, 'slow', CONTENT[0])
                before = self.sum_of('slow', volume.name)
                clone = self.add('slow')
                service.driver.create_cloned_volume(clone, volume)
                self.let_need_the_trash(service, clone)
                log = self.capture_log()
                with self.ioctx('slow') as ioctx:
                    if moves:
                        self.rbd.RBD().migration_prepare(
                            *(ioctx, volume.name, ioctx, volume.name)
                        )
                    service.driver.delete_volume(clone)
                    with self.image(
                        'slow', volume.name, read_only=True
                    ) as image:
                        self.assertEqual(
                            [f'{clone.name}.clone_snap'] * moves,
                            self.users_snapshots(image),
                        )
                    if moves:
                        self.assertIn(f'{volume.name} moves.', log.output)
                        self.rbd.RBD().migration_abort(ioctx, volume.name)
                self.assertNotIn(clone.name, self.names_in('slow'))
                self.assertEqual(before, self.sum_of('slow', volume.name))

    def users_snapshots(self, image):
        """Names of those that were not removed."""
        trash = self.rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH
        return [
            one['name']
            for one in image.list_snaps()
            if one['namespace'] != trash
        ]

    def let_need_the_trash(self, service, volume):
        """Give a volume a clone in the trash, so that it must go there."""
        snapshot = self.snapshot(service, volume)
        clone = self.add('slow')
        service.driver.create_volume_from_snapshot(clone, snapshot)
        with self.ioctx('slow') as ioctx:
            self.rbd.RBD().trash_move(ioctx, clone.name, 0)
        service.delete_snapshot(self.context, snapshot)

    def test_a_volume_can_move_there_and_back(self):
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        for tier, limit in (('fast', '400'), ('slow', '40')):
            self.retype(service, volume, tier)
            self.settle(service, volume, tier)
            self.assertEqual(
                {'rbd_qos_iops_limit': limit},
                self.limits_of(tier, volume.name),
            )
        self.assertEqual(before, self.sums_of('slow', volume, snapshots))
        self.assert_nothing_left('fast')

    def test_a_volume_in_use_does_not_move(self):
        service = self.serve()
        volume, snapshots, clone = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        for used in (volume, clone):
            with self.image('slow', used.name):
                self.assertRaises(
                    exception.VolumeMigrationFailed,
                    self.retype,
                    service,
                    volume,
                    'fast',
                    'never',
                )
            volume.refresh()
            self.assertEqual('available', volume.status)
            self.assertEqual(self.host_of('slow'), volume.host)
            self.assertEqual(before, self.sums_of('slow', volume, snapshots))
            self.assertEqual([], self.marks_in('slow'))
            self.assert_nothing_left('fast')

    def test_an_attached_volume_does_not_move_and_is_told(self):
        """Even if the server is stopped; its limits change in its pool."""
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        volume.update({'status': 'in-use', 'attach_status': 'attached'})
        volume.save()
        objects.VolumeAttachment(
            self.context, volume_id=volume.id, attach_status='attached'
        ).create()
        volume = objects.Volume.get_by_id(self.context, volume.id)
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            service,
            volume,
            'fast',
            'never',
        )
        self.assertIn('It is attached: Nova keeps', log.output)
        self.assertEqual(self.host_of('slow'), volume.host)
        self.assertEqual([], self.marks_in('slow'))
        self.assert_nothing_left('fast')
        self.types['slow'] = self.make_type('slow-2', '80')
        with self.image('slow', volume.name):
            self.retype(service, volume, 'slow')
        self.assertEqual(
            {'rbd_qos_iops_limit': '80'}, self.limits_of('slow', volume.name)
        )

    def attach(self, volume, **fields):
        """Attach a volume whose server is shelved; return it anew."""
        volume.update({'status': 'in-use', 'previous_status': None})
        volume.save()
        made = objects.VolumeAttachment(
            self.context,
            volume_id=volume.id,
            attach_status='reserved',
            instance_uuid=str(uuid4()),
        )
        made.create()
        made.update(fields)
        made.save()
        return objects.Volume.get_by_id(self.context, volume.id)

    def test_a_volume_of_a_shelved_server_moves(self):
        """Nova has nothing of it that the pool is in."""
        service = self.serve()
        volume = self.attach(self.make(service, 'slow', CONTENT[0]))
        before = self.sum_of('slow', volume.name)
        self.retype(service, volume, 'fast')
        volume.refresh()
        self.assertEqual(self.host_of('fast'), volume.host)
        self.assertEqual(before, self.sum_of('fast', volume.name))

    def test_a_volume_that_a_server_is_about_to_have_does_not_move(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        self.attach(volume)
        for fields in (
            {'connector': {'host': 'compute'}},
            {'connection_info': {'name': 'tier-slow/volume'}},
            {'attached_host': 'compute'},
            {'attach_status': 'attaching'},
            {'attach_status': 'attached'},
        ):
            attached = self.attach(volume, **fields)
            self.assertRaises(
                exception.VolumeMigrationFailed,
                self.retype,
                service,
                attached,
                'fast',
                'never',
            )
            attached.refresh()
            self.assertEqual(self.host_of('slow'), attached.host)
            for one in attached.volume_attachment[1:]:
                one.destroy()

    def test_a_volume_that_a_server_got_since_the_request_does_not_move(self):
        service = self.serve()
        asked = self.attach(self.make(service, 'slow', CONTENT[0]))
        self.assertEqual(1, len(asked.volume_attachment))
        for one in objects.VolumeAttachmentList.get_all_by_volume_id(
            self.context, asked.id
        ):
            one.attach_status = 'attached'
            one.save()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            service,
            asked,
            'fast',
            'never',
        )
        asked.refresh()
        self.assertEqual(self.host_of('slow'), asked.host)

    def test_a_volume_that_nova_has_just_reserved_does_not_move(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        asked = objects.Volume.get_by_id(self.context, volume.id)
        volume.status = 'reserved'
        volume.save()
        self.assertEqual(
            (False, None),
            service.driver.retype(
                *(self.context, asked, self.types['fast'], {}),
                {'host': self.host_of('fast')},
            ),
        )
        self.assertEqual([volume.name], self.names_in('slow'))

    def test_a_volume_with_a_clone_that_is_read_does_not_move(self):
        """Also if the clone is named by an earlier migration."""
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        clones = [self.add('slow'), self.add('slow', _name_id=str(uuid4()))]
        for clone in clones:
            service.driver.create_cloned_volume(clone, volume)
        for clone in clones:
            clone.status = 'uploading'
            clone.save()
            log = self.capture_log()
            self.assertRaises(
                exception.VolumeMigrationFailed,
                self.retype,
                service,
                volume,
                'fast',
                'never',
            )
            self.assertIn(f'{clone.name} is uploading', log.output)
            clone.status = 'available'
            clone.save()
        self.retype(service, volume, 'fast')
        self.assertEqual(self.host_of('fast'), volume.host)

    def test_a_volume_whose_limits_cannot_be_set_is_put_back(self):
        service = self.serve()
        volume, snapshots, clone = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        self.types['fast'] = self.make_type('broken', 'as many as it likes')
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            service,
            volume,
            'fast',
            'never',
        )
        self.assertIn('does not move in place to pool tier-fast', log.output)
        self.assertIn('rbd_qos_iops_limit', log.output)
        volume.refresh()
        self.assertEqual('available', volume.status)
        self.assertEqual(self.host_of('slow'), volume.host)
        self.assertEqual(before, self.sums_of('slow', volume, snapshots))
        self.assertEqual(
            {'rbd_qos_iops_limit': '40'}, self.limits_of('slow', volume.name)
        )
        with self.image('slow', clone.name, read_only=True) as image:
            self.assertEqual(self.rados_pools['slow'], image.parent_info()[0])
        self.assert_nothing_left('fast')

    def destination(self, service, tier):
        """Return the pool of a tier as the scheduler passes it to a driver."""
        (pool,) = (
            one
            for one in service.driver.get_volume_stats()['pools']
            if one['pool_name'] == f'tier-{tier}'
        )
        return {'host': self.host_of(tier), 'capabilities': pool}

    def test_a_volume_moves_without_a_new_type(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        service.migrate_volume(
            self.context,
            volume,
            self.destination(service, 'fast'),
        )
        volume.refresh()
        self.assertEqual(self.host_of('fast'), volume.host)
        self.assertEqual('success', volume.migration_status)
        self.assertEqual(before, self.sum_of('fast', volume.name))
        self.settle(service, volume, 'fast')
        self.assert_nothing_left('slow')

    # While it moves

    def test_a_volume_is_served_while_it_moves(self):
        service = self.serve()
        volume, _, _ = self.make_family(service, 'slow')
        self.retype(service, volume, 'fast')
        driver = service.driver
        self.write('fast', volume.name, b'meanwhile', 3 * 2**22)
        expected = self.sum_of('fast', volume.name)
        late = self.snapshot(service, volume)
        clone = self.add('fast')
        driver.create_cloned_volume(clone, volume)
        driver.extend_volume(volume, 2)
        self.assertEqual(expected, self.sum_of('fast', volume.name))
        self.settle(service, volume, 'fast')
        self.assertEqual(expected, self.sum_of('fast', volume.name, late.name))
        self.assertEqual(expected, self.sum_of('fast', clone.name))
        with self.image('fast', volume.name, read_only=True) as image:
            self.assertEqual(2 * driver_case.GIB, image.size())

    def test_a_snapshot_of_what_moves_is_deleted_when_that_has_come(self):
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        self.retype(service, volume, 'fast')
        service.delete_snapshot(self.context, snapshots[0])
        self.assertEqual(0, self.images_in_trash('slow'))
        self.settle(service, volume, 'fast')
        with self.image('fast', volume.name, read_only=True) as image:
            self.assertEqual(
                [one.name for one in snapshots[1:]],
                [one['name'] for one in image.list_snaps()],
            )
        self.assertEqual(
            [before[0], *before[2:]],
            self.sums_of('fast', volume, snapshots[1:]),
        )

    def test_no_snapshot_is_deleted_of_what_an_administrator_migrates(self):
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        with self.ioctx('slow') as ioctx:
            self.rbd.RBD().migration_prepare(
                *(ioctx, volume.name, ioctx, volume.name)
            )
        before = self.sums_of('slow', volume, snapshots)
        for each in (volume, *snapshots):
            each.status = 'deleting'
            each.save()
        # It goes on to the volume when a snapshot is busy.
        service.delete_volume(self.context, volume, cascade=True)
        for each in (volume, *snapshots):
            each.refresh()
            self.assertEqual('available', each.status)
        self.assertEqual(before, self.sums_of('slow', volume, snapshots))

    def test_no_volume_is_deleted_that_an_administrator_migrates(self):
        """Nor a snapshot of a backup, which goes with it."""
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        name = f'backup.{uuid4()}.snap.1796054322.5'
        with self.image('slow', volume.name) as image:
            image.create_snap(name)
        with self.ioctx('slow') as ioctx:
            self.rbd.RBD().migration_prepare(
                *(ioctx, volume.name, ioctx, volume.name)
            )
            log = self.capture_log()
            self.assertRaises(
                exception.VolumeIsBusy, service.driver.delete_volume, volume
            )
            self.assertIn('librbd migrates image', log.output)
            with self.image('slow', volume.name, read_only=True) as image:
                self.assertEqual(
                    [name], [one['name'] for one in image.list_snaps()]
                )
            self.rbd.RBD().migration_abort(ioctx, volume.name)
        service.driver.delete_volume(volume)
        self.assert_nothing_left('slow')

    def test_a_move_that_a_start_could_not_look_at_is_looked_at_again(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        self.retype(service, volume, 'fast')
        reasons = ['no database']
        settled = []

        def place_of(_move):
            if reasons:
                raise exception.CinderException(reasons.pop())
            return unfinished.Place.TARGET

        moves = unfinished.Moves(
            service.driver._images,
            place_of,
            lambda _move, is_answered: settled.append(is_answered),
        )
        moves.resume(list(self.rados_pools.values()))
        self.assertEqual([], settled)
        self.assertIsNotNone(moves.of(volume.name))
        moves.go_on()
        self.assertEqual([True], settled)
        self.settle(service, volume, 'fast')

    def test_a_clone_that_moves_loses_nothing_with_its_parent(self):
        """Cinder's driver flattens it, which librbd does badly meanwhile."""
        service = self.serve()
        volume, snapshots, clone = self.make_family(service, 'slow')
        before = self.sum_of('slow', clone.name)
        self.retype(service, clone, 'fast')
        for snapshot in snapshots:
            service.delete_snapshot(self.context, snapshot)
        # On a real cluster it may have come already.
        with contextlib.suppress(exception.VolumeIsBusy):
            service.driver.delete_volume(volume)
        self.settle(service, clone, 'fast')
        self.assertEqual(before, self.sum_of('fast', clone.name))
        service.driver.delete_volume(volume)
        self.assertEqual([], self.names_in('slow'))
        self.assertEqual(before, self.sum_of('fast', clone.name))

    def test_a_volume_moves_when_its_clones_have_come(self):
        service = self.serve()
        volume, snapshots, clone = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        of_clone = self.sum_of('slow', clone.name)
        for each in (clone, volume):
            self.retype(service, each, 'fast', 'never')
            self.assertEqual(self.host_of('fast'), each.host)
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sums_of('fast', volume, snapshots))
        self.assertEqual(of_clone, self.sum_of('fast', clone.name))
        self.assert_nothing_left('slow')

    def test_a_volume_does_not_move_while_its_clone_does(self):
        self.hurry()
        service = self.serve()
        volume, _, clone = self.make_family(service, 'slow')
        self.retype(service, clone, 'fast')
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, volume, 'fast', 'never'),
        )
        self.assertIn(f'{clone.name} moves.', log.output)
        self.assertEqual([volume.name], self.names_in('slow'))

    def test_a_message_from_before_a_move_finds_the_volume(self):
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        stale = objects.Snapshot.get_by_id(self.context, snapshots[0].id)
        self.assertEqual(self.host_of('slow'), stale.volume.host)
        self.retype(service, volume, 'fast')
        self.settle(service, volume, 'fast')
        service.delete_snapshot(self.context, stale)
        with self.image('fast', volume.name, read_only=True) as image:
            self.assertNotIn(
                stale.name, [one['name'] for one in image.list_snaps()]
            )

    def hurry(self):
        """No request waits for a move."""
        for name in ('END_WITHIN_S', 'END_BEFORE_REPLY_S'):
            self.useFixture(
                fixtures.MonkeyPatch(f'cinder_tiers.driver.rbd.{name}', 0)
            )

    def test_a_volume_that_moves_is_not_retyped_again_or_copied(self):
        self.hurry()
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        self.retype(service, volume, 'fast')
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            service,
            volume,
            'slow',
            'never',
        )
        self.assertIn(moving.UNENDED, log.output)
        # What Cinder calls where the policy lets it copy.
        self.assertRaises(
            exception.VolumeIsBusy,
            service.driver.before_volume_copy,
            self.context,
            volume,
            self.add('slow'),
        )
        volume.refresh()
        self.assertRaises(
            exception.VolumeIsBusy,
            service.migrate_volume,
            *(self.context, volume, self.destination(service, 'slow')),
        )
        self.assertRaises(
            exception.VolumeIsBusy, service.driver.unmanage, volume
        )
        self.assertRaises(
            exception.ManageExistingInvalidReference,
            service.driver.manage_existing_get_size,
            *(self.add('fast'), {'source-name': volume.name}),
        )
        volume.refresh()
        self.assertEqual(self.host_of('fast'), volume.host)
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sum_of('fast', volume.name))
        service.driver.before_volume_copy(
            self.context, volume, self.add('slow')
        )

    def test_a_volume_that_moves_goes_back_once_it_has_come(self):
        service = self.serve()
        volume, snapshots, clone = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        of_clone = self.sum_of('slow', clone.name)
        for tier in ('fast', 'slow', 'fast'):
            self.retype(service, volume, tier)
            self.assertEqual(self.host_of(tier), volume.host)
            self.assertEqual(before, self.sums_of(tier, volume, snapshots))
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sums_of('fast', volume, snapshots))
        self.assertEqual(of_clone, self.sum_of('slow', clone.name))
        self.assertEqual([], self.marks_in('fast') + self.marks_in('slow'))
        self.assertEqual([clone.name], self.names_in('slow'))
        self.assertEqual(0, self.images_in_trash('slow'))

    def test_many_volumes_move_at_once(self):
        service = self.serve()
        volumes = [self.make(service, 'slow', content) for content in CONTENT]
        before = [self.sum_of('slow', one.name) for one in volumes]
        threads = [
            threading.Thread(target=self.retype, args=(service, one, 'fast'))
            for one in volumes
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(
            [self.host_of('fast')] * len(volumes),
            [one.host for one in volumes],
        )
        self.settle(service, volumes[-1], 'fast')
        self.assertEqual(
            before, [self.sum_of('fast', one.name) for one in volumes]
        )
        self.assert_nothing_left('slow')

    def test_a_volume_that_moves_is_reverted_when_it_has_come(self):
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        _, *of_snapshots = self.sums_of('slow', volume, snapshots)
        self.retype(service, volume, 'fast')
        service.driver.revert_to_snapshot(self.context, volume, snapshots[0])
        self.settle(service, volume, 'fast')
        self.assertEqual(
            [of_snapshots[0], *of_snapshots],
            self.sums_of('fast', volume, snapshots),
        )

    def test_a_volume_with_snapshots_is_read_when_it_has_come(self):
        """And so is a clone; librbd shows old states of it meanwhile."""
        self.hurry()
        service = self.serve()
        driver = service.driver
        plain, backed_up = (
            self.make(service, 'slow'),
            self.make(service, 'slow'),
        )
        with self.image('slow', backed_up.name) as image:
            image.create_snap(f'backup.{uuid4()}.snap.1796054322.5')
        volume, snapshots, clone = self.make_family(service, 'slow')
        for each in (plain, backed_up, volume):
            self.begin(service, each)
        driver.initialize_connection(plain, {})
        for read, *arguments in (
            (driver.initialize_connection, volume, {}),
            (driver.initialize_connection, clone, {}),
            (driver.initialize_connection, backed_up, {}),
            (driver.copy_volume_to_image, self.context, volume, None, {}),
            (driver.create_cloned_volume, self.add('slow'), volume),
            (driver.create_cloned_volume, self.add('slow'), clone),
            (
                driver.create_volume_from_snapshot,
                *(self.add('slow'), snapshots[0]),
            ),
        ):
            self.assertRaises(exception.VolumeIsBusy, read, *arguments)
        # What is copied is deleted after that.
        self.assertRaises(
            exception.VolumeIsBusy,
            driver.migrate_volume,
            *(self.context, clone, {'host': 'node@other#pool'}),
        )
        # As Cinder's driver does with a clone of what it deletes, ...
        of_clone = driver._of(clone)
        self.assertRaises(
            self.rbd.ImageBusy,
            of_clone._do_flatten,
            *(clone.name, self.rados_pools['slow']),
        )
        # ... and with a clone of too many.
        of_clone._flatten_volume(clone.name, None)
        with self.image('slow', clone.name, read_only=True) as image:
            self.assertEqual(volume.name, image.parent_info()[1])
        for each in (volume, backed_up):
            self.copy(service, each)
        self.assertEqual(3, len(self.marks_in('slow')))
        for each in (volume, backed_up):
            driver.initialize_connection(each, {})
        # A client of it would look for the source when that has gone.
        for read, *arguments in (
            (driver.initialize_connection, clone, {}),
            (driver.create_cloned_volume, self.add('slow'), volume),
        ):
            self.assertRaises(exception.VolumeIsBusy, read, *arguments)
        self.settle(service, volume, 'fast')
        for each in (volume, clone):
            driver.initialize_connection(each, {})
        driver.create_cloned_volume(self.add('slow'), volume)

    def begin(self, service, volume):
        """Move a volume as a retype does, without the task to copy it."""
        # The periodic task would give it that.
        service.driver._going_on.stop()
        move = self.move_of(volume)
        with service.driver._images() as images:
            images.mark(move)
            images.prepare(move)
        volume.host = self.host_of('fast')
        volume.save()
        service.driver._moves.add(move)

    def copy(self, service, volume):
        """Have the manager copy a volume that moves, and not end that."""
        move = self.move_of(volume)
        over = threading.Event()
        with service.driver._images(asks_manager=True) as images:
            images.add_task(moving.Task.EXECUTE, move)
            for _ in range(int(driver_case.MOST_S / driver_case.POLL_S)):
                if not images.has_task(move):
                    break
                over.wait(driver_case.POLL_S)
            self.assertIs(moving.MoveState.EXECUTED, images.state(move))

    def test_an_image_in_the_trash_hides_no_ancestor_that_moves(self):
        self.hurry()
        service = self.serve()
        volume, _, clone = self.make_family(service, 'slow')
        last = self.add('slow')
        service.driver.create_volume_from_snapshot(
            last, self.snapshot(service, clone)
        )
        with self.ioctx('slow') as ioctx:
            self.rbd.RBD().trash_move(ioctx, clone.name, 0)
        self.begin(service, volume)
        self.assertRaises(
            exception.VolumeIsBusy,
            service.driver.initialize_connection,
            *(last, {}),
        )

    def test_a_move_that_cinder_did_not_record_is_not_used(self):
        """The next start takes it back, with what is written to it."""
        self.hurry()
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        self.begin(service, volume)
        volume.host = self.host_of('slow')
        volume.save()
        self.assertRaises(
            exception.VolumeIsBusy,
            service.driver.initialize_connection,
            *(volume, {}),
        )
        service = self.serve()
        service.driver.initialize_connection(volume, {})
        self.assert_nothing_left('fast')

    def test_no_image_is_written_over_what_moves(self):
        self.hurry()
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        self.begin(service, volume)
        for write in (
            service.driver.copy_image_to_volume,
            service.driver.copy_image_to_encrypted_volume,
        ):
            self.assertRaises(
                exception.VolumeIsBusy, write, self.context, volume, None, ''
            )
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sum_of('fast', volume.name))

    def test_a_clone_of_a_stopped_server_keeps_its_parent_in_place(self):
        """The server may start, and read, while the parent is copied."""
        service = self.serve()
        volume, _, clone = self.make_family(service, 'slow')
        clone.update({'status': 'in-use', 'attach_status': 'attached'})
        clone.save()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, volume, 'fast', 'never'),
        )
        self.assert_nothing_left('fast')

    def test_requests_that_wait_leave_threads_to_others(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        self.retype(service, volume, 'fast')
        moves = service.driver._moves
        for _ in range(unfinished.MOST_WAITERS):
            moves._waiters.acquire()
        self.assertRaises(
            exception.VolumeIsBusy, service.driver.delete_volume, volume
        )
        for _ in range(unfinished.MOST_WAITERS):
            moves._waiters.release()
        self.assertEqual([volume.name], self.names_in('fast'))
        service.driver.delete_volume(volume)
        self.assert_nothing_left(*self.types)

    def test_a_volume_with_a_kept_snapshot_does_not_move_and_is_told(self):
        service = self.serve()
        volume, snapshots, clone = self.make_family(service, 'slow')
        service.delete_snapshot(self.context, snapshots[1])
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            service,
            volume,
            'fast',
            'never',
        )
        self.assertIn('A snapshot of it was deleted that has', log.output)
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            service,
            clone,
            'fast',
            'never',
        )
        self.assertIn('The snapshot that it was made from was', log.output)
        self.assertEqual([], self.marks_in('slow'))
        service.driver.delete_volume(clone)
        self.retype(service, volume, 'fast')
        self.assertEqual(self.host_of('fast'), volume.host)

    def test_what_a_pool_has_is_true_after_a_retype(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        self.make(service, 'slow')
        self.make(service, 'fast')
        for stats in self.stats_of(service)['pools']:
            self.assertNotIn('provisioned_capacity_gb', stats)
        self.retype(service, volume, 'fast')
        self.assertEqual(
            {'tier-fast': 2, 'tier-slow': 1},
            {
                pool['pool_name']: pool['provisioned_capacity_gb']
                for pool in self.stats_of(service)['pools']
            },
        )

    def test_a_volume_that_moves_is_deleted_when_it_has_come(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        clone = self.add('slow')
        service.driver.create_cloned_volume(clone, volume)
        self.retype(service, volume, 'fast')
        service.driver.delete_volume(volume)
        self.assertEqual([f'{volume.name}.deleted'], self.names_in('fast'))
        self.retype(service, clone, 'fast')
        service.driver.delete_volume(clone)
        self.assertEqual([], self.names_in('slow'))

    def test_the_purge_of_the_trash_leaves_a_move_alone(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        self.retype(service, volume, 'fast')
        for driver in service.driver._drivers.values():
            driver._trash_purge()
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sum_of('fast', volume.name))

    # When a commit is cut off

    def cut_off(self, service, left):
        """A volume that has moved, whose source is in the trash yet.

        :param left: `header` if all of the source is, `snapshot` if one of
            its snapshots is being removed, `entry` if nothing of it is but the
            entry of the trash.
        """
        volume, snapshots, clone = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        self.retype(service, volume, 'fast')
        self.cut_commit_off(volume, left)
        with self.image('fast', volume.name, read_only=True) as image:
            self.assertFalse(image.features() & self.rbd.RBD_FEATURE_MIGRATING)
        return volume, snapshots, before

    def test_what_a_cut_off_commit_has_left_is_removed(self):
        for left in ('header', 'snapshot', 'entry'):
            for starts_anew in (False, True):
                with self.subTest(left=left, starts_anew=starts_anew):
                    service = self.serve()
                    volume, snapshots, before = self.cut_off(service, left)
                    self.assertEqual(1, len(self.marks_in('slow')))
                    if starts_anew:
                        service = self.serve()
                    self.settle(service, volume, 'fast')
                    self.assertEqual(0, self.images_in_trash('slow'))
                    self.assertEqual([], self.marks_in('slow'))
                    self.assertEqual(
                        before, self.sums_of('fast', volume, snapshots)
                    )

    def test_a_source_stays_while_its_new_image_is_not_whole(self):
        service = self.serve()
        volume, _, _ = self.cut_off(service, 'header')
        with self.ioctx('fast') as ioctx:
            self.rbd.RBD().rename(ioctx, volume.name, 'elsewhere')
        log = self.capture_log()
        service.driver._moves.go_on()
        self.assertIn('the new image is not whole', log.output)
        self.assertEqual(1, len(self.marks_in('slow')))
        with self.ioctx('fast') as ioctx:
            self.rbd.RBD().rename(ioctx, 'elsewhere', volume.name)
        self.settle(service, volume, 'fast')
        self.assertEqual(0, self.images_in_trash('slow'))

    # What a service finds that starts

    def prepared(self, service, tier='slow', target='fast'):
        """A volume whose service ends after the first step of its move."""
        volume, snapshots, clone = self.make_family(service, tier)
        volume.update({'status': 'retyping', 'previous_status': 'available'})
        volume.save()
        move = self.move_of(volume, tier, target)
        with service.driver._images() as images:
            images.mark(move)
            images.prepare(move)
        return volume, snapshots

    def move_of(self, volume, tier='slow', target='fast'):
        return moving.Move(
            volume_id=volume.id,
            image=volume.name,
            source=self.rados_pools[tier],
            target=self.rados_pools[target],
            tiers=(f'tier-{tier}', f'tier-{target}'),
        )

    def test_a_move_that_was_not_answered_is_taken_back(self):
        service = self.serve()
        volume, snapshots = self.prepared(service)
        before = self.sums_of('fast', volume, snapshots)
        self.serve()
        self.assert_nothing_left('fast')
        self.assertEqual(0, self.images_in_trash('slow'))
        self.assertEqual([], self.marks_in('slow'))
        self.assertEqual(before, self.sums_of('slow', volume, snapshots))
        self.assertEqual(
            {'rbd_qos_iops_limit': '40'}, self.limits_of('slow', volume.name)
        )
        volume.refresh()
        self.assertEqual('available', volume.status)
        self.assertEqual(self.host_of('slow'), volume.host)

    def test_an_image_that_is_halfway_out_of_its_pool_is_put_back(self):
        """What `prepare` or `abort` leaves that librbd does not take back.

        `name`: in the trash, and in the directory yet; `entry`: in the trash
        only; `header`: out of the trash, and its header says that it leaves;
        `abort`: the new image is not wholly removed.
        """
        for left in ('name', 'entry', 'abort', 'header'):
            with self.subTest(left=left):
                service = self.serve()
                volume, snapshots, clone = self.make_family(service, 'slow')
                names = self.names_in('slow')
                before = self.sums_of('slow', volume, snapshots)
                volume.update(
                    {'status': 'retyping', 'previous_status': 'available'}
                )
                volume.save()
                with service.driver._images() as images:
                    images.mark(self.move_of(volume))
                self.leave_halfway(volume, left)
                service = self.serve()
                volume.refresh()
                self.assertEqual('available', volume.status)
                self.assertEqual(names, self.names_in('slow'))
                self.assert_nothing_left('fast')
                self.assertEqual([], self.marks_in('slow'))
                self.assertEqual(0, self.images_in_trash('slow'))
                self.assertEqual(
                    before, self.sums_of('slow', volume, snapshots)
                )
                # It is an image like others.
                self.retype(service, volume, 'fast')
                self.settle(service, volume, 'fast')
                self.assertEqual(
                    before, self.sums_of('fast', volume, snapshots)
                )
                self.assert_family_goes(service, volume, snapshots, clone)

    def test_a_retype_that_had_only_begun_is_taken_back(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        with fixtures.MonkeyPatch(
            'cinder_tiers.driver.moving.ClusterImages.objections', self.die
        ):
            self.assertRaises(SystemExit, self.retype, service, volume, 'fast')
        volume.refresh()
        self.assertEqual('retyping', volume.status)
        self.serve()
        self.assertEqual([], self.marks_in('slow'))
        volume.refresh()
        self.assertEqual('available', volume.status)

    def test_a_retype_in_its_pool_that_was_cut_off_can_be_repeated(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        self.types['slow'] = self.make_type('slow-2', '80')
        with fixtures.MonkeyPatch(
            'cinder_tiers.driver.pool.PoolDriver.update_rbd_image_qos',
            self.die,
        ):
            self.assertRaises(SystemExit, self.retype, service, volume, 'slow')
        service = self.serve()
        volume.refresh()
        self.assertEqual('available', volume.status)
        self.assertEqual([], self.marks_in('slow'))
        self.retype(service, volume, 'slow')
        self.assertEqual(
            {'rbd_qos_iops_limit': '80'}, self.limits_of('slow', volume.name)
        )
        self.assertEqual(self.types['slow'].id, volume.volume_type_id)
        self.assertEqual(before, self.sum_of('slow', volume.name))
        self.assertEqual([], self.marks_in('slow'))

    def die(self, *_args, **_options):
        """As a process that is killed: nothing of it is caught."""
        raise SystemExit

    def test_a_migration_that_was_not_answered_has_failed(self):
        service = self.serve()
        volume, _ = self.prepared(service)
        volume.update(
            {
                'status': 'maintenance',
                'previous_status': 'error',
                'migration_status': 'migrating',
            }
        )
        volume.save()
        self.serve()
        volume.refresh()
        self.assertEqual('error', volume.status)
        self.assertEqual('error', volume.migration_status)

    def test_a_move_that_was_answered_is_never_taken_back(self):
        """Even if the volume has gone on: Nova can migrate it meanwhile."""
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        before = self.sum_of('slow', volume.name)
        self.retype(service, volume, 'fast')
        service.driver._moves.go_on()
        volume.host = self.host_of('slow')
        volume.save()
        service = self.serve()
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sum_of('fast', volume.name))
        self.assert_nothing_left('slow')

    def test_snapshots_of_a_move_that_was_answered_have_its_type(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        snapshot = self.snapshot(service, volume)
        self.retype(service, volume, 'fast')
        snapshot.volume_type_id = self.types['slow'].id
        snapshot.save()
        self.serve()
        snapshot.refresh()
        self.assertEqual(self.types['fast'].id, snapshot.volume_type_id)

    def test_a_move_that_cannot_be_taken_back_waits(self):
        """And the volumes of others are served."""
        service = self.serve()
        volume, _ = self.prepared(service)
        with self.image('fast', volume.name):
            service = self.serve()
            self.assertTrue(service.driver.initialized)
            volume.refresh()
            self.assertEqual('retyping', volume.status)
            # It would lose what is done with it.
            for change, argument in (
                (service.driver.initialize_connection, {}),
                (service.driver.extend_volume, 2),
            ):
                self.assertRaises(
                    exception.VolumeIsBusy, change, volume, argument
                )
        self.settle(service, volume, 'slow')
        volume.refresh()
        self.assertEqual('available', volume.status)
        self.assertEqual([], self.marks_in('slow'))
        self.assert_nothing_left('fast')

    def test_a_move_that_was_answered_is_carried_on(self):
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        before = self.sums_of('slow', volume, snapshots)
        self.retype(service, volume, 'fast')
        service = self.serve()
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sums_of('fast', volume, snapshots))
        self.assertEqual(0, self.images_in_trash('slow'))
        self.assertEqual([], self.marks_in('slow'))

    # What a service finds that starts with other pools

    def serve_only(self, *tiers):
        """A cinder-volume whose option lacks the other tiers."""
        return self.serve(
            **driver_case.section(
                {tier: self.rados_pools[tier] for tier in tiers}
            )
        )

    def test_a_move_is_carried_on_whose_tier_was_taken_out(self):
        for gone, kept in (('slow', 'fast'), ('fast', 'slow')):
            with self.subTest(gone=gone):
                service = self.serve()
                volume, snapshots, clone = self.make_family(service, 'slow')
                before = self.sums_of('slow', volume, snapshots)
                self.retype(service, volume, 'fast')
                # Records that the move was answered.
                service.driver._moves.go_on()
                log = self.capture_log()
                service = self.serve_only(kept)
                self.assertIn(
                    f'does not name pool {self.rados_pools[gone]}', log.output
                )
                self.settle(service, volume, 'fast')
                self.assertEqual(
                    before, self.sums_of('fast', volume, snapshots)
                )
                self.assertEqual(0, self.images_in_trash('slow'))
                self.assertEqual([], self.marks_in('slow'))
                self.assert_family_goes(self.serve(), volume, snapshots, clone)

    def test_a_move_waits_while_the_place_of_its_volume_is_not_known(self):
        """Its tier was taken out, or both tiers have exchanged pools."""
        fast, slow = (self.rados_pools[tier] for tier in ('fast', 'slow'))
        for found in ({'fast': fast}, {'fast': slow, 'slow': fast}):
            with self.subTest(found):
                service = self.serve()
                volume, snapshots = self.prepared(service)
                before = self.sums_of('fast', volume, snapshots)
                log = self.capture_log()
                service = self.serve(**driver_case.section(found))
                for _ in range(2):
                    service.driver._moves.go_on()
                self.assertEqual(1, log.output.count('Put the option back'))
                volume.refresh()
                self.assertEqual('retyping', volume.status)
                self.assertEqual(
                    before, self.sums_of('fast', volume, snapshots)
                )
                service = self.serve()
                volume.refresh()
                self.assertEqual('available', volume.status)
                self.settle(service, volume, 'slow')
                self.assertEqual(
                    before, self.sums_of('slow', volume, snapshots)
                )
                self.assert_nothing_left('fast')

    def test_a_move_is_taken_back_when_its_tier_has_its_new_name(self):
        service = self.serve()
        volume, snapshots = self.prepared(service)
        before = self.sums_of('fast', volume, snapshots)
        service = self.serve(
            tiers_rbd_pools=[
                f'tier-fast:{self.rados_pools["fast"]}',
                f'tier-slower:{self.rados_pools["slow"]}',
            ]
        )
        self.assertEqual(1, len(self.marks_in('slow')))
        # As "cinder-manage volume update_host" does, without a start.
        volume.host = self.host_of('slower')
        volume.save()
        self.settle(service, volume, 'slow')
        volume.refresh()
        self.assertEqual('available', volume.status)
        self.assertEqual(before, self.sums_of('slow', volume, snapshots))
        self.assert_nothing_left('fast')

    # When an image has two marks

    def test_a_retype_in_its_pool_that_was_cut_off_does_not_end_a_move(self):
        service = self.serve()
        volume = self.make(service, 'fast', CONTENT[0])
        before = self.sum_of('fast', volume.name)
        self.retype(service, volume, 'slow')
        service.driver._moves.go_on()
        with service.driver._images() as images:
            images.mark(self.move_of(volume, 'slow', 'slow'))
        service = self.serve()
        self.settle(service, volume, 'slow')
        self.assertEqual(0, self.images_in_trash('fast'))
        self.assertEqual([], self.marks_in('fast') + self.marks_in('slow'))
        self.assertEqual(before, self.sum_of('slow', volume.name))
        service.driver.delete_volume(volume)
        self.assert_nothing_left(*self.types)

    def test_the_mark_of_an_earlier_move_does_not_end_a_move(self):
        for answered in (True, False):
            with self.subTest(answered=answered):
                service = self.serve()
                volume = self.make(service, 'fast', CONTENT[0])
                before = self.sum_of('fast', volume.name)
                self.retype(service, volume, 'slow')
                service.driver._moves.go_on()
                with self.ioctx('slow') as ioctx:
                    self.rbd.RBD().pool_metadata_set(
                        ioctx,
                        moving.MARK + volume.name,
                        json.dumps(
                            {
                                'volume': volume.id,
                                'image_id': 'earlier',
                                'target': self.rados_pools['fast'],
                                'answered': answered,
                            }
                        ),
                    )
                service = self.serve()
                self.settle(service, volume, 'slow')
                self.assertEqual(0, self.images_in_trash('fast'))
                self.assertEqual(
                    [], self.marks_in('fast') + self.marks_in('slow')
                )
                self.assertEqual(before, self.sum_of('slow', volume.name))
                service.driver.delete_volume(volume)
                self.assert_nothing_left(*self.types)

    def test_a_mark_of_another_move_is_kept(self):
        """By one that has ended, and one that would begin."""
        service = self.serve()
        volume, snapshots = self.prepared(service)
        with service.driver._images() as images:
            ended = self.move_of(volume, 'slow', 'slow')
            images.forget(ended)
            self.assertIs(moving.MoveState.OVER, images.state(ended))
            self.assertTrue(images.is_marked(ended))
        self.assertEqual(1, len(self.marks_in('slow')))
        before = self.sums_of('fast', volume, snapshots)
        self.settle(self.serve(), volume, 'slow')
        self.assertEqual(before, self.sums_of('slow', volume, snapshots))

    def test_what_others_prepared_is_left_alone(self):
        service = self.serve()
        volume = self.make(service, 'slow', CONTENT[0])
        with self.ioctx('slow') as source, self.ioctx('fast') as target:
            # Left by an earlier move of that image, or by anybody.
            self.rbd.RBD().pool_metadata_set(
                source,
                moving.MARK + volume.name,
                json.dumps(
                    {
                        'volume': volume.id,
                        'image_id': 'earlier',
                        'target': self.rados_pools['fast'],
                    }
                ),
            )
            self.rbd.RBD().migration_prepare(
                source, volume.name, target, volume.name
            )
            service = self.serve()
            service.driver._moves.go_on()
            found = self.rbd.RBD().migration_status(source, volume.name)
            self.assertEqual(
                self.rbd.RBD_IMAGE_MIGRATION_STATE_PREPARED, found['state']
            )
            self.rbd.RBD().migration_abort(source, volume.name)

    def test_pools_that_cannot_be_used_are_named(self):
        for entries, expected in (
            (['tier-fast:not-there'], "has no pool 'not-there'"),
            (['tier-fast:a/b'], 'tier-fast:a/b'),
        ):
            with self.subTest(entries):
                found = self.capture_log()
                try:
                    service = self.serve(tiers_rbd_pools=entries)
                except exception.InvalidInput as error:
                    self.assertIn(expected, str(error))
                else:
                    self.assertFalse(service.driver.initialized)
                    self.assertIn(expected, found.output)

    def test_a_move_of_another_backend_with_the_same_pool_is_left_alone(self):
        service = self.serve()
        volume, snapshots = self.prepared(service)
        before = self.sums_of('fast', volume, snapshots)
        other = self.serve(host='node@other')
        other.driver._moves.go_on()
        self.assertEqual(1, len(self.marks_in('slow')))
        self.assertEqual(before, self.sums_of('fast', volume, snapshots))
        volume.refresh()
        self.assertEqual('retyping', volume.status)
        service = self.serve()
        self.settle(service, volume, 'slow')
        self.assertEqual(before, self.sums_of('slow', volume, snapshots))
        self.assert_nothing_left('fast')

    def test_a_section_with_the_same_pool_is_named(self):
        self.configure(group='other')
        self.cinder.conf.config(
            enabled_backends=[driver_case.BACKEND, 'other']
        )
        log = self.capture_log()
        self.assertTrue(self.serve().driver.initialized)
        for pool in self.rados_pools.values():
            self.assertIn(
                f'Section other has RADOS pool {pool}, too', log.output
            )

    def test_replication_is_refused_in_words(self):
        found = self.capture_log()
        service = self.serve(replication_device=[{'backend_id': 'elsewhere'}])
        self.assertFalse(service.driver.initialized)
        self.assertIn('replication_device does not go', found.output)
