# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import errno

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain import osd_options
from cinder_tiers.observe import ceph_osds
from cinder_tiers.observe import ceph_session

BACKFILLS = osd_options.Schema(name='osd_max_backfills', kind='uint',
                               default='1')


class Osds:
    """OSDs of the class hdd: {id: what `config diff` says}; None is down."""

    class cluster:  # noqa: N801 - stands for a value
        name = 'ceph'

    def __init__(self, diffs):
        self.diffs = diffs

    def command(self, prefix, **arguments):
        if prefix == 'osd crush class ls-osd':
            return list(self.diffs)
        if prefix == 'config help' and arguments['key'] == 'osd_op_queue':
            return {'name': 'osd_op_queue', 'type': 'str', 'default': 'wpq',
                    'daemon_default': '', 'can_update_at_runtime': False}
        raise ceph_session.CommandFailed('no', errno=errno.ENOENT)

    def tell(self, osd_id, prefix):
        if self.diffs[osd_id] is None:
            raise ceph_session.CommandFailed('down', errno=errno.ENXIO)
        return {'diff': self.diffs[osd_id]}


def layers(**values):
    return {'osd_max_backfills': values}


class InEffectTestCase(testtools.TestCase):

    def seen(self, diffs):
        return ceph_osds.in_effect(Osds(diffs), 'hdd',
                                   {'osd_max_backfills': BACKFILLS})

    def test_osds_that_were_told_nothing_use_the_default(self):
        self.assertEqual({'osd_max_backfills': '1'},
                         self.seen({0: {}, 1: {}}).values)

    def test_osds_that_agree_have_one_value(self):
        told = layers(default=1, mon=4, final=4)
        self.assertEqual({'osd_max_backfills': '4'},
                         self.seen({0: told, 1: told}).values)

    def test_one_that_differs_is_named_with_the_layer_that_wins(self):
        seen = self.seen({
            0: layers(default=1, mon=4, final=4),
            1: layers(default=1, mon=4, file=2, final=2)})
        self.assertEqual('4 (osd.0), 2 (osd.1)',
                         seen.values['osd_max_backfills'])
        self.assertIn('ceph.conf', seen.reasons['osd_max_backfills'])

    def test_one_that_is_down_is_left_out(self):
        self.assertEqual(
            {'osd_max_backfills': '4'},
            self.seen({0: None, 1: layers(mon=4, final=4)}).values)

    def test_when_all_are_down_nothing_is_known(self):
        error = self.assertRaises(errors.Unreachable, self.seen,
                                  {0: None, 1: None})
        self.assertIn('no hdd OSD', str(error))

    def test_an_option_that_the_cluster_lacks_has_no_schema(self):
        self.assertEqual({'osd_op_queue'}, ceph_osds.schemas_of(
            Osds({}), {'osd_op_queue', 'osd_op_threads'}).keys())
