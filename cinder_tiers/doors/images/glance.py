# SPDX-License-Identifier: Apache-2.0

"""Facts on an image that placement needs, read from Glance.

Must not know what the tags mean. No text of the image may leave this module
except in `ImageFacts`: errors name only its kind.
"""

import collections.abc
import dataclasses
import urllib.parse

from cinder import context as cinder_context
from oslo_config import cfg
from oslo_utils import uuidutils

from cinder_tiers.domain import identifier
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import image_properties

#: Distinguishes these calls from Cinder's own in Glance's log.
USER_AGENT = 'cinder-tiers'

_VISIBILITIES = frozenset({'public', 'community', 'shared', 'private'})
#: Answers that do not depend on the token.
_LASTING = frozenset({403, 404})
#: Characters of a tag in Glance's API. A tag of a tier is never longer in its
#: normal form, as an extra spec holds it.
_TAG_CHARACTERS = 255
#: Answers that may be others a moment later.
_PASSING = frozenset({401, 408, 425, 429})


class ImageUnreadable(Exception):
    """The tags of an image could not be had; the text is safe to log."""

    #: Whether the request is wrong, and not Glance: any user can cause it, at
    #: any time, by an id that does not exist.
    caused_by_client = False


class ImageRefused(ImageUnreadable):
    """The image is not shown to who asked: Glance works, or is not asked."""

    def __init__(
        self,
        text: str,
        *,
        is_lasting: bool,
        is_answer: bool = True,
        is_final: bool = True,
    ) -> None:
        """Create a refusal.

        :param text: message that is safe to log.
        :param is_lasting: whether every user of the project is refused; a
            refusal of an expired token ends with a new one.
        :param is_answer: whether Glance gave the answer; False if it was not
            asked.
        :param is_final: whether Glance will refuse Cinder, too, when it asks
            next.
        """
        super().__init__(text)
        self.is_lasting = is_lasting
        self.is_answer = is_answer
        self.is_final = self.caused_by_client = is_final


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageFacts:
    """An image, as far as it matters for a volume made from it."""

    image_id: str
    image: decision.Image
    #: Property `cinder_img_volume_type`, by which an image names a volume
    #: type of its own; hostile text, as the tags are. It is cut where it is
    #: too long for a name.
    volume_type: str | None
    #: Nova's image of a server that booted from a volume: from microversion
    #: 3.46 on, Cinder makes the volume from the snapshot that it names;
    #: below, from the image. Any tenant can write it into an image.
    boot_snapshot: bool
    #: Id of the snapshot, in the form of a UUID; None when it names none that
    #: could be there.
    boot_snapshot_id: str | None = None

    @property
    def is_open(self) -> bool:
        """Return whether Glance shows the image to all projects, by its id."""
        return self.image.visibility in ('public', 'community')


def plain_ref(ref: str) -> tuple[str, bool]:
    """An `imageRef` as cinder-api takes it apart, and whether it is a UUID.

    >>> plain_ref('http://host/images/c0ffee00-0000-4000-8000-000000000000')
    ('c0ffee00-0000-4000-8000-000000000000', True)
    >>> plain_ref('debian/12')
    ('debian/12', False)
    """
    last = ref.rpartition('/')[2]
    return (last, True) if uuidutils.is_uuid_like(last) else (ref, False)


def fetch_image(
    context: cinder_context.RequestContext,
    ref: str,
    on_name: collections.abc.Callable[[], None] = lambda: None,
) -> ImageFacts:
    """An image as the user of a request sees it.

    As cinder-api reads an `imageRef` (cinder/api/v3/volumes.py,
    `_image_uuid_from_ref`, 29.0.0): by the UUID in which it ends, and if there
    is none or Glance does not show an image of that id, by the whole of it as
    a name. Through Cinder's own Glance client, with the token, endpoints, TLS
    options and retries that Cinder uses. The image is read raw: glanceclient's
    image model would fetch the schema as well.

    :param ref: UUID or name of the image, or a URL that ends in its UUID.
    :param on_name: called once it is known that no image has the UUID, before
        the whole is asked for as a name; raises ImageUnreadable if that is
        not to be done.
    :raises ImageRefused: there is no such image for the user.
    :raises ImageUnreadable: Glance failed, or answered something that is no
        image.
    """
    ident, is_id = plain_ref(ref)
    if not is_id:
        return _fetch_by_name(context, ref)
    try:
        return _fetch_by_id(context, ident)
    except ImageRefused as refusal:
        try:
            on_name()
            return _fetch_by_name(context, ref)
        except ImageUnreadable:
            # No image has the id, whatever is wrong with the name.
            raise refusal from refusal.__cause__


