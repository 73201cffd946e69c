# SPDX-License-Identifier: Apache-2.0

"""Outcomes of the requests that the API middleware handles."""

import collections.abc
import dataclasses
import http
import json
import typing

from cinder.api.openstack import api_version_request as versions
from cinder.api.openstack import wsgi
from cinder import exception
from oslo_utils import uuidutils
import webob
import webob.exc

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import placement_request

_NO_ACCESS = (
    'A tag of the image selects a storage tier that this project may not '
    'use. Create the volume from an image without the tag, or ask the '
    'cloud administrator for access to the tier.'
)
_NO_ACCESS_BY_METADATA = (
    'The metadata of the volume select a storage tier that this project may '
    'not use. Change them, or ask the cloud administrator for access to the '
    'tier.'
)
_NO_TIER = (
    'No storage tier serves this project. Name a volume type, or ask the '
    'cloud administrator for access to a tier.'
)
_ERROR = (
    'The storage tier for this volume could not be determined because a '
    'required service did not respond. Try again later, or name a volume '
    'type.'
)
_KEY_NEEDED = (
    'The volume contains encrypted data, and its storage tier is not '
    'encrypted, so the encryption key would be lost. Name an encrypted '
    'volume type.'
)
_NOT_CHECKED = (
    'Whether the request keeps to the storage tiers could not be determined '
    'because a required service did not respond. Try again later.'
)
_NO_TEXT = (
    'A text of the request is not valid Unicode, or has a NUL character.'
)
#: In the words of Cinder (cinder/api/v3/volumes.py, `_image_uuid_from_ref`).
_IMAGE_REFUSED = (
    'Invalid image identifier or unable to access requested image.'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RequestOutcome:
    """Outcome of a request; by default it passes on unchanged."""

    #: What is answered in place of Cinder.
    answer: wsgi.Fault | webob.Response | None = None
    #: Another body with which the request goes on.
    document: dict[str, typing.Any] | None = None
    #: The decision by which the body was changed: the volume type of its
    #: tier may be gone before Cinder looks it up.
    placed: placement_request.Placement | None = None
    #: Takes back what was made for the other body, should Cinder refuse it.
    #: Never raises an Exception.
    undo: collections.abc.Callable[[], None] = lambda: None

    @property
    def data(self) -> bytes | None:
        """The other body, if there is one."""
        if self.document is None:
            return None
        return json.dumps(self.document).encode()


PASS = RequestOutcome()


def refuse(decided: decision.PlacementDecision) -> RequestOutcome:
    """The refusal in Cinder's own form; names no tier, which may be private.

    :param decided: a decision whose verdict is REFUSED.
    """
    rule = decision.Rule
    if decided.because_of(rule.IMAGE_REFUSED):
        fault = webob.exc.HTTPBadRequest(explanation=_IMAGE_REFUSED)
    elif decided.because_of(rule.KEY_NEEDED):
        fault = webob.exc.HTTPBadRequest(explanation=_KEY_NEEDED)
    elif decided.because_of(rule.ERROR) and (
        not decided.because_of(rule.NO_ACCESS)
    ):
        fault = webob.exc.HTTPServiceUnavailable(explanation=_ERROR)
    else:
        fault = webob.exc.HTTPForbidden(
            explanation=(
                _closed_by(decided)
                if decided.because_of(rule.ACCESS_NEEDED)
                else _NO_TIER
            )
        )
    return RequestOutcome(answer=wsgi.Fault(fault))


def _closed_by(decided: decision.PlacementDecision) -> str:
    """Explain a refusal by what selected a tier without access."""
    rules = {
        (reason.rule, reason.tier)
        for reason in decided.reasons
        if reason.tier is not None
    }
    return (
        _NO_ACCESS
        if any(
            rule is decision.Rule.ACCESS_NEEDED
            and (decision.Rule.TAG, tier) in rules
            for rule, tier in rules
        )
        else _NO_ACCESS_BY_METADATA
    )


def not_checked() -> RequestOutcome:
    """The refusal of a request that could not be looked at to its end."""
    return RequestOutcome(
        answer=wsgi.Fault(
            webob.exc.HTTPServiceUnavailable(explanation=_NOT_CHECKED)
        )
    )


def no_text() -> RequestOutcome:
    """The refusal of a request with a text that no database can look up."""
    return RequestOutcome(
        answer=wsgi.Fault(webob.exc.HTTPBadRequest(explanation=_NO_TEXT))
    )


def accept(
    environ: dict[str, typing.Any], version: versions.APIVersionRequest
) -> RequestOutcome:
    """Answers 202 in Cinder's own form, to a request that changes nothing.

    :param environ: the WSGI environment of the request.
    :param version: the microversion that the request asks for.
    """
    answer = webob.Response(
        status=http.HTTPStatus.ACCEPTED, content_type='application/json'
    )
    answer.headers.update(
        {
            'x-compute-request-id': environ['cinder.context'].request_id,
            wsgi.API_VERSION_REQUEST_HEADER: (
                f'{wsgi.VOLUME_SERVICE} {version.get_string()}'
            ),
            'Vary': wsgi.API_VERSION_REQUEST_HEADER,
        }
    )
    return RequestOutcome(answer=answer)


def type_not_found(ident: str) -> RequestOutcome:
    """Answer like Cinder for a volume type that the project cannot see.

    :param ident: id or name of the volume type.
    """
    error = (
        exception.VolumeTypeNotFound(volume_type_id=ident)
        if uuidutils.is_uuid_like(ident)
        else exception.VolumeTypeNotFoundByName(volume_type_name=ident)
    )
    return RequestOutcome(
        answer=wsgi.Fault(webob.exc.HTTPNotFound(explanation=error.msg))
    )


def snapshot_not_found(snapshot_id: str | None) -> RequestOutcome:
    """Answer like Cinder for an image whose snapshot does not exist.

    :param snapshot_id: id of the snapshot; None for an id that is not valid.
    """
    return RequestOutcome(
        answer=wsgi.Fault(
            webob.exc.HTTPNotFound(
                explanation=(
                    f'Nova specific image is found, but boot volume snapshot '
                    f'id:{snapshot_id} not found.'
                )
            )
        )
    )
