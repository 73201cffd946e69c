# SPDX-License-Identifier: Apache-2.0

"""Audits of volumes, from plain values."""

import collections
import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import existing_volume
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decide as placement
from cinder_tiers.domain.placement import decision
from tests.unit.domain import clouds

IMAGE = clouds.image('archive')
IMAGES = {
    'tagged': IMAGE,
    'foreign': clouds.image('archive', owner=clouds.THEM, visibility='shared'),
}
RESIDENCY = audit_volumes.Residency(
    clones={'clone': 'images/debian', 'stored': 'images/debian'},
    unread={'database': '', 'general': 'it is down'},
    pools={'database': 'tier-database', 'general': 'tier-general'},
)


def volume(volume_type, on, **fields):
    """A volume of a type on a backend; None: it has none."""
    return facts.KnownVolume(
        **{
            'volume_id': 'v',
            'name': 'v',
            'status': 'available',
            'project': clouds.US,
            'volume_type': volume_type,
            'type_name': volume_type and volume_type.name,
            'host': on and clouds.host(on),
            'size_gib': 10,
            **fields,
        }
    )


def run(*volumes, known=clouds.CLOUD, find_image=IMAGES.get, **options):
    return list(
        audit_volumes.audit_volumes(
            volumes=volumes,
            known=known,
            find_image=find_image,
            policy=placement.DEFAULT_POLICY,
            **options,
        )
    )


#: {why: (volume, state, tier)}
CASES = {
    'it lies on its tier': (
        volume(clouds.DATABASE, 'database'),
        'compliant',
        'database',
    ),
    'it lies on the overflow of its tier': (
        volume(clouds.DATABASE, 'general'),
        'compliant',
        'database',
    ),
    'its type does not allow its backend any more': (
        volume(clouds.DATABASE, 'archive'),
        'out of date',
        'database',
    ),
    'its backend does not report': (
        volume(clouds.DATABASE, 'gone'),
        'unknown',
        'database',
    ),
    'it lies nowhere': (
        volume(clouds.DATABASE, None),
        'not applicable',
        'database',
    ),
    'its type was retired': (
        volume(clouds.tier('database - retired 1', tags='old'), 'database'),
        'out of date',
        'database',
    ),
    'its type was retired with its tier': (
        volume(clouds.volume_type('gone - retired 1'), 'database'),
        'not applicable',
        None,
    ),
    'its type is not a tier': (
        volume(clouds.FAST, 'database'),
        'not applicable',
        None,
    ),
    'it has no type': (volume(None, 'database'), 'not applicable', None),
    'its type is not listed': (
        volume(None, 'database', type_name='new'),
        'unknown',
        None,
    ),
    'it lies where its image leads': (
        volume(clouds.FOLLOWING, 'archive', image_id='tagged'),
        'compliant',
        'archive',
    ),
    'it does not lie where its image leads': (
        volume(clouds.FOLLOWING, 'general', image_id='tagged'),
        'non-compliant',
        'archive',
    ),
    'tags of this image do not count': (
        volume(clouds.FOLLOWING, 'general', image_id='foreign'),
        'compliant',
        'general',
    ),
    'blank ones go to the fall-back': (
        volume(clouds.FOLLOWING, 'archive'),
        'non-compliant',
        'general',
    ),
    'its image is gone': (
        volume(clouds.FOLLOWING, 'general', image_id='gone'),
        'unknown',
        None,
    ),
    'it lies where its source lay': (
        volume(
            clouds.FOLLOWING,
            'general',
            image_id='tagged',
            fixed_by=decision.FixedBy.SOURCE_VOLUME,
        ),
        'not applicable',
        None,
    ),
}


