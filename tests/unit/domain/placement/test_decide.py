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

CASES = pathlib.Path(__file__).resolve().parents[3] / 'cases' / 'placement'

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
