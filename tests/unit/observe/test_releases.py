# SPDX-License-Identifier: Apache-2.0

"""What is read from, planned for and found in real clusters, by release.

The answers in data/every-kind-VERSION.json were recorded by
tests/contract/test_real_recording.py; what they mean is beside them, in
data/every-kind-VERSION.meaning.json. After a change of what is read or planned
on purpose, accept the new meaning, and look at what has changed::

    CINDER_TIERS_TEST_ACCEPT=1 python -m testtools.run \\
        tests.unit.observe.test_releases
    git diff tests/unit/observe/data
"""

import json
import os
import pathlib

import ddt
import fixtures
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from tests.contract import every_kind
from tests.contract import recorded
from tests.contract import releases
from tests.worlds import in_memory

DATA = pathlib.Path(__file__).with_name('data')
VERSIONS = ('16.2.15', '18.2.7', '20.2.4')
#: Those whose OSDs have the queue mClock unless told otherwise.
WITH_MCLOCK = VERSIONS[1:]
ACCEPT = os.environ.get('CINDER_TIERS_TEST_ACCEPT')


@ddt.ddt
class ReleasesTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        # What was recorded right after pools were made never changes.
        self.useFixture(
            fixtures.MonkeyPatch('cinder_tiers.observe.ceph.usage.WAIT_S', 0.0)
        )

    maxDiff = None

    def session(self, version, phase):
        answers = recorded.read(DATA / f'every-kind-{version}.json')
        return recorded.Replay(
            answers[phase],
            cluster=catalogs.Cluster(name='ceph', cinder_user=every_kind.MARK),
        )

    def cinder(self, version, phase):
        """Cinder, where all is as declared once it was applied."""
        world = in_memory.World(osds=())
        if phase in (every_kind.APPLIED, every_kind.CHANGED):
            plan = self.plan(version, every_kind.ABSENT, world)
            apply.apply(
                plan=every_kind.of_cinder(plan),
                executors=world.executors,
                read=world.read,
                report=lambda result: None,
            )
        return world

    def plan(self, version, phase, cinder=None):
        return plans.make(
            catalog=every_kind.catalog_of(phase),
            actual=every_kind.observed(
                self.session(version, phase),
                phase,
                cinder or self.cinder(version, phase),
            ),
        )

    def kinds(self, version, phase):
        return {one.key.kind for one in self.plan(version, phase).actions}

    @ddt.data(*VERSIONS)
    def test_each_kind_is_made_where_nothing_is(self, version):
        plan = self.plan(version, every_kind.ABSENT)
        self.assertEqual(
            set(releases.KINDS), {one.key.kind.value for one in plan.actions}
        )
        self.assertEqual((), plan.refused)

    @ddt.data(*VERSIONS)
    def test_what_was_applied_needs_nothing(self, version):
        self.assertEqual((), self.plan(version, every_kind.APPLIED).actions)

    @ddt.data(*VERSIONS)
    def test_what_others_changed_is_planned(self, version):
        self.assertEqual(
            {
                actions.Kind.POOL,
                actions.Kind.OSD_OPTIONS,
                actions.Kind.HOST_OSD_OPTIONS,
                actions.Kind.PRIMARY_AFFINITY,
                actions.Kind.CEPHX_USER,
                actions.Kind.CACHE_TIER,
            },
            self.kinds(version, every_kind.CHANGED),
        )

    @ddt.data(*VERSIONS)
    def test_what_osds_would_not_heed_is_refused(self, version):
        refused = self.plan(version, every_kind.UNHEEDED).refused
        self.assertEqual(
            [actions.Kind.OSD_OPTIONS] if version in WITH_MCLOCK else [],
            [one.key.kind for one in refused],
        )
        for one in refused:
            for name in every_kind.NOT_WITH_MCLOCK:
                self.assertIn(name, one.objection)

    @ddt.data(*VERSIONS)
    def test_answers_mean_what_they_meant(self, version):
        file = DATA / f'every-kind-{version}.meaning.json'
        known = json.loads(file.read_text('utf-8')) if file.exists() else {}
        found = {}
        for phase in every_kind.PHASES:
            meaning = every_kind.meaning(
                self.session(version, phase),
                phase,
                self.cinder(version, phase),
            )
            found[phase] = recorded.plain(
                meaning, None if ACCEPT else known[phase]
            )
        if ACCEPT:
            file.write_text(recorded.lines(found, depth=5) + '\n')
            return
        for phase, meaning in found.items():
            for part, value in meaning.items():
                self.assertEqual(known[phase][part], value, (phase, part))
