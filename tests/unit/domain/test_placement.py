# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The rules of placement: tests/cases/placement/*.yaml, and what holds always.

Plain values only: runs in an environment without Cinder.
"""

import itertools
import pathlib

import ddt
import testtools
import yaml

from cinder_tiers.domain import extra_specs
from cinder_tiers.domain import placement

CASES = pathlib.Path(__file__).resolve().parents[2] / 'cases' / 'placement'


class Case(dict):
    """One case of a file; its name becomes part of the test's name."""

    def __init__(self, path, tiers, case):
        super().__init__({'tiers': tiers, **case})
        self.__name__ = f"{path.stem}_{case['when']}".replace(' ', '_')


def load_cases():
    """All cases of all files, as a list of Case."""
    found = []
    for path in sorted(CASES.glob('*.yaml')):
        document = yaml.safe_load(path.read_text('utf-8'))
        found += [Case(path, document['tiers'], case)
                  for case in document['cases']]
    return found


def tiers_of(case):
    return [
        placement.AppliedTier(
            name=name, tags=frozenset(tier.get('tags', [])),
            priority=tier.get('priority', 0),
            fallback=tier.get('fallback', False),
            projects=(frozenset(tier['projects'])
                      if 'projects' in tier else None))
        for name, tier in case['tiers'].items()]


def image_of(case):
    if 'image' not in case:
        return None
    image = {'owner': 'us', 'visibility': 'private', **case['image']}
    return placement.Image(owner=image['owner'],
                           visibility=image['visibility'],
                           tags=frozenset(image['tags']))


def answer(case, tiers):
    """The decision of a case, given its tiers in some order."""
    request = {'project': 'us', 'follows_image': True,
               **case.get('request', {})}
    if 'on_error' in case:
        return placement.decide_on_error(
            on_error=placement.OnError(case['on_error']), tiers=tiers,
            project=request['project'])
    return placement.decide(tiers=tiers, request=placement.Request(
        project=request['project'], follows_image=request['follows_image'],
        image=image_of(case)))


@ddt.ddt
class CasesTestCase(testtools.TestCase):

    @ddt.data(*load_cases())
    def test(self, case):
        expected = f"{case['then']}: {'; '.join(case['because'])}"
        for tiers in itertools.permutations(tiers_of(case)):
            self.assertEqual(expected, str(answer(case, tiers)))

    def test_every_rule_has_a_case(self):
        texts = [text for case in load_cases() for text in case['because']]
        for rule in placement.Rule:
            self.assertTrue(
                any(text.startswith(rule.value) for text in texts), rule)


class AlwaysTestCase(testtools.TestCase):
    """All combinations of a small world."""

    TIERS = (
        placement.AppliedTier(name='a', tags=frozenset({'x', 'y'}),
                              priority=2, projects=frozenset({'us'})),
        placement.AppliedTier(name='b', tags=frozenset({'y', 'z'}),
                              priority=1),
        placement.AppliedTier(name='c', fallback=True,
                              projects=frozenset({'them'})),
        placement.AppliedTier(name='d', fallback=True, priority=-1),
    )

    def worlds(self):
        tags = [frozenset(tags) for size in range(4)
                for tags in itertools.combinations(
                    ('x', ' Z', '\x00\n', '\ud800'), size)]
        for size in range(len(self.TIERS) + 1):
            for tiers in itertools.combinations(self.TIERS, size):
                for project, owner, visibility, found in itertools.product(
                        ('us', 'them', ''), ('us', 'them', None),
                        ('public', 'community', 'shared', 'private'), tags):
                    yield tiers, placement.Request(
                        project=project, follows_image=True,
                        image=placement.Image(owner=owner, tags=found,
                                              visibility=visibility))

    def test_no_project_gets_a_tier_that_it_may_not_use(self):
        verdicts = set()
        for tiers, request in self.worlds():
            decision = placement.decide(tiers=tiers, request=request)
            verdicts.add(decision.verdict)
            if decision.tier is not None:
                self.assertIn(decision.tier, tiers)
                self.assertTrue(decision.tier.serves(request.project))
            self.assertEqual(decision.verdict is placement.Verdict.TIER,
                             decision.tier is not None)
        self.assertEqual(set(placement.Verdict), verdicts)

    def test_reasons_hold_no_text_of_an_image(self):
        for tiers, request in self.worlds():
            text = str(placement.decide(tiers=tiers, request=request))
            self.assertTrue(text.isprintable(), repr(text))


@ddt.ddt
class ExtraSpecsTestCase(testtools.TestCase):

    def test_a_tier_is_read_from_its_volume_type(self):
        self.assertEqual(
            placement.AppliedTier(
                name='database', tags=frozenset({'database', 'db'}),
                priority=20, fallback=True, projects=frozenset({'us'})),
            extra_specs.read_tier(
                {'volume_backend_name': 'tier-database',
                 'tiers:name': 'database', 'tiers:tags': 'Database, db',
                 'tiers:priority': '20', 'tiers:fallback': '<is> True'},
                projects=frozenset({'us'})))

    def test_what_is_not_said_has_a_default(self):
        self.assertEqual(
            placement.AppliedTier(name='general'),
            extra_specs.read_tier({'tiers:name': 'general'}, projects=None))

    def test_a_type_without_our_mark_is_no_tier(self):
        self.assertIsNone(extra_specs.read_tier(
            {'volume_backend_name': 'lvm', 'tiers:tags': 'database'},
            projects=None))

    def test_a_priority_that_is_no_number_is_named(self):
        error = self.assertRaises(
            ValueError, extra_specs.read_tier,
            {'tiers:name': 'database', 'tiers:priority': 'high'},
            projects=None)
        for part in ("'database'", 'tiers:priority', "'high'", 'an integer',
                     'openstack tier apply'):
            self.assertIn(part, str(error))

    @ddt.data(('<is> True', True), ('<is> true', True), ('True', True),
              ('<is> 1', True), ('<is> False', False), ('<is>', False),
              ('', False), (None, False), ('<is> not True', False))
    @ddt.unpack
    def test_a_type_follows_the_image_when_it_says_so(self, value, follows):
        self.assertIs(follows, extra_specs.follows_image(
            {'tiers:follow_image': value}))

    def test_a_type_that_says_nothing_does_not_follow_the_image(self):
        self.assertFalse(extra_specs.follows_image({}))
