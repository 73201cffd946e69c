# SPDX-License-Identifier: Apache-2.0
"""Creates by which a tenant tries to get past the doors.

Each is one request. Those that take several are in `test_bypasses`.
"""

import dataclasses
import json

import tests
from tests.functional import bypasses

LIMITED = bypasses.LIMITED
PRIVATE = bypasses.PRIVATE


class Of(str):
    """The name of something that is there only when the cases run."""

    __slots__ = ()


class Below(str):
    """A path below that of the tenant's project."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One create.

    :param request: as `Tenant.create` takes it.
    :param image: tags and properties of an image that is made for it.
    :param wanted: volume type that a volume must have; None for that of any
        tier.
    :param names_no_tier: whether the tenant names a type that belongs to no
        tier; then it counts that the volume is on no private tier.
    """

    request: dict = dataclasses.field(default_factory=dict)
    image: tuple[tuple[str, ...], dict] | None = None
    wanted: str | None = None
    names_no_tier: bool = False


def _creates():
    """{name: case}; a share of each kind, and all of them in tests/long.

    tests/unit/invariants tries them against Cinder's own code each time.
    """
    return {
        name: case
        for kind in (_images_of_nova, _bodies, _types, _images, _requests)
        for name, case in tests.share(list(kind().items()))
    }


def _images_of_nova():
    """D1: the image of the request names a snapshot."""
    found = {}
    for tags in ((), (LIMITED,), (PRIVATE,)):
        for version in (None, '3.45', '3.46'):
            found[f'nova_image_{"_".join(tags)}_{version}'] = Case(
                request={'version': version},
                image=(tags, {'block_device_mapping': Of('boot devices')}),
            )
    found['nova_image_false_for_0'] = Case(
        request={'version': '3.45'},
        image=((), {'block_device_mapping': Of('boot devices, false for 0')}),
    )
    return found


def _bodies():
    """D4: what Cinder's schema lets pass and its code does not look at."""
    found = {
        f'source_replica_{value}_{version}': Case(
            request={'source_replica': value, 'version': version},
            wanted=LIMITED,
        )
        for value in ('', 'x')
        for version in ('3.0', '3.52')
    }
    for value in (0, False, [], {}, ''):
        found[f'backup_id_{json.dumps(value)}'] = Case(
            request={'backup_id': value, 'version': '3.46'}, wanted=LIMITED
        )
    for key, value in (
        ('cgsnapshot_id', 'x'),
        ('source_replicaid', 'x'),
        ('resource_backend', 'x'),
        ('host', 'x'),
        ('scheduler_hints', {'x': 1}),
        ('image_metadata', {'image_id': Of('private')}),
    ):
        found[f'key_{key}'] = Case(
            request={key: value, 'version': '3.0'}, wanted=LIMITED
        )
    return found


def _types():
    """D4: a type that only the database takes for the one that follows."""
    found = {}
    for name in (
        'IMAGE-TIER',
        'image-tier ',
        '\u00edmage-tier',
        Of('ID of the following type'),
    ):
        for key in ('volume_type', 'cinder_img_volume_type'):
            found[f'{key}_{name}'] = (
                Case(request={key: name}, wanted=LIMITED)
                if key == 'volume_type'
                else Case(image=((LIMITED,), {key: name}), wanted=LIMITED)
            )
    for name in (PRIVATE, PRIVATE.upper(), Of('id of the private type')):
        found[f'private_type_{name}'] = Case(request={'volume_type': name})
        found[f'private_type_of_image_{name}'] = Case(
            image=((), {'cinder_img_volume_type': name})
        )
    # Cinder makes such a type, public and without any backend, in each cloud
    for name in ('__DEFAULT__', '__default__ ', bypasses.UNBOUND):
        found[f'type_without_backend_{name}'] = Case(
            request={'volume_type': name}, names_no_tier=True
        )
    found['type_without_backend_of_image'] = Case(
        image=((LIMITED,), {'cinder_img_volume_type': '__DEFAULT__'}),
        names_no_tier=True,
    )
    return found


def _images():
    """D5, D8: what an image may be called, or bring along."""
    return {
        'image_named_like_a_uuid': Case(
            request={'imageRef': Of('name like a uuid')}, wanted=LIMITED
        ),
        'image_without_a_name': Case(request={'imageRef': ''}, wanted=LIMITED),
        'image_id_without_a_name': Case(
            request={'imageRef': Of('plain'), 'image_id': ''}, wanted=LIMITED
        ),
        'image_id_in_upper_case': Case(
            request={'imageRef': Of('ID of the limited image')}, wanted=LIMITED
        ),
        'image_by_an_operator': Case(
            request={'imageRef': Of('in:name of the limited image')},
            wanted=LIMITED,
        ),
        'tag_of_the_private_tier': Case(
            request={'imageRef': Of('private')}, wanted='general'
        ),
        'blank': Case(request={'imageRef': None}, wanted='general'),
    }


def _requests():
    """The same request, written in another way."""
    found = {}
    for method in ('GET', 'PUT', 'OTHER'):
        # Routes, which Cinder uses, takes it for the method
        found[f'method_{method}'] = Case(
            request={'method': method, 'path': Below('volumes?_method=POST')},
            wanted=LIMITED,
        )
    for query in ('?a=1;_method=POST', '?_method=GET&_method=post'):
        found[f'query_{query}'] = Case(
            request={'method': 'PUT', 'path': Below(f'volumes{query}')},
            wanted=LIMITED,
        )
    # in these no text can be read; to Routes they are a POST
    for query in ('?_method=%ff', '?a=%ff&b=_method'):
        found[f'query_{query}'] = Case(
            request={'path': Below(f'volumes{query}')}, wanted=LIMITED
        )
    for path in ('volumes.json', 'volumes%0a', '%76olumes', '/volumes'):
        found[f'path_{path}'] = Case(
            request={'path': Below(path)}, wanted=LIMITED
        )
    found['path_without_project'] = Case(
        request={'path': '/volumes'}, wanted=LIMITED
    )
    for kind in (
        'application/vnd.openstack.volume+json',
        'application/json; charset=utf-16',
        'text/plain',
    ):
        found[f'content_type_{kind}'] = Case(
            request={'headers': {'Content_Type': kind}}, wanted=LIMITED
        )
    for codec in ('utf-8-sig', 'utf-16', 'utf-32'):
        found[f'encoding_{codec}'] = Case(
            request={'codec': codec}, wanted=LIMITED
        )
    for origin in ('source_volid', 'snapshot_id'):
        for name in ('image-tier', 'IMAGE-TIER ', '__DEFAULT__'):
            found[f'{origin}_with_type_{name}'] = Case(
                request={
                    'imageRef': None,
                    origin: Of(origin),
                    'volume_type': name,
                },
                wanted=LIMITED,
            )
    return found


CREATES = _creates()
