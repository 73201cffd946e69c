# SPDX-License-Identifier: Apache-2.0

"""Errors and gaps of openstacksdk, for reads and writes.

Must not know what is requested, nor of which object.
"""

import collections.abc
import contextlib
import re
import typing
import urllib.parse

import keystoneauth1.exceptions
import openstack.exceptions
from openstack import utils
import requests.exceptions

from cinder_tiers.domain import errors
from cinder_tiers.domain import identifier

#: What openstacksdk raises when a service is absent or refuses.
API_ERRORS = (
    openstack.exceptions.SDKException,
    keystoneauth1.exceptions.ClientException,
    # What answered is not the service, as with the page of a proxy, or the
    # answer broke off.
    requests.exceptions.RequestException,
)
#: Of HTTP, and no refusal: Request Timeout, and Content Too Large and Too Many
#: Requests of a limit of requests (the former is Cinder's own OverLimitFault).
_TRY_AGAIN = (408, 413, 429)
#: Of HTTP, to a user without the permission.
_FORBIDDEN = 403
_DENIED = (401, _FORBIDDEN)
#: Of HTTP: with the object that was asked for.
_WITH_JSON = (200, 201)
#: Bytes in which an answer begins with something else than space.
_MOST_SPACE = 256
#: Bytes of an answer; a page of 1,000 volumes has about three million.
MOST_BYTES = 16 * 2**20
_CHUNK_BYTES = 2**16
#: What oslo.policy says, by which an administrator finds the rule.
_POLICY = re.compile(r"Policy doesn't allow ([\w:.-]{1,100}) to be", re.ASCII)
_KEY = re.compile('(?=.*[0-9A-Za-z])[0-9A-Za-z_.: -]{1,255}')


class Service(typing.Protocol):
    """A proxy of openstacksdk, such as `block_storage`."""

    #: That a user has chosen; None: none.
    default_microversion: str | None

    def request(
        self, url: str, method: str, **arguments: object
    ) -> requests.Response:
        """A call below the endpoint of the service."""


class AnswerTooLong(openstack.exceptions.SDKException):
    """An answer has more than MOST_BYTES."""


@contextlib.contextmanager
def asking(what: str, *, remedy: str = '') -> collections.abc.Iterator[None]:
    """Turn errors of an API into an expected failure.

    :param what: the request that failed, such as `Cinder did not list volume
        types`.
    :param remedy: advice if the user lacks the permission.
    :raises errors.Unreachable: openstacksdk raised an error.
    :raises errors.TiersError: the answer has an unknown form, so that reading
        it raised an error.
    """
    try:
        yield
    except API_ERRORS as error:
        hint = f'; {remedy}' if remedy and _status(error) in _DENIED else ''
        raise failure(error, f'{what}: {why(error)}{hint}') from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise errors.TiersError(
            f'{what}: the answer has a form that is not known ({error!r}); '
            'see what is between you and the service, and which version it '
            'has'
        ) from error


def why(error: Exception) -> str:
    """Text of an error of an API; a missing permission in plain words.

    >>> why(openstack.exceptions.ForbiddenException(
    ...     "403: Policy doesn't allow x:get to be performed.",
    ...     http_status=403))
    'the service refused it to this user, by its policy x:get (HTTP 403)'
    """
    if _status(error) != _FORBIDDEN:
        return str(error)
    rule = _POLICY.search(str(error))
    by = f', by its policy {rule[1]}' if rule else ''
    return f'the service refused it to this user{by} (HTTP {_FORBIDDEN})'


def _status(error: Exception) -> object:
    return getattr(error, 'http_status', None) or getattr(
        error, 'status_code', None
    )


def failure(error: Exception, text: str) -> errors.Unreachable:
    """Return the expected failure for an error of an API.

    >>> refused = openstack.exceptions.ForbiddenException(http_status=403)
    >>> type(failure(refused, 'Cinder refused')).__name__
    'NotVisible'

    :param error: one of `API_ERRORS`.
    :param text: message for the user.
    """
    status = _status(error)
    is_answer = (
        isinstance(status, int)
        and 400 <= status < 500
        and status not in _TRY_AGAIN
    )
    if is_answer or isinstance(error, openstack.exceptions.DuplicateResource):
        return errors.NotVisible(text)
    return errors.Unreachable(text)


def asking_as_admin(
    what: str,
) -> contextlib.AbstractContextManager[None]:
    """Turn errors of a request that needs an administrator into a failure.

    :param what: the request that may fail, such as `list volume types`.
    """
    return asking(
        f'Cinder failed to {what}',
        remedy='the user must be an administrator of block storage, by '
        'default with the role admin; see the page "Permissions and '
        'credentials" of the documentation',
    )


def checked_id(value: object) -> str:
    """An id that a service gave, fit to be part of a URL.

    :raises openstack.exceptions.SDKException: it is none.
    """
    if not identifier.is_id(value):
        raise openstack.exceptions.SDKException(
            f'{str(value)[:100]!r} is not an id: expected a UUID; see the '
            'proxies before the service'
        )
    return str(value)


