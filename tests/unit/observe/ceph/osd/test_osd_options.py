# SPDX-License-Identifier: Apache-2.0

import errno
import json

import ddt
import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph.osd import osd_options as ceph_osds

QUEUE = ceph_state.OptionSchema(
    name='osd_op_queue',
    kind='str',
    default='wpq',
    words=('wpq', 'mclock_scheduler'),
    at_runtime=False,
)
BACKFILLS = ceph_state.OptionSchema(
    name='osd_max_backfills', kind='uint', default='1'
)
OVERRIDE = 'osd_mclock_override_recovery_settings'


class Osds:
    """OSDs of the class hdd, on the host h.

    :param diffs: {id: what `config diff` says}; None is down.
    :param stored: (section, mask, option, value) that the monitors have.
    :param queue: default of osd_op_queue.
    :param reserved: {id: backfills that it allows}; empty: they do not tell.
    :param silent: ids of those that do not answer, and are up.
    """

    class cluster:  # noqa: N801 - stands for a value
        name = 'ceph'

    def __init__(
        self, diffs, stored=(), *, queue='wpq', reserved=(), silent=()
    ):
        self.diffs = diffs
        self.stored = stored
        self.queue = queue
        self.reserved = dict(reserved)
        self.silent = silent

    def command(self, prefix, **arguments):
        if prefix == 'osd crush class ls-osd':
            return list(self.diffs) if arguments['class_'] == 'hdd' else []
        if prefix == 'osd ls-tree' and arguments['name'] == 'h':
            return list(self.diffs)
        if prefix == 'config dump':
            return [
                dict(
                    zip(
                        ('section', 'mask', 'name', 'value'),
                        entry,
                        strict=True,
                    )
                )
                for entry in self.stored
            ]
        if prefix == 'osd tree':
            up = {
                osd_id
                for osd_id, diff in self.diffs.items()
                if diff is not None or osd_id in self.silent
            }
            return {
                'nodes': [
                    {'id': -1, 'type': 'root', 'children': list(self.diffs)},
                    *(
                        {
                            'id': osd_id,
                            'type': 'osd',
                            'status': 'up' if osd_id in up else 'down',
                        }
                        for osd_id in self.diffs
                    ),
                ],
                'stray': [],
            }
        if prefix == 'config get':
            # ConfigMonitor.cc: without a key all that is not the default, as
            # JSON; with a key the bare value in any format.
            found = {
                name: {'value': value, 'section': section, 'mask': {}}
                # The last section is the most specific one here.
                for section, _, name, value in self.stored
                if section in ('global', 'osd', arguments['who'])
            }
            if 'key' in arguments:
                return ceph_session.parse(found[arguments['key']]['value'])
            return ceph_session.parse(json.dumps(found)) or None
        if prefix == 'config help' and arguments['key'] == OVERRIDE:
            return {
                'name': OVERRIDE,
                'type': 'bool',
                'default': False,
                'can_update_at_runtime': True,
            }
        if prefix == 'config help' and arguments['key'] == 'osd_op_queue':
            return {
                'name': 'osd_op_queue',
                'type': 'str',
                'default': self.queue,
                'daemon_default': '',
                'can_update_at_runtime': False,
            }
        raise ceph_session.CephRefused('no', errno=errno.ENOENT)

    def tell(self, osd_id, prefix):
        if self.diffs[osd_id] is None:
            raise ceph_session.CephRefused('down', errno=errno.ENXIO)
        if prefix == 'dump_recovery_reservations':
            if not self.reserved:
                raise ceph_session.CephRefused('no', errno=errno.EINVAL)
            # As Ceph 20.2.4 answers, without the requests.
            return {
                'local_reservations': {
                    'max_allowed': self.reserved[osd_id],
                    'min_priority': 0,
                }
            }
        return {'diff': self.diffs[osd_id]}


def layers(**values):
    return {'osd_max_backfills': values}


