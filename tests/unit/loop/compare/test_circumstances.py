# SPDX-License-Identifier: Apache-2.0

"""What differs between two runs beside the storage that they are about."""

import dataclasses

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.fleet import precondition
from cinder_tiers.figures.result import result as run_result
from tests.unit.figures import results
from tests.unit.loop.compare import test_comparison


class CircumstancesTestCase(test_comparison.RunsCase):
    def test_what_was_not_the_same_is_told_before(self):
        def of(version, qos):
            run = test_comparison.one_tier(1, 1)
            return dataclasses.replace(
                run,
                environment={
                    **run.environment,
                    'fio': run_result.Fact(value=version),
                },
                tiers=(
                    dataclasses.replace(
                        run.tiers[0], qos=run_result.Fact(value=qos)
                    ),
                ),
            )

        told = self.compare(of('3.33', '500'), of('3.39', '800')).circumstances
        self.assertIn('fio: 3.33 in the first, 3.39 in the second', told)
        self.assertIn(
            'QoS specs of general: 500 in the first, 800 in the second', told
        )
        same = self.compare(of('3.33', '500'), of('3.33', '500'))
        self.assertEqual((), same.circumstances)

    def test_tiers_side_by_side_are_another_circumstance(self):
        alone = test_comparison.one_tier(1, 1)
        beside = dataclasses.replace(alone, side_by_side=True)
        self.assertIn(
            'tiers are measured: one after another in the first, side by side'
            ' in the second',
            self.compare(alone, beside).circumstances,
        )
        self.assertFalse(
            [
                each
                for each in self.compare(beside, beside).circumstances
                if 'side by side' in each
            ]
        )

    def test_what_was_written_before_is_another_circumstance(self):
        fresh = test_comparison.one_tier(1, 1)
        worn = dataclasses.replace(
            fresh,
            precondition=precondition.Precondition(
                pattern=fio_pattern.Pattern(
                    name='precondition', rw='randwrite', bs='4k', iodepth=16
                ),
                round_seconds=60,
                most_rounds=25,
            ),
        )
        self.assertIn(
            'written before the first turn: no rounds in the first, rounds of'
            ' 60 s of randwrite 4k with iodepth 16 until steady, at most 25'
            ' in the second',
            self.compare(fresh, worn).circumstances,
        )
        self.assertEqual((), self.compare(worn, worn).circumstances)

    def test_other_flavors_and_hosts_are_other_circumstances(self):
        def of(*guests):
            return dataclasses.replace(
                test_comparison.one_tier(1, 1),
                guests=tuple(
                    dataclasses.replace(
                        results.guest(f'g{number}', 'general'),
                        system=guest_system.GuestSystem(cpus=cpus),
                        host=host,
                    )
                    for number, (cpus, host) in enumerate(guests)
                ),
            )

        small, large = of((1, 'a'), (1, 'b')), of((4, 'a'), (4, 'a'))
        told = self.compare(small, large).circumstances
        self.assertIn(
            'CPUs of a guest of general: 1 in the first, 4 in the second', told
        )
        self.assertIn(
            'compute hosts of the guests of general: 2 in the first, 1 in the'
            ' second',
            told,
        )
        # Other hosts, as many.
        same = self.compare(small, of((1, 'c'), (1, 'd')))
        self.assertEqual((), same.circumstances)
        self.assertIn(
            'compute hosts of the guests of general: 2 in the first, not known'
            ' (Nova did not say it of each guest) in the second',
            self.compare(small, of((1, 'a'), (1, None))).circumstances,
        )

    def test_what_only_one_run_knows_is_told(self):
        known = test_comparison.one_tier(1, 1)
        known = dataclasses.replace(
            known,
            environment={
                **known.environment,
                'ceph': run_result.Fact(value='18.2.7'),
            },
        )
        told = self.compare(
            known, test_comparison.one_tier(1, 1)
        ).circumstances
        self.assertIn(
            'ceph: 18.2.7 in the first, not known (nobody asked) in the'
            ' second',
            told,
        )
