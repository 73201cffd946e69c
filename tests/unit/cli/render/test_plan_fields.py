# SPDX-License-Identifier: Apache-2.0

"""What a plan shows of a tier that is new, changed or removed: all of it.

The plans are made from tiers files; the texts are in plans/, two widths of a
terminal and the comment of a merge request. Look at them when they change.
"""

import dataclasses
import html
import pathlib
import re

import ddt
import testtools

from cinder_tiers.cli.render import plan as render
from cinder_tiers.cli.render import plan_fields
from cinder_tiers.cli.render import plan_markdown
from cinder_tiers.cli.render import plan_text
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.files.tiers import reader

TEXTS = pathlib.Path(__file__).parents[1] / 'plans'
ALPHA, BETA = 'a' * 32, 'b' * 32
NAMES = {ALPHA: 'alpha', BETA: 'beta'}
GENERAL = """version: 1
clusters: {ceph: {}}
tiers:
  general:
    fallback: true
    backend: lvm
"""
REPORTS = """  reports:
    description: Monthly reports
    tags: [reports, monthly]
    priority: 5
    access: [alpha]
    default_for: [alpha]
    qos: {front_end: {total_iops_sec: 500}}
    quotas: {volumes: 0, gigabytes: 100}
    encryption: {provider: luks}
    rbd: {cluster: ceph, pool: tier-reports, device_class: ssd,
          pool_options: {quota_max_bytes: 1099511627776},
          erasure_coded: {k: 2, m: 1}}
"""
CHANGED = (
    REPORTS.replace('[reports, monthly]', '[report]')
    .replace('[alpha]', '[beta]')
    .replace('500', '700')
    .replace('volumes: 0', 'volumes: 2')
)
FILES = {
    'new': ('', REPORTS),
    'changed': (REPORTS, CHANGED),
    'removed': (REPORTS, ''),
}
OSDS = tuple(
    ceph_state.Osd(
        osd_id=number,
        device_class='ssd',
        location={'host': f'node{number}', 'root': 'default'},
    )
    for number in range(3)
)
EMPTY = actual_state.ActualState(
    cinder=cinder_state.CinderState(volume_types={}),
    projects={name: frozenset({ident}) for ident, name in NAMES.items()},
    ceph={
        'ceph': ceph_state.CephState(
            crush_rules={},
            erasure_code_profiles={},
            pools={},
            users={},
            osds=OSDS,
        )
    },
)


def catalog(tier):
    return reader.read_text(GENERAL + tier, file='tiers.yaml')


def applied(plan):
    """What exists when a plan from nothing was carried out."""
    found = {kind: {} for kind in actions.Kind}
    for one in plan.actions:
        after = one.after
        if isinstance(after, cinder_state.VolumeType):
            after = dataclasses.replace(
                after,
                type_id='7c1f0a9e-53b4-4f0e-9a55-0d3c6a8b1e42',
                volumes=3 if after.name == 'reports' else 0,
                volumes_of={ALPHA: 2, BETA: 1}
                if after.name == 'reports'
                else {},
            )
        found[one.key.kind][one.key.name] = after
    return dataclasses.replace(
        EMPTY,
        cinder=cinder_state.CinderState(
            volume_types=found[actions.Kind.VOLUME_TYPE],
            qos_specs=found[actions.Kind.QOS_SPEC],
            quotas=found[actions.Kind.TYPE_QUOTA],
            encryptions=found[actions.Kind.TYPE_ENCRYPTION],
            project_defaults=found[actions.Kind.PROJECT_DEFAULTS],
            tag_namespaces=found[actions.Kind.TAG_NAMESPACE],
        ),
        ceph={
            'ceph': dataclasses.replace(
                EMPTY.ceph['ceph'],
                crush_rules=found[actions.Kind.CRUSH_RULE],
                erasure_code_profiles=found[actions.Kind.ERASURE_CODE_PROFILE],
                pools=found[actions.Kind.POOL],
                users=found[actions.Kind.CEPHX_USER],
            )
        },
    )


def made(name):
    """The catalog and the plan of one of FILES."""
    before, after = FILES[name]
    actual = (
        applied(plans.make(catalog=catalog(before), actual=EMPTY))
        if before
        else EMPTY
    )
    wanted = catalog(after)
    return wanted, plans.make(catalog=wanted, actual=actual)


def shown(name, layout):
    wanted, plan = made(name)
    arguments = {
        'catalog': wanted,
        'found': {one.key: effects.NONE for one in plan.actions},
        'projects': plan_fields.project_labels(NAMES, wanted),
    }
    if layout == 'markdown':
        return plan_markdown.text(plan, **arguments)
    lines = plan_text.lines(plan, width=layout, **arguments)
    return ''.join(f'{line}\n' for line in lines)


