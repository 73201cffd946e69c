# SPDX-License-Identifier: Apache-2.0

"""Which tags are taken for typing errors, and which for other words."""

import time

import ddt
import testtools

from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import near_tags
from cinder_tiers.domain import tags
from tests.unit.domain import clouds

TIERS = frozenset(
    {
        'archive',
        'caf\xe9-db',
        'centos8',
        'database',
        'db',
        'fast',
        'general',
        'gold',
        'hot-storage',
        'light',
        'mariadb',
        'mysql',
        'performance',
        'postgresql',
        'silver',
        'ssd1',
        'web',
    }
)
#: {as it was typed: what is meant}; most as Damerau's four kinds of errors.
TYPING_ERRORS = {
    'databse': 'database',
    'dtabase': 'database',
    'databas': 'database',
    'databasse': 'database',
    'databaes': 'database',
    'dataabse': 'database',
    'datobase': 'database',
    'DataBaze': 'database',
    'databasee': 'database',
    'databases': 'database',
    'data-base': 'database',
    'Data Base': 'database',
    'data_base': 'database',
    'cafe\u0301_db': 'caf\xe9-db',
    'achive': 'archive',
    'archvie': 'archive',
    'archiev': 'archive',
    'genral': 'general',
    'glod': 'gold',
    'fats': 'fast',
    'slver': 'silver',
    'hotstorage': 'hot-storage',
    'hot-storge': 'hot-storage',
    'maria-db': 'mariadb',
    'my.sql': 'mysql',
    'myqsl': 'mysql',
    'perfomance': 'performance',
    'performence': 'performance',
    'posgresql': 'postgresql',
}
#: What has to do with tiers, or is on images in the field, and means itself.
OTHER_WORDS = (
    'database',
    'Database ',
    'databank',
    'databus',
    'database2',
    'database-1',
    'archived',
    'archiver',
    'architecture',
    'generic',
    'generate',
    'cold',
    'bold',
    'night',
    'might',
    'golden',
    'gald',
    'last',
    'vast',
    'faster',
    'mongodb',
    'nosql',
    'mysql8',
    'postgres',
    'performant',
    'wbe',
    'wet',
    'webs',
    'bd',
    'dev',
    'ssd',
    'ssd2',
    'ssd11',
    'sdd1',
    'hdd',
    'nvme',
    'centos',
    'centos7',
    'centos9',
    'centos-stream',
    'debian',
    'ubuntu',
    'ubuntu-24.04',
    'rhel9',
    'rocky',
    'windows',
    'windows-2022',
    'cirros',
    'fedora-coreos',
    'talos',
    'kubernetes',
    'gpu',
    'cuda-12',
    'base',
    'data',
    'test',
    'prod',
    'gehel',
    '',
    '---',
    '\u202edatabase',
    'x' * 255,
    'database' * 31,
)


@ddt.ddt
class MeantByTestCase(testtools.TestCase):
    @ddt.data(*TYPING_ERRORS.items())
    @ddt.unpack
    def test_a_typing_error_is_known(self, typed, meant):
        self.assertEqual(meant, tags.meant_by(typed, TIERS))

    @ddt.data(*OTHER_WORDS)
    def test_another_word_is_left_alone(self, typed):
        self.assertIsNone(tags.meant_by(typed, TIERS))

    def test_what_may_mean_two_tags_means_none(self):
        self.assertIsNone(tags.meant_by('marlen', {'marlin', 'marlon'}))
        self.assertEqual(
            'marlin', tags.meant_by('mar-lin', {'marlin', 'marlon'})
        )

    def test_a_space_between_words_is_one_of_several(self):
        self.assertIsNone(tags.meant_by('a b c', {'a-b-c', 'ab-c'}))


class FindTestCase(testtools.TestCase):
    def test_each_tag_of_an_image_is_compared(self):
        self.assertEqual(
            (
                near_tags.NearTag(tag='achive', meant='archive'),
                near_tags.NearTag(tag='Databse', meant='database'),
            ),
            near_tags.find(['Databse', 'debian', 'achive'], TIERS),
        )

    def test_hostile_tags_cost_little_also_with_many_tiers(self):
        """0.02 s; compared with each tag of a tier, it was 3.6 s."""
        known = frozenset(f'{n}-tier-{n * n:0>8}' for n in range(5000))
        hostile = [f'{n:03}'.ljust(80, 'a') for n in range(128)]
        started = time.process_time()
        self.assertEqual((), near_tags.find(hostile, known))
        self.assertThat(
            time.process_time() - started, testtools.matchers.LessThan(1)
        )

    def test_an_image_with_a_tag_of_a_tier_is_left_alone(self):
        self.assertEqual((), near_tags.find(['databse', 'WEB'], TIERS))

    def test_a_tag_is_of_the_tier_that_it_selects(self):
        """As in `decide()`: whatever the names of the types."""
        types = [
            clouds.tier(name, tags='fast', priority=priority)
            for name, priority in (('a', '10'), ('b', '30'), ('c', '20'))
        ]
        self.assertEqual(
            {'fast': 'b'}, explanation.read_tiers(types).tier_of_tag
        )
