# SPDX-License-Identifier: Apache-2.0

"""Orders in a file; it may come from anywhere, and is checked.

JSON; keys are described in doc/source/admin/audit.rst.
"""

import os

from cinder_tiers.domain import errors
from cinder_tiers.domain import record
from cinder_tiers.domain import text as escaping
from cinder_tiers.files import file_problems
from cinder_tiers.files import read_bounded
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.repair import order

VERSION = 1
KIND = 'repair'
#: Of about 100,000 steps.
MAX_SIZE_BYTES = 64 * 2**20
_EXPECTED = f'steps of a repair, version {VERSION}'
_REMEDY = (
    'make them with "openstack tier repair --out", or with "openstack tier '
    'recommend --volumes --out"'
)


def read(path: str) -> order.Orders:
    """Reads orders.

    :raises errors.ProblemsFound: it cannot be read, or has none.
    """
    with file_problems.told(path, expected=_EXPECTED, remedy=_REMEDY):
        return record.loads(
            order.Orders,
            read_bounded.read(path, max_bytes=MAX_SIZE_BYTES),
            kind=KIND,
            version=VERSION,
        )


def write(path: str, orders: order.Orders, *, replace: bool = False) -> None:
    """Write orders; the file is complete, and survives a loss of power.

    :param replace: whether to replace any existing file; otherwise a plan
        replaces only an older plan, a recommendation an older recommendation,
        and a record nothing.
    :raises errors.TiersError: the file cannot be written, or exists.
    """
    content = record.dumps(orders, indent=1, kind=KIND, version=VERSION)
    if len(content.encode()) > MAX_SIZE_BYTES:
        raise errors.TiersError(
            f'{path} would have more than {MAX_SIZE_BYTES} bytes, which is '
            'not read again; choose fewer volumes with --tier or --volume'
        )
    write_atomic.write(
        path,
        content,
        replace=replace or _is_older(path, orders.origin),
        is_durable=True,
    )


def _is_older(path: str, origin: order.Origin) -> bool:
    """Return whether a file has older orders of this origin, not a record."""
    if origin is order.Origin.RECORD or not os.path.isfile(path):
        return False
    try:
        return read(path).origin is origin
    except errors.ProblemsFound:
        return False


def check_cloud(path: str, orders: order.Orders, cloud: str) -> None:
    """Check that orders were given for this cloud.

    :param cloud: identity of this cloud.
    :raises errors.ActionFailed: the orders were given for another cloud.
    """
    if orders.cloud not in (None, cloud):
        raise errors.ActionFailed(
            f'Nothing was changed because {path} was made for another cloud '
            '(block storage and region: '
            f'{escaping.clipped(str(orders.cloud))}; here: {cloud}); check '
            'OS_CLOUD and the other credentials'
        )
