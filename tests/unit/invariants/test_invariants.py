# SPDX-License-Identifier: Apache-2.0

"""One property of both doors: what must hold whatever is sent, and fails.

`python -m benchmarks.invariants` tries as many examples as one likes, and
tests/long thousands.
"""

import hypothesis
import testtools

import tests
from tests.unit.invariants import cloud as clouds
from tests.unit.invariants import example as examples
from tests.unit.invariants import operations
from tests.unit.invariants import world as worlds

Example = examples.Example
World = worlds.World
Image = operations.Image
Create = operations.Create
Given = operations.Given
Retype = operations.Retype
DATABASE = Image(tags=('database',))
PREMIUM = Image(tags=('premium',))
BLANK = Create(source='blank')
#: Each names a snapshot, in one spelling or another.
SNAPSHOT_IMAGES = [
    Image(block_devices=text) for text in operations.BLOCK_DEVICES
]


def odd(version, *parts, **world):
    """A create from an image for tier database, with odd parts."""
    return Example(
        image=DATABASE,
        world=World(**world),
        steps=(Create(version=version, odd=parts),),
    )


def named(text):
    """The same, which names the following type by another text."""
    return Example(
        image=DATABASE,
        world=World(folds_case=True),
        steps=(Create(volume_type=text),),
    )


