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

"""Tiers files, from text to a catalog or to all that is wrong."""

import os
import pathlib
import tempfile
import time

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.tiersfile import document
from cinder_tiers.tiersfile import reader
from cinder_tiers.tiersfile import structure

TOP = pathlib.Path(__file__).resolve().parents[3]
SAMPLE = TOP / 'etc' / 'cinder-tiers' / 'tiers.yaml'

SOUND = '''version: 1
clusters:
  ceph: {}
tiers:
  general:
    fallback: true
    rbd:
      cluster: ceph
      pool: general
      device_class: hdd
      replicated: {size: 3}
'''


def problems(text):
    """What a text is told, one line for each problem."""
    try:
        reader.read_text(text, file='t.yaml')
    except errors.ProblemsFound as error:
        return str(error).splitlines()
    return []


@ddt.ddt
class ReaderTestCase(testtools.TestCase):

    def test_the_sample_is_sound(self):
        catalog = reader.read_file(str(SAMPLE))
        self.assertEqual(['database', 'general', 'archive'],
                         [tier.name for tier in catalog.tiers])

    def test_defaults_are_filled_in(self):
        catalog = reader.read_text(SOUND, file='t.yaml')
        cluster = catalog.clusters['ceph']
        self.assertEqual(('admin', 'cinder', None),
                         (cluster.user, cluster.cinder_user, cluster.conf))
        rbd = catalog.tiers[0].rbd
        self.assertEqual(('host', None, 2), (
            rbd.failure_domain, rbd.pg_num, rbd.protection.min_size))

    def test_values_know_their_lines(self):
        source = reader.read_text(SOUND, file='t.yaml').source
        self.assertEqual('t.yaml:10', source.where(
            ('tiers', 'general', 'rbd', 'device_class')))
        self.assertEqual('t.yaml:11', source.where(
            ('tiers', 'general', 'rbd', 'replicated', 'min_size')))

    @ddt.data(
        ('fallback: true', 'falback: true', 't.yaml:6: unknown key '
         "'falback' in tiers.general", "did you mean 'fallback'?"),
        ('fallback: true', 'fallback: 7', 't.yaml:6: tiers.general.fallback '
         'is 7 (an integer)', 'expected true or false'),
        ('size: 3', 'size: 0', 't.yaml:11: tiers.general.rbd.replicated.size '
         'is 0', 'an integer of 1 to 10'),
        ('size: 3', 'size: 1, min_size: 1', 't.yaml:11: ',
         'add single_copy: true for data that may be lost'),
        ('size: 3', 'size: 3, single_copy: true', 't.yaml:11: ',
         'remove single_copy'),
        ('size: 3', 'size: 3, size: 2', "t.yaml:11: key 'size' again",
         'each key once'),
        ('{size: 3}', '{}', 't.yaml:11: tiers.general.rbd.replicated has no '
         "'size'", 'add size'),
        ('replicated: {size: 3}', 'erasure_coded: {k: 1, m: 1}',
         't.yaml:11: tiers.general.rbd.erasure_coded.k is 1', '2 to 32'),
        ('replicated: {size: 3}', 'pg_num: 32', 't.yaml:7: tiers.general.rbd '
         'has neither of them', 'one of replicated and erasure_coded'),
        ('device_class: hdd', 'device_class: 5', 't.yaml:10: ',
         'put it in quotes'),
        ('cluster: ceph', 'cluster: cpeh', "t.yaml:8: unknown cluster 'cpeh'",
         "did you mean 'ceph'?"),
        ('general:\n', '"a/b":\n', "t.yaml:5: tiers.a/b is 'a/b'",
         'a letter or digit'),
        ('general:\n', '"a\\n":\n', 't.yaml:5: ', 'a letter or digit'),
        ('version: 1', 'version: 2', 't.yaml:1: version is 2',
         'the version of this format, 1'),
        ('ceph: {}', 'ceph:', 't.yaml:3: clusters.ceph is nothing',
         '{} for all defaults'),
    )
    @ddt.unpack
    def test_a_broken_value_is_shown_with_its_line(self, old, new, found,
                                                   advice):
        told = [line for line in problems(SOUND.replace(old, new))
                if line.startswith(found)]
        self.assertEqual(1, len(told), problems(SOUND.replace(old, new)))
        self.assertIn(advice, told[0])

    def test_all_problems_come_at_once_in_the_order_of_the_file(self):
        text = SOUND.replace('{}', '{usr: x}').replace(
            'fallback: true', 'tags: [db, DB, 5]').replace('size: 3',
                                                           'size: 0')
        self.assertEqual(
            ['t.yaml:3:', 't.yaml:4:', 't.yaml:6:', 't.yaml:6:',
             't.yaml:11:'],
            [line.partition(' ')[0] for line in problems(text)])

    @ddt.data('', 'null', '[]', '5', 'x', '{}', 'tiers:', 'tiers: []',
              'clusters: {ceph: []}\ntiers: {a: [], b: {rbd: []}}',
              'tiers: {a: {tags: {x: 1}, rbd: {replicated: 5}}}',
              'tiers: {a: {tags: [[1], {a: b}, null]}}',
              'follow_image_types: [null, [], x, x]',
              '? [a]\n: b', 'version: ' + '9' * 5000, 'version: .nan',
              'version: 2020-01-01', '{: }', 'a: !!binary x')
    def test_nonsense_has_problems_and_no_traceback(self, text):
        for line in (lines := problems(text)):
            self.assertIn('; expected ', line)
        self.assertNotEqual([], lines)