def _fetch_by_id(
    context: cinder_context.RequestContext, ident: str
) -> ImageFacts:
    if not identifier.is_id(ident):
        # Such as urn:uuid:..., a UUID to Cinder, and to Glance no image's.
        raise ImageRefused(
            'Glance has no image with an id of that form',
            is_lasting=False,
            is_answer=False,
        )
    found = _parse(_get(context, f'/v2/images/{ident}'))
    if not identifier.is_same(ident, found.image_id):
        raise ImageUnreadable('Glance answered with another image')
    return found


def _fetch_by_name(
    context: cinder_context.RequestContext, name: str
) -> ImageFacts:
    try:
        query = urllib.parse.urlencode({'name': name, 'limit': 2})
    except UnicodeEncodeError as error:
        raise ImageRefused(
            'the name of the image is not text',
            is_lasting=False,
            is_answer=False,
        ) from error
    found = _get(context, f'/v2/images?{query}')
    images = found.get('images') if isinstance(found, dict) else None
    if not isinstance(images, list) or len(images) != 1:
        raise ImageRefused(
            'Glance does not have exactly one image with that name',
            is_lasting=False,
        )
    return _parse(images[0])


def _get(context: cinder_context.RequestContext, path: str) -> object:
    # Imported first of all it fails: it and cinder.image.image_utils import
    # each other (29.0.0), and only Cinder's services load them in good order.
    from cinder.image import glance

    # A new thread has no context: give it ours, for its log lines.
    context.update_store()
    # glanceclient's session with Keystone overwrites a header with its own
    # name; its client without Keystone takes nothing but a header.
    name = (
        {'user_agent': USER_AGENT}
        if cfg.CONF.auth_strategy == 'keystone'
        else {'headers': {'User-Agent': USER_AGENT}}
    )
    try:
        return glance.GlanceClientWrapper().call(
            context, 'get', path, controller='http_client', **name
        )[1]
    except Exception as error:
        # Cinder, glanceclient and keystoneauth share no class of errors.
        status = getattr(error, 'code', getattr(error, 'http_status', None))
        # Users can provoke them: none of these may open the breaker.
        if isinstance(status, int) and 400 <= status < 500:
            raise ImageRefused(
                f'Glance answered {status}',
                is_lasting=status in _LASTING,
                is_final=status not in _PASSING,
            ) from error
        raise ImageUnreadable(
            f'Glance call failed: {type(error).__name__}'
        ) from error


def _parse(body: object) -> ImageFacts:
    if not isinstance(body, dict):
        raise ImageUnreadable(
            f'Glance answered {type(body).__name__}, expected an image'
        )
    owner = body.get('owner')
    tags = body.get('tags')
    wrong = [
        name
        for name, right in (
            ('id', uuidutils.is_uuid_like(body.get('id'))),
            ('owner', owner is None or isinstance(owner, str)),
            (
                'visibility',
                isinstance(body.get('visibility'), str)
                and body['visibility'] in _VISIBILITIES,
            ),
            (
                'tags',
                isinstance(tags, list)
                and all(isinstance(tag, str) for tag in tags),
            ),
        )
        if not right
    ]
    if wrong:
        raise ImageUnreadable(
            f'the image that Glance returned has no usable {", ".join(wrong)}'
        )
    if not image_properties.is_readable(body):
        raise ImageRefused(
            'Cinder cannot read the properties of the image', is_lasting=True
        )
    boot_device = image_properties.boot_device(
        body.get(image_properties.BLOCK_DEVICES)
    )
    return ImageFacts(
        image_id=body['id'],
        image=decision.Image(
            owner=owner,
            visibility=body['visibility'],
            tags=frozenset(
                tag for tag in body['tags'] if len(tag) <= _TAG_CHARACTERS
            ),
            brings_key=image_properties.brings_key(
                body.get(image_properties.ENCRYPTION_KEY)
            ),
        ),
        volume_type=image_properties.volume_type(body),
        boot_snapshot=boot_device is not None,
        boot_snapshot_id=_id(boot_device and boot_device.get('snapshot_id')),
    )


def _id(value: object) -> str | None:
    """An id that Cinder may have given, or None for any other value.

    Others may have an end that no database can compare.
    """
    return str(value) if identifier.is_id(value) else None
