# SPDX-License-Identifier: Apache-2.0

"""Rate at which a watched tier is probed.

The probe is at most 1 % of the I/Os of the tier's clients. A tier that is
idle, or nearly so, is still probed at `LEAST_IOPS`: 1 % of what one hard disk
can do. Pure.
"""

#: Of the load of the tier's clients.
SHARE = 0.01
#: I/Os in a second, whatever the load.
LEAST_IOPS = 1.0
#: More would not show anything sooner.
MOST_IOPS = 4.0
#: A write and a read.
IOS_OF_PAIR = 2


def interval_s(client_iops: float | None) -> float:
    """Return the seconds between pairs of a write and a read.

    :param client_iops: IOPS of the tier's clients without the probe; None:
        unknown

    >>> interval_s(None), interval_s(300), interval_s(10**6)
    (2.0, 0.6666666666666666, 0.5)
    """
    wanted = SHARE * (client_iops or 0.0)
    return IOS_OF_PAIR / min(max(wanted, LEAST_IOPS), MOST_IOPS)
