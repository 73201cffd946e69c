# SPDX-License-Identifier: Apache-2.0

import dataclasses
import shlex

import ddt
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.state import cinder
from cinder_tiers.loop.repair import repair

FAST, SLOW = 'node@fast#fast', 'node@slow#slow'
TYPE = facts.KnownType(type_id='type-fast', name='fast', extra_specs={})
VOLUME = facts.KnownVolume(
    volume_id='one',
    name=None,
    status='available',
    project='project',
    type_name='fast',
    volume_type=TYPE,
    host=FAST,
    size_gib=7,
)
RIGHT = audit_volumes.VolumeVerdict(
    state=audit.State.COMPLIANT, tier='fast', allowed=(FAST,)
)
FORMER = audit_volumes.VolumeVerdict(
    state=audit.State.OUT_OF_DATE, tier='fast', retype_to='fast', reason='old'
)
FOLLOWS = audit_volumes.VolumeVerdict(
    state=audit.State.NON_COMPLIANT,
    tier='fast',
    allowed=(FAST,),
    retype_to='fast',
)
ELSEWHERE = audit_volumes.VolumeVerdict(
    state=audit.State.OUT_OF_DATE, tier='fast', allowed=(FAST,)
)
TAGGED = audit_volumes.VolumeVerdict(
    state=audit.State.COMPLIANT,
    tier='slow',
    allowed=(SLOW,),
    image_tier='fast',
    image_type='fast',
)


def back_end(**specs):
    return volume_limits.Spec(consumer='back-end', specs=specs)


PLACE = volume_limits.ClusterPool(cluster='ceph', pool='tier-fast')
OTHER = volume_limits.ClusterPool(cluster='ceph', pool='tier-slow')
HAS = {'rbd_qos_iops_limit': '40', 'rbd_qos_bps_burst': '0'}
LIMITS = volume_limits.VolumeLimits(
    places={FAST: PLACE, SLOW: OTHER},
    images={PLACE: {'one': HAS}, OTHER: 'nobody is there'},
    types={'type-fast': back_end(total_iops_sec='80')},
)
AROUND = repair.Circumstances(
    with_snapshots=frozenset(),
    qos={},
    free_gib={FAST: 10.0, SLOW: 20.0},
    limits=LIMITS,
)
LUKS = cinder.TypeEncryption(
    name='',
    provider='luks',
    cipher='aes-xts-plain64',
    key_size_bits=256,
    control_location='front-end',
)
FRONT, BACK = (
    repair.QosSpec(spec_id=consumer, consumer=consumer)
    for consumer in ('front-end', 'back-end')
)


