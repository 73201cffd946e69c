# SPDX-License-Identifier: Apache-2.0

"""What the image by which a tier is watched must do.

Mixed into a test case in memory and into one with a real Ceph cluster.
"""

import random

from cinder_tiers.clients import probe_image
from cinder_tiers.domain import errors

#: A write to a cluster that is up ends sooner.
SOON_S = 30.0


class ProbeContract:
    """Tests of the image.

    The test case gives `session`, `pool` and `data_pool`, `rbd`: the module,
    and `ioctx()`: a context of the pool.
    """

    def opened(self):
        return self.session.open_probe(self.pool, data_pool=self.data_pool)

    def stored(self, place):
        """The block at a place, as another client reads it."""
        with self.ioctx() as ioctx:
            ioctx.set_namespace(probe_image.NAME)
            with self.rbd.Image(
                ioctx, probe_image.NAME, read_only=True
            ) as image:
                return image.read(
                    probe_image._offset(place), probe_image.BLOCK_BYTES
                )

    def test_a_write_is_stored_when_it_is_complete(self):
        block = random.randbytes(probe_image.BLOCK_BYTES)
        with self.opened() as image:
            for place in (0, 1, 255, 256, probe_image.PLACES - 1):
                operation = image.write(place, block)
                self.assertTrue(operation.wait(SOON_S))
                self.assertEqual(0, operation.result)
                self.assertLess(0, operation.took_s)
                self.assertEqual(block, self.stored(place))
                operation = image.read(place)
                self.assertTrue(operation.wait(SOON_S))
                self.assertEqual(probe_image.BLOCK_BYTES, operation.result)

    def test_no_two_places_are_one(self):
        offsets = {
            probe_image._offset(place) for place in range(probe_image.PLACES)
        }
        self.assertEqual(probe_image.PLACES, len(offsets))

    def test_it_is_opened_again_with_what_it_had(self):
        block = random.randbytes(probe_image.BLOCK_BYTES)
        with self.opened() as image:
            self.assertTrue(image.write(7, block).wait(SOON_S))
        with self.opened():
            self.assertEqual(block, self.stored(7))

    def test_its_writes_are_written_through(self):
        with self.opened(), self.ioctx() as ioctx:
            ioctx.set_namespace(probe_image.NAME)
            with self.rbd.Image(
                ioctx, probe_image.NAME, read_only=True
            ) as image:
                self.assertEqual('false', image.metadata_get('conf_rbd_cache'))

    def test_one_that_was_killed_while_it_made_it_is_no_hindrance(self):
        with self.opened():
            pass
        for gone in (['conf_rbd_cache'], ['conf_rbd_cache', 'cinder-tiers']):
            with self.ioctx() as ioctx:
                ioctx.set_namespace(probe_image.NAME)
                with self.rbd.Image(ioctx, probe_image.NAME) as image:
                    for key in gone:
                        image.metadata_remove(key)
            self.test_its_writes_are_written_through()
        with self.ioctx() as ioctx:
            ioctx.set_namespace(probe_image.NAME)
            with self.rbd.Image(ioctx, probe_image.NAME) as image:
                for key in gone:
                    image.metadata_remove(key)
        self.assertTrue(self.session.remove_probe(self.pool))

    def test_no_volume_is_where_it_is(self):
        with self.opened(), self.ioctx() as ioctx:
            self.assertEqual([], self.rbd.RBD().list(ioctx))
            ioctx.set_namespace(probe_image.NAME)
            self.assertEqual([probe_image.NAME], self.rbd.RBD().list(ioctx))

    def test_it_is_removed_with_its_namespace(self):
        with self.opened():
            pass
        self.assertTrue(self.session.remove_probe(self.pool))
        with self.ioctx() as ioctx:
            self.assertEqual([], list(self.rbd.RBD().namespace_list(ioctx)))
        self.assertFalse(self.session.remove_probe(self.pool))

    def test_an_image_of_another_user_is_left_alone(self):
        with self.ioctx() as ioctx:
            self.rbd.RBD().namespace_create(ioctx, probe_image.NAME)
            ioctx.set_namespace(probe_image.NAME)
            self.rbd.RBD().create(ioctx, probe_image.NAME, 2**22)
        self.assertRaises(errors.ActionFailed, self.opened().__enter__)
        self.assertRaises(
            errors.ActionFailed, self.session.remove_probe, self.pool
        )
        with self.ioctx() as ioctx:
            ioctx.set_namespace(probe_image.NAME)
            self.assertEqual([probe_image.NAME], self.rbd.RBD().list(ioctx))
