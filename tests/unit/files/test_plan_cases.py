# SPDX-License-Identifier: Apache-2.0

"""Runs tests/cases/plan: a tiers file and a cloud, and the exact plan."""

import dataclasses
import pathlib

import ddt
import testtools
import yaml

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.execute import apply
from cinder_tiers.files.tiers import reader
from tests.worlds import in_memory

CASES = pathlib.Path(__file__).resolve().parents[2] / 'cases' / 'plan'
CLASSES = {one.kind: one.resource for one in registry.RESOURCES}


class Case(dict):
    """One case of a file; its name becomes part of the test's name."""

    def __init__(self, path, document, case):
        super().__init__({**document, **case, 'file': path.name})
        self.__name__ = f'{path.stem}_{case["when"]}'.replace(' ', '_')


def load_cases():
    """All cases of all files, as a list of Case."""
    found = []
    for path in sorted(CASES.glob('*.yaml')):
        document = yaml.safe_load(path.read_text('utf-8'))
        found += [Case(path, document, case) for case in document['cases']]
    return found


def key_of(text):
    """The key of e.g. `pool tier-general (ceph)`."""
    for kind in actions.Kind:
        if text.startswith(kind.value + ' '):
            name, _, cluster = text[len(kind.value) + 1 :].partition(' (')
            return actions.Key(
                kind=kind, name=name, cluster=cluster.rstrip(')') or None
            )
    raise ValueError(text)


def fields_of(declared):
    return {
        name: frozenset(value) if isinstance(value, list) else value
        for name, value in declared.items()
    }


def osds_of(declared):
    """{[root/[zone/]]host: [device class of each OSD]} as OSDs."""
    placed = [
        (place.split('/'), name)
        for place, classes in declared.items()
        for name in classes
    ]
    return [
        ceph_state.Osd(
            osd_id=number,
            device_class=name,
            location={
                'osd': f'osd.{number}',
                'host': place[-1],
                **({'zone': place[1]} if len(place) > 2 else {}),
                'root': place[0] if len(place) > 1 else 'default',
            },
        )
        for number, (place, name) in enumerate(placed)
    ]


def text_of(case):
    text = case['catalog']
    for old, new in case.get('edit', {}).items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def world_of(case):
    """The cloud of a case, before the plan is made."""
    world = in_memory.World(osds=osds_of(case['osds']))
    if case['cloud'] == 'applied':
        catalog = reader.read_text(case['catalog'], file='tiers.yaml')
        apply.apply(
            plan=plans.make(catalog=catalog, actual=world.observe()),
            executors=world.executors,
            read=world.read,
            report=lambda result: None,
        )
    for text, declared in case.get('existing', {}).items():
        key = key_of(text)
        world.objects[key] = CLASSES[key.kind](
            name=key.name, **fields_of(declared)
        )
    for text, declared in case.get('changed', {}).items():
        key = key_of(text)
        world.objects[key] = dataclasses.replace(
            world.objects[key], **fields_of(declared)
        )
    world.objects_in = case.get('objects_in', {})
    world.max_pg_per_osd = case.get('max_pg_per_osd')
    world.release = case.get('release')
    world.min_compat_client = case.get('min_compat_client')
    world.rook_namespace = case.get('rook_namespace')
    if 'read_balancer' in case:
        world.read_balancer = ceph_state.ReadBalancer(**case['read_balancer'])
    world.bytes_in = case.get('bytes_in', {})
    for text in case.get('removed', ()):
        del world.objects[key_of(text)]
    return world


def lines_of(plan):
    """Each action in the words of the case files."""
    for action in plan.actions:
        line = f'{action.verb} {action.key}'
        if action.before and action.after:
            line += ': ' + ', '.join(
                f'{one.field} {shown(one.before)} -> {shown(one.after)}'
                for one in difference.differences(action.before, action.after)
            )
        yield (
            f'refused {line}'
            if action.refusal
            else f'allowed {line}'
            if action.consented
            else line
        )


def shown(value):
    return (
        '-'
        if value is None
        else ' '.join(sorted(value)) or '-'
        if isinstance(value, frozenset)
        else value
    )


@ddt.ddt
class PlanCasesTestCase(testtools.TestCase):
    def make_plan(self, case, world):
        return consent.grant(
            plans.make(
                catalog=reader.read_text(text_of(case), file='tiers.yaml'),
                actual=world.observe(),
            ),
            case.get('allow', ()),
        )

    @ddt.data(*load_cases())
    def test_case(self, case):
        world = world_of(case)
        try:
            plan = self.make_plan(case, world)
        except errors.ProblemsFound as error:
            self.assertEqual(case.get('problems'), str(error).splitlines())
            return
        self.assertEqual(case.get('then'), list(lines_of(plan)))
        if not plan.refused:
            apply.apply(
                plan=plan,
                executors=world.executors,
                read=world.read,
                report=lambda result: None,
            )
            self.assertEqual((), self.make_plan(case, world).actions)
