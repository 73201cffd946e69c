# SPDX-License-Identifier: Apache-2.0

"""An apply that is killed anywhere is finished by the next one.

On the Ceph release at hand, with an object of each kind.
"""

import dataclasses
import os
import threading
import time

import testtools
from testtools import content as details

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry as executing
from cinder_tiers.observe.ceph import usage
import tests
from tests.contract import every_kind
from tests.contract import real_ceph
from tests.contract import recorded
from tests.functional import commands
from tests.worlds import cinder_api

#: Longer than an OSD takes to hear of an option.
MOST_SECONDS = 60
#: Exit status of a process that SIGKILL ended.
KILLED = -9
#: A plan with each kind has fewer actions.
MOST_ACTIONS = 100
#: A plan with each kind takes more applies, each of EVERY actions.
FEWEST_APPLIES = 3
#: So many actions after which an apply is killed; tests/long: one.
EVERY = 1 if tests.TRIES_ALL else tests.SHARE


class Killed(BaseException):
    """Stands for SIGKILL: nothing that catches errors stops it."""


class Dying:
    """A session of a process that dies after so many writes.

    :param reads: {request without its arguments: ...} that change nothing.
    :param writes: after which it dies; None: it lives.
    """

    def __init__(self, session, reads, writes=None):
        self._session = session
        self._reads = reads
        self._left = writes
        self._lock = threading.Lock()
        self.cluster = session.cluster
        #: The writes, in order.
        self.written = []

    def __getattr__(self, method):
        """What asks the session."""

        def ask(*arguments, **named):
            is_read = recorded.request(method, *arguments[:1]) in self._reads
            line = recorded.request(method, *arguments, **named)
            if not is_read:
                # Some writes are sent side by side.
                with self._lock:
                    if len(self.written) == self._left:
                        raise Killed(line)
                    self.written.append(line)
            answer = getattr(self._session, method)(*arguments, **named)
            if not is_read and len(self.written) == self._left:
                raise Killed(line)
            return answer

        return ask


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class KilledAtEachWriteTestCase(every_kind.CephOnlyCase):
    """Between two commands to the cluster."""

    def reads(self):
        """Requests that the readers send as well, so they write nothing."""
        recorder = recorded.Recorder(self.session)
        for phase in (every_kind.ABSENT, every_kind.APPLIED):
            every_kind.meaning(recorder, phase, self.cinder)
        return recorder.asked

    def wait_for(self, wanted):
        """Until OSDs no longer use what was removed."""
        until = time.monotonic() + MOST_SECONDS
        while (found := self.planned()) != wanted:
            self.assertLess(time.monotonic(), until, found)
            time.sleep(0.2)

    def planned(self):
        return [
            (one.verb, str(one.key))
            for one in self.plan(every_kind.ABSENT).actions
        ]

    def test_the_next_apply_finishes_it(self):
        whole = self.planned()
        reads = self.reads()
        living = Dying(self.session, reads)
        self.assert_all_done(
            self.carry_out(self.plan(every_kind.ABSENT), living)
        )
        self.assertEqual([], self.planned())
        reads |= self.reads()
        self.assertGreater(len(living.written), len(whole) // 2)
        for writes, line in tests.share(list(enumerate(living.written, 1))):
            self.start_anew()
            self.wait_for(whole)
            dying = Dying(self.session, reads, writes)
            self.assertRaises(
                Killed,
                self.carry_out,
                self.plan(every_kind.ABSENT),
                dying,
            )
            plan = self.plan(every_kind.APPLIED)
            self.assertEqual(
                [],
                [(str(one.key), one.refusal.reason) for one in plan.refused],
                line,
            )
            self.assertLess(len(plan.actions), len(whole) + 1, line)
            self.assert_all_done(self.carry_out(plan))
            self.assertEqual([], self.planned(), line)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class KilledWhileASizeChangesTestCase(real_ceph.RealCephCase):
    """Ceph chooses a min_size with each size."""

    def setUp(self):
        super().setUp()
        # What it needs of a pool, and no more: each write is tried.
        self.pool = f'{self.mark}-whole'
        self.declare(2)
        self.assert_all_done(self.carry_out(self.granted(), self.session))

    def declare(self, size, min_size=None):
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=(
                self.tier(
                    'whole',
                    self.device_class,
                    catalogs.Replicated(
                        size=size,
                        min_size=min_size,
                        unprotected_writes=min_size == 1,
                    ),
                ),
            ),
        )

    def granted(self, *names):
        return consent.grant(
            plans.make(catalog=self.catalog, actual=self.observe()), names
        )

    def carry_out(self, plan, session):
        return apply.apply(
            plan=plan,
            executors=self.executors
            | executing.executors(
                connection=real_ceph.NoConnection(),
                clusters={'ceph': session},
                read_usage=usage.attempt,
            )
            | {actions.Kind.VOLUME_TYPE: self.cinder},
            read=self.read,
            report=lambda result: None,
            settle_s=self.settle_s,
        )

    def assert_all_done(self, results):
        self.assertEqual([], [one.reason for one in results if one.reason])

    def sizes(self, epoch=None):
        """(epoch of the OSD map, size, min_size)."""
        found = self.session.command(
            'osd dump', **({} if epoch is None else {'epoch': epoch})
        )
        (pool,) = (
            one for one in found['pools'] if one['pool_name'] == self.pool
        )
        return found['epoch'], pool['size'], pool['min_size']

    def reset(self, size, min_size):
        for name, value in (('size', size), ('min_size', min_size)):
            self.session.command(
                'osd pool set', pool=self.pool, var=name, val=str(value)
            )

    def test_no_osd_sees_a_size_without_its_min_size(self):
        for before, size, after in (
            ((3, 2), 2, (2, 2)),
            ((2, 2), 3, (3, 2)),
            ((3, 3), 2, (2, 2)),
        ):
            # A monitor that is late makes two maps of the two commands.
            tries = (self.seen_while(before, size) for _ in range(10))
            self.assertIn({before, after}, tries)
            self.assertEqual(after, self.sizes()[1:])

    def seen_while(self, before, size):
        """(size, min_size) in each map of the OSDs while a size changes."""
        self.reset(*before)
        self.declare(size)
        first, *_ = self.sizes()
        self.assert_all_done(
            self.carry_out(
                self.granted(f'pool {self.pool} (ceph)'), self.session
            )
        )
        last, *_ = self.sizes()
        return {self.sizes(epoch)[1:] for epoch in range(first, last + 1)}

    def test_the_next_plan_shows_the_rest_and_finishes_it(self):
        name = f'pool {self.pool} (ceph)'
        for before, declared, after in (
            ((3, 2), (2, None), (2, 2)),
            ((2, 2), (3, None), (3, 2)),
            ((2, 1), (3, 3), (3, 3)),
        ):
            self.reset(*before)
            self.declare(*declared)
            living = Dying(self.session, set())
            self.carry_out(self.granted(name), living)
            self.assertEqual(after, self.sizes()[1:])
            self.assertGreater(len(living.written), 1)
            for writes, line in enumerate(living.written, 1):
                self.reset(*before)
                self.assertRaises(
                    Killed,
                    self.carry_out,
                    self.granted(name),
                    Dying(self.session, set(), writes),
                )
                left = self.granted()
                if self.sizes()[1:] != after:
                    self.assertEqual(
                        [name], [str(one.key) for one in left.refused], line
                    )
                    self.assert_all_done(
                        self.carry_out(self.granted(name), self.session)
                    )
                self.assertEqual(after, self.sizes()[1:])
                self.assertEqual((), self.granted().actions)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class KilledAtEachActionTestCase(every_kind.EveryKindCase):
    """The process of `openstack tier apply`, with a real Cinder API."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        # audit asks its scheduler where backends keep volumes.
        cls.api.add_backend('any')

    def tier(self, verb, *arguments, killed_after=None):
        """Run a command; kill it when so many actions were reported.

        :returns: its exit status, and what it said.
        """
        said, done = [], 0
        with commands.started(
            (
                'openstack',
                *self.api.shell_arguments,
                'tier',
                verb,
                '--catalog',
                str(self.path),
                *arguments,
            ),
            environment=dict(os.environ),
        ) as process:
            for line in process.stderr:
                said.append(line)
                done += line.rstrip().endswith(': done')
                if done == killed_after:
                    process.kill()
        self.addDetail(
            f'stderr of tier {verb}', details.text_content(''.join(said))
        )
        return process.returncode, said

    def test_each_apply_does_more_until_nothing_is_left(self):
        self.declare()
        statuses = []
        while not statuses or statuses[-1] == KILLED:
            self.assertLess(len(statuses), MOST_ACTIONS)
            statuses.append(self.tier('apply', '--yes', killed_after=EVERY)[0])
        self.assertEqual(0, statuses[-1], statuses)
        # Near its end, apply may be quicker than who kills it.
        self.assertGreater(len(statuses), FEWEST_APPLIES)
        self.assertEqual(0, self.tier('plan')[0])
        self.assertEqual(0, self.tier('audit')[0])
