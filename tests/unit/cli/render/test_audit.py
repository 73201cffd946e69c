# SPDX-License-Identifier: Apache-2.0

"""What is not printable in an audit is escaped in each format."""

import testtools

from cinder_tiers.cli.render import audit as render_audit
from cinder_tiers.domain.audit import tiers as audit


class HostileTextTestCase(testtools.TestCase):
    def test_what_is_not_printable_is_escaped_in_each_format(self):
        hostile, shown = 'x\x1b[2J\r\u202e', 'x\\x1b[2J\\r\\u202e'
        row = render_audit.row(
            audit.Finding(
                object_name=hostile,
                tier=None,
                state=audit.State.UNKNOWN,
                aspect='placement',
                current={'a': hostile, 'b': 1},
                expected={'a': None},
                reason=hostile,
                remedy='go',
            )
        )
        self.assertEqual(
            (shown, 'unknown', 'placement', f'{shown}; go'), (*row[:3], row[5])
        )
        self.assertEqual(
            ({'a': shown, 'b': 1}, {'a': None}),
            tuple(one.machine_readable() for one in row[3:5]),
        )
        self.assertEqual(f'a: {shown}\nb: 1', row[3].human_readable())