#: Ways around the doors that there were once.
KNOWN = {
    'metadata that ask for a private tier once the volume is there': Example(
        world=World(metadata='all'),
        steps=(
            BLANK,
            operations.SetMetadata(),
            Retype(policy='on-demand'),
            Retype(policy='on-demand', is_admin=True),
            operations.Migrate(),
        ),
    ),
    'metadata of who may use the tier, and gave the volume away': Example(
        world=World(metadata='all'),
        is_entitled=True,
        steps=(
            BLANK,
            operations.SetMetadata(),
            operations.Transfer(),
            Retype(policy='on-demand'),
            Create(source='current', metadata='premium'),
            Create(source='snapshot', metadata='premium'),
            Create(source='backup', metadata='premium'),
        ),
    ),
    'metadata in a group': Example(
        world=World(metadata='all'),
        steps=(
            operations.Group(
                volume_types=('image-tier', 'database'), metadata='premium'
            ),
        ),
    ),
    'metadata that ask for a private tier': Example(
        world=World(metadata='all', project_type='last'),
        image=Image(),
        steps=(
            Create(metadata='premium'),
            Create(source='blank', metadata=' PREMIUM '),
            Create(
                source='blank', volume_type='image-tier', metadata='premium'
            ),
            Given(volume_type='database'),
            Retype(new_type='image-tier', policy='on-demand'),
        ),
    ),
    **{
        f'a type that is not opened yet: {name}': Example(
            world=World(half_made=name, fallback='none'),
            image=Image(tags=('database',)),
            steps=(
                Create(),
                Create(source='blank'),
                Create(volume_type=name),
                Create(source='blank', volume_type=f'@{name}'),
                Create(source='blank', volume_type=worlds.UNBOUND),
                Retype(new_type=name, policy='on-demand'),
                operations.Group(volume_types=(name,)),
            ),
        )
        for name in worlds.HALF_MADE
    },
    'a private tier with the description of one that is not opened yet': (
        Example(
            world=World(premium='described', fallback='none'),
            image=PREMIUM,
            steps=(
                Create(),
                Create(source='blank', volume_type=worlds.UNBOUND),
                Retype(new_type='premium', policy='on-demand'),
            ),
        )
    ),
    **{
        f'a type that names no backend: {slip}, {mark}': Example(
            world=World(slip=slip, mark=mark, default=worlds.SLIP),
            image=PREMIUM,
            steps=(
                Create(),
                Create(volume_type='image-tier'),
                Create(source='blank', volume_type=worlds.SLIP),
                Create(source='blank'),
                operations.Group(volume_types=(worlds.SLIP,)),
                Given(volume_type='plain'),
                Retype(new_type=worlds.SLIP, policy='on-demand'),
            ),
        )
        for slip, mark in tests.share(
            [
                *((slip, 'a tier') for slip in worlds.SLIPS),
                *(('a part of names', mark) for mark in worlds.MARKS),
            ]
        )
    },
    'a type that leads to private tiers alone': Example(
        world=World(
            fallback='unreadable',
            slip='a part of pools',
            mark='unmarked',
            project_default=worlds.SLIP,
        ),
        image=Image(),
        steps=(Create(version=None),),
    ),
    'an image that names a snapshot': Example(
        image=SNAPSHOT_IMAGES[0],
        steps=(Create(version='3.45'),),
        world=World(on_error='fail', on_no_access='refuse'),
    ),
    'the same without a version': Example(
        image=SNAPSHOT_IMAGES[0], steps=(Create(version=None),)
    ),
    'a retype to the following type': Example(
        image=DATABASE, steps=(Create(), Retype())
    ),
    'the same of a private tier, by id': Example(
        image=PREMIUM,
        is_entitled=True,
        steps=(Create(), Retype(new_type='@image-tier', policy='on-demand')),
    ),
    'the same by an administrator': Example(
        image=DATABASE, steps=(Given(), Retype(is_admin=True))
    ),
    'the same with an image of the project that had the volume': Example(
        world=World(fallback='unreadable'),
        image=DATABASE,
        steps=(
            Given(has_image=False),
            operations.Transfer(),
            operations.SetImage(),
            Retype(is_admin=True),
        ),
    ),
    'a copy of what an administrator placed': Example(
        image=Image(),
        steps=(
            Create(volume_type='unbound', is_admin=True),
            Create(source='snapshot'),
        ),
    ),
    'no fallback': Example(world=World(fallback='none'), steps=(BLANK,)),
    'no fallback, a tag without access': Example(
        world=World(fallback='none'), image=PREMIUM
    ),
    'a fallback that cannot be read': Example(
        world=World(fallback='unreadable'), steps=(BLANK,)
    ),
    'tiers that cannot be read': Example(fault='tiers', steps=(BLANK,)),
    'tiers that cannot be read once': Example(
        fault='tiers-once',
        steps=(Create(source='blank', volume_type='image-tier'),),
    ),
    'on_error is pass': Example(
        fault='glance-500', image=PREMIUM, world=World(on_error='pass')
    ),
    'source_replica': odd('3.52', ('source_replica', 'x')),
    'backup_id is 0': odd('3.46', ('backup_id', 0)),
    'backup_id is false': odd('3.46', ('backup_id', False)),
    'backup_id is a list': odd('3.46', ('backup_id', [])),
    'backup_id is an object': odd(None, ('backup_id', {})),
    'a name in another case': named('IMAGE-TIER'),
    'a name with a trailing blank': named('image-tier '),
    'an id in upper case': named('@@image-tier'),
    'an encrypted image type, breaker open': Example(
        image=Image(volume_type='luks'), fault='breaker'
    ),
    'an encrypted image type beside the following type': Example(
        image=Image(volume_type='luks'),
        steps=(Create(volume_type='image-tier'),),
    ),
    'an image with a key': Example(image=Image(brings_key=True)),
    'a zone without the fallback': Example(
        steps=(Create(source='blank', zone='az2'),)
    ),
    'a restore': Example(steps=(operations.Restore(),)),
    'a retype to a private tier, by name': Example(
        steps=(BLANK, Retype(new_type='premium', policy='on-demand'))
    ),
    'a retype to a private tier, by id': Example(
        steps=(BLANK, Retype(new_type='@premium', policy='on-demand'))
    ),
    'a private tier as a present': Example(
        is_entitled=True,
        steps=(
            Given(volume_type='premium', has_image=False),
            Retype(new_type=worlds.UNBOUND),
            operations.Transfer(),
            Create(source='current'),
        ),
    ),
    'the same of a new volume': Example(
        is_entitled=True,
        steps=(
            Create(source='blank', volume_type=worlds.UNBOUND),
            operations.Transfer(),
            Create(source='current'),
        ),
    ),
    'an image that the volume was not made from': Example(
        image=DATABASE,
        steps=(BLANK, operations.SetImage(), Retype(policy='on-demand')),
    ),
    'a migration to a private tier': Example(
        world=World(fallback='none'),
        fault='glance-500',
        image=DATABASE,
        steps=(Given(volume_type='image-tier'), operations.Migrate()),
    ),
}


class InvariantsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(clouds.Cloud())

    def test_known_ways_around_are_closed(self):
        found = {
            name: examples.problems_of(self.cloud, example)
            for name, example in KNOWN.items()
        }
        self.assertEqual(
            {},
            {name: problems for name, problems in found.items() if problems},
        )

    @hypothesis.given(examples.EXAMPLES)
    # To make a failure small takes minutes; the benchmark does it.
    @tests.examples(
        120,
        phases=(hypothesis.Phase.reuse, hypothesis.Phase.generate),
    )
    def test_they_hold_for_any_example(self, example):
        self.assertEqual([], examples.problems_of(self.cloud, example))
