# SPDX-License-Identifier: Apache-2.0

"""Task files as Rally reads them: rendered, parsed, checked for syntax."""

import copy
import functools
import json
import math
import pathlib

import ddt
from rally import api
from rally import exceptions
from rally import plugins
from rally.task import engine
from rally.task import task_cfg
import testtools
import yaml

plugins.load()
# Where the package is not installed, its entry point is not there.
import rally_scenarios.plugins.fleet.scenario  # noqa: F401

QUICK = (
    pathlib.Path(__file__).parents[3]
    / 'rally_scenarios'
    / 'tasks'
    / 'quick.yaml'
)
# That of layers has arguments of its own.
FLEET_TASKS = sorted(
    path for path in QUICK.parent.glob('*.yaml') if path.stem != 'layers'
)


@functools.cache
def rendered(file, args):
    """Text of a task file, which Rally compiles anew each time.

    :param args: its arguments as JSON.
    """
    # _Task needs its API object only to talk to a database.
    return api._Task(None).render_template(
        file.read_text(), template_dir=str(file.parent), **json.loads(args)
    )


def render(file=QUICK, **args):
    return yaml.safe_load(rendered(file, json.dumps(args)))


def check(config):
    """Rally's own check of a task file that needs no cloud."""
    config = task_cfg.TaskConfig(copy.deepcopy(config))
    task_engine = engine.TaskEngine(config, task=None, env=None)
    for subtask in config.subtasks:
        for workload in subtask['workloads']:
            task_engine._validate_workload(workload, vtype='syntax')


def workload(config):
    (found,) = config['subtasks'][0]['workloads']
    return found


