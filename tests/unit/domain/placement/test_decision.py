# SPDX-License-Identifier: Apache-2.0

"""The words and the table of the documentation, of what is decided."""

import itertools

import testtools

from cinder_tiers.domain.placement import decision
from tests.unit.domain.placement import test_decide


class SpecificationTestCase(testtools.TestCase):
    """No rule and no choice is without a case."""

    def assert_all_seen(self, kind, seen):
        self.assertEqual(set(), set(kind) - set(seen))

    def test_every_rule_has_a_case(self):
        texts = [
            text.partition(' (')[0]
            for case in test_decide.load_cases()
            for text in case['because']
        ]
        self.assert_all_seen(decision.Rule, map(decision.Rule, texts))

    def test_every_verdict_has_a_case(self):
        self.assert_all_seen(
            decision.RequestVerdict,
            [
                decision.RequestVerdict(case['then'].partition(' ')[0])
                for case in test_decide.load_cases()
            ],
        )

    def test_every_choice_of_the_operator_has_a_case(self):
        policies = [
            test_decide.policy_of(case) for case in test_decide.load_cases()
        ]
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
                for case in test_decide.load_cases()
                if 'on_error' in case
            ],
        )

    def test_every_feature_has_a_case(self):
        self.assert_all_seen(
            decision.Feature,
            itertools.chain.from_iterable(
                test_decide.request_of(case).needs
                for case in test_decide.load_cases()
            ),
        )

    def test_everything_that_fixes_a_place_has_a_case(self):
        self.assert_all_seen(
            decision.FixedBy,
            [
                test_decide.request_of(case).fixed_by
                for case in test_decide.load_cases()
            ],
        )

    def test_a_type_of_every_source_has_a_case_with_either_nature(self):
        self.assert_all_seen(
            itertools.product(decision.TypeSource, (False, True)),
            [
                (request.named_type.source, request.named_type.follows_image)
                for request in map(
                    test_decide.request_of, test_decide.load_cases()
                )
                if request.named_type
            ],
        )

    def test_all_whose_tags_may_count_have_a_case_under_every_trust(self):
        seen = [
            (
                test_decide.policy_of(case).tag_trust,
                test_decide.request_of(case).image.visibility,
                test_decide.request_of(case).image.owner
                == test_decide.request_of(case).project,
            )
            for case in test_decide.load_cases()
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