def checked_key(key: str) -> str:
    """The name of an extra spec, fit to be part of a URL.

    Cinder takes `..` for one, after which a request is about the volume type.

    :raises openstack.exceptions.SDKException: it is not fit.
    """
    if not _KEY.fullmatch(key):
        raise openstack.exceptions.SDKException(
            f'the name {key[:100]!r} cannot be part of a URL: expected '
            'letters, digits and _.:- with a letter or a digit'
        )
    return key


def request(
    service: Service,
    method: str,
    path: str,
    *ids: object,
    **arguments: object,
) -> requests.Response:
    """Send a request for which openstacksdk has no method, or a wrong one.

    openstacksdk makes any text a part of the URL.

    :param service: a proxy of openstacksdk, such as `block_storage`.
    :param path: path below the endpoint of the service, with {} for each id.
    :param ids: ids of the objects in the path.
    :param arguments: arguments of keystoneauth, such as `json` and `params`.
    :returns: the response.
    :raises openstack.exceptions.SDKException: the service refused the request,
        something else answered in its place, or one of `ids` is not an id.
    :raises AnswerTooLong: the answer has more than MOST_BYTES bytes.
    """
    path = path.format(*map(checked_id, ids))
    answer = service.request(path, method, stream=True, **arguments)
    _read_bounded(answer, f'{method} {path}')
    openstack.exceptions.raise_from_response(answer)
    # Such as the page of a proxy; Cinder's answers of other statuses than
    # these may have any text.
    if answer.status_code in _WITH_JSON and answer.content[
        :_MOST_SPACE
    ].lstrip()[:1] not in (b'{', b''):
        # Without the query, in which a page for a login may have a token.
        url = urllib.parse.urlsplit(answer.url)
        host = url.netloc.rpartition('@')[2]
        raise openstack.exceptions.SDKException(
            f'{method} {url.scheme}://{host}{url.path} was not '
            f'answered by the service: HTTP {answer.status_code} with '
            f'{answer.headers.get("Content-Type", "no Content-Type")} in '
            'place of JSON; see the proxies before it'
        )
    return answer


def _read_bounded(answer: requests.Response, what: str) -> None:
    content = bytearray()
    with contextlib.closing(answer):
        for chunk in answer.iter_content(_CHUNK_BYTES):
            content += chunk
            if len(content) > MOST_BYTES:
                raise AnswerTooLong(
                    f'the answer to {what} has more than '
                    f'{MOST_BYTES // 2**20} MiB'
                )
    # What requests keeps of an answer that it has read itself.
    answer._content = bytes(content)


def highest_microversion(service: Service, wanted: str | None) -> str | None:
    """The microversion to ask a service with; None: its lowest.

    :param service: a proxy of openstacksdk, such as `block_storage`.
    :param wanted: the highest that is understood; a service that knows only
        older ones is asked with its own.
    """
    return service.default_microversion or (
        utils.maximum_supported_microversion(service, wanted)
    )


def text(value: object) -> str:
    """Returns a value of an answer, such as a name, if it is a string.

    :raises TypeError: it is not a string.
    """
    if not isinstance(value, str):
        raise TypeError(f'{value!r} is not a string')
    return value


def rows(
    service: Service,
    path: str,
    *,
    key: str,
    links: str | None,
    params: collections.abc.Mapping[str, object],
    microversion: str | None = None,
    takes_older: bool = True,
) -> collections.abc.Iterator[dict]:
    """Yield the entries of a list that Cinder or Glance returns in pages.

    Yields them as in the answer: to make a resource of openstacksdk from an
    entry takes about a millisecond, which is minutes for all volumes of a
    large cloud.

    :param service: a proxy of openstacksdk, such as `block_storage`.
    :param path: path below the endpoint of the service.
    :param key: key of the entries in an answer; each entry has an `id`.
    :param links: key of the links, or of the single link, which an answer has
        if there may be another page; None: there is none, and the list ends
        with an empty page.
    :param params: parameters of the query, without those of the page. If they
        include `limit`, a page that is too long is requested in smaller ones.
    :param microversion: see `highest_microversion`.
    :param takes_older: whether it may be an older one, as
        `highest_microversion` has it.
    :raises openstack.exceptions.SDKException: the service refused the request.
    """
    used = microversion
    if takes_older:
        used = highest_microversion(service, microversion)
    asked = dict(params)
    most = params.get('limit')
    limit = most_rows = most if isinstance(most, int) else 1
    while True:
        try:
            page = request(
                service, 'GET', path, params=asked, microversion=used
            ).json()
        except AnswerTooLong:
            if limit == 1:
                raise
            asked['limit'] = limit = max(1, limit // 10)
            continue
        yield from page[key]
        if limit != most_rows:
            # One row that is long must not make all pages short.
            asked['limit'] = limit = min(most_rows, limit * 10)
        found = (page.get(links) or ()) if links else ''
        if not page[key] or not (
            isinstance(found, str)
            or any(one.get('rel') == 'next' for one in found)
        ):
            return
        # Not by the link itself, which may name a host behind a proxy.
        asked['marker'] = page[key][-1]['id']