GOLDEN = tuple(
    (name, layout) for name in FILES for layout in (80, 120, 'markdown')
)


@ddt.ddt
class PlanValuesTestCase(testtools.TestCase):
    @ddt.data(*GOLDEN)
    @ddt.unpack
    def test_it_reads_as_it_should(self, name, layout):
        suffix = 'md' if layout == 'markdown' else f'{layout}.txt'
        self.assertEqual(
            (TEXTS / f'{name}.{suffix}').read_text('utf-8'),
            shown(name, layout),
        )

    @ddt.data(*GOLDEN)
    @ddt.unpack
    def test_each_value_is_there(self, name, layout):
        text = html.unescape(re.sub('</?code>|<br>', ' ', shown(name, layout)))
        words = ' '.join(text.split())
        _, plan = made(name)
        self.assertGreaterEqual(len(plan.actions), 2)
        for action in plan.actions:
            for value in self.values(action):
                self.assertIn(value, words, action.key)
        self.assertNotIn(ALPHA, words.replace(f'({ALPHA})', ''))
        self.assertNotIn(BETA, words.replace(f'({BETA})', ''))

    def values(self, action):
        """The texts of all values, as a person would look for them."""
        sides = [
            difference.fields_of(one)
            for one in (action.before, action.after)
            if one
        ]
        changed = sides[0].keys()
        if len(sides) == 2:
            changed = {
                one.field
                for one in difference.differences(action.before, action.after)
            }
        for side in sides:
            for name in changed & side.keys():
                value = side[name]
                if name == 'is_public':
                    yield 'public' if value else 'private'
                elif name in ('projects', 'default_for'):
                    yield from (NAMES[one] for one in value)
                elif isinstance(value, frozenset):
                    yield from value
                elif value is None or value == '':
                    yield name
                elif isinstance(value, bool):
                    yield f'{name}'
                elif value == cinder_state.UNLIMITED:
                    yield 'unlimited'
                else:
                    yield str(value)

    @ddt.data(*FILES)
    def test_a_table_names_projects(self, name):
        wanted, plan = made(name)
        labels = plan_fields.project_labels(NAMES, wanted)
        for action in plan.actions:
            row = render.plan_row(action, projects=labels)
            text = ' '.join(
                str(cell.human_readable())
                for cell in row
                if hasattr(cell, 'human_readable')
            )
            for ident in NAMES:
                self.assertNotIn(ident, text.replace(f'({ident})', ''))

    def test_a_zero_is_a_value(self):
        _, plan = made('new')
        (quota,) = [
            one
            for one in plan.actions
            if one.key.kind is actions.Kind.TYPE_QUOTA
        ]
        self.assertEqual(
            0, render.plan_row(quota)[3].machine_readable()['volumes']
        )

    def test_a_name_that_two_projects_have_is_not_enough(self):
        labels = plan_fields.project_labels(
            {ALPHA: 'alpha', BETA: 'alpha', 'c' * 32: None}, catalog(REPORTS)
        )
        self.assertEqual(
            {ALPHA: f'alpha ({ALPHA})', BETA: f'alpha ({BETA})'}, labels
        )

    def test_of_many_projects_those_that_change(self):
        old = cinder_state.VolumeType(
            name='a',
            extra_specs={},
            is_public=False,
            projects=frozenset(map(str, range(50))),
        )
        action = actions.Action(
            key=actions.Key(kind=actions.Kind.VOLUME_TYPE, name='a'),
            before=old,
            after=dataclasses.replace(
                old, projects=(old.projects | {'new'}) - {'7'}
            ),
            why='tier a',
        )
        (line,) = plan_fields.of_action(action)
        self.assertEqual('access: private: + new; - 7; 49 stay', str(line))

    def test_no_value_steers_a_terminal_or_a_table(self):
        evil = 'x\x1b[2J\n| </code> @all ::error::'
        action = actions.Action(
            key=actions.Key(kind=actions.Kind.VOLUME_TYPE, name='a'),
            before=None,
            after=cinder_state.VolumeType(
                name='a',
                description=evil,
                extra_specs={evil: evil},
                is_public=False,
                projects=frozenset({ALPHA}),
            ),
            why=evil,
            notes=(evil,),
        )
        arguments = {
            'catalog': catalog(REPORTS),
            'found': {action.key: effects.NONE},
            'projects': {ALPHA: evil},
        }
        plan = plans.Plan(actions=(action,))
        for line in plan_text.lines(plan, width=80, **arguments):
            self.assertTrue(line.isprintable(), line)
            self.assertFalse(line.lstrip().startswith('::'), line)
        outside = re.sub(
            '<code>.*?</code>', '', plan_markdown.text(plan, **arguments)
        )
        self.assertNotRegex(outside, '@|::|x1b')
        self.assertEqual(
            1, sum('| + create' in one for one in outside.splitlines())
        )