@ddt.ddt
class PlacementTestCase(testtools.TestCase):
    @ddt.data(*CASES)
    def test_the_state_is_this_because(self, why):
        one, state, tier = CASES[why]
        verdict = audit_volumes.judge(
            volume=one,
            known=clouds.CLOUD,
            image=IMAGES.get(one.image_id),
            policy=placement.DEFAULT_POLICY,
        )
        self.assertEqual((state, tier), (verdict.state.value, verdict.tier))

    def test_each_that_is_not_compliant_is_named_and_all_are_counted(self):
        ones = [one for one, _, _ in CASES.values()]
        found = run(*ones, *ones)
        named = [one for one in found if one.object_name == 'volume v']
        bad = [
            (tier, state)
            for _, state, tier in CASES.values()
            if state not in ('compliant', 'not applicable')
        ]
        self.assertEqual(
            2 * bad, [(one.tier, one.state.value) for one in named]
        )
        self.assertEqual(
            {
                (tier, state): 2 * number
                for (tier, state), number in collections.Counter(
                    (tier, state) for _, state, tier in CASES.values()
                ).items()
            },
            {
                (one.tier, one.state.value): one.current['volumes']
                for one in found
                if one not in named and one.aspect == audit_volumes.PLACEMENT
            },
        )

    def test_a_volume_of_an_image_that_was_retagged_is_named(self):
        ones = [
            volume(clouds.DATABASE, 'database', image_id='tagged'),
            volume(clouds.DATABASE, 'database', image_id='gone'),
            volume(
                clouds.DATABASE,
                'database',
                image_id='tagged',
                fixed_by=decision.FixedBy.SNAPSHOT,
            ),
            volume(clouds.ARCHIVE, 'archive', image_id='tagged'),
            volume(clouds.FAST, 'archive', image_id='tagged'),
        ]
        (found,) = [
            one
            for one in run(*ones)
            if one.aspect == 'image' and one.object_name == 'volume v'
        ]
        self.assertEqual(
            (audit.State.WARNING, 'database', {'tier': 'archive'}),
            (found.state, found.tier, found.expected),
        )
        self.assertIn('now selects tier archive', found.reason)
        self.assertIn('set --type archive', found.remedy)
        # It is where its type says.
        self.assertEqual(
            {'compliant', 'not applicable'},
            {one.state.value for one in run(*ones) if one.aspect != 'image'},
        )

    def test_glance_that_is_down_says_nothing_of_the_place_by_type(self):
        def find_image(_):
            raise errors.Unreachable('Glance is down')

        found = run(
            volume(clouds.DATABASE, 'database', image_id='tagged'),
            find_image=find_image,
        )
        self.assertEqual(
            [
                ('image', 'unknown', 'Glance is down'),
                ('placement', 'compliant', ''),
            ],
            [(one.aspect, one.state.value, one.reason) for one in found],
        )

    def test_explain_agrees_on_each(self):
        states = {
            'in place': ('compliant', 'not applicable'),
            'misplaced': ('non-compliant', 'out of date', 'not applicable'),
            'out of date': ('out of date',),
            'unknown': ('unknown', 'not applicable'),
        }
        for why, (one, state, _) in CASES.items():
            outcome = existing_volume.explain_volume(
                volume=one,
                image=IMAGES.get(one.image_id),
                known=clouds.CLOUD,
                policy=placement.DEFAULT_POLICY,
            ).outcome.value
            self.assertIn(state, states[outcome], why)
            self.assertEqual(
                why == 'its type was retired', outcome == 'out of date', why
            )

    def test_a_retired_type_is_changed_where_it_lies_or_moves(self):
        retired = clouds.tier('database - retired 1', tags='old')
        for on, policy, allowed in (
            ('database', 'never', ()),
            ('archive', 'on-demand', (clouds.host('database'),)),
        ):
            (listed,) = audit_volumes.list_volumes(
                volumes=[volume(retired, on)],
                known=clouds.CLOUD,
                find_image=IMAGES.get,
                policy=placement.DEFAULT_POLICY,
            )
            self.assertEqual('database', listed.verdict.retype_to)
            self.assertEqual(allowed, listed.verdict.own)
            self.assertIn(
                f'--migration-policy {policy}', listed.verdict.remedy
            )

    def test_no_encrypted_volume_is_to_be_retyped_with_a_copy(self):
        retired = clouds.tier('database - retired 1', tags='old')
        wrong = [
            volume(retired, 'database'),
            volume(retired, 'archive'),
            volume(clouds.FOLLOWING, 'general', image_id='tagged'),
            volume(clouds.DATABASE, 'archive'),
            volume(clouds.DATABASE, 'database', image_id='tagged'),
        ]
        encrypted = [
            dataclasses.replace(one, volume_id='e', is_encrypted=True)
            for one in wrong
        ]
        # Of the same kind, but for that, in any order.
        for volumes in (wrong + encrypted, encrypted + wrong):
            found = {
                name: [
                    one.remedy
                    for one in run(*volumes)
                    if one.object_name == f'volume {name}'
                ]
                for name in 've'
            }
            self.assertEqual([5, 5], [len(one) for one in found.values()])
            for remedy in found['v']:
                self.assertIn('run "openstack volume ', remedy)
                self.assertNotIn('encrypted', remedy)
            for remedy in found['e']:
                self.assertNotIn('run "openstack volume ', remedy)
                self.assertIn('see what "openstack tier repair', remedy)
                self.assertIn('do not retype it with on-demand', remedy)
            self.assertIn('repair --kind image"', found['e'][-1])

    def test_the_name_of_a_type_is_one_word_of_the_command(self):
        archive = dataclasses.replace(clouds.ARCHIVE, name='cold disks')
        known = dataclasses.replace(
            clouds.CLOUD,
            types=(archive, clouds.DATABASE, clouds.GENERAL, clouds.FOLLOWING),
        )
        for volume_type in (clouds.FOLLOWING, clouds.DATABASE):
            found = run(
                volume(volume_type, 'database', image_id='tagged'), known=known
            )
            self.assertIn(" --type 'cold disks' --mig", found[0].remedy)

    def test_that_a_new_type_is_private_is_said(self):
        retired = clouds.tier('premium - retired 1', tags='old')
        for on in ('premium', 'archive'):
            (listed,) = audit_volumes.list_volumes(
                volumes=[volume(retired, on)],
                known=clouds.CLOUD,
                find_image=IMAGES.get,
                policy=placement.DEFAULT_POLICY,
            )
            self.assertIn(
                'first see that its project has access', listed.verdict.remedy
            )

    def test_wrong_volumes_are_listed_with_what_is_wrong(self):
        images = {
            **IMAGES,
            'misspelt': clouds.image('databse', 'x' * 200),
            'other words': clouds.image('databus', 'architecture'),
            'more': clouds.image('database', 'databases'),
        }
        listed = list(
            audit_volumes.list_volumes(
                volumes=[
                    volume(clouds.DATABASE, 'database', image_id='tagged'),
                    volume(clouds.GENERAL, 'general', image_id='misspelt'),
                    volume(clouds.ARCHIVE, 'archive', image_id='tagged'),
                    volume(clouds.DATABASE, 'archive'),
                    CASES['its type was retired'][0],
                    CASES['its type is not a tier'][0],
                    volume(clouds.GENERAL, 'general', image_id='other words'),
                    volume(clouds.DATABASE, 'database', image_id='more'),
                    CASES['its backend does not report'][0],
                ],
                known=clouds.CLOUD,
                find_image=images.get,
                policy=placement.DEFAULT_POLICY,
            )
        )
        self.assertEqual(
            [True, True, False, True, True, False, False, False, True],
            [one.is_wrong for one in listed],
        )
        self.assertEqual(
            (
                'the tag databse of the image selects no tier; did you mean '
                "'database'?",
            ),
            listed[1].near_tags,
        )

    def test_the_owner_of_a_community_image_marks_no_volume_of_others(self):
        image = clouds.image('databse', visibility='community')
        ones = [
            volume(clouds.GENERAL, 'general', image_id='i', project=project)
            for project in (clouds.US, clouds.THEM)
        ]
        for step in (1, -1):
            self.assertEqual(
                [True, False][::step],
                [
                    one.is_wrong
                    for one in audit_volumes.list_volumes(
                        volumes=ones[::step],
                        known=clouds.CLOUD,
                        find_image={'i': image}.get,
                        policy=placement.DEFAULT_POLICY,
                    )
                ],
            )

    def test_it_is_told_where_it_lies_and_where_it_may_lie(self):
        found = run(CASES['its type does not allow its backend any more'][0])
        self.assertEqual(
            (
                {'type': 'database', 'backend': clouds.host('archive')},
                {
                    'backend': f'{clouds.host("database")}, '
                    f'{clouds.host("general")}'
                },
            ),
            (found[0].current, found[0].expected),
        )
        self.assertIn('migrate', found[0].remedy)

    def test_other_tiers_are_left_out_but_not_what_may_be_of_the_tier(self):
        found = run(*(one for one, _, _ in CASES.values()), tiers=('archive',))
        self.assertEqual({'archive', None}, {one.tier for one in found})
        self.assertEqual(
            {audit.State.UNKNOWN},
            {one.state for one in found if one.tier is None},
        )

    def test_volumes_of_one_image_are_told_apart_by_their_project(self):
        images = {
            'public': clouds.image('premium', visibility='public'),
            'own': clouds.image('archive', owner=clouds.THEM),
        }
        ones = [
            volume(
                clouds.FOLLOWING,
                on,
                volume_id=f'{project} {on}',
                project=project,
                image_id=image,
            )
            for image, on in (('public', 'premium'), ('own', 'archive'))
            for project in (clouds.US, clouds.THEM)
        ]
        found = run(*ones, find_image=images.get)
        self.assertEqual(
            {'volume us premium': 'general', 'volume us archive': 'general'},
            {
                one.object_name: one.tier
                for one in found
                if one.state is audit.State.NON_COMPLIANT
                and one.object_name.startswith('volume ')
            },
        )

    @ddt.data(False, True)
    def test_volumes_are_told_apart_by_their_metadata(self, with_image):
        """In any order: a repair moves what is found wrong."""
        policy = decision.Policy(
            metadata_key='tier', metadata_with_image=with_image
        )
        common = {'image_id': 'bare'} if with_image else {}
        plain = volume(clouds.FOLLOWING, 'database', **common)
        # Its type was chosen by its metadata, and not by its image.
        by_type = volume(clouds.DATABASE, 'database', **common)
        right = {'metadata': {'tier': ' Database'}}
        volumes = (
            plain,
            dataclasses.replace(plain, **right),
            dataclasses.replace(plain, metadata={'tier': 'nothing'}),
            by_type,
            dataclasses.replace(by_type, **right),
        )
        expected = [
            (audit.State.NON_COMPLIANT, 'general', None),
            (audit.State.COMPLIANT, 'database', None),
            (audit.State.NON_COMPLIANT, 'general', None),
            (
                audit.State.COMPLIANT,
                'database',
                'general' if with_image else None,
            ),
            (audit.State.COMPLIANT, 'database', None),
        ]
        for step in (1, -1):
            found = [
                one.verdict
                for one in audit_volumes.list_volumes(
                    volumes=volumes[::step],
                    known=clouds.CLOUD,
                    find_image={'bare': clouds.image()}.get,
                    policy=policy,
                )
            ]
            self.assertEqual(
                expected[::step],
                [(one.state, one.tier, one.image_tier) for one in found],
            )

    def test_many_images_of_the_same_tags_lead_to_the_same_place(self):
        found = run(
            *(
                volume(clouds.FOLLOWING, 'archive', image_id=str(one))
                for one in range(99)
            ),
            find_image=lambda _: IMAGE,
        )
        self.assertEqual(
            [('archive', {'volumes': 99})],
            [
                (one.tier, one.current)
                for one in found
                if one.aspect == audit_volumes.PLACEMENT
            ],
        )

    def test_without_glance_what_follows_an_image_is_unknown(self):
        def refuse(ident):
            raise errors.Unreachable('Glance is down')

        found = run(
            volume(clouds.FOLLOWING, 'archive', image_id='tagged'),
            volume(clouds.DATABASE, 'database'),
            find_image=refuse,
        )
        self.assertEqual(
            ('unknown', 'Glance is down'),
            (found[0].state.value, found[0].reason),
        )
        self.assertIn(
            ('database', 'compliant'),
            {(one.tier, one.state.value) for one in found},
        )

    def test_a_stream_that_breaks_off_says_how_far_it_came(self):
        def volumes():
            yield volume(clouds.DATABASE, 'database')
            raise errors.Unreachable('the marker is gone')

        found = list(
            audit_volumes.audit_volumes(
                volumes=volumes(),
                known=clouds.CLOUD,
                find_image=IMAGES.get,
                policy=placement.DEFAULT_POLICY,
            )
        )
        self.assertEqual(
            (audit.State.UNKNOWN, {'volumes': 1}, 'the marker is gone'),
            (found[0].state, found[0].current, found[0].reason),
        )
        self.assertEqual('volumes of tier database', found[1].object_name)


