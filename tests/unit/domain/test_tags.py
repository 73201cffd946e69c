# SPDX-License-Identifier: Apache-2.0

"""Tags as both sides compare them."""

import ddt
import testtools

from cinder_tiers.domain import tags
from tests.unit.domain.explain import test_near_tags


@ddt.ddt
class NormalizeTagTestCase(testtools.TestCase):
    @ddt.data(
        ('Database', 'database'),
        (' db\t', 'db'),
        ('', ''),
        ('STRASSE', 'stra\xdfe'),
        ('cafe\u0301', 'CAF\xc9'),
    )
    @ddt.unpack
    def test_equal_for_people_is_equal(self, one, other):
        self.assertEqual(tags.normalize_tag(one), tags.normalize_tag(other))

    @ddt.data('I\u0307', '\u1fb3\u0301', ' \u0345\u0301x ', '\ufb03', '\u2126')
    def test_normalising_twice_changes_nothing(self, tag):
        once = tags.normalize_tag(tag)
        self.assertEqual(once, tags.normalize_tag(once))

    def test_different_words_stay_different(self):
        self.assertNotEqual(
            tags.normalize_tag('database'), tags.normalize_tag('data base')
        )


class SpecTestCase(testtools.TestCase):
    def test_what_is_formatted_is_parsed_back(self):
        wanted = frozenset({'web', 'database'})
        self.assertEqual(wanted, tags.parse_tags(tags.format_tags(wanted)))

    def test_the_format_does_not_depend_on_order(self):
        self.assertEqual('a,b,c', tags.format_tags(frozenset('cab')))

    def test_empty_parts_are_no_tags(self):
        self.assertEqual(frozenset({'a'}), tags.parse_tags(' ,a,,'))


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
        self.assertEqual(meant, tags.meant_by(typed, test_near_tags.TIERS))

    @ddt.data(*OTHER_WORDS)
    def test_another_word_is_left_alone(self, typed):
        self.assertIsNone(tags.meant_by(typed, test_near_tags.TIERS))

    def test_what_may_mean_two_tags_means_none(self):
        self.assertIsNone(tags.meant_by('marlen', {'marlin', 'marlon'}))
        self.assertEqual(
            'marlin', tags.meant_by('mar-lin', {'marlin', 'marlon'})
        )

    def test_a_space_between_words_is_one_of_several(self):
        self.assertIsNone(tags.meant_by('a b c', {'a-b-c', 'ab-c'}))