@ddt.ddt
class QuickTest(testtools.TestCase):
    def test_it_starts_unchanged(self):
        config = render()
        check(config)
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        self.assertEqual(
            ['database', 'general', 'archive'],
            [fleet['tier'] for fleet in args['fleets']],
        )
        self.assertEqual(3, args['guests_per_tier'])
        self.assertEqual(
            {'extra_specs': {}},
            workload(config)['contexts']['cinder_tiers_start_signal'],
        )

    @ddt.data(
        ('listen_every_seconds', math.inf, 'args.listen_every_seconds'),
        ('listen_every_seconds', math.nan, 'args.listen_every_seconds'),
        ('listen_every_seconds', 10**9, 'listen_every_seconds'),
        ('timeouts_seconds', {'ready': 10**20}, 'timeouts_seconds'),
        (
            'stop_when',
            {'interval_percent': math.nan},
            'args.stop_when.interval_percent: found nan, expected a finite',
        ),
    )
    @ddt.unpack
    def test_numbers_without_an_end_are_refused(self, name, value, told):
        config = render()
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        args[name] = value
        if name == 'stop_when':
            del args['repeats']
        error = self.assertRaises(exceptions.InvalidTaskConfig, check, config)
        self.assertIn(told, str(error))

    @ddt.data(math.nan, math.inf)
    def test_no_limit_holds_because_it_is_no_number(self, limit):
        config = render()
        workload(config)['sla']['cinder_tiers'] = {
            'expect': {'database': {'randwrite-4k': {'p99_ms_max': limit}}}
        }
        error = self.assertRaises(exceptions.InvalidTaskConfig, check, config)
        self.assertIn(
            f'expect.database.randwrite-4k.p99_ms_max: found {limit}',
            str(error),
        )

    def test_repeats_may_end_when_intervals_are_narrow(self):
        rule = {'interval_percent': 5, 'most_repeats': 12}
        config = render(stop_when=rule)
        check(config)
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        self.assertEqual(rule, args['stop_when'])
        self.assertNotIn('repeats', args)
        for wrong in (
            {'interval_percent': 0},
            {'most_repeats': 12},
            {**rule, 'most_repeats': 4},
            {**rule, 'interval': 5},
        ):
            self.assertRaises(
                exceptions.InvalidTaskConfig, check, render(stop_when=wrong)
            )

    def test_guests_may_write_until_it_is_steady(self):
        rounds = {'rw': 'write', 'bs': '128k', 'most_rounds': 10}
        config = render(precondition=rounds)
        check(config)
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        self.assertEqual(rounds, args['precondition'])
        for wrong in ({'rw': 'read'}, {'most_rounds': 4}, {'rounds': 5}):
            self.assertRaises(
                exceptions.InvalidTaskConfig,
                check,
                render(precondition=wrong),
            )

    def test_results_may_come_by_ssh_from_guests_with_a_network(self):
        by_console = workload(render())
        self.assertEqual(
            set(), {'keypair', 'allow_ssh'} & set(by_console['contexts'])
        )
        for guest_network, context in (
            ({}, 'existing_network'),
            ({'guest_network': 'own'}, 'network'),
        ):
            config = render(
                transport={'kind': 'ssh', 'user': 'debian'}, **guest_network
            )
            check(config)
            self.assertEqual(
                {'kind': 'ssh', 'user': 'debian'},
                workload(config)['scenario']['CinderTiers.fleet_fio'][
                    'transport'
                ],
            )
            self.assertEqual(
                {'keypair', 'allow_ssh', context},
                set(workload(config)['contexts'])
                - set(by_console['contexts']),
            )

    def test_arguments_override_the_defaults(self):
        config = render(
            guests_per_tier=5,
            flavor='m1.small',
            ramp_seconds=0,
            start_volume_type='shared',
        )
        check(config)
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        self.assertEqual(
            (5, {'name': 'm1.small'}, 0, 'shared'),
            (
                args['guests_per_tier'],
                args['flavor'],
                args['ramp_seconds'],
                args['start_volume_type'],
            ),
        )
        self.assertNotIn(
            'cinder_tiers_start_signal', workload(config)['contexts']
        )

    @ddt.data(*FLEET_TASKS)
    def test_a_cluster_can_be_named(self, file):
        found = [
            each['scenario']['CinderTiers.fleet_fio']
            for args in ({}, {'ceph_conf': '/etc/ceph/ceph.conf'})
            for subtask in render(file, **args)['subtasks'][:1]
            for each in subtask['workloads']
        ]
        self.assertNotIn('ceph', found[0])
        self.assertEqual(
            {'conf': '/etc/ceph/ceph.conf', 'user': 'admin'}, found[-1]['ceph']
        )
        check(render(file, ceph_conf='/etc/ceph/ceph.conf'))

    @ddt.data(*FLEET_TASKS)
    def test_each_file_takes_what_the_documentation_says_all_take(self, file):
        by_volume = {'start': {'by': 'volume'}}
        for args in (
            {'flavor': 'm1.small'},
            {'repeats': 7},
            {'volume_size_gib': 77},
            {'tier_mib_per_second': 77},
            {'gap_seconds': 77},
            {'ceph_conf': '/etc/ceph/ceph.conf'},
            {'start_volume_type': 'shared'},
            {'start_volume_backend': 'fast', **by_volume},
            {'start': {'by': 'clock', 'after_seconds': 900}},
            {'volume': {'kind': 'data', 'source': 'blank'}},
            {'spread': False},
            {'zones': {'compute': 'az2', 'volume': 'az2'}},
            {'cost_from': 'former.json'},
            {'side_by_side': True},
        ):
            # It has one tier.
            if args == {'side_by_side': True} and 'fault' in file.name:
                continue
            others = by_volume if 'start_volume_backend' in args else {}
            self.assertNotEqual(
                render(file, **others), render(file, **args), args
            )

    @ddt.data(*FLEET_TASKS)
    def test_each_file_can_be_told_its_zones(self, path):
        zones = {'compute': 'az2', 'volume': 'ceph-az2'}
        config = render(path, zones=zones)
        check(config)
        for subtask in config['subtasks']:
            for each in subtask['workloads']:
                args = each['scenario']['CinderTiers.fleet_fio']
                self.assertEqual(zones, args['zones'])
        self.assertRaises(
            exceptions.InvalidTaskConfig,
            check,
            render(path, zones={'comput': 'az2'}),
        )

    @ddt.data('quick', 'scaling')
    def test_guests_can_be_read_by_ssh_or_with_more_readers(self, name):
        path = QUICK.with_name(f'{name}.yaml')
        for transport, network, contexts in (
            ({'kind': 'ssh', 'user': 'debian'}, 'own', {'network'}),
            (
                {'kind': 'ssh', 'user': 'debian'},
                'existing',
                {'existing_network'},
            ),
            ({'kind': 'console', 'readers': 16}, 'own', set()),
        ):
            config = render(path, transport=transport, guest_network=network)
            check(config)
            found = workload(config)
            args = found['scenario']['CinderTiers.fleet_fio']
            self.assertEqual(transport, args['transport'])
            self.assertEqual(
                contexts,
                {'network', 'existing_network'} & found['contexts'].keys(),
            )
            self.assertEqual(bool(contexts), 'keypair' in found['contexts'])

    def test_a_word_is_no_truth(self):
        self.assertRaises(KeyError, render, side_by_side='false')
        config = render()
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        args['side_by_side'] = 'false'
        self.assertRaises(exceptions.InvalidTaskConfig, check, config)

    def test_the_start_volume_can_be_sent_to_a_backend(self):
        config = render(start_volume_backend='tier-database')
        check(config)
        self.assertEqual(
            {'volume_backend_name': 'tier-database'},
            workload(config)['contexts']['cinder_tiers_start_signal'][
                'extra_specs'
            ],
        )

    @ddt.data(*FLEET_TASKS)
    def test_each_file_can_start_by_clock_on_other_volumes(self, path):
        volume = {
            'kind': 'data',
            'source': 'image',
            'boot_image': 'small',
            'size_gib': 200,
        }
        config = render(
            path, start={'by': 'clock'}, volume=volume, spread=False
        )
        check(config)
        for found in (
            each
            for subtask in config['subtasks']
            for each in subtask['workloads']
        ):
            args = found['scenario']['CinderTiers.fleet_fio']
            self.assertEqual(
                ({'by': 'clock'}, volume, False),
                (args['start'], args['volume'], args['spread']),
            )
            self.assertNotIn('cinder_tiers_start_signal', found['contexts'])
            self.assertEqual(
                -1, found['contexts']['quotas']['nova']['server_group_members']
            )

    def test_only_losses_are_judged_unless_more_is_asked_for(self):
        config = render()
        self.assertEqual(
            {'losses': {'lost': 0, 'late': 0, 'failed': 0}},
            workload(config)['sla']['cinder_tiers'],
        )

    def test_order_placement_and_expectations_can_be_asked_for(self):
        catalog = str(QUICK.parents[2] / 'etc' / 'cinder-tiers' / 'tiers.yaml')
        config = render(
            order=['database', 'general'],
            check_placement=True,
            catalog=catalog,
        )
        check(config)
        found = workload(config)['sla']['cinder_tiers']
        self.assertEqual(
            (catalog, ['database', 'general'], 'database'),
            (
                found['catalog'],
                found['order'][0]['tiers'],
                found['placement']['database'],
            ),
        )

    @ddt.data(
        {'order': ['databasex', 'general']},
        {'order': ['database']},
        {'catalog': '/nowhere'},
    )
    def test_rally_refuses_what_could_not_be_judged(self, wrong):
        self.assertRaises(exceptions.InvalidTaskConfig, check, render(**wrong))

    @ddt.data(
        (
            {'expect': {'databasex': {'write-1m': {'iops_min': 5}}}},
            (
                "the task runs no tier 'databasex'; expected one of "
                "database, general, archive; did you mean 'database'? fix it"
            ),
        ),
        (
            {'expect': {'database': {'write-9m': {'iops_min': 5}}}},
            (
                "the task runs no pattern 'write-9m'; expected one of "
                "randwrite-4k, write-1m; did you mean 'write-1m'? fix it"
            ),
        ),
        ({'placement': {'gold': 'gold'}}, "the task runs no tier 'gold'"),
        (
            {
                'order': [
                    {
                        'pattern': 'write-2m',
                        'by': 'iops',
                        'tiers': ['database', 'general'],
                    }
                ]
            },
            "the task runs no pattern 'write-2m'",
        ),
        (
            {'expect': {'general': {'randwrite-4k': {'read_iops_min': 5}}}},
            "read_iops_min of pattern 'randwrite-4k', which does not read",
        ),
        (
            {
                'order': [
                    {
                        'pattern': 'write-1m',
                        'by': 'iops',
                        'direction': 'read',
                        'tiers': ['database', 'general'],
                    }
                ]
            },
            "read_iops of pattern 'write-1m', which does not read",
        ),
        (
            {
                'order': [
                    {
                        'tier': 'general',
                        'by': 'iops',
                        'patterns': ['write-1m', 'write-2m'],
                    }
                ]
            },
            "the task runs no pattern 'write-2m'",
        ),
    )
    @ddt.unpack
    def test_rally_refuses_an_sla_of_what_does_not_run(self, asked, told):
        config = render()
        workload(config)['sla']['cinder_tiers'] = asked
        self.assertIn(
            told,
            str(
                self.assertRaises(exceptions.InvalidTaskConfig, check, config)
            ),
        )

    def test_an_sla_names_each_step_of_guests(self):
        config = render()
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        del args['guests_per_tier']
        args['guest_steps'] = [1, 4]
        sla = workload(config)['sla']
        sla['cinder_tiers'] = {
            'order': [
                {
                    'tier': 'database',
                    'by': 'mib_per_s',
                    'patterns': ['write-1m.g4', 'write-1m.g1'],
                }
            ]
        }
        check(config)
        for unknown in ('write-1m', 'write-1m.g2'):
            sla['cinder_tiers'] = {
                'expect': {'database': {unknown: {'iops_min': 1}}}
            }
            error = self.assertRaises(
                exceptions.InvalidTaskConfig, check, config
            )
            self.assertIn('write-1m.g1, write-1m.g4', str(error))

    def test_an_sla_may_name_patterns_of_a_profile(self):
        config = render()
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        del args['patterns']
        args['profile'] = 'idcf2014'
        workload(config)['sla']['cinder_tiers'] = {
            'expect': {'database': {'randwrite-4k': {'p99_ms_max': 5}}}
        }
        check(config)

    @ddt.data(
        {'profile': 'idcf2014', 'profile_size': 'smoke', 'repeats': 2},
        {'profile': 'meyer2016'},
        {
            'patterns': [
                {
                    'name': 'x',
                    'rw': 'randrw',
                    'bssplit': '4k/9:8k/91',
                    'rwmixread_percent': 0,
                    'numjobs': 2,
                }
            ]
        },
    )
    def test_other_patterns_may_be_asked_for(self, patterns):
        config = render()
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        del args['patterns'], args['region_mib']
        args.update(patterns, volume_size_gib=20)
        check(config)

    @ddt.data(
        ('a profile beside patterns', {'profile': 'idcf2014'}),
        ('a size that does not exist', {'profile_size': 'huge'}),
        (
            'a block that does not fit',
            {'patterns': [{'name': 'x', 'rw': 'read', 'bs': '64m'}]},
        ),
        ('a misspelt argument', {'guest_per_tier': 3}),
        ('no guests', {'guests_per_tier': 0}),
        ('words for a number', {'runtime_seconds': 'ten'}),
        (
            'a misspelt key of a fleet',
            {'fleets': [{'tier': 'a', 'image': 'b', 'imgae': 'c'}]},
        ),
        ('a fleet without an image', {'fleets': [{'tier': 'a'}]}),
        (
            'a pattern that fio does not know',
            {
                'patterns': [
                    {'name': 'x', 'rw': 'trim', 'bs': '4k', 'iodepth': 1}
                ]
            },
        ),
        ('a start by nothing', {'start': {'by': 'magic'}}),
        ('a volume of no kind', {'volume': {'source': 'blank'}}),
        (
            'a blank volume to boot from',
            {'volume': {'kind': 'boot', 'source': 'blank'}},
        ),
        (
            'a region larger than its volume',
            {
                'volume': {'kind': 'data', 'source': 'image'},
                'region_mib': 2000,
            },
        ),
        ('an unknown timeout', {'timeouts_seconds': {'boots': 3}}),
    )
    @ddt.unpack
    def test_rally_refuses(self, _what, wrong):
        config = render()
        workload(config)['scenario']['CinderTiers.fleet_fio'].update(wrong)
        self.assertRaises(exceptions.InvalidTaskConfig, check, config)

    def test_rally_refuses_a_misspelt_option_of_the_context(self):
        config = render()
        workload(config)['contexts']['cinder_tiers_start_signal'] = {
            'extra_spec': {}
        }
        self.assertRaises(exceptions.InvalidTaskConfig, check, config)