@ddt.ddt
class RepairTestCase(testtools.TestCase):
    def made(
        self, verdict, *, around=None, kinds=tuple(repair.RepairKind), **volume
    ):
        return repair.plan(
            [
                audit_volumes.ListedVolume(
                    volume=dataclasses.replace(VOLUME, **volume),
                    verdict=verdict,
                )
            ],
            circumstances=dataclasses.replace(AROUND, **around or {}),
            kinds=kinds,
        )

    def plan(self, *arguments, **options):
        return list(self.made(*arguments, **options).steps)

    def move(self, verdict, *, around=None, **volume):
        """The only step where limits are not repaired."""
        return self.step(
            verdict, around={**(around or {}), 'limits': None}, **volume
        )

    def step(self, *arguments, **options):
        (step,) = self.plan(*arguments, **options)
        return step

    def test_a_former_type_is_changed_and_no_data_move(self):
        step = self.step(FORMER, status='in-use')
        self.assertEqual(
            (repair.RepairKind.TYPE, 'fast', 0, 'old', ''),
            (
                step.kind,
                step.retype_to,
                step.moved_gib,
                step.reason,
                step.refusal,
            ),
        )

    @ddt.data(
        (FORMER, {}), (FOLLOWS, {'host': SLOW}), (TAGGED, {'host': SLOW})
    )
    @ddt.unpack
    def test_a_private_type_is_not_given_to_other_projects(
        self, verdict, volume
    ):
        """A former type may have been public."""
        for projects, is_refused in (
            (frozenset({'project'}), False),
            (frozenset({'another'}), True),
            (frozenset(), True),
        ):
            private = dataclasses.replace(TYPE, projects=projects)
            step = self.move(verdict, around={'types': (private,)}, **volume)
            self.assertEqual(
                'its project may not use the volume type fast' * is_refused,
                step.refusal,
            )

    def test_who_follows_an_image_is_retyped_and_moves(self):
        step = self.step(FOLLOWS, host=SLOW)
        self.assertEqual(
            (repair.RepairKind.PLACEMENT, 'fast', None, 7, ''),
            (
                step.kind,
                step.retype_to,
                step.migrate_to,
                step.moved_gib,
                step.refusal,
            ),
        )

    def test_who_has_the_right_type_migrates_to_where_most_is_free(self):
        verdict = dataclasses.replace(
            ELSEWHERE, allowed=('node@a#a', 'node@b#b', 'node@c#c')
        )
        step = self.step(
            verdict,
            host=SLOW,
            around={'free_gib': {'node@a#a': 8.0, 'node@b#b': 9.0}},
        )
        self.assertEqual((None, 'node@b#b'), (step.retype_to, step.migrate_to))
        self.assertEqual('', step.refusal)

    def test_the_overflow_of_a_tier_comes_after_its_own_backends(self):
        verdict = dataclasses.replace(
            ELSEWHERE, allowed=(FAST, 'node@over#over'), own=(FAST,)
        )
        for own, target in ((8.0, FAST), (6.0, 'node@over#over')):
            step = self.step(
                verdict,
                host=SLOW,
                around={'free_gib': {FAST: own, 'node@over#over': 100.0}},
            )
            self.assertEqual(target, step.migrate_to)

    def test_no_more_is_sent_to_a_backend_than_it_has_room_for(self):
        plan = repair.plan(
            [
                audit_volumes.ListedVolume(
                    volume=dataclasses.replace(
                        VOLUME, volume_id=str(number), host=SLOW
                    ),
                    verdict=ELSEWHERE,
                )
                for number in range(4)
            ],
            circumstances=dataclasses.replace(AROUND, free_gib={FAST: 15.0}),
            kinds=repair.CERTAIN,
        )
        self.assertEqual(
            [FAST, FAST, None, None], [one.migrate_to for one in plan.steps]
        )
        self.assertIn('7 GiB free', plan.steps[2].refusal)

    def test_a_former_type_on_a_backend_that_does_not_serve_the_tier(self):
        step = self.step(
            dataclasses.replace(FORMER, allowed=(FAST,), own=(FAST,)),
            host=SLOW,
        )
        self.assertEqual(
            (repair.RepairKind.PLACEMENT, 'fast'), (step.kind, step.retype_to)
        )

    def test_what_is_refused_does_not_hide_what_is_possible(self):
        step = self.step(
            ELSEWHERE, around={'with_snapshots': frozenset({'one'})}
        )
        self.assertEqual(repair.RepairKind.LIMITS, step.kind)

    def test_without_a_backend_nobody_migrates(self):
        step = self.move(dataclasses.replace(ELSEWHERE, allowed=()))
        self.assertIn('no backend', step.refusal)

    def test_an_image_of_another_tier_is_followed_only_if_asked_for(self):
        (step,) = self.plan(TAGGED)
        self.assertEqual(
            (repair.RepairKind.IMAGE, 'fast', 7),
            (step.kind, step.retype_to, step.moved_gib),
        )
        self.assertEqual(
            [],
            self.plan(TAGGED, kinds=repair.CERTAIN, around={'limits': None}),
        )

    def test_limits_are_made_those_of_the_type(self):
        step = self.step(RIGHT)
        self.assertEqual(repair.RepairKind.LIMITS, step.kind)
        self.assertEqual({'rbd_qos_iops_limit': '80'}, step.limits.changes)
        self.assertEqual(HAS, step.limits.has)
        self.assertEqual('rbd_qos_iops_limit is 40, expected 80', step.reason)

    @ddt.data('in-use', 'available', 'reserved', 'backing-up')
    def test_limits_change_while_a_volume_is_used(self, status):
        self.assertEqual('', self.step(RIGHT, status=status).refusal)

    def test_a_limit_by_size_is_that_of_the_volume(self):
        step = self.step(
            RIGHT,
            size_gib=30,
            around={
                'limits': dataclasses.replace(
                    LIMITS,
                    types={
                        'type-fast': back_end(
                            total_iops_sec_per_gb='4',
                            total_iops_sec_max='100',
                        )
                    },
                )
            },
        )
        self.assertEqual({'rbd_qos_iops_limit': '100'}, step.limits.changes)

    @ddt.data('retyping', 'maintenance', 'extending')
    def test_limits_wait_for_what_cinder_does(self, status):
        self.assertIn(status, self.step(RIGHT, status=status).refusal)

    @ddt.data('creating', 'deleting', 'error', 'error_deleting')
    def test_a_volume_without_an_image_has_no_limits(self, status):
        self.assertEqual([], self.plan(RIGHT, status=status))

    @ddt.data(
        ({'stored_id': 'two'}, {}, 'pool tier-fast has no image of it'),
        ({'host': SLOW}, {}, 'nobody is there'),
        ({}, {'state': audit.State.UNKNOWN, 'reason': 'gone'}, 'gone'),
        ({}, {'image_problem': 'Glance is down'}, 'Glance is down'),
    )
    @ddt.unpack
    def test_what_is_not_known_is_counted(self, volume, verdict, reason):
        plan = self.made(dataclasses.replace(RIGHT, **verdict), **volume)
        self.assertEqual({reason: 1}, plan.unknown)

    def test_limits_that_librbd_does_not_take_are_not_set(self):
        plan = self.made(
            RIGHT,
            around={
                'limits': dataclasses.replace(
                    LIMITS, types={'type-fast': back_end(total_iops_sec='1e3')}
                )
            },
        )
        self.assertEqual((), plan.steps)
        (reason,) = plan.unknown
        self.assertIn("total_iops_sec '1e3', expected an integer", reason)
        plan = self.made(
            RIGHT,
            around={
                'limits': dataclasses.replace(
                    LIMITS,
                    types={'type-fast': back_end(read_iops_sec_per_gb='3k')},
                )
            },
        )
        (reason,) = plan.unknown
        self.assertIn("read_iops_sec_per_gb '3k', expected an", reason)

    def test_limits_are_those_of_the_pool_that_a_volume_is_in(self):
        step = self.step(
            RIGHT,
            host=SLOW,
            around={
                'limits': dataclasses.replace(
                    LIMITS,
                    images={
                        PLACE: {'one': {'rbd_qos_iops_limit': '80'}},
                        OTHER: {'one': {}},
                    },
                )
            },
        )
        self.assertEqual(OTHER, step.limits.place)

    def test_a_volume_has_one_step(self):
        self.assertEqual(
            [repair.RepairKind.TYPE], [one.kind for one in self.plan(FORMER)]
        )
        self.assertEqual(
            [repair.RepairKind.LIMITS],
            [
                one.kind
                for one in self.plan(FORMER, kinds=(repair.RepairKind.LIMITS,))
            ],
        )

    def test_only_what_is_asked_for(self):
        listed = [
            audit_volumes.ListedVolume(
                volume=dataclasses.replace(VOLUME, volume_id=name),
                verdict=dataclasses.replace(FORMER, tier=tier),
            )
            for name, tier in (('one', 'fast'), ('two', 'fast'), ('x', 'slow'))
        ]

        def names(**options):
            return [
                one.volume.volume_id
                for one in repair.plan(
                    listed,
                    circumstances=AROUND,
                    kinds=repair.CERTAIN,
                    **options,
                ).steps
            ]

        self.assertEqual(['one', 'two', 'x'], names())
        self.assertEqual(['one', 'two'], names(tiers=['fast']))
        self.assertEqual(['two'], names(volumes=['two', 'nothing']))

    # What Cinder would refuse

    @ddt.data('error', 'retyping', 'maintenance', 'extending', None)
    def test_a_volume_that_is_worked_on_does_not_move(self, status):
        for verdict in (FORMER, FOLLOWS, ELSEWHERE, TAGGED):
            self.assertIn(
                f'its status is {status}',
                self.move(verdict, status=status).refusal,
            )

    def test_a_member_of_a_group_stays(self):
        step = self.move(
            FOLLOWS, fixed_by=decision.FixedBy.SNAPSHOT, in_group=True
        )
        self.assertIn('group', step.refusal)

    def test_a_replicated_volume_keeps_its_data_where_they_are(self):
        for verdict in (FOLLOWS, ELSEWHERE, TAGGED):
            self.assertIn(
                'replicated', self.move(verdict, is_replicated=True).refusal
            )
        self.assertEqual('', self.move(FORMER, is_replicated=True).refusal)

    def test_nothing_is_done_while_cinder_migrates(self):
        for verdict in (FORMER, FOLLOWS, ELSEWHERE, TAGGED, RIGHT):
            self.assertIn(
                'migrated', self.step(verdict, is_migrating=True).refusal
            )

    @ddt.data(FOLLOWS, ELSEWHERE, TAGGED)
    def test_an_attached_volume_does_not_move(self, verdict):
        self.assertIn('attached', self.move(verdict, status='in-use').refusal)

    def test_snapshots_do_not_move_to_another_backend(self):
        around = {'with_snapshots': frozenset({'one'})}
        for verdict in (FOLLOWS, ELSEWHERE, TAGGED):
            self.assertIn(
                'snapshots', self.move(verdict, around=around).refusal
            )
        self.assertEqual('', self.move(FORMER, around=around).refusal)

    @ddt.data(
        ({}, {}, ''),
        ({'old': LUKS}, {'is_encrypted': True}, 'type fast is not: '),
        # It was managed, or its type became encrypted later.
        ({'old': LUKS}, {}, 'type fast is not: '),
        ({'fast': LUKS}, {}, 'it is not encrypted, and the volume type fast'),
        (
            {'old': LUKS, 'fast': LUKS},
            {'is_encrypted': True},
            'without the end of its data',
        ),
        *(
            (
                {'old': LUKS, 'fast': dataclasses.replace(LUKS, **other)},
                {'is_encrypted': True},
                'the volume type fast encrypts in another way',
            )
            for other in (
                {'provider': 'luks2'},
                {'cipher': None},
                {'key_size_bits': 512},
                {'control_location': 'back-end'},
            )
        ),
        ({}, {'is_encrypted': True}, 'it is encrypted'),
    )
    @ddt.unpack
    def test_cinder_copies_what_is_or_would_be_encrypted(
        self, encryptions, volume, words
    ):
        around = {
            'encryptions': {
                name: dataclasses.replace(one, name=name)
                for name, one in encryptions.items()
            },
            'fsids': {SLOW: 'one', FAST: 'one'},
        }
        for verdict in (FORMER, FOLLOWS, TAGGED):
            refusal = self.move(
                verdict, around=around, type_name='old', host=SLOW, **volume
            ).refusal
            self.assertEqual(bool(words), bool(refusal))
            self.assertIn(words, refusal)
        # Its type stays, and the driver moves all of the image.
        step = self.move(ELSEWHERE, around=around, host=SLOW, **volume)
        self.assertEqual('', step.refusal)

    @ddt.data(
        # What is equal is copied as it is; of Ceph, without its end.
        (LUKS, LUKS, (SLOW, FAST), False),
        (LUKS, LUKS, (SLOW,), False),
        (LUKS, LUKS, (FAST,), True),
        # Its type has had an encryption.
        (None, None, (SLOW,), False),
        (None, None, (FAST,), True),
        # What is not goes through dm-crypt, which Ceph has not.
        (LUKS, None, (SLOW, FAST), False),
        (None, LUKS, (SLOW, FAST), False),
        (LUKS, None, (SLOW,), True),
        (LUKS, None, (FAST,), True),
        # Nobody may see it.
        ('hidden', LUKS, (SLOW, FAST), False),
        (None, 'hidden', (SLOW,), True),
        (None, 'hidden', (FAST,), True),
    )
    @ddt.unpack
    def test_other_storage_than_ceph_copies_what_is_encrypted(
        self, before, after, not_ceph, is_refused
    ):
        around = {
            'encryptions': {
                name: one
                for name, one in (('old', before), ('fast', after))
                if one
            },
            'not_ceph': frozenset(not_ceph),
        }
        for verdict in (FOLLOWS, TAGGED):
            refusal = self.move(
                verdict,
                around=around,
                type_name='old',
                host=SLOW,
                is_encrypted=True,
            ).refusal
            self.assertEqual(is_refused, bool(refusal), refusal)
            self.assertIn(
                'hidden' * is_refused * ('hidden' in (before, after)), refusal
            )

    @ddt.data(
        (LUKS, LUKS, 'it is encrypted: '),
        (LUKS, None, 'type fast is not: '),
        (None, LUKS, 'type fast is: '),
        ('hidden', LUKS, 'hidden'),
        # Cinder sees no difference, and asks the driver.
        (None, None, ''),
    )
    @ddt.unpack
    def test_a_type_with_encryption_is_not_changed_without_a_copy(
        self, before, after, words
    ):
        refusal = self.move(
            FORMER,
            type_name='old',
            host=SLOW,
            is_encrypted=before is not None,
            around={
                'encryptions': {
                    name: one
                    for name, one in (('old', before), ('fast', after))
                    if one
                },
                # It stays on its backend.
                'not_ceph': frozenset({SLOW}),
            },
        ).refusal
        self.assertEqual(bool(words), bool(refusal))
        self.assertIn(words, refusal)
        self.assertNotIn('Ceph', refusal)

    def test_the_command_that_copies_can_be_run(self):
        refusal = self.move(
            dataclasses.replace(FORMER, retype_to='fast disk'),
            type_name='old',
            host=SLOW,
            is_encrypted=True,
            around={
                'encryptions': {'old': LUKS, 'fast disk': LUKS},
                'not_ceph': frozenset({SLOW}),
            },
        ).refusal
        self.assertEqual(
            [
                *('openstack', 'volume', 'set', '--type', 'fast disk'),
                *('--migration-policy', 'on-demand', 'one'),
            ],
            shlex.split(refusal.split('"')[1]),
        )

    @ddt.data(
        ({SLOW: 'one', FAST: 'one'}, ''),
        ({SLOW: 'one', FAST: 'other'}, 'without the end of its data'),
        # To other storage.
        ({SLOW: 'one'}, 'without the end of its data'),
        # Its backend is disabled or down, or the cluster does not answer.
        ({}, 'enable it first'),
        ({FAST: 'one'}, 'enable it first'),
    )
    @ddt.unpack
    def test_cinder_cuts_what_is_encrypted_and_leaves_its_cluster(
        self, fsids, words
    ):
        around = {'fsids': fsids}
        refusal = self.move(
            ELSEWHERE, host=SLOW, is_encrypted=True, around=around
        ).refusal
        self.assertEqual(bool(words), bool(refusal))
        self.assertIn(words, refusal)
        step = self.move(ELSEWHERE, host=SLOW, around=around)
        self.assertEqual('', step.refusal)

    def test_what_is_encrypted_leaves_other_storage_than_ceph(self):
        step = self.move(
            ELSEWHERE,
            host=SLOW,
            is_encrypted=True,
            around={'fsids': {FAST: 'one'}, 'not_ceph': frozenset({SLOW})},
        )
        self.assertEqual('', step.refusal)

    def test_snapshots_move_within_a_backend_of_several_pools(self):
        around = {
            'with_snapshots': frozenset({'one'}),
            'free_gib': {'node@ceph#fast': 1.0, 'node@ceph#slow': 1.0},
        }
        follows = dataclasses.replace(FOLLOWS, allowed=('node@ceph#fast',))
        for verdict in (follows, TAGGED):
            step = self.move(verdict, host='node@ceph#slow', around=around)
            self.assertEqual('', step.refusal)
        # "volume migrate" does not ask the driver.
        self.assertIn(
            'snapshots',
            self.move(ELSEWHERE, host='node@ceph#slow', around=around).refusal,
        )

    @ddt.data(
        ({}, True),
        ({'old': BACK}, True),
        ({'old': BACK, 'fast': BACK}, True),
        ({'old': FRONT, 'fast': FRONT}, True),
        ({'old': FRONT}, False),
        ({'fast': FRONT}, False),
        ({'old': BACK, 'fast': FRONT}, False),
    )
    @ddt.unpack
    def test_limits_of_attached_volumes(self, qos, is_possible):
        step = self.move(
            FORMER, status='in-use', type_name='old', around={'qos': qos}
        )
        self.assertEqual(is_possible, step.refusal == '')
        step = self.move(FORMER, type_name='old', around={'qos': qos})
        self.assertEqual('', step.refusal)

    def clone(self, *, unread='', **volume):
        return self.made(
            RIGHT,
            kinds=(repair.RepairKind.RESIDENCY,),
            around={
                'residency': audit_volumes.Residency(
                    clones={'one': 'images/golden'},
                    unread={'fast': unread},
                    pools={'fast': 'tier-fast'},
                ),
                'places': {FAST: PLACE},
            },
            **volume,
        )

    def test_a_clone_is_flattened_where_it_is(self):
        (step,) = self.clone(status='in-use').steps
        self.assertEqual(
            (repair.RepairKind.RESIDENCY, PLACE, 7, ''),
            (step.kind, step.flattens, step.moved_gib, step.refusal),
        )
        self.assertIn('clone of images/golden', step.reason)
        self.assertEqual((), self.clone(volume_id='two').steps)
        self.assertEqual((), self.clone(status='deleting').steps)
        # Ceph knows images by the id that they are stored under.
        (step,) = self.clone(volume_id='two', stored_id='one').steps
        self.assertEqual('', step.refusal)

    def test_a_clone_that_cannot_be_flattened(self):
        for fields, words in (
            ({'host': SLOW}, 'its backend does not report a pool'),
            ({'status': 'retyping'}, 'its status is retyping'),
            ({'is_migrating': True}, 'it is being migrated'),
        ):
            (step,) = self.clone(**fields).steps
            self.assertIn(words, step.refusal)
        self.assertEqual(
            {'no answer': 1},
            self.clone(volume_id='two', unread='no answer').unknown,
        )
