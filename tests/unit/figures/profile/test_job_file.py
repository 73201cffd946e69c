# SPDX-License-Identifier: Apache-2.0

import contextlib

import ddt
from hypothesis import example
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import job_file
from cinder_tiers.figures.profile import profile as named_profile

GLOBAL = '[global]\ndirect=1\ntime_based\nsize=64m\nruntime=60\n'
FILE = """
; a database, and what its backup does
[global]
ioengine=libaio   # not the default
direct=1
time_based=1
runtime=5m
ramp_time=10s
size=64m

[oltp]
  readwrite=randrw
rwmixwrite=30
bssplit=8k/90:64KB/10
iodepth=16
numjobs=2
rate_iops=500

[global]
rw=read
[backup]
stonewall
bs=1M
rate=10m
startdelay=3
"""


def read(text, **other):
    return job_file.profile(text, name='mine', file='my.fio', **other)


def problems(text):
    try:
        read(text)
    except errors.ProblemsFound as error:
        return [str(problem) for problem in error.problems]
    return []


@ddt.ddt
class JobFileTest(testtools.TestCase):
    def test_each_job_becomes_a_pattern(self):
        found = read(FILE, repeats=3)
        self.assertEqual(
            named_profile.NamedProfile(
                name='mine',
                repeats=3,
                source=named_profile.Source(paper='my.fio', where='the file'),
                method=fio_pattern.Profile(
                    region_mib=128, ramp_seconds=10, runtime_seconds=300
                ),
                patterns=(
                    fio_pattern.Pattern(
                        name='oltp',
                        rw='randrw',
                        bssplit='8k/90:64k/10',
                        rwmixread_percent=70,
                        iodepth=16,
                        numjobs=2,
                        rate_iops=500,
                        ioengine='libaio',
                        size_mib=128,
                    ),
                    fio_pattern.Pattern(
                        name='backup',
                        rw='read',
                        bs='1m',
                        ioengine='libaio',
                        rate_kib=10240,
                        size_mib=64,
                        startdelay_seconds=3,
                    ),
                ),
            ),
            found,
        )

    @ddt.data(
        'thread',
        'percentile_list=50:95:99:99.9',
        'lat_percentiles=1',
        'clat_percentiles=0',
        'slat_percentiles=1',
        'unified_rw_reporting=both',
        'gtod_reduce=1',
        'disable_slat=1',
        'log_avg_msec=1000',
        'write_bw_log=/etc/cron.d/x',
        'invalidate=1',
        'fallocate=none',
    )
    def test_an_option_that_changes_no_load_is_passed_over(self, line):
        job = f'{GLOBAL}{line}\n[a]\nrw=randread\n'
        found = read(job)
        self.assertEqual(
            read(GLOBAL + '[a]\nrw=randread\n').patterns, found.patterns
        )
        option = line.partition('=')[0]
        self.assertEqual(
            (
                f'my.fio:6: {option} is passed over: it does not change what '
                'is read and written',
            ),
            found.assumptions,
        )
        # None of it reaches a guest.
        words = fio_pattern.measure_argv(found.patterns[0], found.method)
        self.assertNotIn('/etc/cron.d/x', ' '.join(words))

    def test_arrivals_by_chance_are_taken_over(self):
        job = GLOBAL + '[a]\nrw=randread\nrate_process=poisson\n'
        (paced,) = read(job + 'rate_iops=100\n').patterns
        self.assertEqual('poisson', paced.rate_process)
        (free,) = read(job).patterns
        self.assertIsNone(free.rate_process)

    @ddt.data(
        ('exec_prerun=rm -rf /', 'would run something else'),
        ('exec_postrun=true', 'would run something else'),
        ('filename=/dev/vda', 'the guest alone knows its disk'),
        ('directory=/etc', 'names, makes or places files'),
        ('write_iolog=x', 'names, makes or places files'),
        ('read_iolog=x', 'names, makes or places files'),
        ('ioengine=external:/tmp/x.so', 'expected one of libaio'),
        ('ioengine=rbd', 'expected one of libaio'),
        ('ioengine=exec', 'expected one of libaio'),
        ('verify=md5', 'names, makes or places files'),
        ('offset=1m', 'names, makes or places files'),
        ('include other.fio', 'reads another file'),
        ('iodepht=4', "did you mean 'iodepth'"),
        ('thinktime_spin=5', 'without it the load would be different'),
        ('iodepth=$ncpus', 'no variable, sum or quotes'),
        ('size=(1m*4)', 'no variable, sum or quotes'),
        ('bs=`id`', 'no variable, sum or quotes'),
        ('bs=4k,8k', 'the same for reads and writes'),
        ('rate=1m,2m', 'the same for reads and writes'),
        ('size=50%', 'one size such as'),
        ('iodepth = 4', 'fio reads none'),
        ('size=100k', 'whole MiB'),
        ('size=64MiB', '64,000,000 bytes'),
        ('bs=4Ki', 'without i'),
        ('startdelay=5-10', 'one time in whole seconds'),
        ('runtime=100ms', 'one time in whole seconds'),
        ('rw=randread:8', 'one of read, write'),
        ('end_fsync=2', '0 or 1'),
        ('direct=0', 'the page cache of the guest would answer'),
        ('rw=write\ndirect=0', 'the page cache of the guest would answer'),
        ('rw=write\ndirect=0\nfsync=8', 'the page cache of the guest'),
        ('rw=write\nfsync=1\nfdatasync=1', 'expected one of them'),
        ('sync=often', '0, 1, none or one of sync, dsync'),
        ('rw=randread\nrandom_distribution=zoned:50', 'such as zipf:1.1'),
        ('rw=randread\nrandom_distribution=zipf:1.0', 'other than 1'),
        ('thinktime=5m', 'one time such as 500'),
        ('randrepeat=1', 'guests must not write the same blocks'),
        ('iodepth=5000', 'from 1 to 1024'),
        ('numjobs=0', 'from 1 to 256'),
        ('iodepth=4', 'waits for each I/O'),
        ('bs=128m', 'does not fit a region'),
        ('bs=8k\nbsrange=4k-8k', '2 of bs, bsrange'),
        ('rwmixread=5\nrwmixwrite=95', 'remove one'),
        ('[global-2]', 'fio takes [global-2] for [global]'),
        ('[My Job]\nrw=read\nstonewall', 'lower case'),
        ('[b]\nrw=read', 'has no stonewall'),
        ('[a]\nrw=read\nstonewall', 'named twice: a'),
        ('[b]\nrw=read\nstonewall\nruntime=9', 'runtime is 9, 60 s'),
    )
    @ddt.unpack
    def test_what_cannot_be_taken_over_is_refused(self, line, text):
        found = problems(f'{GLOBAL}[a]\nrw=read\n{line}\n')
        self.assertIn(text, ' '.join(found))
        self.assertEqual(
            [], [each for each in found if not each.startswith('my.fio:')]
        )

    def test_fsync_of_all_jobs_is_of_those_that_write(self):
        found = read(
            f'{GLOBAL}fsync_on_close=1\n[a]\nrw=randread\n'
            '[b]\nstonewall\nrw=write\n'
            '[c]\nstonewall\nrw=write\nfsync_on_close=0\n'
            '[d]\nstonewall\nrw=write\nfsync_on_close=0\nend_fsync\n'
        )
        self.assertEqual(
            [False, True, False, True],
            [each.end_fsync for each in found.patterns],
        )

    @ddt.data(
        ('rw=write\nfdatasync=1', {'fdatasync': 1}),
        ('rw=randrw\nfsync=4\nfdatasync=0', {'fsync': 4}),
        ('rw=write\nsync=dsync', {'sync': 'dsync'}),
        ('rw=write\nsync=1', {'sync': 'sync'}),
        ('rw=write\nsync=none', {}),
        ('rw=read\nfdatasync=1\nsync=dsync', {}),
        (
            'rw=write\ndirect=0\nbs=2300\nfdatasync=1',
            {'direct': False, 'bs': '2300', 'fdatasync': 1},
        ),
        (
            'rw=randread\nrandom_distribution=zipf:1.1',
            {'random_distribution': 'zipf:1.1'},
        ),
        ('rw=read\nrandom_distribution=zipf:1.1', {}),
        ('rw=read\nthinktime=10ms', {'thinktime_us': 10_000}),
    )
    @ddt.unpack
    def test_how_writes_are_made_durable_is_taken_over(self, lines, wanted):
        (found,) = read(f'{GLOBAL}[a]\n{lines}\n').patterns
        plain = fio_pattern.Pattern(
            **{
                'name': 'a',
                'rw': found.rw,
                'bs': '4k',
                'ioengine': 'psync',
                'size_mib': 64,
                **wanted,
            }
        )
        self.assertEqual(plain, found)

    @ddt.data(*job_file._REQUIRED)
    def test_an_option_by_which_the_load_would_differ_must_be_there(
        self, option
    ):
        text = '\n'.join(
            line
            for line in (GLOBAL + '[a]\nrw=read').split('\n')
            if not line.startswith(option)
        )
        (problem,) = problems(text)
        self.assertIn(f"job 'a' has no {option}", problem)

    def test_all_problems_are_told_with_their_lines(self):
        found = problems(
            'rw=read\n[global]\nsize=1x\n[a]\nexec_prerun=x\n[b]\nstonewall\n'
        )
        self.assertEqual(
            ['my.fio:1', 'my.fio:5', 'my.fio:3', 'my.fio:4', 'my.fio:6'],
            [each.split(': ')[0] for each in found],
        )

    @ddt.data('', '[global]\nrw=read', '; nothing')
    def test_a_file_without_a_job_is_refused(self, text):
        self.assertIn('no job', ' '.join(problems(text)))

    def test_a_file_that_is_no_job_file_is_not_read_to_its_end(self):
        self.assertIn('at most 65536', ' '.join(problems('x' * 70000)))

    @given(strategies.text(max_size=200))
    @example('[a')
    @example('[]\n=\n==')
    @example('[a]\n[')
    def test_no_text_breaks_the_reader(self, text):
        with contextlib.suppress(errors.ProblemsFound):
            read(text)

    @given(
        strategies.lists(
            strategies.sampled_from(
                [
                    'rw=read',
                    'rw=randrw',
                    'size=1m',
                    'size=64m',
                    'bs=4k',
                    'bs=2m',
                    'direct',
                    'time_based',
                    'runtime=1',
                    '[a]',
                    '[b]',
                    '[global]',
                    'stonewall',
                    'iodepth=2',
                    'ioengine=libaio',
                    'numjobs=3',
                    'rate=1m',
                    'bsrange=4k-1m',
                    'rwmixread=100',
                    '=',
                    'filename=x',
                ]
            )
        )
    )
    def test_what_is_taken_over_can_be_ordered(self, lines):
        try:
            found = read('\n'.join(lines))
        except errors.ProblemsFound:
            return
        for pattern in found.patterns:
            words = fio_pattern.measure_argv(pattern, found.method)
            self.assertNotIn('filename', ' '.join(words))

    @ddt.data(*'\0\v\f\r\x1b\x1c\x85\xa0\u2028\u2029\u3000\ufeff')
    def test_lines_are_those_that_fio_reads(self, odd):
        for text in (
            GLOBAL + f'rw=read\n[a]\niodepth=1{odd}bs=8k\n',
            GLOBAL + f'rw=read\n[a]\niodepth=1{odd}\n',
            GLOBAL + f'rw=read{odd}[a]\n[b]\nstonewall\n',
            GLOBAL + f'rw=read\n[{odd}a]\n',
        ):
            # A carriage return at the end of a line is no part of it for fio.
            if odd == '\r' and '\r\n' in text:
                self.assertEqual([], problems(text))
                continue
            self.assertIn(
                f'the character U+{ord(odd):04X}', ' '.join(problems(text))
            )

    @ddt.data('\v', '\r', '\x85', '\u2028')
    def test_no_comment_hides_what_looks_like_a_line(self, odd):
        [found] = problems(GLOBAL + f'rw=read\n[a]\n; as before:{odd}bs=8k\n')
        self.assertTrue(found.startswith('my.fio:8: '), found)
        self.assertIn(f'U+{ord(odd):04X}', found)

    def test_comments_are_in_any_language(self):
        text = GLOBAL + 'rw=read\n[a]\n; Gr\xf6\xdfe \u6e2c \u200c\n'
        self.assertEqual([], problems(text))
        self.assertEqual(read(text), read(text.replace('\n', '\r\n')))