MEMBER = {
    'platforms': {
        'openstack': {
            'admin': None,
            'users': [
                {
                    'username': 'u',
                    'password': 'p',
                    'auth_url': 'http://127.0.0.1/identity',
                    'tenant_name': 't',
                    'tenant_id': '1',
                }
            ],
        }
    }
}


@ddt.ddt
class MemberTest(testtools.TestCase):
    """A project member has no administrator, and a project already."""

    def platform_check(self, config):
        """Rally's check of what an environment has."""
        config = task_cfg.TaskConfig(copy.deepcopy(config))
        task_engine = engine.TaskEngine(config, task=None, env=None)
        for subtask in config.subtasks:
            for each in subtask['workloads']:
                task_engine._validate_workload(
                    each, vcontext=MEMBER, vtype='platform'
                )

    @ddt.data(*FLEET_TASKS)
    def test_a_member_needs_no_administrator(self, file):
        config = render(file, member=True)
        check(config)
        self.platform_check(config)
        for each in config['subtasks']:
            (found,) = each['workloads']
            # Anything in it, and Rally makes users of its own.
            self.assertEqual({'users': {}}, found['contexts'], file.name)
            self.assertEqual(
                {'by': 'clock'},
                found['scenario']['CinderTiers.fleet_fio']['start'],
            )

    @ddt.data(*FLEET_TASKS)
    def test_a_member_may_name_a_type_with_multi_attach(self, file):
        config = render(file, member=True, start_volume_type='shared')
        check(config)
        self.platform_check(config)
        self.assertEqual({'users': {}}, workload(config)['contexts'])
        args = workload(config)['scenario']['CinderTiers.fleet_fio']
        self.assertEqual('shared', args['start_volume_type'])
        self.assertEqual({'by': 'volume'}, args['start'])

    @ddt.data({}, {'start_volume_type': 'shared'})
    def test_layers_of_a_member(self, named):
        config = render(QUICK.with_name('layers.yaml'), member=True, **named)
        self.platform_check(config)
        self.assertEqual({'users': {}}, workload(config)['contexts'])
        args = workload(config)['scenario']['CinderTiers.layers']
        self.assertEqual({'by': 'volume' if named else 'clock'}, args['start'])

    def test_without_it_the_administrator_is_asked_for(self):
        error = self.assertRaises(
            exceptions.InvalidTaskConfig, self.platform_check, render()
        )
        self.assertIn('admin', str(error))
