# SPDX-License-Identifier: Apache-2.0

"""A sweep that is killed anywhere is brought back, on a real cluster.

Word for word, by what the monitors have, and by what OSDs use.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import tempfile
import time
import types
import uuid

import testtools
from testtools import content as details

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import run_restore as restore
from cinder_tiers.loop.sweep import run_sweep as sweeping
from cinder_tiers.observe.ceph.osd import osd_memory
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe import word_for_word
import tests
from tests.contract import real_ceph
from tests.contract import test_real_killed_apply as killed
from tests.functional import commands
from tests.worlds import cinder_api

#: Commands that change the cluster.
WRITES = ('config set', 'config rm', 'osd pool set', 'osd pool set-quota')
#: Set by somebody else, and not in the catalog.
FOREIGN = {'osd_scrub_load_threshold': '0.25'}
DECLARED = {'osd_recovery_priority': 6}
#: Treatments: {key of the pool in a catalog: {option: value}}.
TREATMENTS = {
    'osds': {
        'osd_options': {
            'bluestore_prefer_deferred_size_hdd': '48K',
            'osd_scrub_load_threshold': 0.5,
        }
    },
    'declared': {'osd_options': {'osd_recovery_priority': 7}},
    'pool': {
        'options': {'compression_mode': 'aggressive', 'recovery_priority': 3},
        'rbd_options': {'rbd_qos_iops_limit': 500, 'rbd_cache': True},
    },
}
#: librbd writes there when it has last set an option of any pool.
CHANGED_AT = 'rbd_config_pool_override_update_timestamp'
SETTLE_S = 30.0


class Dying:
    """A session of a process that dies after so many writes."""

    def __init__(self, session):
        self._session = session
        self.cluster = session.cluster
        #: Writes that are let through; None: all.
        self.left = None
        self.written = 0

    def __getattr__(self, method):
        """What asks the session."""

        def ask(*arguments, **named):
            answer = getattr(self._session, method)(*arguments, **named)
            if method == 'set_rbd_option' or arguments[:1] in [
                (one,) for one in WRITES
            ]:
                self.written += 1
                if self.left is not None and self.written >= self.left:
                    raise killed.Killed(f'{method} {arguments} {named}')
            return answer

        return ask


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealSweepTestCase(real_ceph.RealCephCase):
    def setUp(self):
        super().setUp()
        whole = self.catalog.tiers[0]
        self.ours = whole.rbd.device_class
        self.addCleanup(self.forget)
        self.default = dataclasses.replace(
            self.catalog,
            clusters={
                name: dataclasses.replace(one, host_osd_options={})
                for name, one in self.catalog.clusters.items()
            },
            tiers=(
                dataclasses.replace(
                    whole,
                    rbd=dataclasses.replace(
                        whole.rbd,
                        options={},
                        rbd_options={'rbd_cache': False},
                        osd_options=DECLARED,
                    ),
                ),
            ),
        )
        self.treated = {
            design.DEFAULT: self.default,
            **{
                name: self.with_changes(groups)
                for name, groups in TREATMENTS.items()
            },
        }
        self.catalog = design.observing(
            self.default, self.treated.values(), whole.name
        )
        self.dying = Dying(self.session)
        self.executors = registry.executors(
            connection=real_ceph.NoConnection(),
            clusters={'ceph': self.dying},
            read_usage=ceph_usage.attempt,
        )
        self.executors[actions.Kind.VOLUME_TYPE] = self.cinder
        self.now = word_for_word.reader(
            connection=real_ceph.NoConnection(),
            clusters={'ceph': self.session},
        )
        for name, value in FOREIGN.items():
            self.session.command(
                'config set', who=self.who, name=name, value=value
            )
        results = apply.apply(
            plan=plans.make(catalog=self.default, actual=self.observe()),
            executors=self.executors,
            read=self.read,
            report=lambda result: None,
            settle_s=SETTLE_S,
        )
        self.assertEqual(
            [],
            [
                (str(one.action.key), one.reason)
                for one in results
                if one.outcome is not actions.Outcome.DONE
            ],
        )
        self.dying.written = 0

    @property
    def who(self):
        return f'osd/class:{self.ours}'

    def forget(self):
        for name in (*FOREIGN, *DECLARED, *TREATMENTS['osds']['osd_options']):
            self.session.command('config rm', who=self.who, name=name)

    def with_changes(self, groups):
        (tier,) = self.default.tiers
        return dataclasses.replace(
            self.default,
            tiers=(
                dataclasses.replace(
                    tier,
                    rbd=dataclasses.replace(
                        tier.rbd,
                        **{
                            name: {**getattr(tier.rbd, name), **options}
                            for name, options in groups.items()
                        },
                    ),
                ),
            ),
        )

    def words(self):
        """All that the monitors and the pool have, in their own words."""
        pool = self.default.tiers[0].rbd.pool
        (dumped,) = (
            one
            for one in self.session.command('osd pool ls', detail='detail')
            if one['pool_name'] == pool
        )
        return {
            'config': sorted(
                (one['section'], one['mask'], one['name'], one['value'])
                for one in self.session.command('config dump')
                if one['name'] != CHANGED_AT
            ),
            'pool': {
                'flags': set(dumped['flags_names'].split(',')) - {'creating'},
                **{
                    name: dumped[name]
                    for name in ('options', 'size', 'min_size')
                },
            },
            'rbd': self.session.rbd_options(pool),
        }

    def prepared(self):
        sweep = design.Sweep(
            tier=self.default.tiers[0].name,
            blocks=1,
            seed=3,
            treatments=tuple(
                design.Treatment(name=name) for name in TREATMENTS
            ),
        )
        return preparation.prepare(
            sweep,
            self.treated,
            self.observe(),
            self.now,
            lambda cluster, osd_ids: osd_memory.observe(self.session, osd_ids),
        )

    def sweep(self, prepared, measure=None):
        slots = []
        sweeping.run(
            prepared,
            world=self,
            measure=measure
            or (
                lambda slot, treatment: record.MeasuredSlot(
                    exit_status=0, result_file=None
                )
            ),
            report=slots.append,
            settle_s=SETTLE_S,
        )
        return slots

    def restore(self, prepared, **arguments):
        return restore.restore(
            prepared.kept,
            executors=self.executors,
            read=self.read,
            now=self.now,
            settle_s=SETTLE_S,
            **arguments,
        )

    def assert_default(self, prepared):
        """It is in effect, at the latest when OSDs have heard of it."""
        end = time.monotonic() + SETTLE_S
        while amiss := preparation.not_default(prepared, self.observe()):
            self.assertLess(time.monotonic(), end, amiss)
            time.sleep(0.2)

    def test_each_treatment_is_in_effect_and_gone_afterwards(self):
        words, prepared, seen = self.words(), self.prepared(), {}

        def measure(slot, treatment):
            seen[treatment.name] = self.words()
            return record.MeasuredSlot(exit_status=0, result_file=None)

        slots = self.sweep(prepared, measure)
        self.assertEqual(
            {(name, '') for name in self.treated},
            {(one.slot.treatment, one.reason) for one in slots},
        )
        self.assertTrue(all(one.is_sound for one in slots))
        self.assertEqual(words, seen['default'])
        for name in TREATMENTS:
            self.assertNotEqual(words, seen[name])
        self.assertEqual(words, self.words())
        self.assert_default(prepared)

    def test_killed_at_each_write_it_is_brought_back(self):
        words, prepared = self.words(), self.prepared()
        self.sweep(prepared)
        whole = self.dying.written
        self.assertGreater(whole, 12)
        for left in tests.share(range(1, whole + 1)):
            self.dying.written, self.dying.left = 0, left
            self.assertRaises(killed.Killed, self.sweep, prepared)
            # The restore is killed as well, at its first write.
            self.dying.written, self.dying.left = 0, 1
            with contextlib.suppress(killed.Killed):
                self.restore(prepared)
            self.dying.left = None
            self.assertEqual(
                [],
                [
                    (one.name, one.reason)
                    for one in self.restore(prepared)
                    if not one.is_back
                ],
            )
            self.assertEqual(words, self.words(), left)
            self.assert_default(prepared)

    def test_what_somebody_else_sets_meanwhile_is_left(self):
        prepared = self.prepared()
        theirs = {
            'who': self.who,
            'name': 'bluestore_prefer_deferred_size_hdd',
        }

        def measure(slot, treatment):
            if treatment.name == 'osds':
                self.session.command('config set', **theirs, value='12288')
            return record.MeasuredSlot(exit_status=0, result_file=None)

        error = self.assertRaises(
            errors.ActionFailed, self.sweep, prepared, measure
        )
        self.assertIn('which another user has set', str(error))
        (left,) = (one for one in self.restore(prepared) if not one.is_back)
        self.assertEqual(
            (restore.RestoreOutcome.LEFT, '12288'), (left.outcome, left.found)
        )
        self.assertTrue(
            all(
                one.is_back
                for one in self.restore(prepared, allowed={left.name})
            )
        )
        self.assert_default(prepared)


TIERS = """version: 1
clusters:
  ceph:
    conf: {conf}
    cinder_user: {name}
