# SPDX-License-Identifier: Apache-2.0

"""Upgrade checks, from values to a result."""

import dataclasses
import pathlib

import ddt
from oslo_config import cfg
import testtools

from cinder_tiers import conf
from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.volume_types import applied
from cinder_tiers.status import checks

STOCK = ['AvailabilityZoneFilter', 'CapacityFilter', 'CapabilitiesFilter']
EXAMPLE = (
    pathlib.Path(__file__).resolve().parents[3]
    / 'etc'
    / 'cinder-tiers'
    / 'api-paste.ini'
).read_text('utf-8')
#: As Cinder 29 ships it, in short.
STOCK_PASTE = """
[composite:osapi_volume]
use = call:cinder.api:root_app_factory
/: apiversions
/v3: openstack_volume_api_v3

[composite:openstack_volume_api_v3]
use = call:cinder.api.middleware.auth:pipeline_factory
noauth = request_id cors noauth apiv3
keystone = request_id cors authtoken keystonecontext apiv3
keystone_nolimit = request_id cors authtoken keystonecontext apiv3
"""
OPEN = (
    STOCK_PASTE.replace(
        'keystone = request_id cors authtoken keystonecontext apiv3',
        'keystone = request_id cors authtoken keystonecontext tiers apiv3',
    )
    + EXAMPLE
)


def state(*tiers, following=('image-tier',), problems=()):
    return applied.AppliedState(
        tiers=tiers,
        problems=problems,
        by_ident={
            ident: volume_type(name, follows_image=True)
            for name in following
            for ident in (name, f'id-{name}')
        },
        types={tier.name: volume_type(tier.name) for tier in tiers},
    )


def volume_type(name, *, follows_image=False):
    return applied.VolumeType(
        type_id=f'id-{name}',
        name=name,
        is_public=True,
        extra_specs={},
        follows_image=follows_image,
        projects=None,
    )


def tier(name, *tags, **fields):
    return decision.AppliedTier(name=name, tags=frozenset(tags), **fields)


GENERAL = tier('general', fallback=True)
NORTH = tier('north', fallback=True, type_zones=frozenset(['n', 'nw']))
SOUTH = tier('south', fallback=True, type_zones=frozenset(['s']))
PRIVATE = tier('vip', 'vip', projects=frozenset(['p']))
NONE = applied.AppliedState()


class ChecksTestCase(testtools.TestCase):
    def assert_result(self, code, fragment, result):
        self.assertEqual(
            (code, True),
            (result.code, fragment in (result.details or '')),
            result.details,
        )


@ddt.ddt
class OptionsTestCase(ChecksTestCase):
    def check(self, written):
        options = cfg.ConfigOpts()
        group = conf.register(options)
        options([])
        return checks.options(group, dict.fromkeys(written, 'cinder.conf'))

    def test_the_defaults_are_sound(self):
        self.assert_result(checks.SUCCESS, '', self.check(()))

    @ddt.data('on_error', 'image-cache-seconds')
    def test_known_options(self, name):
        self.assert_result(checks.SUCCESS, '', self.check([name]))

    def test_an_unknown_option_is_named_with_its_file(self):
        self.assert_result(
            checks.WARNING,
            'notfy in cinder.conf is not a recognized option',
            self.check(['notfy', 'on_error']),
        )


@ddt.ddt
class TiersTestCase(ChecksTestCase):
    def test_no_tiers(self):
        self.assert_result(checks.SUCCESS, 'no tier', checks.tiers(NONE))

    @ddt.data([], [GENERAL])
    def test_a_type_that_is_not_opened_yet_is_named(self, tiers):
        self.assert_result(
            checks.WARNING,
            "Volume type 'x' is closed",
            checks.tiers(
                dataclasses.replace(
                    state(*tiers), unfinished=("volume type 'x' is closed",)
                )
            ),
        )

    def test_sound_tiers(self):
        self.assert_result(
            checks.SUCCESS,
            'tiers: 2',
            checks.tiers(
                state(
                    GENERAL,
                    tier('database', 'db', priority=5, overflow='general'),
                )
            ),
        )

    @ddt.data([GENERAL, NORTH], [NORTH, SOUTH])
    def test_each_zone_may_have_a_fallback(self, tiers):
        self.assert_result(
            checks.SUCCESS,
            ', '.join(sorted(one.name for one in tiers)),
            checks.tiers(state(*tiers)),
        )

    def test_no_fallback_may_be_what_the_catalog_says(self):
        self.assert_result(
            checks.SUCCESS,
            'tiers: 1, fallback: none',
            checks.tiers(state(tier('a', 'a'))),
        )

    def test_a_tier_that_cannot_be_read(self):
        self.assert_result(
            checks.FAILURE,
            'A tier is ignored: priority is x.',
            checks.tiers(state(GENERAL, problems=['priority is x'])),
        )

    @ddt.data(
        (
            (GENERAL, tier('b', fallback=True)),
            "tier 'general' is a second fallback besides 'b'",
        ),
        (
            (NORTH, tier('b', fallback=True, type_zones=frozenset(['n']))),
            "tiers 'b' and 'north' are both the fallback in availability zone "
            'n; run',
        ),
        (
            (GENERAL, tier('a', 'a', priority=7), tier('b', 'b', priority=7)),
            'Tiers a and b both have priority 7',
        ),
        (
            (GENERAL, tier('a', 'a', overflow='gone')),
            'Tier a overflows to gone',
        ),
    )
    @ddt.unpack
    def test_what_the_plan_would_show(self, tiers, found):
        self.assert_result(checks.WARNING, found, checks.tiers(state(*tiers)))

    def test_equal_priorities_without_tags_are_fine(self):
        self.assert_result(
            checks.SUCCESS,
            '',
            checks.tiers(state(GENERAL, tier('a', 'a'), tier('b'))),
        )

    def test_no_type_follows_the_image(self):
        self.assert_result(
            checks.WARNING,
            'follow_image_types',
            checks.tiers(state(GENERAL, following=())),
        )


