# SPDX-License-Identifier: Apache-2.0
"""The recipes of the guide: out of tiers, and from there into them again.

After each step the volumes that a member makes are where the guide says:
doc/source/install/existing-cloud.rst, admin/take-over.rst and uninstall.rst.
The way out comes first, since the lab has tiers; so the way in ends with the
lab as it was.
"""

import pathlib

import fixtures
import yaml

from tests.functional import lab
from tests.functional import volumes

#: {what is asked for: image; None for a blank volume}
REQUESTS = {
    'blank': None,
    'untagged': 'cinder-tiers-guest',
    'tagged': 'cinder-tiers-guest-database',
}
FOLLOWS = 'image-tier'
TIERS = ('database', 'general', 'archive')
GENERAL = ('available', 'general', 'tier-general')
DATABASE = ('available', 'database', 'tier-database')
#: Where the type that is the default without tiers has its volumes: in a pool
#: that neither the fallback nor the tag leads to.
BEFORE = 'tier-archive'


class TakeOverTest(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.file = (
            self.root / 'etc' / 'cinder.d' / 'functional-take-over.conf'
        )
        self.catalog = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'tiers.yaml'
        )
        self.declared = yaml.safe_load(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text()
        )
        self.assert_lab_is_at_rest()
        self.before = self.make_type('before', {'volume_backend_name': BEFORE})
        self.addCleanup(self.put_back)

    def assert_lab_is_at_rest(self):
        """Types that have volumes are not marked, and not unmarked."""
        self.assertEqual([], self.ask('openstack', 'tier', 'plan'))
        self.assertEqual(
            [],
            [
                (one.id, one.volume_type)
                for one in self.cinder.volumes.list(
                    search_opts={'all_tenants': 1}
                )
                if one.volume_type in (*TIERS, FOLLOWS)
            ],
        )

    def put_back(self):
        """Open the doors, and apply the lab's catalog."""
        if self.file.exists():
            self.file.unlink()
            self.lab_sh('restart', 'cinder-api', 'cinder-scheduler')
        # Consent is asked for by name, and refused where none is needed.
        types = {
            one.name: one.extra_specs
            for one in self.cinder.volume_types.list(is_public=None)
        }
        self.apply(
            self.declared,
            *(
                name
                for name in TIERS
                if name in types and 'tiers:name' not in types[name]
            ),
        )
        self.assertEqual([], self.ask('openstack', 'tier', 'plan'))

    def apply(self, declared, *types):
        """Apply a catalog, with consent to change volume types."""
        self.catalog.write_text(yaml.safe_dump(declared, sort_keys=False))
        self.run_command(
            'openstack',
            'tier',
            'apply',
            '--catalog',
            str(self.catalog),
            *(
                word
                for name in types
                for word in ('--allow', f'volume type {name}')
            ),
        )

    def declare(self, *, ours=TIERS, follow=True):
        """The lab's catalog with some tiers that are taken over.

        :param ours: names of these tiers.
        :param follow: whether it has a type that follows the image.
        """
        declared = {
            **self.declared,
            'tiers': {
                name: tier if name in ours else {**tier, 'take_over': False}
                for name, tier in self.declared['tiers'].items()
            },
        }
        if not follow:
            del declared['follow_image_types']
        return declared

    def change_cinder(self, text, *services):
        """Give Cinder these settings beside the lab's, and restart.

        :param text: as `volumes.API_DOOR_CLOSED`; empty for the lab's own.
        """
        if text:
            self.file.write_text(text.format(venv=self.root / 'venv'))
        else:
            self.file.unlink()
        self.lab_sh('restart', *services)

    def assert_places(self, step, **expected):
        """What becomes of each request; its volume is deleted again.

        :param expected: {request: (status, volume type, pool)}
        """
        made = {
            what: self.cinder_of_member.volumes.create(
                1,
                name=self.unique_name(what),
                imageRef=image and self.image_of_lab(image),
            ).id
            for what, image in REQUESTS.items()
        }
        try:
            found = {
                what: self.place_of(volume) for what, volume in made.items()
            }
        finally:
            for volume in made.values():
                self.cinder.volumes.force_delete(volume)
            self.wait_while(
                lambda: (
                    {
                        one.id
                        for one in self.cinder.volumes.list(
                            search_opts={'all_tenants': 1}
                        )
                    }
                    & set(made.values())
                )
            )
        self.assertEqual((step, expected), (step, found))

    def test_out_and_in_again(self):
        without = dict.fromkeys(REQUESTS, ('available', self.before, BEFORE))
        by_fallback = dict.fromkeys(REQUESTS, GENERAL)
        by_tag = {**by_fallback, 'tagged': DATABASE}
        self.assert_places('tiers are in use', **by_tag)

        default = f'[DEFAULT]\ndefault_volume_type = {self.before}\n'
        self.change_cinder(default, 'cinder-api')
        self.assert_places('out: the old default type', **by_tag)
        self.apply(self.declare(follow=False), FOLLOWS)
        lab.wait_until_tiers_are_known()
        self.assert_places('out: no type follows the image', **by_tag)
        self.change_cinder(default + volumes.API_DOOR_CLOSED, 'cinder-api')
        self.assert_places('out: no paste filter', **without)
        self.change_cinder(
            default + volumes.API_DOOR_CLOSED + volumes.SCHEDULER_DOOR_CLOSED,
            'cinder-scheduler',
        )
        self.assert_places('out: no filter in the scheduler', **without)
        self.apply(self.declare(ours=(), follow=False), *TIERS)
        self.assertEqual([], self.marked_types())
        self.assert_places('out: no marks', **without)

        self.change_cinder(
            default + volumes.API_DOOR_CLOSED, 'cinder-scheduler'
        )
        self.assert_places('in: the filter in the scheduler', **without)
        self.change_cinder(default, 'cinder-api')
        self.assert_places('in: the paste filter', **without)
        self.apply(self.declare(ours=('general',)), 'general')
        lab.wait_until_tiers_are_known()
        self.assert_places('in: a fallback', **by_fallback)
        self.change_cinder('', 'cinder-api')
        self.assert_places('in: it is the default type', **by_fallback)
        self.apply(self.declared, 'database', 'archive')
        lab.wait_until_tiers_are_known()
        self.assert_places('in: tiers with tags', **by_tag)

    def marked_types(self):
        return [
            one.name
            for one in self.cinder.volume_types.list(is_public=None)
            if any(key.startswith('tiers:') for key in one.extra_specs)
        ]
