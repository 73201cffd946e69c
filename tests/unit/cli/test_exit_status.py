# SPDX-License-Identifier: Apache-2.0

"""The exit status of each state of an audit."""

import ddt
import testtools

from cinder_tiers.cli import audit as audit_command
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain import errors


@ddt.ddt
class ExitStatusTestCase(testtools.TestCase):
    @ddt.data(
        ((), 0, 0),
        (('compliant', 'warning'), 0, 4),
        (('warning', 'unknown'), 3, 4),
        (('warning', 'non-compliant'), 4, 4),
        (('not applicable', 'unknown'), 3, 3),
    )
    @ddt.unpack
    def test_a_warning_is_a_difference_only_when_asked(
        self, states, status, strict
    ):
        found = [
            audit.Finding(
                object_name='tier a',
                tier='a',
                state=audit.State(state),
                aspect='any',
            )
            for state in states
        ]
        self.assertEqual(
            (status, strict),
            (
                audit_command.status_of(found, strict=False),
                audit_command.status_of(found, strict=True),
            ),
        )

    @ddt.data(
        (errors.Unreachable('no answer'), 'unknown', 6),
        (errors.NotVisible('not for members'), 'unknown', 1),
        # A difference in Ceph is one, whatever Cinder does.
        (errors.Unreachable('no answer'), 'non-compliant', 4),
    )
    @ddt.unpack
    def test_without_cinder_it_is_no_success(self, error, state, status):
        found = [
            audit.Finding(
                object_name='tier a',
                tier='a',
                state=audit.State(state),
                aspect='any',
            )
        ]
        self.assertEqual(
            status,
            audit_command.status_of(
                found, strict=False, openstack_error=error
            ),
        )

    def test_each_state_has_a_status(self):
        self.assertEqual(set(audit.State), set(audit_command.STATUSES))