@ddt.ddt
class InEffectTestCase(testtools.TestCase):
    def seen(self, diffs):
        return ceph_osds.in_effect(
            Osds(diffs), 'class', 'hdd', {'osd_max_backfills': BACKFILLS}
        )

    def test_osds_that_were_told_nothing_use_the_default(self):
        self.assertEqual(
            {'osd_max_backfills': '1'}, self.seen({0: {}, 1: {}}).values
        )

    def test_osds_that_agree_have_one_value(self):
        told = layers(default=1, mon=4, final=4)
        self.assertEqual(
            {'osd_max_backfills': '4'}, self.seen({0: told, 1: told}).values
        )

    def test_one_that_differs_is_named_with_the_layer_that_wins(self):
        seen = self.seen(
            {
                0: layers(default=1, mon=4, final=4),
                1: layers(default=1, mon=4, file=2, final=2),
            }
        )
        self.assertEqual(
            '4 (osd.0), 2 (osd.1)', seen.values['osd_max_backfills']
        )
        self.assertIn('ceph.conf', seen.reasons['osd_max_backfills'])

    def test_the_reason_is_of_one_that_differs(self):
        told = layers(default=1, mon=4, file=4, final=4)
        seen = ceph_osds.in_effect(
            Osds(
                {0: told, 1: layers(default=1, final=1)},
                [('osd', 'class:hdd', 'osd_max_backfills', '4')],
            ),
            'class',
            'hdd',
            {'osd_max_backfills': BACKFILLS},
        )
        self.assertIn('not received', seen.reasons['osd_max_backfills'])

    def test_osds_that_do_as_told_need_no_reason(self):
        seen = ceph_osds.in_effect(
            Osds(
                {0: layers(default=1, mon=4, final=4)},
                [('osd', 'class:hdd', 'osd_max_backfills', '4')],
            ),
            'class',
            'hdd',
            {'osd_max_backfills': BACKFILLS},
        )
        self.assertEqual({'osd_max_backfills': ''}, seen.reasons)

    def test_backfills_are_those_that_the_osd_allows(self):
        # Ceph 18.2.7 and 20.2.4: the configuration says 3, the OSD uses 1.
        seen = ceph_osds.in_effect(
            Osds(
                {0: layers(default=1, mon=3, final=3)},
                [('osd', 'class:hdd', 'osd_max_backfills', '3')],
                queue='mclock_scheduler',
                reserved={0: 1},
            ),
            'class',
            'hdd',
            {'osd_max_backfills': BACKFILLS},
        )
        self.assertEqual({'osd_max_backfills': '1'}, seen.values)
        self.assertEqual((0,), seen.mclock_osds)
        self.assertIn('mClock', seen.reasons['osd_max_backfills'])

    def test_one_that_is_down_is_left_out(self):
        self.assertEqual(
            {'osd_max_backfills': '4'},
            self.seen({0: None, 1: layers(mon=4, final=4)}).values,
        )

    def test_when_those_that_are_up_do_not_answer_nothing_is_known(self):
        error = self.assertRaises(
            errors.Unreachable,
            ceph_osds.in_effect,
            Osds({0: None, 1: None}, silent={1}),
            'class',
            'hdd',
            {'osd_max_backfills': BACKFILLS},
        )
        self.assertIn('no OSD of class hdd', str(error))

    def test_those_of_a_host_are_asked_whatever_their_class(self):
        seen = ceph_osds.in_effect(
            Osds({3: layers(mon=4, final=4)}),
            'host',
            'h',
            {'osd_max_backfills': BACKFILLS},
        )
        self.assertEqual(
            ('h', {'osd_max_backfills': '4'}), (seen.name, seen.values)
        )

    @ddt.data(('host', 'nowhere'), ('class', 'nvme'))
    @ddt.unpack
    def test_where_no_osd_is_nothing_is_in_effect(self, mask, name):
        self.assertEqual(
            {},
            ceph_osds.in_effect(
                Osds({0: {}}), mask, name, {'osd_max_backfills': BACKFILLS}
            ).values,
        )

    def test_an_option_that_the_cluster_lacks_has_no_schema(self):
        self.assertEqual(
            {'osd_op_queue'},
            ceph_osds.schemas_of(
                Osds({}), {'osd_op_queue', 'osd_op_threads'}
            ).keys(),
        )


