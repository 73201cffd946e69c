# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What placement must know of an image, asked of Glance.

Must not know what the tags mean. No text of the image may leave this module
but in `placement.Image`: errors name its kind only.
"""

import urllib.parse

from cinder import context as cinder_context

from cinder_tiers.domain import placement
from cinder_tiers.scheduler import bounded_calls

_VISIBILITIES = frozenset({'public', 'community', 'shared', 'private'})

#: One for the process: Cinder makes a new filter object for each request.
_CALLS = bounded_calls.BoundedCalls()


class ImageUnreadable(Exception):
    """The tags of an image could not be had; the text is safe to log."""


def read_image(context: cinder_context.RequestContext, image_id: str, *,
               timeout_s: float, max_calls: int) -> placement.Image:
    """An image as the user of a request sees it.

    One HTTP request through Cinder's own Glance client, with the token,
    endpoints, TLS options and retries that Cinder uses. The image is read
    raw: glanceclient's image model would fetch the schema as well.

    :param context: of the request.
    :param image_id: UUID of the image.
    :param timeout_s: seconds to wait at most, retries included.
    :param max_calls: calls that may be under way in this process.
    :raises ImageUnreadable: Glance did not answer in time, refused, or
        answered something that is no image.
    """
    # Imported first of all it fails: it and cinder.image.image_utils import
    # each other (29.0.0), and only cinder-scheduler loads them in good order.
    from cinder.image import glance

    def get() -> object:
        # A new thread has no context: give it ours, for its log lines.
        context.update_store()
        return glance.GlanceClientWrapper().call(
            context, 'get', f'/v2/images/{urllib.parse.quote(image_id)}',
            controller='http_client')[1]

    try:
        body = _CALLS.run(get, timeout_s=timeout_s, max_calls=max_calls)
    except TimeoutError as error:
        raise ImageUnreadable(
            f'Glance did not answer within {timeout_s:g} s') from error
    except bounded_calls.TooManyCalls as error:
        raise ImageUnreadable(f'Glance does not answer: {error}') from error
    except Exception as error:
        # Cinder and glanceclient share no class of errors.
        raise ImageUnreadable(
            f'Glance call failed: {type(error).__name__}') from error
    return _parse(body)


def _parse(body: object) -> placement.Image:
    if not isinstance(body, dict):
        raise ImageUnreadable(
            f'Glance answered {type(body).__name__}, expected an image')
    owner = body.get('owner')
    tags = body.get('tags')
    wrong = [name for name, right in (
        ('owner', owner is None or isinstance(owner, str)),
        ('visibility', body.get('visibility') in _VISIBILITIES),
        ('tags', isinstance(tags, list) and all(
            isinstance(tag, str) for tag in tags))) if not right]
    if wrong:
        raise ImageUnreadable('the image that Glance answered has no usable '
                              f'{", ".join(wrong)}')
    return placement.Image(owner=owner, visibility=body['visibility'],
                           tags=frozenset(tags))
