# SPDX-License-Identifier: Apache-2.0

"""`tier sweep` as a process, with a real Cinder API.

The command that measures a slot can end the sweep: it knows its parent.
"""

import json
import pathlib
import signal
import sys
import tempfile
import threading
import time
from unittest import mock

import ddt
import testtools
from testtools import content as details
from tooz.drivers import file

from tests.unit.cli import processes
from tests.unit.cli import shell
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

TIERS = """version: 1
tiers:
  plain:
    fallback: true
    backend: b0
  limited:
    tags: [limited]
    backend: b1
    qos:
      front_end:
        read_iops_sec: '500'
"""
SWEEP = """version: 1
tier: {tier}
blocks: 1
seed: 7
slot_minutes: 45
factors:
  qos:
    front_end:
      read_iops_sec: ['100', '200']
      write_bytes_sec: ['5000000']
  guest:
    iodepth: [1]
"""
#: Measures nothing, and writes what it was told.
TELLS = (
    sys.executable,
    '-c',
    'import json, os; json.dump({n: v for n, v in os.environ.items() if '
    'n.startswith("CINDER_TIERS_SWEEP_")}, '
    'open(os.environ["CINDER_TIERS_SWEEP_RESULT"], "w"))',
)


def kills(slot):
    """A command that ends the sweep in a slot, as nothing can catch."""
    return (
        'sh',
        '-c',
        f'test $CINDER_TIERS_SWEEP_SLOT != {slot} || kill -9 $PPID',
    )


class SweptCloudTestCase(testtools.TestCase):
    """Has a cloud that matches its tiers file, and a sweep file."""

    #: What Cinder knows once the tiers file is applied.
    applied = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.applied = None

    def setUp(self):
        super().setUp()
        self.connection = test_cinder_world.log_in(self.api)
        self.addCleanup(self.connection.close)
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.catalog = self.folder / 'tiers.yaml'
        self.catalog.write_text(TIERS, 'utf-8')
        self.file = self.folder / 'sweep.yaml'
        self.state = self.folder / 'state'
        self.declare('limited')
        self.apply()
        self.before = self.world()
        # A shell has what it starts in the background ignore SIGINT, nohup
        # SIGHUP, and a process hands that on.
        for one, ends in (
            (signal.SIGINT, signal.default_int_handler),
            (signal.SIGTERM, signal.SIG_DFL),
            (signal.SIGHUP, signal.SIG_DFL),
        ):
            self.addCleanup(signal.signal, one, signal.signal(one, ends))

    def apply(self):
        """Applies the tiers file, or returns to what that made."""
        if self.applied is None:
            self.assertEqual(0, self.tier('apply').status)
            type(self).applied = self.api.keep()
        else:
            self.api.return_to(self.applied)

    def declare(self, tier):
        self.file.write_text(SWEEP.format(tier=tier), 'utf-8')

    def world(self):
        """All QoS specs: {name: (consumer, specs, number of types)}."""
        block_storage = self.connection.block_storage
        return {
            one.name: (
                one.consumer,
                dict(one.specs),
                len(list(block_storage.qos_spec_associations(one))),
            )
            for one in block_storage.qos_specs()
        }

    @property
    def environment(self):
        return {
            'CINDER_TIERS_STATE': str(self.state),
            'CINDER_TIERS_COORDINATION_URL': f'file://{self.folder}/locks',
        }

    def tier(self, command, *arguments):
        return shell.openstack(
            *self.api.arguments_of('admin'),
            'tier',
            command,
            '--catalog',
            str(self.catalog),
            '-f',
            'json',
            *arguments,
            **self.environment,
        )

    def arguments(self, command, out, arguments):
        return (
            str(self.file),
            '--out',
            str(self.folder / out),
            *arguments,
            '--',
            *command,
        )

    def sweep(self, *command, out='out', arguments=()):
        """A sweep in this process."""
        return self.tier('sweep', *self.arguments(command, out, arguments))

    def ended(self, *command):
        """A sweep as a process of its own; its command may end it.

        :returns: its exit status.
        """
        with (
            self.errors.open('w', buffering=1) as errors,
            processes.started(
                *self.api.arguments_of('admin'),
                'tier',
                'sweep',
                '--catalog',
                str(self.catalog),
                *self.arguments(command, 'out', ()),
                **self.environment,
            ) as ran,
        ):
            errors.writelines(ran.stderr)
        self.addDetail('sweep', details.text_content(self.errors.read_text()))
        return ran.returncode

    @property
    def errors(self):
        """What a sweep in a process of its own says, while it runs."""
        return self.folder / 'errors'

    def twice(self, name):
        """Shell text: the signal, and again when the first was noted.

        Two signals that a process has not yet seen are one.
        """
        return (
            f'kill -{name} $PPID; until grep -q "Ctrl-C again" {self.errors}; '
            f'do sleep 0.1; done; kill -{name} $PPID'
        )

    def results(self, out='out'):
        return json.loads((self.folder / out / 'sweep.json').read_text())

    def journals(self):
        return list(self.state.glob('*')) if self.state.exists() else []

    def assert_as_before(self):
        self.assertEqual(self.before, self.world())
        self.assertEqual([], self.journals())
        plan = self.tier('plan')
        self.assertEqual((0, '[]'), (plan.status, plan.stdout.strip()))


