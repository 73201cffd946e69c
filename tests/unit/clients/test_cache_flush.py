# SPDX-License-Identifier: Apache-2.0

"""What becomes of the program that empties a cache, with one in its place."""

import os
import pathlib
import time

import fixtures
import testtools

from cinder_tiers.clients import cache_flush
from cinder_tiers.domain import errors


class CacheFlushTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(
            fixtures.EnvironmentVariable(
                'PATH', f'{self.folder}:{os.environ["PATH"]}'
            )
        )
        self.progress = []

    def flush(self, script, **arguments):
        """With a program `rados` that does what a script says."""
        path = self.folder / 'rados'
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(0o700)
        return cache_flush.flush_and_evict(
            conf='/a b/ceph.conf',
            user='admin',
            pool='-x',
            progress=self.progress.append,
            **arguments,
        )

    def test_names_are_no_options(self):
        self.assertEqual(
            (
                '--conf=/a b/ceph.conf',
                '--id=admin',
                '--pool=-x',
                'cache-flush-evict-all',
            ),
            self.flush('for one in "$@"; do echo "$one" >&2; done'),
        )

    def test_objects_are_counted_and_complaints_kept(self):
        said = self.flush(
            'for one in 1 2 3 4 5 6 7; do\n'
            'echo "object $one"\n'
            'echo "failed to evict /$one" >&2\n'
            'done\nexit 1'
        )
        self.assertEqual(7, self.progress[-1])
        self.assertEqual(
            tuple(f'failed to evict /{one}' for one in range(1, 6)), said
        )

    def test_one_that_got_stuck_is_ended(self):
        began = time.monotonic()
        error = self.assertRaises(
            errors.ActionFailed,
            self.flush,
            'echo $$ > pid; echo one; exec sleep 600'.replace(
                'pid', f'{self.folder}/pid'
            ),
            silence_s=0.5,
        )
        self.assertIn('no object for 0.5 s', str(error))
        self.assertLess(time.monotonic() - began, 60)
        pid = int((self.folder / 'pid').read_text())
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    def test_one_that_was_interrupted_is_no_success(self):
        # Not INT, which a program started with & in a script ignores.
        error = self.assertRaises(
            errors.ActionFailed, self.flush, 'kill -TERM $$'
        )
        self.assertIn('ended by signal 15', str(error))

    def test_without_the_program_nothing_is_begun(self):
        self.useFixture(fixtures.EnvironmentVariable('PATH', str(self.folder)))
        error = self.assertRaises(
            errors.ActionFailed, cache_flush.check_program
        )
        self.assertIn('install ceph-common', str(error))
