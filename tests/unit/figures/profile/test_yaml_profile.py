# SPDX-License-Identifier: Apache-2.0

"""A profile in YAML, or all that is wrong with it."""

import ddt
import testtools

from cinder_tiers.domain import record
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.profile import yaml_profile
from tests.unit.figures.profile import test_profile


def problems(of):
    try:
        yaml_profile.profile(of, file='x.yaml')
    except record.RecordError as error:
        return list(error.args)
    return []


@ddt.ddt
class DocumentTest(testtools.TestCase):
    def test_a_document_becomes_a_profile(self):
        found = yaml_profile.profile(test_profile.DOCUMENT, file='x.yaml')
        self.assertEqual(
            named_profile.NamedProfile(
                name='mine',
                repeats=9,
                guests=(12,),
                source=named_profile.Source(
                    paper='meyer2016', where='section 5.3'
                ),
                method=fio_pattern.Profile(
                    region_mib=1024,
                    ramp_seconds=15,
                    runtime_seconds=300,
                    ioengine='libaio',
                    fill_passes=2,
                ),
                patterns=(
                    fio_pattern.Pattern(name='read-4k', rw='read', bs='4k'),
                    fio_pattern.Pattern(
                        name='mix',
                        rw='randrw',
                        bssplit='4k/60:64k/40',
                        rwmixread_percent=10,
                        iodepth=8,
                        numjobs=2,
                        rate_iops=100,
                        startdelay_seconds=15,
                        end_fsync=True,
                        fdatasync=8,
                        random_distribution='zipf:1.1',
                        thinktime_us=500,
                    ),
                ),
            ),
            found,
        )

    @ddt.data(
        (
            ('patterns', 1, 'bssplit'),
            '4k/60:64k/30',
            'x.yaml: patterns[1]',
            'shares of together 100',
        ),
        (
            ('patterns', 0, 'iodepht'),
            2,
            'x.yaml: patterns[0].iodepht',
            "did you mean 'iodepth'",
        ),
        (
            ('patterns', 0, 'bs'),
            4096,
            'x.yaml: patterns[0].bs',
            'expected a string',
        ),
        (('patterns', 0), 'read', 'x.yaml: patterns[0]', 'expected an object'),
        (
            ('patterns', 0, 'rwmixread_percent'),
            50,
            'x.yaml: patterns[0]',
            'with rw read',
        ),
        (
            ('runtime_seconds',),
            True,
            'x.yaml: runtime_seconds',
            'expected a finite integer',
        ),
        (
            ('preparation', 'fill_passes'),
            0,
            'x.yaml',
            'fill_passes 0: expected 1 to 10',
        ),
        (
            ('guests',),
            ['many'],
            'x.yaml: guests[0]',
            'expected a finite integer',
        ),
        (('patterns',), [], 'x.yaml', 'no patterns'),
        (('ioengine',), 'sync', 'x.yaml', 'which waits for each I/O'),
        (('size_mib',), 0, 'x.yaml', 'region_mib 0'),
        (('repeats',), 0, 'x.yaml', 'repeats 0: expected 1 to 100'),
        (
            ('patterns',),
            [{'name': f'p{n}', 'rw': 'read', 'bs': '4k'} for n in range(45)],
            'x.yaml',
            '45 patterns x 9 repeats: expected at most 400 runs',
        ),
    )
    @ddt.unpack
    def test_what_is_wrong_is_told_by_file_and_key(
        self, path, to, where, text
    ):
        (problem,) = problems(test_profile.document(*path, to=to))
        self.assertEqual(where, problem[: len(where)])
        self.assertIn(text, problem)

    @ddt.data(*test_profile.DOCUMENT, 'assumptions')
    def test_only_optional_keys_may_be_missing(self, key):
        found = problems(test_profile.document(key, without=True))
        if key in ('guests', 'assumptions'):
            self.assertEqual([], found)
        else:
            self.assertEqual(1, len(found), found)
            self.assertIn(f'x.yaml: {key}: it is missing', found[0])

    def test_all_problems_are_told_at_once(self):
        wrong = test_profile.document('patterns', 0, 'rw', to='trim')
        wrong['patterns'][1]['numjobs'] = 'two'
        del wrong['repeats']
        wrong['source']['page'] = 3
        found = problems(wrong)
        self.assertEqual(4, len(found), found)

    @ddt.data(None, [], 'text', 3)
    def test_a_file_without_keys_is_refused(self, value):
        self.assertIn('expected an object', problems(value)[0])
