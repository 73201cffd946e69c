# SPDX-License-Identifier: Apache-2.0

"""What a person reads of an audit.

The text is in plans/audit.80.txt; look at it when it changes.
"""

import dataclasses
import pathlib

import testtools

from cinder_tiers.cli.render import audit_text
from cinder_tiers.domain.audit import tiers as audit
from tests.unit.cli import tiers_file_case

TEXT = pathlib.Path(__file__).parents[1] / 'plans' / 'audit.80.txt'
_CLONES = audit.Finding(
    object_name='tier general',
    tier='general',
    state=audit.State.WARNING,
    aspect='image clones',
    current={'pool images': 'ssd OSDs below root default'},
    expected={'pool images': 'hdd OSDs below root default'},
    reason='volumes made from raw images are copy-on-write clones: blocks '
    'that were never written are read from the pool of the images',
    remedy='give the pool of the images a CRUSH rule of the tier that boots '
    'most (moves data)',
)


def of(tier, state=audit.State.COMPLIANT, **more):
    return dataclasses.replace(
        audit.Finding(
            object_name=f'tier {tier}', tier=tier, state=state, aspect='all'
        ),
        **more,
    )


#: Of twelve tiers.
FOUND = (
    of(
        'database',
        audit.State.NON_COMPLIANT,
        aspect='extra specs',
        current={'extra_specs.tiers:priority': '1'},
        expected={'extra_specs.tiers:priority': '20'},
        reason='volume type database differs from the tiers file',
        remedy='run "openstack tier apply"',
    ),
    of('general'),
    _CLONES,
    *(
        one
        for number in range(8)
        for one in (
            of(f'archive{number}'),
            dataclasses.replace(
                _CLONES,
                object_name=f'tier archive{number}',
                tier=f'archive{number}',
            ),
        )
    ),
    *(
        of(
            name,
            audit.State.UNKNOWN,
            aspect='cluster far',
            reason='Ceph did not answer',
        )
        for name in ('far', 'farther')
    ),
    audit.Finding(
        object_name='volume 7c1f\x1b[2J\n::error::x',
        tier=None,
        state=audit.State.OUT_OF_DATE,
        aspect='placement',
        current={'backend': 'a@lvm#lvm'},
        reason='its type was the type of tier database until the tier was '
        'changed',
        remedy='run "openstack volume set --type database" on it',
    ),
    audit.Finding(
        object_name='tier images',
        tier='images',
        state=audit.State.NOT_APPLICABLE,
        aspect='osd requirements',
        reason='no OSD is there',
    ),
)


def shown(width, found=FOUND):
    return ''.join(
        f'{line}\n' for line in audit_text.lines(found, width=width)
    )


class AuditTextTestCase(testtools.TestCase):
    def test_it_reads_as_it_should(self):
        text = shown(80)
        self.assertEqual(TEXT.read_text('utf-8'), text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_the_same_warning_is_there_once(self):
        text = shown(80)
        self.assertEqual(1, text.count('copy-on-write'))
        for number in range(8):
            self.assertIn(f'archive{number}', text)

    def test_what_differs_in_a_value_is_not_the_same(self):
        other = dataclasses.replace(
            _CLONES, object_name='tier b', current={'pool images': 'other'}
        )
        text = shown(80, (_CLONES, other))
        self.assertEqual(2, text.count('copy-on-write'))

    def test_nothing_steers_a_terminal(self):
        self.assertTrue(shown(80).replace('\n', '').isprintable())
        self.assertNotIn('\n::error', shown(80))

    def test_the_sum_is_the_first_line(self):
        self.assertEqual(
            'Audit: 1 non-compliant, 1 out of date, 2 unknown, 9 warnings, '
            '1 not applicable,',
            shown(80).splitlines()[0],
        )


class CommandTestCase(tiers_file_case.TiersFileTestCase):
    def test_text_is_the_default_and_other_formats_stay(self):
        ran = self.run_tier('audit')
        self.assertEqual((4, ''), (ran.status, ran.stderr))
        self.assertTrue(
            ran.stdout.startswith('Audit: 4 non-compliant'), ran.stdout
        )
        self.assertLessEqual(max(map(len, ran.stdout.splitlines())), 80)
        table = self.run_tier('audit', '-f', 'table')
        self.assertEqual(4, table.status)
        self.assertIn('| Object', table.stdout)
        chosen = self.run_tier('audit', '-c', 'Object', '-c', 'State')
        self.assertIn('| Object', chosen.stdout)