@ddt.ddt
class TypesBesideTestCase(ChecksTestCase):
    """Public types that lead to the backends of tiers without being one."""

    def check(self, projects=None, following=(), **specs):
        types = {
            'one': {'tiers:name': 'one', 'volume_backend_name': 'ssd'},
            'two': {
                'tiers:name': 'two',
                'volume_backend_name': '<or> hdd <or> ssd',
            },
            'vip': {'tiers:name': 'vip', 'volume_backend_name': 'vip'},
        }
        found = {
            name: dataclasses.replace(
                volume_type(name),
                extra_specs=extra_specs,
                projects=frozenset({'p'}) if name == 'vip' else None,
            )
            for name, extra_specs in types.items()
        }
        other = dataclasses.replace(
            volume_type('other'),
            extra_specs={
                key.replace('__', ':'): value for key, value in specs.items()
            },
            projects=projects,
        )
        return checks.types_beside(
            dataclasses.replace(
                state(),
                types=found,
                by_ident={
                    f'id-{one.name}': one for one in (*found.values(), other)
                },
            )
        )

    @ddt.data(
        ({}, 'tiers one, two'),
        ({'multiattach': '<is> True'}, 'tiers one, two'),
        ({'volume_backend_name': 'hdd'}, 'tier two'),
        ({'volume_backend_name': '<in> ss'}, 'tiers one, two'),
        ({'volume_backend_name': '<or> vip <or> x'}, 'tier vip'),
        ({'tiers__name': 'other'}, 'tiers one, two'),
    )
    @ddt.unpack
    def test_a_type_that_leads_there(self, specs, tiers):
        result = self.check(**specs)
        self.assert_result(
            checks.WARNING,
            f"Public volume type 'other' leads to the backends of {tiers} and "
            'is not the type of th',
            result,
        )
        self.assertIn('--is-public False', result.details)

    @ddt.data(
        {'volume_backend_name': 'tape'},
        {'projects': frozenset()},
        {'tiers__follow_image': '<is> True'},
    )
    def test_a_type_that_does_not(self, parts):
        self.assert_result(checks.SUCCESS, '', self.check(**parts))


@ddt.ddt
class SchedulerTestCase(ChecksTestCase):
    @ddt.data(
        (NONE, STOCK, [], checks.SUCCESS, ''),
        (state(GENERAL), [*STOCK, 'TierFilter'], [], checks.SUCCESS, ''),
        (state(GENERAL), STOCK, [], checks.WARNING, 'has no TierFilter'),
        (
            state(GENERAL, PRIVATE),
            STOCK,
            [],
            checks.FAILURE,
            'Tiers are private (vip), but',
        ),
        (state(PRIVATE), [*STOCK, 'TierFilter'], [], checks.SUCCESS, ''),
        (
            state(tier('a', overflow='b')),
            ['TierFilter'],
            ['CapacityWeigher'],
            checks.WARNING,
            'overflow (a)',
        ),
        (
            state(tier('a', overflow='b')),
            ['TierFilter'],
            ['TierWeigher'],
            checks.SUCCESS,
            '',
        ),
    )
    @ddt.unpack
    def test_doors(self, tiers, filters, weighers, code, found):
        self.assert_result(
            code,
            found,
            checks.scheduler(tiers, filters=filters, weighers=weighers),
        )


@ddt.ddt
class DefaultTypeTestCase(ChecksTestCase):
    @ddt.data(
        (state(GENERAL), 'image-tier', checks.SUCCESS, ''),
        (state(NORTH), 'image-tier', checks.SUCCESS, ''),
        (state(tier('a', 'a')), 'general', checks.SUCCESS, ''),
        (state(tier('a', 'a')), None, checks.SUCCESS, ''),
        (
            state(tier('a', 'a')),
            'image-tier',
            checks.FAILURE,
            'no applied tier is the fallback',
        ),
        (state(tier('a', 'a')), 'id-image-tier', checks.FAILURE, ''),
        (
            state(),
            'image-tier',
            checks.WARNING,
            'set a default_volume_type that names a backend',
        ),
    )
    @ddt.unpack
    def test_a_type_that_follows_the_image(self, tiers, name, code, found):
        self.assert_result(
            code, found, checks.default_type(tiers, default_type=name)
        )
