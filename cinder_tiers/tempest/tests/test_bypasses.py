# SPDX-License-Identifier: Apache-2.0

"""Requests by which a tenant would get a tier's backend without its type.

Cinder takes each of them, or refuses it; where it makes a volume, that must
be of the tier of its image, like that of the usual request.
"""

import collections.abc
import typing

from tempest.lib import decorators
from tempest.lib import exceptions

from cinder_tiers.tempest.tests import tier_test

#: What Cinder takes for no backup.
_NO_BACKUPS: tuple[object, ...] = (0, False, [], {}, '')


class BypassesTest(tier_test.TierTest):
    """Requests of a tenant that try to get around the tier of an image."""

    def assert_no_way_around(
        self,
        cases: collections.abc.Mapping[
            str, collections.abc.Mapping[str, typing.Any]
        ],
    ) -> None:
        """Assert that each is refused, or makes a volume on the image's tier.

        Tries all cases, and reports all failures together.

        :param cases: {what is tried: {argument of `ask`, or key of the
            volume: value}}
        """
        image = self.make_image(self.tiers.tag)
        wrong = {}
        for name, case in cases.items():
            request = dict(case)
            how = {
                key: request.pop(key)
                for key in (
                    'method',
                    'path',
                    'version',
                    'codec',
                    'Content_Type',
                )
                if key in request
            }
            volume = {
                'size': 1,
                'name': tier_test.unique_name('volume'),
                'imageRef': image,
                **request,
            }
            if volume['imageRef'] is None:
                del volume['imageRef']
            try:
                answer = self.ask(
                    how.pop('method', 'POST'),
                    how.pop('path', 'volumes'),
                    {'volume': volume},
                    **how,
                )
            except (exceptions.Unauthorized, exceptions.OverLimit):
                raise  # no answer to what was tried
            except exceptions.ClientRestClientException:
                continue
            made = (answer.get('volume') or {}).get('id')
            if made is None:
                wrong[name] = 'taken, but its answer names no volume'
                continue
            self.remove_volume_later(made, self.volumes)
            found = self.available(made)['volume_type']
            if found != self.tiers.tier_type:
                wrong[name] = f'made a volume of type {found}'
        self.assertEqual({}, wrong)

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('ddeb7e2c-5fcb-4bac-ab21-3d8c7def248b')
    def test_keys_that_cinder_does_not_look_at(self) -> None:
        """Its schema lets them pass in old microversions."""
        self.assert_no_way_around(
            {
                **{
                    f'source_replica={value!r} at {version}': {
                        'source_replica': value,
                        'version': version,
                    }
                    for value in ('', 'x')
                    for version in ('3.0', '3.52')
                },
                **{
                    f'backup_id={value!r}': {
                        'backup_id': value,
                        'version': '3.47',
                    }
                    for value in _NO_BACKUPS
                },
                **{
                    f'{key}={value!r}': {key: value, 'version': '3.0'}
                    for key, value in (
                        ('cgsnapshot_id', 'x'),
                        ('source_replicaid', 'x'),
                        ('resource_backend', 'x'),
                        ('host', 'x'),
                        ('scheduler_hints', {'x': 1}),
                    )
                },
            }
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('f007240e-5f60-43dd-85b8-99d948cbf987')
    def test_names_that_only_the_database_takes_for_the_type(self) -> None:
        """Upper case and spaces at the end."""
        following = self.tiers.following_type
        self.assert_no_way_around(
            {
                f'volume_type={named!r}': {'volume_type': named}
                for named in (
                    following.upper(),
                    following.title(),
                    f'{following} ',
                )
            }
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('f7af62c1-0176-4b16-a026-621d92acb726')
    def test_the_same_request_in_another_way(self) -> None:
        """Other methods, paths, content types and encodings."""
        self.assert_no_way_around(
            {
                **{
                    f'{method} {path}': {'method': method, 'path': path}
                    for method, path in (
                        ('PUT', 'volumes?_method=POST'),
                        ('GET', 'volumes?_method=POST'),
                        ('PUT', 'volumes?a=1;_method=POST'),
                        ('PUT', 'volumes?_method=GET&_method=post'),
                        ('POST', 'volumes?_method=%ff'),
                        ('POST', 'volumes?a=%ff&b=_method'),
                        ('POST', 'volumes.json'),
                        ('POST', 'volumes%0a'),
                        ('POST', '%76olumes'),
                    )
                },
                **{
                    kind: {'Content_Type': kind}
                    for kind in (
                        'application/vnd.openstack.volume+json',
                        'application/json; charset=utf-16',
                        'text/plain',
                    )
                },
                **{
                    codec: {'codec': codec}
                    for codec in ('utf-8-sig', 'utf-16', 'utf-32')
                },
            }
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('9030d4f1-ea60-4455-8670-0d856df2d26e')
    def test_a_source_with_another_type(self) -> None:
        """Clones and volumes of a snapshot that name the following type."""
        source = self.make_volume(imageRef=self.make_image(self.tiers.tag))
        snapshot = self.make_snapshot(source['id'])
        following = self.tiers.following_type
        self.assert_no_way_around(
            {
                f'{origin} with volume_type={named!r}': {
                    'imageRef': None,
                    origin: ident,
                    'volume_type': named,
                }
                for origin, ident in (
                    ('source_volid', source['id']),
                    ('snapshot_id', snapshot),
                )
                for named in (following, f'{following.upper()} ')
            }
        )
