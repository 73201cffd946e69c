# SPDX-License-Identifier: Apache-2.0

"""A request to cinder-api, read as Cinder reads it.

The method, the version, the JSON and the schema are checked by Cinder's own
classes, so that what Cinder accepts and what it refuses is the same here in
each of its releases. Must not know what a request is for.
"""

import collections.abc
import dataclasses
import functools
import inspect
import json
import re
import typing

from cinder.api.openstack import api_version_request
from cinder.api.openstack import wsgi
from cinder.api.validation import validators
from cinder import context as cinder_context
from cinder import exception
from oslo_config import cfg
from oslo_middleware import opts as middleware_opts
import webob
import webob.exc

from cinder_tiers.api import body

# Of the filter sizelimit before ours, where paste.ini has it.
for _group, _opts in middleware_opts.list_opts_sizelimit():
    cfg.CONF.register_opts(_opts, group=_group)

_CONTENT_TYPES = frozenset(
    {'application/json', 'application/vnd.openstack.volume+json'}
)
#: In JSON that is not restricted to ASCII.
_NO_TEXT = re.compile(r'[\ud800-\udfff]|(?<!\\)(?:\\\\)*\\u0000')
#: Below /v3, with or without the project, and the format that Routes adds.
#: The line feed is what the `$` of Routes lets pass.
_PATH = r'(?:/[^/]+)?/{}(?:\.json)?/?\n?'

#: Lowest and highest version of the API, None for any, and the JSON schema.
Schema = tuple[str | None, str | None, dict]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ApiRequest:
    """A request that Cinder would accept."""

    context: cinder_context.RequestContext
    environ: body.Environ
    version: api_version_request.APIVersionRequest
    #: The body, which fits the schema of the version.
    document: dict[str, typing.Any]
    #: The body as it came.
    data: bytes
    #: Id in the path; None for a request without one.
    ident: str | None

    @property
    def is_text(self) -> bool:
        """Return whether a database can look up each string of the body.

        JSON writes halves of characters as well (lone surrogates), and
        PostgreSQL takes no NUL.
        """
        return not _NO_TEXT.search(
            json.dumps(self.document, ensure_ascii=False)
        )


def path_pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of an operation's path below /v3.

    :param path: such as `volumes` or `volumes/{id}/action`.
    """
    return re.compile(
        _PATH.format(re.escape(path).replace(r'\{id\}', '(?P<id>[^/]+)'))
    )


def method_of(environ: body.Environ) -> str:
    """The method of a request as Routes, which Cinder uses, takes it.

    A query may name another one than the request line
    (routes/middleware.py, `use_method_override`).
    """
    if '_method' in environ.get('QUERY_STRING', ''):
        try:
            named = webob.Request(environ.copy()).GET.get('_method')
        except UnicodeDecodeError:
            named = None
        if named:
            return named.upper()
    return environ.get('REQUEST_METHOD', '')


def is_json(environ: body.Environ) -> bool:
    """Return whether Cinder reads a body as JSON."""
    content_type = environ.get('CONTENT_TYPE') or ''
    return content_type.partition(';')[0].strip().lower() in _CONTENT_TYPES


def version_of(
    environ: body.Environ,
) -> api_version_request.APIVersionRequest | None:
    """The version of Cinder's API that a request asks for.

    :returns: None when Cinder refuses it; it has an answer of its own.
    """
    # It keeps attributes in the environ.
    request = wsgi.Request(environ.copy())
    try:
        request.set_api_version_request('')
    # Some of Cinder's errors, and those of a header of a wrong shape.
    except Exception:  # noqa: BLE001
        return None
    return request.api_version_request


def _most_bytes() -> int:
    """Length of the longest body that Cinder takes, or `body.MOST_BYTES`.

    A request that Cinder takes and the middleware does not read would pass
    beside the tiers.
    """
    return max(body.MOST_BYTES, cfg.CONF.oslo_middleware.max_request_body_size)


def read(
    environ: body.Environ,
    *,
    ident: str | None,
    schemas: collections.abc.Callable[[], collections.abc.Iterable[Schema]],
) -> ApiRequest | None:
    """Read a request; None for one that Cinder refuses.

    :param environ: environment of the WSGI request; its body stays readable.
    :param ident: id in the path of the request.
    :param schemas: returns the schemas of the operation.
    """
    version = version_of(environ)
    if version is None:
        return None
    data = body.read_body(environ, most_bytes=_most_bytes())
    if data is None:
        return None
    try:
        document = wsgi.JSONDeserializer().deserialize(data)['body']
        for lowest, highest, schema in schemas():
            if version.matches(_version(lowest), _version(highest)):
                _validator(_Frozen(schema)).validate(document)
    # Cinder's words differ from key to key: a name that is too long is no
    # ValidationError, and a zone without a name is an answer already. Or it
    # is nested too deep, or of a shape that Cinder's own checks do not
    # expect.
    except (
        exception.CinderException,
        webob.exc.HTTPException,
        RecursionError,
        TypeError,
        AttributeError,
        ValueError,
    ):
        return None
    return ApiRequest(
        context=environ['cinder.context'],
        environ=environ,
        version=version,
        document=document,
        data=data,
        ident=ident,
    )


def schemas_of(
    function: collections.abc.Callable,
) -> collections.abc.Iterator[Schema]:
    """The schemas with which Cinder decorated a function of its API.

    Each decorator keeps its schema and the versions for which it holds
    (cinder/api/validation/__init__.py, `schema`).

    :param function: such as VolumeController.create.
    """
    while True:
        names = inspect.getclosurevars(function).nonlocals
        if 'request_body_schema' in names:
            yield (
                names['min_version'],
                names['max_version'],
                names['request_body_schema'],
            )
        if not hasattr(function, '__wrapped__'):
            return
        function = function.__wrapped__


@functools.lru_cache
def _version(text: str | None) -> api_version_request.APIVersionRequest:
    return api_version_request.APIVersionRequest(text)


class _Frozen:
    """A schema that is the same as itself, whatever is in it."""

    def __init__(self, schema: dict) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


@functools.lru_cache
def _validator(frozen: _Frozen) -> validators._SchemaValidator:
    return validators._SchemaValidator(frozen.schema)
