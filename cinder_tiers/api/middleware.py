# SPDX-License-Identifier: Apache-2.0

"""The API door: requests go on with the volume types of tiers.

A paste filter in cinder-api, between its authentication and its routes. The
types that it sets are ones that the client could have asked for, so that
quota, QoS, encryption and access follow from Cinder itself. Whatever leaves
no type to the image passes on byte for byte. Must not know any rule of
placement, nor what an operation is: each has a module of its own.
"""

import collections.abc
import functools

from oslo_log import log as logging
import webob

from cinder_tiers.api import body
from cinder_tiers.api import creates
from cinder_tiers.api import groups
from cinder_tiers.api import outcome
from cinder_tiers.api import request as requests
from cinder_tiers.api import restores
from cinder_tiers.api import retypes
from cinder_tiers.api import transfers
from cinder_tiers.api import wsgi_server
from cinder_tiers.doors import door

LOG = logging.getLogger(__name__)

#: The type of a tier may be gone each time; then Cinder's word is the last.
_MOST_TRIES = 3

Steer = collections.abc.Callable[[requests.ApiRequest], outcome.RequestOutcome]
AfterFailure = collections.abc.Callable[
    [requests.ApiRequest, Exception], outcome.RequestOutcome
]
#: Its path, and what gives its schemas, steers it and follows a failure.
Operation = tuple[
    str,
    collections.abc.Callable[[], collections.abc.Iterable[requests.Schema]],
    Steer,
    AfterFailure,
]


def _refuse(
    request: requests.ApiRequest, error: Exception
) -> outcome.RequestOutcome:
    """Refuse a request whose steering failed.

    Unchecked, a retype, group, restore or transfer could give a project a
    private tier without access, or take the type of its tier from a volume.
    """
    LOG.error(
        'The API middleware failed (request %s); the request is refused.',
        request.context.request_id,
        exc_info=error,
    )
    return outcome.not_checked()


def _read(answer: collections.abc.Iterable[bytes]) -> bytes:
    """Read an application's whole answer, and close it."""
    try:
        return b''.join(answer)
    finally:
        if hasattr(answer, 'close'):
            answer.close()


class TierMiddleware:
    """A WSGI application in front of another."""

    def __init__(self, application: collections.abc.Callable) -> None:
        """Put the middleware in front of an application.

        :param application: WSGI application to which requests go on.
        """
        self._application = application
        operations: tuple[Operation, ...] = (
            (
                creates.PATH,
                creates.schemas,
                creates.steer,
                creates.steer_after_failure,
            ),
            (retypes.PATH, retypes.schemas, retypes.steer, _refuse),
            (groups.PATH, groups.schemas, groups.steer, _refuse),
            (
                groups.CONSISTENCY_PATH,
                groups.consistency_schemas,
                groups.steer_consistency,
                _refuse,
            ),
            (
                restores.PATH,
                restores.schemas,
                functools.partial(restores.steer, application=application),
                _refuse,
            ),
            *(
                (path, transfers.schemas, transfers.steer, _refuse)
                for path in transfers.PATHS
            ),
        )
        self._operations = tuple(
            (requests.path_pattern(path), schemas, steer, after_failure)
            for path, schemas, steer, after_failure in operations
        )

    def __call__(
        self,
        environ: body.Environ,
        start_response: collections.abc.Callable,
    ) -> collections.abc.Iterable[bytes]:
        """Serve one request (PEP 3333)."""
        for is_last in (*(False,) * (_MOST_TRIES - 1), True):
            before = dict(environ)
            chosen, original, changed = self._steer(environ)
            if chosen.answer is not None:
                return chosen.answer(environ, start_response)
            if changed is None:
                return self._application(environ, start_response)
            body.replace_body(environ, changed)
            try:
                status, headers, answer = webob.Request(
                    environ
                ).call_application(self._application)
            except BaseException:
                chosen.undo()
                raise
            if not status.startswith('2'):
                chosen.undo()
            if is_last or not status.startswith('404'):
                start_response(status, headers)
                return answer
            answer = _read(answer)
            if not self._is_gone(chosen, environ, answer):
                start_response(status, headers)
                return [answer]
            environ.clear()
            environ.update(before)
            body.replace_body(environ, original)
        raise AssertionError('the last try returns')

    @staticmethod
    def _is_gone(
        chosen: outcome.RequestOutcome, environ: body.Environ, answer: bytes
    ) -> bool:
        """Return whether the chosen type was deleted or closed meanwhile.

        Then Cinder's 404 is not an answer to the request: it created nothing.
        Cinder names the type that it did not find, in each language. It may
        be there again.

        :param answer: the body of the 404.
        """
        if chosen.placed is None:
            return False
        tier_type = chosen.placed.tier_type
        if tier_type is not None and tier_type.type_id.encode() in answer:
            return True
        try:
            return not door.of_process('api').is_usable(
                chosen.placed, environ['cinder.context']
            )
        # Cinder's answer stands.
        except Exception:  # noqa: BLE001
            return False

    def _steer(
        self,
        environ: body.Environ,
    ) -> tuple[outcome.RequestOutcome, bytes, bytes | None]:
        """Return the outcome of a request, its body, and its new body."""
        # What fails before a request is read fails in Cinder as well. After
        # that only a create passes on, one whose own type cannot be looked
        # up: then Cinder looks it up, and the scheduler door decides.
        try:
            if environ.get('cinder.context') is None:
                return outcome.PASS, b'', None
            for pattern, schemas, steer, after_failure in self._operations:
                match = pattern.fullmatch(environ.get('PATH_INFO') or '')
                if match is None:
                    continue
                if requests.method_of(
                    environ
                ) != 'POST' or not requests.is_json(environ):
                    break
                request = requests.read(
                    environ, ident=match.groupdict().get('id'), schemas=schemas
                )
                if request is None:
                    break
                try:
                    chosen = steer(request)
                except Exception as error:  # noqa: BLE001 - kept there
                    chosen = (
                        after_failure(request, error)
                        if request.is_text
                        else outcome.no_text()
                    )
                return chosen, request.data, chosen.data
        except Exception:
            LOG.exception(
                (
                    'The API middleware failed (request %s); the request '
                    'continues unchanged.'
                ),
                getattr(environ.get('cinder.context'), 'request_id', None),
            )
        return outcome.PASS, b'', None


def filter_factory(
    global_conf: dict,
    **local_conf: str,
) -> collections.abc.Callable:
    """Create the paste filter.

    :param global_conf: defaults of the paste file; not used.
    :param local_conf: options of the filter's section; not used, because the
        options are in [cinder_tiers] of cinder.conf.
    :returns: a function that puts the middleware in front of an application.
    """
    wsgi_server.warn_without_threads()
    return TierMiddleware
