# SPDX-License-Identifier: Apache-2.0

"""Labs in other Debian releases, beside the lab of the machine."""

import itertools
import pathlib
import re

import testtools

from lab import layout

SCRIPT = pathlib.Path(layout.REPOSITORY, 'devstack', 'release.sh')
RUN = pathlib.Path(layout.REPOSITORY, 'tests', 'run.sh')
#: The first port that Linux gives to whoever asks for any.
FIRST_EPHEMERAL = 32768


def ports(offset):
    """All ports of a lab, and of a second Ceph in it."""
    first, last = layout.CEPH_DAEMON_PORTS
    second_first, second_last = layout.SECOND_CEPH_DAEMON_PORTS
    return {
        offset + port
        for port in (
            *layout.PORTS.values(),
            *layout.SECOND_CEPH_PORTS.values(),
            *range(first, last + 1),
            *range(second_first, second_last + 1),
        )
    }


class PortOffsetsTestCase(testtools.TestCase):
    def offsets(self):
        """{lab: its offset} of all that the tests may have at a time."""
        (beside,) = re.findall(
            r'CONTRACT_PORT_OFFSET=.* \+ (\d+)\)', RUN.read_text()
        )
        found = {
            name: int(offset)
            for name, offset in re.findall(
                r'(\w+)\) release=\$1 ports=(\d+) ;;', SCRIPT.read_text()
            )
        }
        self.assertEqual({'bookworm', 'trixie', 'forky'}, set(found))
        found['machine'] = 0
        return found | {
            f'{name}, contract': offset + int(beside)
            for name, offset in found.items()
        }

    def test_no_lab_listens_where_another_one_does(self):
        taken = {lab: ports(offset) for lab, offset in self.offsets().items()}
        for one, other in itertools.combinations(sorted(taken), 2):
            self.assertEqual(
                set(), taken[one] & taken[other], f'{one}; {other}'
            )

    def test_no_lab_listens_where_anybody_may(self):
        self.assertLess(
            max(ports(max(self.offsets().values()))), FIRST_EPHEMERAL
        )