@ddt.ddt
class AllDownTestCase(testtools.TestCase):
    """OSDs of which none runs: what they will use once they are started."""

    def seen(self, stored, *schemas, queue='wpq'):
        return ceph_osds.in_effect(
            Osds({0: None, 1: None}, stored, queue=queue),
            'class',
            'hdd',
            {schema.name: schema for schema in schemas},
        )

    @ddt.data(
        ((), '1'),
        ((('osd', 'class:hdd', 'osd_max_backfills', '4'),), '4'),
        (
            (
                ('osd', 'class:hdd', 'osd_max_backfills', '4'),
                ('osd.1', '', 'osd_max_backfills', '5'),
            ),
            '4 (osd.0), 5 (osd.1)',
        ),
    )
    @ddt.unpack
    def test_it_is_what_the_monitors_have(self, stored, expected):
        seen = self.seen(stored, BACKFILLS)
        self.assertEqual({'osd_max_backfills': expected}, seen.values)
        self.assertEqual((0, 1), seen.other_queue_osds)
        self.assertEqual(
            'more specific section' in seen.reasons['osd_max_backfills'],
            'osd.1' in expected,
        )

    def test_a_word_is_a_value(self):
        profile = ceph_state.OptionSchema(
            name='osd_mclock_profile', kind='str', default='balanced'
        )
        place = ('osd', 'class:hdd', 'osd_mclock_profile')
        self.assertEqual(
            ['balanced', 'high_client_ops', ''],
            [
                self.seen(stored, profile).values['osd_mclock_profile']
                for stored in (
                    (),
                    ((*place, 'high_client_ops'),),
                    ((*place, ''),),
                )
            ],
        )

    @ddt.data(
        ('bluestore_cache_size', 'size', '80M'),
        ('osd_op_num_shards', 'int', '8'),
    )
    @ddt.unpack
    def test_what_counts_from_the_start_is_not_of_a_class(
        self, name, kind, value
    ):
        schema = ceph_state.OptionSchema(
            name=name, kind=kind, default='0', at_runtime=False
        )
        seen = self.seen((('osd', 'class:hdd', name, value),), schema)
        self.assertEqual({name: '0'}, seen.values)
        self.assertIn('ignores class', seen.reasons[name])
        seen = self.seen((('osd.0', '', name, value),), schema)
        self.assertIn('(osd.0), 0 (osd.1)', seen.values[name])

    @ddt.data(
        ((), 'unknown'),
        ((('osd', '', OVERRIDE, 'true'),), '4'),
    )
    @ddt.unpack
    def test_what_their_profile_says_is_not_known(self, stored, expected):
        sleep = ceph_state.OptionSchema(name='osd_scrub_sleep', kind='float')
        seen = self.seen(
            (
                ('osd', 'class:hdd', 'osd_max_backfills', '4'),
                ('osd', 'class:hdd', 'osd_scrub_sleep', '0.5'),
                *stored,
            ),
            BACKFILLS,
            sleep,
            queue='mclock_scheduler',
        )
        self.assertEqual(
            {'osd_max_backfills': expected, 'osd_scrub_sleep': '0'},
            seen.values,
        )
        self.assertIn('mClock', seen.reasons['osd_scrub_sleep'])
        self.assertEqual((0, 1), seen.mclock_osds)


class AtStartTestCase(testtools.TestCase):
    """As OSDs of 16.2.15 answer: what they were started with stays."""

    wanted = 'mclock_scheduler'
    using = {
        'osd_op_queue': {'default': 'wpq', 'mon': wanted, 'final': wanted}
    }

    def seen(self, diffs, *stored, schema=QUEUE):
        return ceph_osds.in_effect(
            Osds(
                diffs,
                [
                    (section, mask, schema.name, value)
                    for section, mask, value in stored
                ],
            ),
            'class',
            'hdd',
            {schema.name: schema},
        )

    def test_what_counts_from_the_next_start_is_told_apart(self):
        seen = self.seen({0: {}, 1: self.using}, ('osd', '', self.wanted))
        self.assertEqual(
            (
                {'osd_op_queue': 'wpq (osd.0), mclock_scheduler (osd.1)'},
                {'osd_op_queue': 'mclock_scheduler'},
            ),
            (seen.values, seen.after_restart),
        )
        self.assertEqual(
            ('restart osd.0: values from the last start are still in use'),
            seen.reasons['osd_op_queue'],
        )

    def test_an_osd_that_was_told_nothing_misses_no_restart(self):
        self.assertEqual({}, self.seen({0: {}}).after_restart)

    def test_what_was_removed_is_used_until_the_restart(self):
        self.assertEqual(
            {'osd_op_queue': 'wpq'}, self.seen({0: self.using}).after_restart
        )

    def test_the_section_of_the_osd_wins(self):
        seen = self.seen(
            {0: {}, 1: {}},
            ('global', '', 'wpq'),
            ('osd.1', '', self.wanted),
            ('osd', '', 'wpq'),
        )
        self.assertEqual(
            {'osd_op_queue': 'wpq (osd.0), mclock_scheduler (osd.1)'},
            seen.after_restart,
        )

    def test_a_restart_does_not_help_against_a_mask(self):
        seen = self.seen(
            {0: {}, 1: self.using},
            ('osd', 'class:hdd', self.wanted),
            ('osd.1', '', self.wanted),
        )
        self.assertEqual({}, seen.after_restart)
        self.assertIn(
            'Ceph ignores class and host masks at startup: also set it for '
            'each of osd.0, as "ceph config set osd.0 '
            'osd_op_queue mclock_scheduler"',
            seen.reasons['osd_op_queue'],
        )

    def test_a_restart_does_not_help_against_ceph_conf(self):
        told = {
            'osd_op_queue': {'default': 'wpq', 'file': 'wpq', 'final': 'wpq'}
        }
        seen = self.seen({0: told}, ('osd', 'class:hdd', self.wanted))
        self.assertEqual({}, seen.after_restart)
        self.assertIn('ceph.conf', seen.reasons['osd_op_queue'])

    def test_of_what_is_shown_and_not_used_the_value_at_the_start_counts(self):
        shown = {'bluestore_cache_size': {'default': 0, 'mon': 5, 'final': 5}}
        seen = self.seen(
            {0: shown, 1: shown},
            ('osd', 'class:hdd', '5'),
            ('osd.1', '', '5'),
            schema=ceph_osds.parse_schema(
                {
                    'name': 'bluestore_cache_size',
                    'type': 'size',
                    'default': '0',
                    'can_update_at_runtime': True,
                }
            ),
        )
        self.assertEqual(
            {'bluestore_cache_size': '0 (osd.0), 5 (osd.1)'}, seen.values
        )
        self.assertIn(
            'also set it for each of osd.0,',
            seen.reasons['bluestore_cache_size'],
        )


