# SPDX-License-Identifier: Apache-2.0

"""`openstack tier validate`, run by the real shell."""

import json
import os
import pathlib
import tempfile

import ddt
import testtools
import yaml

from tests.unit.cli import shell
from tests.unit.cli import test_commands

ALIASES = '\n'.join(
    ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    + [f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 9)}]' for n in range(1, 30)]
)
#: Problems that each name 3000 clusters, 900 times.
WORDY = (
    'clusters:\n'
    + ''.join(f'  c{n}: {{}}\n' for n in range(3000))
    + 'tiers:\n'
    + ''.join(
        f'  t{n}: {{rbd: {{cluster: cx, pool: p, device_class: x, '
        f'replicated: {{size: 3}}}}}}\n'
        for n in range(900)
    )
)
QOS = 'tags: [archive]\n    qos: {{front_end: {{{}: 7}}}}'


@ddt.ddt
class ValidateTestCase(testtools.TestCase):
    """Without any argument or variable for a cloud."""

    def file(self, content):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        with os.fdopen(handle, 'wb') as stream:
            stream.write(content)
        return path

    def refused(self, path):
        """The problems of a file, by position."""
        ran = shell.openstack('tier', 'validate', path, '-f', 'json')
        self.assertEqual((1, ''), (ran.status, ran.stderr))
        return json.loads(ran.stdout)

    def test_the_sample_is_sound(self):
        ran = shell.openstack(
            'tier', 'validate', test_commands.SAMPLE, '-f', 'json'
        )
        self.assertEqual((0, []), (ran.status, json.loads(ran.stdout)))
        self.assertEqual(
            f'{test_commands.SAMPLE} is valid; tiers: 3\n', ran.stderr
        )

    def test_quiet_is_quiet(self):
        ran = shell.openstack('-q', 'tier', 'validate', test_commands.SAMPLE)
        self.assertEqual(
            (0, '', ''), (ran.status, ran.stdout.strip(), ran.stderr)
        )

    @ddt.data(
        (
            ('    fallback: true', ''),
            ('version: 1', 'version: 1\nfallback: none'),
        ),
        # Nothing is applied, so that there is no fallback either.
        (('    rbd:\n', '    take_over: false\n    rbd:\n'),),
    )
    def test_a_following_type_without_a_fallback_is_told(self, changes):
        path = test_commands.edited(self, *changes)
        ran = shell.openstack('tier', 'validate', path, '-f', 'json')
        self.assertEqual((0, []), (ran.status, json.loads(ran.stdout)))
        self.assertIn(
            'that have a type in follow_image_types (image-tier) go to any '
            'backend that the project may use; expected a tier with '
            'fallback: true; do not set such a type as '
            'default_volume_type before a tier with fallback: true is '
            'applied',
            ran.stderr,
        )

    @ddt.data(('--catalog', test_commands.SAMPLE), ())
    def test_the_file_may_be_named_as_for_the_other_verbs(self, arguments):
        ran = shell.openstack(
            'tier',
            'validate',
            *arguments,
            CINDER_TIERS_CATALOG=(
                '/nonexistent' if arguments else test_commands.SAMPLE
            ),
        )
        self.assertEqual(0, ran.status, ran.stdout)

    def test_all_problems_are_rows(self):
        path = test_commands.edited(
            self,
            ('fallback: true', 'falback: true'),
            ('tags: [archive]', 'tags: [Database]'),
        )
        rows = self.refused(path)
        text = pathlib.Path(path).read_text('utf-8')
        line = 1 + text[: text.index('falback')].count('\n')
        found = {row['Where']: row for row in rows}[f'{path}:{line}']
        self.assertEqual(
            "unknown key 'falback' in tiers.general", found['Found']
        )
        self.assertIn('fallback', found['Expected'])
        self.assertIn("did you mean 'fallback'?", found['Remedy'])
        self.assertIn(
            "tag 'Database' of tier 'archive'",
            str([row['Found'] for row in rows]),
        )

    def test_a_misspelled_limit_is_a_warning(self):
        path = test_commands.edited(
            self, ('tags: [archive]', QOS.format('totl_iops_sec'))
        )
        ran = shell.openstack('tier', 'validate', path)
        self.assertEqual(0, ran.status, ran.stdout)
        self.assertIn("the limit 'totl_iops_sec'", ran.stderr)
        self.assertIn("did you mean 'total_iops_sec'?", ran.stderr)
        for name in ('total_iops_sec', 'read_bytes_sec_per_gb', 'odd'):
            path = test_commands.edited(
                self, ('tags: [archive]', QOS.format(name))
            )
            ran = shell.openstack('tier', 'validate', path)
            self.assertNotIn('the limit', ran.stderr)
            self.assertEqual(1, ran.stderr.count('limits under front_end'))

    @ddt.data(
        ('total_bytes_sec: "100M"', 'without a unit'),
        ('total_iops_sec_max: 500', 'declare total_iops_sec'),
        ('total_iops_sec: 9, total_iops_sec_max: 5', 'raise'),
        ('total_iops_sec_per_gb: "0.5"', 'for each GiB'),
    )
    @ddt.unpack
    def test_a_limit_that_cannot_be_attached_is_a_problem(self, limits, way):
        path = test_commands.edited(
            self,
            (
                'tags: [archive]',
                f'tags: [archive]\n    qos: {{front_end: {{{limits}}}}}',
            ),
        )
        ran = shell.openstack('tier', 'validate', path)
        self.assertEqual(1, ran.status)
        self.assertRegex(ran.stdout + ran.stderr, rf'{path}:\d+')
        self.assertIn(way, ran.stdout + ran.stderr)

    def test_a_fraction_is_not_told_to_become_text(self):
        path = test_commands.edited(
            self,
            (
                'tags: [archive]',
                'tags: [archive]\n    qos: {front_end: '
                '{total_iops_sec_per_gb: 0.5}}',
            ),
        )
        said = shell.openstack('tier', 'validate', path)
        said = said.stdout + said.stderr
        self.assertIn('an integer of 0 or more', said)
        self.assertNotIn('text of', said)

    @ddt.data(
        ('{}', '{}', "'admin' and the same default conf"),
        (
            '{conf: /etc/ceph/a.conf, cinder_user: one}',
            '{conf: /etc/ceph/a.conf, images_pool: images}',
            "'admin' and the same conf '/etc/ceph/a.conf'",
        ),
        ('{conf: /etc/ceph/a.conf}', '{}', None),
        # A ceph.conf may have a section for each of them.
        ('{user: a}', '{user: b}', None),
    )
    @ddt.unpack
    def test_two_clusters_with_one_connection_are_a_warning(
        self, one, other, found
    ):
        path = self.file(
            f'version: 1\nclusters:\n  a: {one}\n  b: {other}\n'
            'tiers: {}\n'.encode()
        )
        ran = shell.openstack('tier', 'validate', path)
        self.assertEqual(0, ran.status, ran.stdout)
        if found is None:
            self.assertNotIn('the same user', ran.stderr)
        else:
            self.assertIn(
                f"{path}:4: cluster 'b' has the same user {found} as cluster "
                f"'a' ({path}:3)",
                ran.stderr,
            )

    @ddt.data(
        ('osd_op_num_shrads', "did you mean 'osd_op_num_shards'?"),
        ('osd_op_threads', 'its replacement: osd_op_num_shards and'),
        ('osd_op_num_shards', None),
    )
    @ddt.unpack
    def test_an_option_that_no_release_has_is_a_warning(self, name, remedy):
        path = test_commands.edited(
            self,
            (
                'tags: [archive]',
                'tags: [archive]',
            ),
            (
                'device_class: hdd',
                f'device_class: hdd\n      osd_options: {{{name}: 4}}',
            ),
        )
        ran = shell.openstack('tier', 'validate', path)
        self.assertEqual(0, ran.status, ran.stdout)
        if remedy is None:
            self.assertNotIn('the option', ran.stderr)
        else:
            self.assertIn(f"the option '{name}'", ran.stderr)
            self.assertIn(remedy, ran.stderr)

    @ddt.data(
        ('randwrit-4k', "did you mean 'randwrite-4k'?"),
        ('nightly-load', 'unless a task or job file of yours runs it'),
        ('randwrite-4k', None),
    )
    @ddt.unpack
    def test_a_pattern_that_no_profile_has_is_a_warning(self, name, remedy):
        path = test_commands.edited(
            self,
            (
                'tags: [archive]',
                f'tags: [archive]\n    expect: {{{name}: {{iops_min: 5}}}}',
            ),
        )
        ran = shell.openstack('tier', 'validate', path)
        self.assertEqual(0, ran.status, ran.stdout)
        if remedy is None:
            self.assertNotIn('the pattern', ran.stderr)
        else:
            self.assertIn(f"the pattern '{name}'", ran.stderr)
            self.assertIn('randread-4k', ran.stderr)
            self.assertIn(remedy, ran.stderr)

    @ddt.data('csv', 'json', 'yaml', 'table', 'value')
    def test_a_terminal_without_utf_8_shows_escapes(self, form):
        path = self.file('version: 1\ntiers: {général: {}}\n'.encode())
        ran = shell.openstack(
            'tier', 'validate', path, '-f', form, encoding='ascii'
        )
        self.assertEqual(1, ran.status, ran.stderr)
        self.assertRegex(ran.stdout, r'(?i)g\\+(xe9|u00e9)n')

    @ddt.data('csv', 'json', 'yaml', 'table', 'value')
    def test_each_format_names_the_line(self, form):
        path = self.file(b'version: 1\nclusters: {c: {usr: x}}\n')
        ran = shell.openstack('tier', 'validate', path, '-f', form)
        self.assertEqual((1, ''), (ran.status, ran.stderr))
        if form == 'yaml':
            self.assertIn(
                f'{path}:2',
                [row['Where'] for row in yaml.safe_load(ran.stdout)],
            )
        self.assertIn(f'{path}:2', ran.stdout)

    @ddt.data('csv', 'json', 'yaml', 'table', 'value')
    def test_a_file_cannot_steer_the_terminal(self, form):
        path = self.file(
            b'version: 1\nclusters: {c: {}}\ntiers:\n'
            b'  "\\e[2J\\u202e\\ud800": {tags: ["\\e[2J,"]}\n'
        )
        ran = shell.openstack('tier', 'validate', path, '-f', form)
        self.assertEqual(1, ran.status)
        self.assertTrue(
            all(line.isprintable() for line in ran.stdout.splitlines()),
            ran.stdout,
        )

    @ddt.data(
        (b'a: [1,\n', ':2'),
        (b'a: b: c', ':1'),
        (ALIASES.encode(), ':1'),
        (b'x' * 5_000_000, ''),
        (b'a: 1\n' * 1_000_000, ''),
        (bytes(range(256)) * 100, ':2'),
        (b'\x7fELF\x02\x01\x01\x00', ':1'),
        (b'\x00' * 1000, ':1'),
        (b'\xff\xfea\x00', ':1'),
        (b'', ''),
        (b'[' * 200_000, ':1'),
        (b'a: !!python/object:os.system {}', ':1'),
    )
    @ddt.unpack
    def test_hostile_files_get_a_named_problem(self, content, line):
        path = self.file(content)
        rows = self.refused(path)
        self.assertEqual(f'{path}{line}', rows[0]['Where'])
        for text in rows[0].values():
            self.assertNotEqual('', text)

    @ddt.data(
        ('/nonexistent/x', 'No such file'),
        ('/', 'Is a directory'),
        ('/dev/zero', 'a character device'),
    )
    @ddt.unpack
    def test_what_is_no_file(self, path, found):
        (row,) = self.refused(path)
        self.assertEqual(path, row['Where'])
        self.assertIn(found, row['Found'])

    @ddt.data('a: 1\n' * 9_000, WORDY)
    def test_thousands_of_problems_are_cut_in_a_table(self, text):
        path = self.file(text.encode())
        ran = shell.openstack('tier', 'validate', path)
        self.assertEqual(1, ran.status)
        self.assertLess(len(ran.stdout.splitlines()), 1010)
        self.assertRegex(
            ran.stderr,
            '^\\d+ problems were found; the first 1000 are shown\\n$',
        )

    def test_the_statuses_are_in_the_help(self):
        ran = shell.openstack('tier', 'validate', '--help')
        self.assertIn(
            '0 the file is valid; 1 the file is not valid', ran.stdout
        )
        self.assertIn('openstack tier validate tiers.yaml', ran.stdout)
