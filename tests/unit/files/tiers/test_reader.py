# SPDX-License-Identifier: Apache-2.0

"""Tiers files, from text to a catalog or to all that is wrong."""

import os
import pathlib
import tempfile

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader

TOP = pathlib.Path(__file__).resolve().parents[4]
SAMPLE = TOP / 'etc' / 'cinder-tiers' / 'tiers.yaml'

SOUND = """version: 1
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
"""


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
        self.assertEqual(
            ['database', 'general', 'archive'],
            [tier.name for tier in catalog.tiers],
        )

    @ddt.data(
        *('010', '0o10', '0x10', '1_000', '1:30', '1:30.5', '1_0.5', '.nan')
    )
    def test_a_number_means_to_yaml_what_it_means_to_a_reader(self, number):
        (problem,) = problems(
            SOUND.replace('{size: 3}', '{size: 3}\n      pg_num: ' + number)
        )[:1]
        # YAML 1.1 takes 0o10 for text
        what = (
            'the number'
            if number != '0o10'
            else "tiers.general.rbd.pg_num is '0o10'"
        )
        self.assertIn(f't.yaml:12: {what}', problem)

    def test_defaults_are_filled_in(self):
        catalog = reader.read_text(SOUND, file='t.yaml')
        cluster = catalog.clusters['ceph']
        self.assertEqual(
            ('admin', 'cinder', None),
            (cluster.user, cluster.cinder_user, cluster.conf),
        )
        rbd = catalog.tiers[0].rbd
        self.assertEqual(
            ('host', None, None),
            (rbd.failure_domain, rbd.pg_num, rbd.protection.min_size),
        )

    @ddt.data(
        ('public', 'public', True),
        ('[b, a]', ('b', 'a'), False),
        ('[]', (), False),
    )
    @ddt.unpack
    def test_access_is_a_word_or_projects(self, text, access, is_public):
        (tier,) = reader.read_text(
            SOUND.replace(
                'fallback: true', f'fallback: true\n    access: {text}'
            ),
            file='t.yaml',
        ).tiers
        self.assertEqual((access, is_public), (tier.access, tier.is_public))

    def test_limits_are_text_as_cinder_keeps_them(self):
        (tier,) = reader.read_text(
            SOUND.replace(
                'fallback: true',
                'fallback: true\n    qos: {back_end: '
                '{total_iops_sec: 500, total_bytes_sec: "1000"}}',
            ),
            file='t.yaml',
        ).tiers
        self.assertEqual(
            {'total_iops_sec': '500', 'total_bytes_sec': '1000'},
            tier.qos.specs,
        )

    def test_a_catalog_without_ceph_needs_no_cluster(self):
        catalog = reader.read_text(
            'version: 1\ntiers:\n  a: {fallback: true, backend: lvm}\n',
            file='t.yaml',
        )
        self.assertEqual((), catalog.clusters_in_use)
        self.assertEqual('lvm', catalog.tiers[0].backend)

    def test_without_a_device_class_all_osds_are_meant(self):
        text = SOUND.replace('      device_class: hdd\n', '')
        self.assertIsNone(
            reader.read_text(text, file='t.yaml').tiers[0].rbd.device_class
        )
        self.assertEqual(
            [
                "t.yaml:11: osd_options of tier 'general': options of "
                'OSDs without a device_class; expected device_class as '
                'well: options are set for the OSDs of a class; add '
                'device_class, or remove osd_options'
            ],
            problems(text + '      osd_options: {osd_max_backfills: 1}\n'),
        )

    def test_storage_that_is_broken_is_not_said_to_be_missing(self):
        self.assertEqual(
            1, len(problems(SOUND.replace('      pool: general\n', '')))
        )

    def test_a_quota_that_is_not_given_is_unlimited(self):
        (tier,) = reader.read_text(
            SOUND.replace(
                'fallback: true', 'fallback: true\n    quotas: {gigabytes: 9}'
            ),
            file='t.yaml',
        ).tiers
        self.assertEqual(
            (-1, 9, -1),
            (tier.quotas.volumes, tier.quotas.size_gib, tier.quotas.snapshots),
        )

    def test_values_know_their_lines(self):
        source = reader.read_text(SOUND, file='t.yaml').source
        self.assertEqual(
            't.yaml:10',
            source.where(('tiers', 'general', 'rbd', 'device_class')),
        )
        self.assertEqual(
            't.yaml:11',
            source.where(
                ('tiers', 'general', 'rbd', 'replicated', 'min_size')
            ),
        )

    @ddt.data(
        (
            'fallback: true',
            'falback: true',
            "t.yaml:6: unknown key 'falback' in tiers.general",
            "did you mean 'fallback'?",
        ),
        (
            'fallback: true',
            'fallback: 7',
            't.yaml:6: tiers.general.fallback is 7 (an integer)',
            'expected true or false',
        ),
        (
            'size: 3',
            'size: 0',
            't.yaml:11: tiers.general.rbd.replicated.size is 0',
            'an integer from 1 to 10',
        ),
        (
            'size: 3',
            'size: 1, min_size: 1',
            't.yaml:11: ',
            'add single_copy: true for data that may be lost',
        ),
        (
            'size: 3',
            'size: 3, single_copy: true',
            't.yaml:11: ',
            'remove single_copy',
        ),
        (
            'size: 3',
            'size: 3, size: 2',
            "t.yaml:11: key 'size' is repeated",
            'each key once',
        ),
        (
            '{size: 3}',
            '{}',
            "t.yaml:11: tiers.general.rbd.replicated has no 'size'",
            'add size',
        ),
        (
            'replicated: {size: 3}',
            'erasure_coded: {k: 1, m: 1}',
            't.yaml:11: tiers.general.rbd.erasure_coded.k is 1',
            '2 to 32',
        ),
        (
            'replicated: {size: 3}',
            'pg_num: 32',
            't.yaml:7: tiers.general.rbd has neither of them',
            'one of replicated and erasure_coded',
        ),
        (
            'device_class: hdd',
            'device_class: 5',
            't.yaml:10: ',
            'put it in quotes',
        ),
        (
            'cluster: ceph',
            'cluster: cpeh',
            "t.yaml:8: unknown cluster 'cpeh'",
            "did you mean 'ceph'?",
        ),
        (
            'fallback: true',
            'fallback: true\n    overflow: genral',
            "t.yaml:7: unknown tier 'genral'",
            "did you mean 'general'?",
        ),
        (
            'fallback: true',
            'fallback: true\n    overflow: [a]',
            't.yaml:7: tiers.general.overflow is a list',
            'the name of another tier',
        ),
        (
            'fallback: true',
            'fallback: true\n    access: private',
            "t.yaml:7: tiers.general.access is 'private'",
            'public, or a list of different projects',
        ),
        (
            'fallback: true',
            'fallback: true\n    access: [a, 5]',
            't.yaml:7: tiers.general.access.1 is 5',
            'put it in quotes',
        ),
        (
            'fallback: true',
            'fallback: true\n    access: [a, a]',
            "t.yaml:7: tiers.general.access has 'a' more than once",
            'a list of different projects',
        ),
        (
            'fallback: true',
            'fallback: true\n    qos: {}',
            't.yaml:7: tiers.general.qos is a mapping',
            'front_end, back_end',
        ),
        (
            'fallback: true',
            'fallback: true\n    qos: {front_end: {x: true}}',
            't.yaml:7: tiers.general.qos.front_end.x is True',
            'an integer of 0 or more',
        ),
        (
            'fallback: true',
            f'fallback: true\n    qos: {{back_end: {{x: {"9" * 300}}}}}',
            't.yaml:7: tiers.general.qos.back_end.x is 9999',
            'an integer of 0 or more, at most 9223372036854775807',
        ),
        (
            'fallback: true',
            'fallback: true\n    qos: {back_end: {consumer: x}}',
            't.yaml:7: tiers.general.qos.back_end.consumer',
            'not consumer',
        ),
        (
            'fallback: true',
            'fallback: true\n    extra_specs: {x: true}',
            't.yaml:7: tiers.general.extra_specs.x is True',
            'put it in quotes',
        ),
        (
            'fallback: true',
            'fallback: true\n    quotas: {gigabytes: -2}',
            't.yaml:7: tiers.general.quotas.gigabytes is -2',
            '-1 for unlimited',
        ),
        (
            'fallback: true',
            'fallback: true\n    cost: {currency: EUR}',
            "t.yaml:7: tiers.general.cost has no 'per_gib_month'",
            'a price of 0 or more',
        ),
        (
            'fallback: true',
            'fallback: true\n    cost: {currency: EUR, per_gib_month: -0.1}',
            't.yaml:7: tiers.general.cost.per_gib_month is -0.1',
            'a price of 0 or more',
        ),
        (
            'fallback: true',
            'fallback: true\n    cost: {currency: EUR, per_gib_month: "0,1"}',
            "t.yaml:7: tiers.general.cost.per_gib_month is '0,1'",
            'such as 0.08',
        ),
        (
            'fallback: true',
            'fallback: true\n    cost: {currency: "", per_gib_month: 1}',
            't.yaml:7: tiers.general.cost.currency is',
            'such as EUR',
        ),
        (
            'fallback: true',
            'fallback: true\n    expect: {}',
            't.yaml:7: tiers.general.expect is a mapping',
            'at least one',
        ),
        (
            'fallback: true',
            'fallback: true\n    expect: {4K: {iops_min: 1}}',
            't.yaml:7: tiers.general.expect.4K',
            'lower case',
        ),
        (
            'fallback: true',
            'fallback: true\n    expect: {4k: {iops: 1}}',
            't.yaml:7: tiers.general.expect.4k.iops',
            'such as p99_ms_max',
        ),
        (
            'fallback: true',
            'fallback: true\n    expect: {4k: {iops_min: 0}}',
            't.yaml:7: tiers.general.expect.4k.iops_min is 0',
            'a number greater than 0',
        ),
        (
            'fallback: true',
            'fallback: true\n    expect:\n      4k:\n'
            '        iops_max: 1\n        iops_min: 2',
            (
                "t.yaml:10: expect of tier 'general': iops_min 2 is greater "
                'than iops_max 1'
            ),
            'fix one',
        ),
        (
            'fallback: true',
            'fallback: true\n    expect: {4k: {p9_ms_max: .inf}}',
            "t.yaml:7: expect of tier 'general': p9_ms_max is inf",
            'a number greater than 0',
        ),
        (
            'rbd:\n',
            'rbd:\n  x:\n',
            't.yaml:7: tiers.general.rbd is nothing',
            'describes the Ceph pool',
        ),
        (
            'fallback: true',
            'fallback: true\n    backend: <or> x',
            "t.yaml:7: tiers.general.backend is '<or> x'",
            'a letter or digit',
        ),
        (
            'version: 1',
            'version: 1\nfallback: some',
            "t.yaml:2: fallback is 'some'",
            'expected none: no tier serves untagged images',
        ),
        (
            'version: 1',
            'version: 1\nfallback: none',
            "t.yaml:2: fallback: none, but tier 'general' has fallback: true",
            'remove one of them',
        ),
        (
            'fallback: true',
            'fallback: true\n    take_over: later',
            "t.yaml:7: tiers.general.take_over is 'later'",
            'true or false',
        ),
        (
            'version: 1',
            'version: 1\nfollow_image_types:\n- ft\n- FT',
            "t.yaml:4: follow_image_types has 'FT', but 'ft' exists",
            'databases ignore case and accents',
        ),
        (
            'version: 1',
            'version: 1\nfollow_image_types:\n- 7\n- ft\n- FT',
            "t.yaml:5: follow_image_types has 'FT', but 'ft' exists",
            'remove one of them',
        ),
        (
            'version: 1',
            'version: 1\nfollow_image_types:\n- ft\n- general - new',
            "t.yaml:4: follow_image_types has 'general - new'",
            "types that replace, or were replaced by, 'general'",
        ),
        (
            'fallback: true',
            'fallback: true\n    description: "two\\nlines"',
            "t.yaml:7: tiers.general.description is 'two\\nlines' (text)",
            'text of at most 255 characters in one line',
        ),
        (
            'fallback: true',
            'fallback: true\n    description: soft\u00adhyphen',
            "t.yaml:7: tiers.general.description is 'soft\\xadhyphen' (text)",
            'without tabs, invisible characters and emoji',
        ),
        (
            'fallback: true',
            'fallback: true\n    description: \U0001f600',
            't.yaml:7: tiers.general.description is ',
            'without tabs, invisible characters and emoji',
        ),
        (
            'general:\n',
            'a: {tags: [a]}\n  general:\n',
            "t.yaml:5: tier 'a' names no storage",
            'add one of them',
        ),
        (
            'general:\n',
            '"a/b":\n',
            "t.yaml:5: tiers.a/b is 'a/b'",
            'a letter or digit',
        ),
        ('general:\n', '"a\\n":\n', 't.yaml:5: ', 'a letter or digit'),
        (
            'version: 1',
            'version: 2',
            't.yaml:1: version is 2',
            'the version of this format, 1',
        ),
        (
            'ceph: {}',
            'ceph:',
            't.yaml:3: clusters.ceph is nothing',
            '{} for all defaults',
        ),
    )
    @ddt.unpack
    def test_a_broken_value_is_shown_with_its_line(
        self, old, new, found, advice
    ):
        told = [
            line
            for line in problems(SOUND.replace(old, new))
            if line.startswith(found)
        ]
        self.assertEqual(1, len(told), problems(SOUND.replace(old, new)))
        self.assertIn(advice, told[0])

    @ddt.data('4Gi', '4G', '4GiB', '4 GiB', '4GB', 4 * 2**30)
    def test_a_size_in_each_spelling(self, text):
        catalog = reader.read_text(
            SOUND
            + f'      pool_options: {{quota_max_bytes: {text}, '
            + f'compression_max_blob_size: {text}}}\n',
            file='t.yaml',
        )
        self.assertEqual(
            {
                'quota_max_bytes': 4 * 2**30,
                'compression_max_blob_size': 4 * 2**30,
            },
            catalog.tiers[0].rbd.options,
        )

    @ddt.data(
        ('{nodelet: true}', "unknown key 'nodelet'", "did you mean 'nodele"),
        ('{size: 2}', "unknown key 'size'", 'fix or remove it'),
        (
            '{compression_mode: fast}',
            "compression_mode is 'fast'",
            'one of aggressive, force, none, passive or unset',
        ),
        ('{scrub_priority: true}', 'scrub_priority is True', 'a number'),
        ('{scrub_priority: 4K}', "scrub_priority is '4K'", 'a number'),
        (
            '{recovery_priority: -11}',
            'recovery_priority is -11',
            'an integer from -10 to 10, or unset',
        ),
        (
            '{recovery_priority: 0.5}',
            'recovery_priority is 0.5',
            'an integer from -10 to 10, or unset',
        ),
        ('{scrub_priority: -1}', 'scrub_priority is -1', 'a number of 0 or'),
        (
            '{target_size_ratio: .inf}',
            "pool_options.target_size_ratio of tier 'general': inf",
            'a number of 0 or more',
        ),
        (
            '{quota_max_bytes: 10X}',
            "quota_max_bytes is '10X'",
            'an integer of bytes of 0 or more, or a size such as 4G',
        ),
        (
            '{quota_max_bytes: 999999P}',
            "pool_options.quota_max_bytes of tier 'general'",
            'from 0 to 9223372036854775807; 0 for no quota',
        ),
        (
            f'{{quota_max_objects: {2**63}}}',
            "pool_options.quota_max_objects of tier 'general'",
            'from 0 to 9223372036854775807; 0 for no quota',
        ),
        ('{fast_read: true}', 'the pool is replicated', 'erasure coded'),
        (
            '{target_size_ratio: 0.1, target_size_bytes: 5}',
            'declared together with target_size_ratio',
            'remove one of them',
        ),
        (
            '{pg_num_min: 32, pg_num_max: 16}',
            '16 is below pg_num_min 32',
            'raise it',
        ),
    )
    @ddt.unpack
    def test_a_setting_of_a_pool_that_cannot_be(self, settings, found, advice):
        text = SOUND + f'      pool_options: {settings}\n'
        (told,) = problems(text)
        self.assertThat(told, testtools.matchers.StartsWith('t.yaml:12: '))
        self.assertIn(found, told)
        self.assertIn(advice, told)

    @ddt.data(
        (
            'pool_options: {pg_num_min: 8}\n      pg_num: 32',
            'pg_num_min',
            'pg_num turns off the autoscaler',
        ),
        (
            'rbd_options: {cache: true}',
            'rbd_options.cache',
            'an option of librbd',
        ),
        (
            'rbd_options: {rbd_cache: [1]}',
            'rbd_cache is a list',
            'text of 1 to 255',
        ),
        (
            'rbd_options: {rbd_default_data_pool: x}',
            "'x'",
            'erasure_coded sets it',
        ),
    )
    @ddt.unpack
    def test_settings_that_do_not_fit_the_tier(self, more, found, advice):
        (told,) = problems(f'{SOUND}      {more}\n')
        self.assertIn(found, told)
        self.assertIn(advice, told)

    def test_all_problems_come_at_once_in_the_order_of_the_file(self):
        text = (
            SOUND.replace('{}', '{usr: x}')
            .replace('fallback: true', 'tags: [db, DB, 5]')
            .replace('size: 3', 'size: 0')
        )
        self.assertEqual(
            ['t.yaml:3:', 't.yaml:4:', 't.yaml:6:', 't.yaml:6:', 't.yaml:11:'],
            [line.partition(' ')[0] for line in problems(text)],
        )

    @ddt.data(
        '',
        'null',
        '[]',
        '5',
        'x',
        '{}',
        'tiers:',
        'tiers: []',
        'clusters: {ceph: []}\ntiers: {a: [], b: {rbd: []}}',
        'tiers: {a: {tags: {x: 1}, rbd: {replicated: 5}}}',
        'tiers: {a: {tags: [[1], {a: b}, null]}}',
        'follow_image_types: [null, [], x, x]',
        '? [a]\n: b',
        'version: ' + '9' * 5000,
        'version: .nan',
        'version: 2020-01-01',
        '{: }',
        'a: !!binary x',
    )
    def test_nonsense_has_problems_and_no_traceback(self, text):
        for line in (lines := problems(text)):
            self.assertIn('; expected ', line)
        self.assertNotEqual([], lines)


class FileTestCase(testtools.TestCase):
    def said(self, path):
        return str(
            self.assertRaises(
                errors.ProblemsFound, reader.read_file, str(path)
            )
        )

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

    def test_a_device_is_no_file(self):
        self.assertIn('a character device', self.said('/dev/zero'))

    def test_a_file_that_is_too_big_is_refused(self):
        self.assertIn('too big', self.said(self.write(b' ' * 2**22)))

    def test_bytes_that_are_not_utf_8_are_found(self):
        path = self.write(b'version: 1\n# caf\xe9\n')
        self.assertIn(f'{path}:2: bytes that are not UTF-8', self.said(path))
