# SPDX-License-Identifier: Apache-2.0

"""The cloud as the member's pages read it, and the tags that they write.

No call lists volumes; of images, one page is read.
"""

import itertools
import json

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.horizon.project import offers
from cinder_tiers.observe import visible_cloud

#: Images that are shown; also the most that Glance gives in a page by default
#: (api_limit_max).
MOST_IMAGES = 1000
_PATCH = 'application/openstack-images-v2.1-json-patch'


def tier_tags(
    connection: openstack.connection.Connection, known: facts.VisibleCloud
) -> frozenset[str] | None:
    """Return the normal forms of the tier tags that the user may know.

    :param known: the part of Cinder that the user may see.
    :returns: None if neither Cinder nor Glance shows them.
    :raises errors.Unreachable: Glance does not answer, or refuses.
    """
    found = offers.visible_tags(known)
    return visible_cloud.published_tags(connection) if found is None else found


def own_images(
    connection: openstack.connection.Connection, project: str
) -> list[facts.KnownImage]:
    """Return the newest images of a project, at most MOST_IMAGES.

    :param connection: connection of a member of the project.
    :param project: id of the project.
    :raises errors.Unreachable: Glance does not answer.
    """
    with openstack_client.asking('Glance did not list images'):
        return [
            visible_cloud.parse_image(one)
            for one in itertools.islice(
                visible_cloud.list_images(
                    connection, owner=project, limit=MOST_IMAGES
                ),
                MOST_IMAGES,
            )
            # Whatever Glance made of the filter.
            if one.get('owner') == project
        ]


def write_tags(
    connection: openstack.connection.Connection,
    image_id: str,
    tags: list[str],
) -> None:
    """Replace the tags of an image.

    The tags are in the body: no text of a user is part of a URL.

    :param connection: connection of a user who may change the image.
    :raises errors.Unreachable: Glance does not answer, or refuses.
    """
    with openstack_client.asking(
        f'Glance did not change the tags of image {image_id}',
        remedy='the policy modify_image of Glance must allow it',
    ):
        openstack_client.request(
            connection.image,
            'PATCH',
            '/images/{}',
            image_id,
            data=json.dumps(
                [{'op': 'replace', 'path': '/tags', 'value': tags}]
            ),
            headers={'Content-Type': _PATCH},
        )