tiers:
  {name}:
    fallback: true
    rbd:
      cluster: ceph
      pool: {name}
      pg_num: 8
      device_class: {device_class}
      failure_domain: osd
      replicated: {{size: 2, min_size: 2}}
      osd_options: {{osd_recovery_priority: 6}}
"""
SWEEP = """version: 1
tier: {name}
blocks: 1
seed: 2
factors:
  osd_options:
    osd_recovery_priority: [7]
    osd_scrub_load_threshold: [0.7]
  pool_options:
    compression_mode: [aggressive]
  rbd_options:
    rbd_qos_iops_limit: [900]
  qos:
    front_end: {{total_iops_sec: ['900']}}
"""
SLOTS = 6


class ProcessCase(testtools.TestCase):
    """A process of a tier command, with a real Cinder API and Ceph."""

    #: {name of a file: text}
    files = types.MappingProxyType({'tiers': TIERS, 'sweep': SWEEP})

    def setUp(self):
        super().setUp()
        self.name = f'sweep-{uuid.uuid4().hex[:8]}'
        self.api = cinder_api.CinderApi()
        self.addCleanup(self.api.stop)
        self.session = self.enterContext(
            ceph_session.session(
                catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
            )
        )
        self.device_class = min(
            osd.device_class for osd in observed_osds.read_osds(self.session)
        )
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        for file, text in self.files.items():
            (self.folder / f'{file}.yaml').write_text(
                text.format(
                    name=self.name,
                    conf=real_ceph.CONF,
                    device_class=self.device_class,
                )
            )
        self.addCleanup(self.remove)

    def remove(self):
        real_ceph.delete_pools(self.session, [self.name])
        self.session.command('osd crush rule rm', name=self.name)
        self.session.command('auth rm', entity=f'client.{self.name}')
        for name in ('osd_recovery_priority', 'osd_scrub_load_threshold'):
            self.session.command(
                'config rm', who=f'osd/class:{self.device_class}', name=name
            )

    def tier(self, verb, *arguments):
        ran = commands.run(
            [
                'openstack',
                *self.api.arguments_of('admin'),
                'tier',
                verb,
                '--catalog',
                str(self.folder / 'tiers.yaml'),
                '-f',
                'json',
                *arguments,
            ],
            environment={
                **os.environ,
                'OS_CINDER_DISABLE_EVENTLET_PATCHING': '1',
                'CINDER_TIERS_STATE': str(self.folder / 'state'),
                'CINDER_TIERS_COORDINATION_URL': f'file://{self.folder}/lock',
            },
        )
        self.addDetail(f'tier {verb}', details.text_content(ran.stderr))
        return ran


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealSweepProcessTestCase(ProcessCase):
    """The process of `tier sweep`, and SIGKILL."""

    def sweep(self, number, command):
        return self.tier(
            'sweep',
            '--out',
            str(self.folder / str(number)),
            str(self.folder / 'sweep.yaml'),
            '--',
            'sh',
            '-c',
            command,
        )

    def config(self):
        return sorted(
            (one['section'], one['mask'], one['name'], one['value'])
            for one in self.session.command('config dump')
            if one['name'] != CHANGED_AT
        )

    def test_after_a_kill_in_a_slot_all_is_as_before(self):
        ran = self.tier('apply')
        self.assertEqual(0, ran.returncode, ran.stderr)
        before = self.config()
        for slot in (1, 4, SLOTS):
            ran = self.sweep(
                slot,
                f'test $CINDER_TIERS_SWEEP_SLOT != {slot} || kill -9 $PPID',
            )
            self.assertEqual(killed.KILLED, ran.returncode, ran.stderr)
            ran = self.tier('sweep', '--restore')
            self.assertEqual(0, ran.returncode, ran.stderr)
            self.assertEqual(before, self.config())
        ran = self.sweep('whole', 'true')
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertEqual(SLOTS, len(json.loads(ran.stdout)))
        self.assertEqual(before, self.config())
        ran = self.tier('plan')
        self.assertEqual(0, ran.returncode, ran.stdout)
