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

"""The API door: a create goes on with the volume type of its tier.

A paste filter in cinder-api, between its authentication and its routes. The
type that it sets is one that the client could have asked for, so that quota,
QoS, encryption and access follow from Cinder itself. Whatever is not a create
that leaves the type to us passes on byte for byte. Must not know any rule of
placement.
"""

import collections.abc
import dataclasses
import json
import re

from cinder.api.openstack import wsgi
from oslo_log import log as logging
import webob
import webob.exc

from cinder_tiers.api import body
from cinder_tiers.domain import decision
from cinder_tiers.doors import door

LOG = logging.getLogger(__name__)

#: Below /v3, with or without the project and the format that Routes adds.
#: The line feed is what the `$` of Routes lets pass.
_CREATE_PATH = re.compile(r'(?:/[^/]+)?/volumes(?:\.json)?/?\n?')
#: Characters of a reference to an image that Cinder accepts at most.
_MOST_REF = 255
_CONTENT_TYPES = frozenset({'application/json',
                            'application/vnd.openstack.volume+json'})
#: {key of a volume: what it fixes the place by}
_FIXED_BY = {
    'source_volid': decision.FixedBy.SOURCE_VOLUME,
    'source_replica': decision.FixedBy.SOURCE_VOLUME,
    'snapshot_id': decision.FixedBy.SNAPSHOT,
    'group_id': decision.FixedBy.GROUP,
    'consistencygroup_id': decision.FixedBy.GROUP,
}
_NO_ACCESS = (
    'A tag of the image asks for a storage tier that this project may not '
    'use. Create the volume from an image without the tag, or ask the '
    'administrator of the cloud for access to the tier.')
_NO_TIER = (
    'No storage tier serves this project. Name a volume type, or ask the '
    'administrator of the cloud for access to a tier.')
_ERROR = (
    'The storage tier of the volume could not be told, as a service that '
    'knows it did not answer. Try again later, or name a volume type.')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Create:
    """The create of a volume, as far as it is ours to read."""

    #: The whole body; `volume_type` of its `volume` is ours to set.
    document: dict
    volume_type: str | None
    image_ref: str | None
    fixed_by: decision.FixedBy | None

    def with_type(self, type_id: str) -> bytes:
        """The body with another volume type.

        :param type_id: id of the type.
        """
        volume = {**self.document['volume'], 'volume_type': type_id}
        return json.dumps({**self.document, 'volume': volume}).encode()


class TierMiddleware:
    """A WSGI application in front of another."""

    def __init__(self, application: collections.abc.Callable) -> None:
        """A door to an application.

        :param application: where requests go on to.
        """
        self._application = application

    def __call__(self, environ: body.Environ,
                 start_response: collections.abc.Callable,
                 ) -> collections.abc.Iterable[bytes]:
        """Serve one request (PEP 3333)."""
        refusal, original, before = None, None, dict(environ)
        # What fails in here must not fail a create: Cinder gets it as it is.
        try:
            refusal, original = self._steer(environ)
        except Exception:
            LOG.exception(
                'The API door failed (request %s); the request goes on as it '
                'came.', getattr(environ.get('cinder.context'), 'request_id',
                                 None))
        if original is not None:
            return self._try(environ, before, original, start_response)
        return (refusal or self._application)(environ, start_response)

    def _try(self, environ: body.Environ, before: body.Environ,
             original: bytes, start_response: collections.abc.Callable,
             ) -> collections.abc.Iterable[bytes]:
        """Serve a create with the type that was set, or else as it came.

        The type may be deleted, or closed to the project, before Cinder looks
        it up. Then it answers 404 and has created nothing.
        """
        status, headers, answer = webob.Request(environ).call_application(
            self._application)
        if not status.startswith('404'):
            start_response(status, headers)
            return answer
        if hasattr(answer, 'close'):
            answer.close()
        environ.clear()
        environ.update(before)
        body.replace_body(environ, original)
        return self._application(environ, start_response)

    @staticmethod
    def _steer(environ: body.Environ,
               ) -> tuple[wsgi.Fault | None, bytes | None]:
        """Set the type of a create.

        :returns: the fault if it is refused; its body as it came if a type
            was set.
        """
        context = environ.get('cinder.context')
        if context is None or not _is_create(environ):
            return None, None
        data = body.read_body(environ)
        create = read_create(data)
        if create is None:
            return None, None
        api = door.of_process('api')
        named = None
        if create.volume_type:
            named = api.applied(context).named_type(
                decision.TypeSource.REQUEST, create.volume_type, context)
        placed = api.place(door.Wish(
            context=context, project=context.project_id or '',
            image_ref=create.image_ref, named_type=named,
            fixed_by=create.fixed_by))
        if placed.decision.verdict is decision.Verdict.REFUSED:
            return (_fault(placed.decision) if _has_version(environ)
                    else None), None
        if placed.tier_type is None:
            return None, None
        body.replace_body(environ,
                          create.with_type(placed.tier_type.type_id))
        return None, data


def _is_create(environ: body.Environ) -> bool:
    content_type = environ.get('CONTENT_TYPE') or ''
    return (environ.get('REQUEST_METHOD') == 'POST'
            and _CREATE_PATH.fullmatch(environ.get('PATH_INFO') or '')
            is not None
            and content_type.partition(';')[0].strip().lower()
            in _CONTENT_TYPES)


def _has_version(environ: body.Environ) -> bool:
    """Whether Cinder knows the microversion; its answers then name it."""
    try:
        wsgi.Request(environ).set_api_version_request('')
    # Cinder has an answer of its own to each.
    except Exception:  # noqa: BLE001
        return False
    return True


def read_create(data: bytes | None) -> Create | None:
    """A create out of a body, or None when Cinder would refuse the body.

    :param data: the body as it came; anything may be in it.
    """
    try:
        document = json.loads((data or b'').decode())
        volume = document['volume']
        texts = {key: volume.get(key) for key in (
            'volume_type', 'image_id', 'imageRef', 'backup_id', *_FIXED_BY)}
    # Not UTF-8, not JSON, nested too deep, or of another shape.
    except (ValueError, RecursionError, LookupError, TypeError,
            AttributeError):
        return None
    if not all(text is None or isinstance(text, str)
               for text in texts.values()):
        return None
    # cinder-api takes image_id for imageRef, whatever it holds.
    image_ref = texts['image_id' if 'image_id' in volume else 'imageRef']
    if image_ref is not None and not 0 < len(image_ref) <= _MOST_REF:
        return None
    return Create(
        document=document, volume_type=texts['volume_type'],
        image_ref=image_ref, fixed_by=next(
            (fixed_by for key, fixed_by in _FIXED_BY.items()
             if texts[key] is not None), None))


def _fault(decided: decision.PlacementDecision) -> wsgi.Fault:
    """The refusal in Cinder's own form; names no tier, which may be private.
    """
    if decided.because_of(decision.Rule.ERROR) and (
            not decided.because_of(decision.Rule.NO_ACCESS)):
        return wsgi.Fault(webob.exc.HTTPServiceUnavailable(
            explanation=_ERROR))
    return wsgi.Fault(webob.exc.HTTPForbidden(explanation=(
        _NO_ACCESS if decided.because_of(decision.Rule.ACCESS_NEEDED)
        else _NO_TIER)))


def filter_factory(global_conf: dict, **local_conf: str,
                   ) -> collections.abc.Callable:
    """The paste filter.

    :param global_conf: of the paste file; not used.
    :param local_conf: of the filter's section; not used: the options are in
        [cinder_tiers] of cinder.conf.
    :returns: what puts the door in front of an application.
    """
    return TierMiddleware
