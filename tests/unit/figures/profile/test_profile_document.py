# SPDX-License-Identifier: Apache-2.0

import copy

import ddt
import testtools

from cinder_tiers.domain import record
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.profile import yaml_profile

DOCUMENT = {
    'name': 'mine',
    'source': {'paper': 'meyer2016', 'where': 'section 5.3'},
    'ioengine': 'libaio',
    'size_mib': 1024,
    'ramp_seconds': 15,
    'runtime_seconds': 300,
    'repeats': 9,
    'guests': [12],
    'preparation': {'fill_passes': 2},
    'patterns': [
        {'name': 'read-4k', 'rw': 'read', 'bs': '4k'},
        {
            'name': 'mix',
            'rw': 'randrw',
            'bssplit': '4k/60:64k/40',
            'rwmixread_percent': 10,
            'iodepth': 8,
            'numjobs': 2,
            'rate_iops': 100,
            'startdelay_seconds': 15,
            'end_fsync': True,
            'fdatasync': 8,
            'random_distribution': 'zipf:1.1',
            'thinktime_us': 500,
        },
    ],
}


def document(*path, to=None, without=False):
    """DOCUMENT with one value replaced, or taken away."""
    changed = copy.deepcopy(DOCUMENT)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if without:
        place.pop(path[-1], None)
    elif path:
        place[path[-1]] = to
    return changed


def problems(of):
    try:
        yaml_profile.profile(of, file='x.yaml')
    except record.RecordError as error:
        return list(error.args)
    return []


def paper_profile(**changes):
    return yaml_profile.profile({**document(), **changes}, file='x.yaml')


@ddt.ddt
class DocumentTest(testtools.TestCase):
    def test_a_document_becomes_a_profile(self):
        found = yaml_profile.profile(DOCUMENT, file='x.yaml')
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
        (problem,) = problems(document(*path, to=to))
        self.assertEqual(where, problem[: len(where)])
        self.assertIn(text, problem)

    @ddt.data(*DOCUMENT, 'assumptions')
    def test_only_optional_keys_may_be_missing(self, key):
        found = problems(document(key, without=True))
        if key in ('guests', 'assumptions'):
            self.assertEqual([], found)
        else:
            self.assertEqual(1, len(found), found)
            self.assertIn(f'x.yaml: {key}: it is missing', found[0])

    def test_all_problems_are_told_at_once(self):
        wrong = document('patterns', 0, 'rw', to='trim')
        wrong['patterns'][1]['numjobs'] = 'two'
        del wrong['repeats']
        wrong['source']['page'] = 3
        found = problems(wrong)
        self.assertEqual(4, len(found), found)

    @ddt.data(None, [], 'text', 3)
    def test_a_file_without_keys_is_refused(self, value):
        self.assertIn('expected an object', problems(value)[0])


class SizeTest(testtools.TestCase):
    """The rules by which lab and smoke follow from the paper's numbers."""

    def sweep(self):
        return paper_profile(
            size_mib=10240,
            patterns=[
                {
                    'name': f'{rw}-{depth}',
                    'rw': rw,
                    'bs': '4m',
                    'iodepth': depth,
                    'startdelay_seconds': 15,
                }
                for rw in ('read', 'write')
                for depth in (1, 2, 4, 8, 64)
            ],
        )

    def at(self, size):
        return named_profile.at_size(self.sweep(), size)

    def test_paper_is_the_profile_itself(self):
        self.assertEqual(
            self.sweep(), self.at(named_profile.ProfileSize.PAPER)
        )

    def test_lab_cuts_times_and_leaves_out_what_does_not_fit(self):
        lab = self.at(named_profile.ProfileSize.LAB)
        self.assertEqual(
            (256, 5, 33, 3, {1}),
            (
                lab.method.region_mib,
                lab.method.ramp_seconds,
                lab.method.runtime_seconds,
                lab.repeats,
                {p.startdelay_seconds for p in lab.patterns},
            ),
        )
        self.assertEqual(('read-64', 'write-64'), lab.left_out)

    def test_smoke_keeps_the_ends_of_each_sweep(self):
        smoke = self.at(named_profile.ProfileSize.SMOKE)
        self.assertEqual(
            ['read-1', 'read-8', 'write-1', 'write-8'],
            [pattern.name for pattern in smoke.patterns],
        )
        self.assertEqual(
            (64, 8, 2),
            (
                smoke.method.region_mib,
                smoke.method.runtime_seconds,
                smoke.repeats,
            ),
        )
        self.assertEqual(6, len(smoke.left_out))

    def test_nothing_is_ever_made_larger(self):
        small = paper_profile(
            runtime_seconds=2, repeats=1, size_mib=8, ramp_seconds=0
        )
        for size in (
            named_profile.ProfileSize.LAB,
            named_profile.ProfileSize.SMOKE,
        ):
            found = named_profile.at_size(small, size)
            self.assertEqual((small.method, 1), (found.method, found.repeats))

    def test_a_size_that_would_leave_nothing_is_refused(self):
        huge = paper_profile(
            size_mib=64, patterns=[{'name': 'x', 'rw': 'read', 'bs': '64m'}]
        )
        error = self.assertRaises(
            ValueError,
            named_profile.at_size,
            huge,
            named_profile.ProfileSize.SMOKE,
        )
        self.assertIn('use size paper', str(error))

    def test_the_region_has_room_for_what_is_in_flight(self):
        deep = paper_profile(
            size_mib=10240,
            patterns=[{'name': 'x', 'rw': 'read', 'bs': '4m', 'iodepth': 32}],
        )
        smoke = named_profile.at_size(deep, named_profile.ProfileSize.SMOKE)
        self.assertEqual(256, smoke.method.region_mib)

    def test_a_sweep_of_sizes_ends_where_the_region_does(self):
        def sizes(*patterns):
            profile = paper_profile(
                size_mib=10240,
                patterns=[
                    {'name': name, 'rw': 'write', 'bs': '1m', **more}
                    for name, more in patterns
                ],
            )
            lab = named_profile.at_size(profile, named_profile.ProfileSize.LAB)
            return (
                {each.name: each.size_mib for each in lab.patterns},
                lab.left_out,
            )

        self.assertEqual(
            (
                {'one': 16, 'many': 256, 'whole': None, 'other': 256},
                ('large', 'many-large'),
            ),
            sizes(
                ('one', {'size_mib': 16}),
                ('large', {'size_mib': 1024}),
                ('many', {'size_mib': 256, 'numjobs': 4}),
                ('many-large', {'size_mib': 257, 'numjobs': 4}),
                ('whole', {}),
                # The only size of its load is cut to the region, as before.
                ('other', {'size_mib': 1024, 'numjobs': 2}),
            ),
        )

    def test_a_size_is_taken_of_the_papers_profile_only(self):
        lab = self.at(named_profile.ProfileSize.LAB)
        self.assertRaises(
            ValueError,
            named_profile.at_size,
            lab,
            named_profile.ProfileSize.SMOKE,
        )

    def test_what_a_task_changes_is_written_down(self):
        found = named_profile.changed(
            self.sweep(), repeats=2, runtime_seconds=60, ramp_seconds=15
        )
        self.assertEqual(
            ('runtime_seconds 300 -> 60', 'repeats 9 -> 2'), found.changed
        )
        self.assertEqual(
            (60, 2), (found.method.runtime_seconds, found.repeats)
        )

    def test_a_change_that_the_patterns_do_not_fit_is_refused(self):
        self.assertRaises(
            ValueError, named_profile.changed, self.sweep(), region_mib=1
        )