@ddt.ddt
class ResidencyTestCase(testtools.TestCase):
    @ddt.data(
        (clouds.DATABASE, 'database', {}, 'compliant', ''),
        (clouds.DATABASE, 'database', {'volume_id': 'clone'}, 'unknown', ''),
        (clouds.DATABASE, 'database', {'stored_id': 'stored'}, 'unknown', ''),
        (clouds.GENERAL, 'general', {}, 'unknown', 'it is down'),
        (clouds.ARCHIVE, 'archive', {}, 'not applicable', ''),
    )
    @ddt.unpack
    def test_a_volume_of_a_tier_is_counted(
        self, volume_type, on, fields, state, reason
    ):
        count = run(volume(volume_type, on, **fields), residency=RESIDENCY)[-1]
        self.assertEqual(
            (f'volumes of tier {on}', audit_volumes.RESIDENCY, state, reason),
            (count.object_name, count.aspect, count.state.value, count.reason),
        )

    def test_a_clone_is_named_with_its_parent_and_placed_right(self):
        clone, placed, _ = run(
            volume(clouds.DATABASE, 'database', volume_id='clone'),
            residency=RESIDENCY,
        )
        self.assertEqual(
            (
                'volume clone',
                {'parent': 'images/debian'},
                {'pool': 'tier-database'},
            ),
            (clone.object_name, clone.current, clone.expected),
        )
        self.assertIn('flatten', clone.remedy)
        self.assertEqual(
            ('placement', 'compliant'), (placed.aspect, placed.state.value)
        )

    def test_a_volume_of_no_tier_resides_where_it_likes(self):
        self.assertEqual(
            ['placement'],
            [
                one.aspect
                for one in run(
                    volume(clouds.FAST, 'archive', volume_id='clone'),
                    residency=RESIDENCY,
                )
            ],
        )
