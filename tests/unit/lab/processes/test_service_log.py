# SPDX-License-Identifier: Apache-2.0
"""The log line that tells why a service failed."""

import pathlib

import fixtures
import testtools

from lab.processes import service_log


class FindReasonTest(testtools.TestCase):
    def reason(self, *lines):
        log = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'x.log'
        log.write_text('\n'.join(lines))
        return service_log.find_reason(log)

    def test_the_last_error_counts_not_what_follows(self):
        self.assertEqual(
            'bind failed: in use',
            self.reason(
                'error: no such pool', 'bind failed: in use', 'goodbye'
            ),
        )

    def test_the_empty_end_of_a_traceback_does_not_count(self):
        self.assertEqual(
            '2026-11-20 21:44:54.288 19182 ERROR cinder NoFilter: X',
            self.reason(
                '2026-11-20 21:44:54.288 19182 ERROR cinder NoFilter: X',
                '2026-11-20 21:44:54.288 19182 ERROR cinder ',
                '2026-11-20 21:44:54.288 19182 ERROR cinder [-]',
            ),
        )

    def test_without_an_error_the_last_line_counts(self):
        self.assertEqual('b', self.reason('a', 'b'))

    def test_a_log_that_is_not_there_says_nothing(self):
        self.assertEqual('', service_log.find_reason(pathlib.Path('/no/log')))
