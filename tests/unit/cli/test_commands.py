# SPDX-License-Identifier: Apache-2.0

"""The tier commands, run by the real `openstack` shell.

What needs a real Ceph as well is in tests/contract.
"""

import os
import pathlib
import tempfile

import ddt
import testtools

from tests.unit.cli import shell

SAMPLE = str(
    pathlib.Path(__file__).resolve().parents[3]
    / 'etc'
    / 'cinder-tiers'
    / 'tiers.yaml'
)
NO_CLOUD = (
    '--os-auth-type',
    'admin_token',
    '--os-token',
    'x',
    '--os-endpoint',
    'http://127.0.0.1:9/v3',
)


def flat(text):
    """A text in one line."""
    return ' '.join(text.split())


def edited(test, *changes):
    """The sample with texts replaced, as a file; returns its path."""
    text = pathlib.Path(SAMPLE).read_text('utf-8')
    for old, new in changes:
        text = text.replace(old, new)
    handle, path = tempfile.mkstemp(suffix='.yaml')
    test.addCleanup(os.unlink, path)
    with os.fdopen(handle, 'w', encoding='utf-8') as stream:
        stream.write(text)
    return path


@ddt.ddt
class FailureTestCase(testtools.TestCase):
    """Status 1, what to do, and no traceback."""

    @ddt.data(
        (('plan',), (*NO_CLOUD,)),
        (('apply',), (*NO_CLOUD,)),
        (('backend-config',), ()),
    )
    @ddt.unpack
    def test_a_broken_tiers_file(self, command, cloud):
        path = edited(
            self,
            ('fallback: true', 'falback: true'),
            ('tags: [archive]', 'tags: [Database]'),
        )
        ran = shell.openstack(*cloud, 'tier', *command, '--catalog', path)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        text = pathlib.Path(path).read_text('utf-8')
        line = text[: text.index('falback')].count('\n') + 1
        self.assertIn(f"{path}:{line}: unknown key 'falback'", ran.stderr)
        self.assertIn("tag 'Database' of tier 'archive'", ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)

    @ddt.data('plan', 'apply')
    def test_ceph_that_is_not_there(self, command):
        path = edited(
            self,
            (
                '    user: admin',
                '    conf: /nonexistent.conf\n    user: admin',
            ),
        )
        ran = shell.openstack(*NO_CLOUD, 'tier', command, '--catalog', path)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        # Where Ceph's modules are missing, the message is about them.
        self.assertRegex(ran.stderr, '/nonexistent.conf|install python3-rados')
        self.assertNotIn('Traceback', ran.stderr)

    @ddt.data('plan', 'apply', 'backend-config', 'list', 'validate')
    def test_a_wrong_argument_has_a_status_of_its_own(self, command):
        ran = shell.openstack(*NO_CLOUD, 'tier', command, '--bogus')
        self.assertEqual(2, ran.status)
        self.assertIn('--bogus', ran.stderr)

    @ddt.data(*shell.VERBS)
    def test_the_statuses_are_in_the_help(self, command):
        ran = shell.openstack('tier', command, '--help')
        _, found, told = flat(ran.stdout).partition('Exit status: 0 ')
        self.assertTrue(found, ran.stdout)
        for status in (1, 2):
            self.assertRegex(told, f'; {status} ')
