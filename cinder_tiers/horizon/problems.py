# SPDX-License-Identifier: Apache-2.0

"""Failures of services, as pages tell them."""

import collections.abc
import contextlib

from horizon import exceptions

from cinder_tiers.domain import errors
from cinder_tiers.domain import text

_NOT_AUTHENTICATED = 401


@contextlib.contextmanager
def told(problems: list[str]) -> collections.abc.Iterator[None]:
    """Add the message of an expected failure to a list.

    :param problems: messages that the page shows above its remaining content.
    :raises exceptions.NotAuthenticated: the token is not valid any more;
        Horizon then asks the user to log in.
    """
    try:
        yield
    except errors.TiersError as error:
        if getattr(error.__cause__, 'status_code', None) == _NOT_AUTHENTICATED:
            raise exceptions.NotAuthenticated from error
        problems.append(text.clipped(text.printable(str(error))))