@ddt.ddt
class SweepTestCase(SweptCloudTestCase):
    @ddt.data('limited', 'plain')
    def test_every_slot_is_measured_and_all_comes_back(self, tier):
        self.declare(tier)
        ran = self.sweep(*TELLS)
        self.assertEqual(0, ran.status, ran.stderr)
        self.assert_as_before()
        results = self.results()
        self.assertEqual(
            ('complete', True, 7),
            (
                results['state'],
                results['is_brought_back'],
                results['seed'],
            ),
        )
        self.assertEqual(5, len(results['slots']))
        for slot in results['slots']:
            self.assertEqual('in effect', slot['verdict'])
            told = json.loads(pathlib.Path(slot['result']).read_text())
            self.assertEqual(
                slot['treatment'], told['CINDER_TIERS_SWEEP_TREATMENT']
            )
            self.assertEqual(
                {'iodepth': 1} if 'iodepth' in slot['treatment'] else {},
                json.loads(told['CINDER_TIERS_SWEEP_GUEST']),
            )
        self.assertEqual(
            {
                'default',
                'read_iops_sec=100',
                'read_iops_sec=200',
                'write_bytes_sec=5000000',
                'iodepth=1',
            },
            {one['treatment'] for one in results['slots']},
        )
        self.assertEqual(
            [one['treatment'] for one in results['slots']],
            [one['Treatment'] for one in json.loads(ran.stdout)],
        )

    def test_another_number_of_blocks(self):
        ran = self.tier('sweep', str(self.file), '--dry-run', '--blocks', '2')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual(10, len(json.loads(ran.stdout)))
        ran = self.tier('sweep', str(self.file), '--dry-run', '--blocks', '0')
        self.assertEqual(2, ran.status)
        self.assertIn('expected an integer from 1 to 100', ran.stderr)

    def test_a_dry_run_changes_nothing(self):
        ran = self.tier('sweep', str(self.file), '--dry-run')
        self.assertEqual(0, ran.status, ran.stderr)
        rows = json.loads(ran.stdout)
        self.assertEqual(5, len(rows))
        self.assertIn(
            '5 slots of 45 min, 3 h 45 min in all: 4 treatments and the '
            'default, blocks: 1, seed: 7',
            ran.stderr,
        )
        self.assertIn(
            ['qos spec tier-limited: specs.read_iops_sec is 500, not 100'],
            [row['Changes'] for row in rows],
        )
        self.assert_as_before()

    @ddt.data(('limited', 1), ('plain', 3), ('limited', 5))
    @ddt.unpack
    def test_after_a_kill_all_is_brought_back(self, tier, slot):
        self.declare(tier)
        self.assertEqual(-9, self.ended(*kills(slot)))
        self.assertEqual(slot - 1, len(self.results()['slots']))
        (journal,) = self.journals()
        self.assertEqual(0o600, journal.stat().st_mode & 0o777)
        self.assertEqual(4, self.tier('sweep', '--status').status)
        second = self.sweep(*TELLS, out='second')
        self.assertEqual(1, second.status)
        self.assertIn('openstack tier sweep --restore', second.stderr)
        self.assertFalse((self.folder / 'second').exists())
        back = self.tier('sweep', '--restore')
        self.assertEqual(0, back.status, back.stderr)
        results = self.results()
        self.assertEqual(
            ('ended early', True, slot - 1),
            (
                results['state'],
                results['is_brought_back'],
                len(results['slots']),
            ),
        )
        self.assertEqual(
            {'as before', 'brought back'},
            {row['Outcome'] for row in json.loads(back.stdout)}
            | {'as before', 'brought back'},
        )
        self.assert_as_before()
        again = self.tier('sweep', '--restore')
        self.assertEqual((0, '[]'), (again.status, again.stdout.strip()))
        self.assertEqual(0, self.tier('sweep', '--status').status)

    def test_the_next_start_brings_back_first_if_it_is_told_to(self):
        self.assertEqual(-9, self.ended(*kills(3)))
        ran = self.sweep(*TELLS, out='second', arguments=('--restore',))
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual('complete', self.results('second')['state'])
        self.assert_as_before()

    def killed_while_it_writes(self):
        """Ends a sweep in the first slot that limits writes."""
        status = self.ended(
            'sh',
            '-c',
            'test $CINDER_TIERS_SWEEP_TREATMENT != write_bytes_sec=5000000 || '
            'kill -9 $PPID',
        )
        self.assertEqual(-9, status)

    def set_limits(self, **limits):
        block_storage = self.connection.block_storage
        spec = block_storage.find_qos_spec('tier-limited')
        block_storage.put(
            f'/qos-specs/{spec.id}', json={'qos_specs': limits}
        ).raise_for_status()

    def test_what_somebody_else_has_changed_stays_until_it_is_allowed(self):
        self.killed_while_it_writes()
        self.set_limits(write_bytes_sec='77', read_iops_sec='500')
        back = self.tier('sweep', '--restore')
        self.assertEqual(4, back.status)
        name = 'qos spec tier-limited:specs.write_bytes_sec'
        self.assertIn(
            f'{name} is 77, and was not set before the sweep', back.stderr
        )
        self.assertEqual(
            '77', self.world()['tier-limited'][1]['write_bytes_sec']
        )
        self.assertEqual(1, len(self.journals()))
        wrong = self.tier('sweep', '--restore', '--allow', f'{name}x')
        self.assertEqual(1, wrong.status)
        self.assertIn('did you mean', wrong.stderr)
        back = self.tier('sweep', '--restore', '--allow', name)
        self.assertEqual(0, back.status, back.stderr)
        self.assert_as_before()

    def test_a_lock_that_was_lost_hides_nothing_that_is_not_as_before(self):
        self.killed_while_it_writes()
        self.set_limits(write_bytes_sec='77')
        # As of etcd that was away for a while.
        with mock.patch.object(file.FileLock, 'release', return_value=False):
            back = self.tier('sweep', '--restore')
        self.assertEqual(1, back.status)
        self.assertIn('The lock was lost', back.stderr)
        self.assertIn('Not everything is as before; ', back.stderr)

    def test_what_somebody_else_has_changed_can_be_accepted(self):
        self.killed_while_it_writes()
        self.set_limits(write_bytes_sec='77')
        back = self.tier(
            'sweep',
            '--restore',
            '--accept',
            'qos spec tier-limited:specs.write_bytes_sec',
        )
        self.assertEqual(0, back.status, back.stderr)
        self.assertEqual([], self.journals())
        self.assertEqual(
            '77', self.world()['tier-limited'][1]['write_bytes_sec']
        )
        self.assertIn('"tier plan" is not empty', back.stderr)

    def test_a_cloud_that_is_not_as_declared_is_not_swept(self):
        self.set_limits(read_iops_sec='1')
        ran = self.sweep(*TELLS)
        self.assertEqual(1, ran.status)
        self.assertIn('Run "openstack tier apply" first', ran.stderr)
        self.assertEqual([], self.journals())

    def test_all_problems_of_a_file_are_told(self):
        self.file.write_text(
            'version: 1\ntier: limitd\nfactors:\n  osd_options:\n'
            '    osd_max_backfills: []\n  gest: {a: [1]}\n'
        )
        ran = self.tier('sweep', str(self.file), '--dry-run')
        self.assertEqual(1, ran.status)
        for text in (
            'sweep.yaml:5: factors.osd_options.osd_max_backfills',
            "sweep.yaml:6: unknown key 'gest'",
        ):
            self.assertIn(text, ran.stderr)

    def test_a_failed_measurement_gives_no_sound_result(self):
        ran = self.sweep(
            'sh', '-c', 'test $CINDER_TIERS_SWEEP_TREATMENT = default'
        )
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertEqual(
            {('default', True)}
            | {
                (name, False)
                for name in (
                    'read_iops_sec=100',
                    'read_iops_sec=200',
                    'write_bytes_sec=5000000',
                    'iodepth=1',
                )
            },
            {
                (one['treatment'], one['is_sound'])
                for one in self.results()['slots']
            },
        )
        self.assert_as_before()

    @ddt.data('TERM', 'HUP')
    def test_a_signal_ends_it_with_everything_back(self, name):
        status = self.ended(
            'sh',
            '-c',
            f'test $CINDER_TIERS_SWEEP_SLOT != 2 || kill -{name} $PPID',
        )
        self.assertEqual(130, status)
        self.assertEqual('ended early', self.results()['state'])
        self.assert_as_before()

    def test_a_lost_terminal_ends_nothing_that_nohup_has_started(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        self.assertEqual(0, self.ended('sh', '-c', 'kill -HUP $PPID'))
        self.assertEqual('complete', self.results()['state'])
        self.assert_as_before()

    def test_a_second_signal_says_who_brings_the_rest_back(self):
        self.ended('sh', '-c', f'trap "" TERM; {self.twice("TERM")}')
        self.assertIn(
            'press Ctrl-C again to stop at once and leave the rest to '
            '"openstack tier sweep --restore"',
            self.getDetails()['sweep'].as_text(),
        )
        self.assertEqual(1, len(self.journals()))
        self.assertEqual(0, self.tier('sweep', '--restore').status)
        self.assert_as_before()

    def test_a_second_ctrl_c_does_not_end_as_one_with_all_back(self):
        status = self.ended(
            'sh',
            '-c',
            'trap "" INT TERM; test $CINDER_TIERS_SWEEP_TREATMENT != '
            f'write_bytes_sec=5000000 || {{ {self.twice("INT")}; '
            # or the sweep would go on with what it does after a slot
            'while kill -0 $PPID; do sleep 0.1; done; }',
        )
        (journal,) = self.journals()
        self.assertEqual(4, status)
        self.assertIn(
            f'Interrupted before everything was restored; {journal} has the '
            'values: run "openstack tier sweep --restore"',
            self.getDetails()['sweep'].as_text(),
        )
        self.assertNotEqual(self.before, self.world())
        self.assertEqual(0, self.tier('sweep', '--restore').status)
        self.assert_as_before()

    @ddt.data(
        ('true', 'which another user has set'),
        # As of a full disk, the file is not written any more.
        ('rm sweep.json && mkdir sweep.json', 'sweep.json cannot be written'),
    )
    @ddt.unpack
    def test_what_is_not_as_before_has_a_status_of_its_own(self, last, said):
        go = self.folder / 'go'

        def change():
            while not go.exists():
                time.sleep(0.1)
            self.set_limits(write_bytes_sec='77')
            go.unlink()

        changing = threading.Thread(target=change)
        changing.start()
        self.addCleanup(changing.join)
        ran = self.sweep(
            'sh',
            '-c',
            'test $CINDER_TIERS_SWEEP_TREATMENT != write_bytes_sec=5000000 || '
            f'{{ touch {go}; while test -e {go}; do sleep 0.1; done; cd '
            f'{self.folder}/out && {last}; }}',
        )
        self.assertEqual(4, ran.status)
        (journal,) = self.journals()
        for text in (
            said,
            f'Not everything is as before; {journal} has the rest: run '
            '"openstack tier sweep --restore"',
        ):
            self.assertIn(text, ran.stderr)

    @ddt.data('sweep.json', 'slot-0003.json', 'slot-0001.begin')
    def test_files_of_another_sweep_are_no_results(self, name):
        (self.folder / 'out').mkdir()
        (self.folder / 'out' / name).touch()
        ran = self.sweep('true')
        self.assertEqual(1, ran.status)
        self.assertIn(f'{name} exists; name another folder', ran.stderr)
        self.assert_as_before()

    def test_a_journal_that_cannot_be_written_leaves_no_results(self):
        # Nobody can make a file there, as on a disk that is full.
        ran = self.sweep('true', arguments=('--state', '/proc/self/fd'))
        self.assertEqual(1, ran.status)
        self.assertIn('cannot be written', ran.stderr)
        self.assertEqual([], list((self.folder / 'out').iterdir()))
        self.assert_as_before()
        self.assertEqual(0, self.sweep('true').status)

    def test_results_that_cannot_be_written_leave_no_journal(self):
        folder = self.folder / 'out'
        folder.symlink_to('/proc/self/fdinfo')
        ran = self.sweep('true')
        self.assertEqual(1, ran.status)
        self.assertIn('sweep.json cannot be written', ran.stderr)
        self.assert_as_before()


class LostCloudTestCase(SweptCloudTestCase):
    """Its cloud goes away while it is swept."""

    @classmethod
    def setUpClass(cls):
        super(SweptCloudTestCase, cls).setUpClass()

    def setUp(self):
        self.api = cinder_api.CinderApi()
        super().setUp()

    def apply(self):
        self.assertEqual(0, self.tier('apply').status)

    def test_results_say_that_it_ended_although_nothing_came_back(self):
        go = self.folder / 'go'

        def stop():
            while not go.exists():
                time.sleep(0.1)
            self.api.stop()
            go.unlink()

        stopping = threading.Thread(target=stop)
        stopping.start()
        self.addCleanup(stopping.join)
        # Also if no slot began.
        self.addCleanup(go.touch)
        ran = self.sweep(
            'sh', '-c', f'touch {go}; while test -e {go}; do sleep 0.1; done'
        )
        self.assertEqual(6, ran.status, ran.stderr)
        self.assertIn('Not everything is as before', ran.stderr)
        self.assertEqual(1, len(self.journals()))
        found = self.results()
        self.assertEqual(
            ('ended early', False), (found['state'], found['is_brought_back'])
        )
