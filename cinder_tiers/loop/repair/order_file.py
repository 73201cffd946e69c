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
    """Writes orders; the file is whole, and there after a loss of power.

    :param orders: what is written.
    :param replace: whether a file that exists is replaced, whatever it is;
        else a plan replaces an older plan only, a recommendation an older
        recommendation, and a record nothing.
    :raises errors.TiersError: it cannot be written, or exists.
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
    """Whether a file has orders that are made again when they are needed."""
    if origin is order.Origin.RECORD or not os.path.isfile(path):
        return False
    try:
        return read(path).origin is origin
    except errors.ProblemsFound:
        return False


def check_cloud(path: str, orders: order.Orders, cloud: str) -> None:
    """Whether orders were given for this cloud.

    :param cloud: identifies the cloud that is there.
    :raises errors.ActionFailed: they were given for another one.
    """
    if orders.cloud not in (None, cloud):
        raise errors.ActionFailed(
            f'Nothing was changed because {path} was made for another cloud '
            '(block storage and region: '
            f'{escaping.clipped(str(orders.cloud))}; here: {cloud}); check '
            'OS_CLOUD and the other credentials'
        )
