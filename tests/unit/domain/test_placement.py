# SPDX-License-Identifier: Apache-2.0

"""The rules of placement, case by case: tests/cases/placement/*.yaml.

Plain values only: runs in an environment without Cinder.
"""

import itertools
import pathlib

import ddt
import testtools
import yaml

from cinder_tiers.domain.placement import decide as placement
from cinder_tiers.domain.placement import decision

CASES = pathlib.Path(__file__).resolve().parents[2] / 'cases' / 'placement'

CASE_KEYS = {
    'when',
    'tiers',
    'policy',
    'request',
    'image',
    'on_error',
    'has_unreadable',
    'then',
    'overflow',
    'because',
}


class Case(dict):
    """One case of a file; its name becomes part of the test's name."""

    def __init__(self, path, document, case):
        super().__init__(
            {
                'tiers': document['tiers'],
                'policy': document.get('policy', {}),
                **case,
            }
        )
        self.__name__ = f'{path.stem}_{case["when"]}'.replace(' ', '_')


def load_cases():
    """All cases of all files, as a list of Case."""
    found = []
    for path in sorted(CASES.glob('*.yaml')):
        document = yaml.safe_load(path.read_text('utf-8'))
        found += [Case(path, document, case) for case in document['cases']]
    return found


def features(names):
    return frozenset(map(decision.Feature, names))


def tiers_of(case):
    """The applied tiers; None when they could not be read."""
    if case['tiers'] is None:
        return None
    return [
        decision.AppliedTier(
            name=name,
            **{
                **tier,
                'tags': frozenset(tier.get('tags', [])),
                'offers': features(tier.get('offers', [])),
                **{
                    key: frozenset(tier[key]) if key in tier else None
                    for key in ('projects', 'type_zones', 'backend_zones')
                },
            },
        )
        for name, tier in case['tiers'].items()
    ]


def policy_of(case):
    kinds = {
        'tag_trust': decision.TagTrust,
        'on_no_access': decision.OnNoAccess,
        'metadata_key': str,
        'metadata_with_image': bool,
        'project_type': decision.ProjectType,
    }
    return decision.Policy(
        **{name: kinds[name](value) for name, value in case['policy'].items()}
    )


def request_of(case):
    """The request, with what README.rst says of cases that say nothing."""
    fields = {'project': 'us', **case.get('request', {})}
    if 'named_type' in fields:
        named = fields['named_type']
        fields['named_type'] = decision.NamedType(
            **{
                **named,
                'source': decision.TypeSource(named['source']),
                'offers': features(named.get('offers', [])),
            }
        )
    for key in ('has', 'cinder_offers'):
        fields[key] = features(fields.get(key, []))
    if 'fixed_by' in fields:
        fields['fixed_by'] = decision.FixedBy(fields['fixed_by'])
    if 'image' in case:
        image = {'owner': 'us', 'visibility': 'private', **case['image']}
        fields['image'] = decision.Image(
            **{**image, 'tags': frozenset(image.get('tags', []))}
        )
    return decision.Request(**fields)


def answer(case, tiers):
    """The decision of a case, given its tiers in some order."""
    if 'on_error' in case:
        return placement.decide_on_error(
            on_error=decision.OnError(case['on_error']),
            tiers=tiers,
            request=request_of(case),
            policy=policy_of(case),
        )
    return placement.decide(
        tiers=tiers,
        request=request_of(case),
        policy=policy_of(case),
        has_unreadable=case.get('has_unreadable', False),
    )


@ddt.ddt
class CasesTestCase(testtools.TestCase):
    @ddt.data(*load_cases())
    def test(self, case):
        self.assertEqual(set(), case.keys() - CASE_KEYS)
        expected = f'{case["then"]}: {"; ".join(case["because"])}'
        found = tiers_of(case)
        for tiers in (
            itertools.permutations(found) if found is not None else [None]
        ):
            decided = answer(case, tiers)
            self.assertEqual(expected, str(decided))
            self.assertEqual(
                case.get('overflow'),
                decided.overflow and decided.overflow.name,
            )


class SpecificationTestCase(testtools.TestCase):
    """No rule and no choice is without a case."""

    def assert_all_seen(self, kind, seen):
        self.assertEqual(set(), set(kind) - set(seen))

    def test_every_rule_has_a_case(self):
        texts = [
            text.partition(' (')[0]
            for case in load_cases()
            for text in case['because']
        ]
        self.assert_all_seen(decision.Rule, map(decision.Rule, texts))

    def test_every_verdict_has_a_case(self):
        self.assert_all_seen(
            decision.RequestVerdict,
            [
                decision.RequestVerdict(case['then'].partition(' ')[0])
                for case in load_cases()
            ],
        )

    def test_every_choice_of_the_operator_has_a_case(self):
        policies = [policy_of(case) for case in load_cases()]
        self.assert_all_seen(
            decision.TagTrust, [policy.tag_trust for policy in policies]
        )
        self.assert_all_seen(
            decision.OnNoAccess, [policy.on_no_access for policy in policies]
        )
        self.assert_all_seen(
            decision.OnError,
            [
                decision.OnError(case['on_error'])
                for case in load_cases()
                if 'on_error' in case
            ],
        )

    def test_every_feature_has_a_case(self):
        self.assert_all_seen(
            decision.Feature,
            itertools.chain.from_iterable(
                request_of(case).needs for case in load_cases()
            ),
        )

    def test_everything_that_fixes_a_place_has_a_case(self):
        self.assert_all_seen(
            decision.FixedBy,
            [request_of(case).fixed_by for case in load_cases()],
        )

    def test_a_type_of_every_source_has_a_case_with_either_nature(self):
        self.assert_all_seen(
            itertools.product(decision.TypeSource, (False, True)),
            [
                (request.named_type.source, request.named_type.follows_image)
                for request in map(request_of, load_cases())
                if request.named_type
            ],
        )

    def test_all_whose_tags_may_count_have_a_case_under_every_trust(self):
        seen = [
            (
                policy_of(case).tag_trust,
                request_of(case).image.visibility,
                request_of(case).image.owner == request_of(case).project,
            )
            for case in load_cases()
            if 'image' in case
        ]
        self.assert_all_seen(
            itertools.product(
                decision.TagTrust,
                ('public', 'community', 'shared', 'private'),
                (False, True),
            ),
            seen,
        )