@ddt.ddt
class DocumentTestCase(testtools.TestCase):

    @ddt.data(
        ('a: &x [1]\nb: *x', 't.yaml:1: the anchor &x'),
        ('a: !!python/object:os.system {}', 't.yaml:1: the YAML tag'),
        ('a: 1\n---\nb: 2', 't.yaml:2: a second document'),
        ('[' * 5000, 't.yaml:1: more than 16 levels'),
        ('a: b: c', 't.yaml:1: mapping values are not allowed'),
        ('a: [1,\n', 't.yaml:2: '),
        ('a: \x00', 't.yaml: '),
        ('a: 1\nb: ' + 'x' * 2_000, 't.yaml:2: a value of 2000 characters'),
        ('[\n' + '1,' * 30_000 + ']',
         't.yaml:2: more than 25000 keys and values'),
        ('a' * 300_000, 't.yaml: 300000 bytes'))
    @ddt.unpack
    def test_what_is_no_plain_yaml_is_refused(self, text, found):
        self.assertThat(problems(text)[0],
                        testtools.matchers.StartsWith(found))

    def test_a_bomb_of_aliases_is_refused_before_it_grows(self):
        lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
        lines += [f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 9)}]'
                  for n in range(1, 30)]
        started = time.monotonic()
        self.assertIn('the anchor &a0', problems('\n'.join(lines))[0])
        self.assertLess(time.monotonic() - started, 2)

    # The last three each took from 4 to 30 s without a bound of its own.
    @ddt.data('[' * 130_000, 'a: [' + '1,' * 120_000 + ']',
              '\n'.join(f'k{n}: 1' for n in range(24_000)),
              'tiers: {a: {tags: [' + '1,' * 24_900 + ']}}',
              'tiers: {a: {tags: [' + '1,' * 110_000 + ']}}',
              'a: ' + '1:' * 100_000 + '1',
              'tiers: {a: {tags: ["' + '\u0315\u0300' * 60_000 + '"]}}')
    def test_the_biggest_text_is_answered_soon(self, text):
        self.assertLess(len(text), document.MAX_SIZE_BYTES)
        started = time.process_time()
        self.assertNotEqual([], problems(text))
        self.assertLess(time.process_time() - started, 2)


class FileTestCase(testtools.TestCase):

    def said(self, path):
        return str(self.assertRaises(errors.ProblemsFound, reader.read_file,
                                     str(path)))

    def write(self, content):
        handle, path = tempfile.mkstemp()
        self.addCleanup(os.unlink, path)
        with os.fdopen(handle, 'wb') as stream:
            stream.write(content)
        return path

    def test_a_missing_file_names_the_option(self):
        self.assertIn('No such file', said := self.said('/nonexistent/x'))
        self.assertIn('--catalog', said)

    def test_a_folder_is_no_file(self):
        self.assertIn('Is a directory', self.said('/'))

    def test_a_file_without_end_is_refused(self):
        self.assertIn('too big', self.said('/dev/zero'))

    def test_bytes_that_are_not_utf_8_are_found(self):
        path = self.write(b'version: 1\n# caf\xe9\n')
        self.assertIn(f'{path}:2: bytes that are not UTF-8', self.said(path))


class SchemaTestCase(testtools.TestCase):

    def test_the_published_schema_is_the_one_that_is_used(self):
        published = TOP / 'etc' / 'cinder-tiers' / 'tiers.schema.json'
        used = TOP / 'cinder_tiers' / 'tiersfile' / 'tiers.schema.json'
        self.assertEqual(used, published.resolve())

    def test_every_value_says_what_is_expected(self):
        def walk(subschema, place):
            if '$ref' not in subschema:
                self.assertIn('description', subschema, place)
            for name, below in subschema.get('properties', {}).items():
                walk(below, f'{place}.{name}')
            if 'items' in subschema:
                walk(subschema['items'], f'{place}[]')

        walk(structure.schema(), 'the catalog')
        for name, subschema in structure.schema()['$defs'].items():
            walk(subschema, name)