class Reported(Osds):
    """OSDs that answer no one but an administrator, beside a manager."""

    def tell(self, osd_id, prefix):
        raise ceph_session.CephRefused('denied', errno=errno.EACCES)

    def command(self, prefix, **arguments):
        if prefix != 'config show':
            return super().command(prefix, **arguments)
        told = self.diffs[int(arguments['who'].removeprefix('osd.'))]
        if told is None:
            # As Ceph 16.2.15 answers for an OSD that it has not heard of.
            raise ceph_session.CephRefused('none', errno=errno.ENOENT)
        return told


def reported(value, source='mon', *overrides):
    """An entry of `config show`, as Ceph 16.2.15 answers."""
    found = {
        'name': 'osd_max_backfills',
        'value': value,
        'source': source,
    }
    if overrides:
        found['overrides'] = [
            {'source': layer, 'value': text} for layer, text in overrides
        ]
    return [found]


class ReportedTestCase(testtools.TestCase):
    """What a user sees whom the OSDs do not answer."""

    def seen(self, answers, **settings):
        return ceph_osds.in_effect(
            Reported(
                answers,
                [('osd', 'class:hdd', 'osd_max_backfills', '4')],
                **settings,
            ),
            'class',
            'hdd',
            {'osd_max_backfills': BACKFILLS},
        )

    def test_what_was_reported_counts(self):
        self.assertEqual(
            {'osd_max_backfills': '4 (osd.0), 1 (osd.1)'},
            self.seen({0: reported('4'), 1: []}).values,
        )

    def test_the_layer_that_wins_is_named(self):
        seen = self.seen(
            {0: reported('2', 'file', ('mon', '4'), ('default', '1'))}
        )
        self.assertEqual({'osd_max_backfills': '2'}, seen.values)
        self.assertIn('ceph.conf', seen.reasons['osd_max_backfills'])

    def test_one_that_did_not_report_is_passed_over(self):
        self.assertEqual(
            {'osd_max_backfills': '4'},
            self.seen({0: reported('4'), 1: None}).values,
        )

    def test_what_mclock_makes_of_it_is_not_known(self):
        seen = self.seen({0: reported('4')}, queue='mclock_scheduler')
        self.assertEqual({'osd_max_backfills': 'unknown'}, seen.values)
        self.assertIn("osd 'allow *'", seen.reasons['osd_max_backfills'])

    def test_a_manager_that_refuses_ends_it(self):
        class Refusing(Reported):
            def command(self, prefix, **arguments):
                if prefix == 'config show':
                    raise ceph_session.CephRefused('no', errno=errno.EACCES)
                return super().command(prefix, **arguments)

        self.assertRaises(
            ceph_session.CephRefused,
            ceph_osds.in_effect,
            Refusing({0: []}),
            'class',
            'hdd',
            {'osd_max_backfills': BACKFILLS},
        )
