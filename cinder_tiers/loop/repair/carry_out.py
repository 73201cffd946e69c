# SPDX-License-Identifier: Apache-2.0

"""Carries out the steps of a repair, a few at a time.

Each step looks at its volume first, and does nothing if that is not as it was
when the plan was made. Nothing is kept about what is done: after an end in the
middle, what is left is what the next plan shows.
"""

import collections.abc
import concurrent.futures
import dataclasses
import enum
import threading
import time

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import repair
from cinder_tiers.observe.cinder import volumes

#: How often Cinder is asked; a retype that copies nothing takes a second.
_POLL_S = 2.0
#: How often somebody who waits hears of a copy.
_SAY_EVERY_S = 60.0
#: A restart of cinder-api takes no longer.
_MOST_SILENT_S = 600.0
#: How often a volume is at rest before its new type is missed: Cinder gives it
#: its status and its type one after the other.
_POLLS_AT_REST = 5
#: Of a volume that Cinder works on.
_BUSY = ('retyping', 'maintenance')
_NOT_MIGRATING = (None, '', 'none', 'success', 'error', 'deleting')


class Outcome(enum.Enum):
    """What came of a step."""

    DONE = 'done'
    FAILED = 'failed'
    REFUSED = 'refused'
    """The plan had said so; nothing was done."""
    CHANGED = 'changed'
    """The volume is not as the plan showed it; nothing was done."""
    NOT_STARTED = 'not started'
    """The command was interrupted first; nothing was done."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """A step, and what came of it."""

    step: repair.Step
    outcome: Outcome
    #: Why it is not done; empty if it is.
    reason: str = ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class Images:
    """Where the RBD images of tiers are."""

    #: {tier: session with its cluster}
    sessions: collections.abc.Mapping[str, ceph_session.Session]
    #: {tier: pool}
    pools: collections.abc.Mapping[str, str]


class _NotAsPlanned(errors.TiersError):
    """A volume is not as the plan showed it."""


def carry_out(
    steps: collections.abc.Sequence[repair.Step],
    *,
    connection: openstack.connection.Connection,
    images: Images,
    at_once: int,
    is_to_stop: collections.abc.Callable[[], bool],
    report: collections.abc.Callable[[Result], None],
    say: collections.abc.Callable[[str], None],
    poll_s: float = _POLL_S,
) -> list[Result]:
    """Does the steps that are not refused.

    :param connection: of an administrator.
    :param at_once: how many at a time.
    :param is_to_stop: whether no further step is to begin.
    :param report: is told each result, one after another.
    :param say: is told what a step waits for, as a line.
    :param poll_s: how often Cinder is asked for the end of a step.
    :returns: a result for each step, in their order.
    """
    telling = threading.Lock()

    def done(step: repair.Step) -> Result:
        if step.refusal:
            result = Result(
                step=step, outcome=Outcome.REFUSED, reason=step.refusal
            )
        elif is_to_stop():
            result = Result(step=step, outcome=Outcome.NOT_STARTED)
        else:
            result = _result_of(step, connection, images, waits, poll_s)
        with telling:
            report(result)
        return result

    def waits(line: str) -> None:
        with telling:
            say(line)

    with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        return list(threads.map(done, steps))


def _result_of(
    step: repair.Step,
    connection: openstack.connection.Connection,
    images: Images,
    say: collections.abc.Callable[[str], None],
    poll_s: float,
) -> Result:
    try:
        _look(step, connection)
        if step.kind is repair.Kind.LIMITS:
            images.sessions[step.tier].set_image_options(
                images.pools[step.tier],
                volumes.image_of(step.volume),
                step.options,
            )
        else:
            _move(step, connection, say, poll_s)
    except _NotAsPlanned as error:
        return Result(step=step, outcome=Outcome.CHANGED, reason=str(error))
    except errors.TiersError as error:
        return Result(step=step, outcome=Outcome.FAILED, reason=str(error))
    return Result(step=step, outcome=Outcome.DONE)


def _show(
    step: repair.Step, connection: openstack.connection.Connection
) -> collections.abc.Mapping:
    volume = step.volume.volume_id
    with openstack_client.asking(f'Cinder did not show volume {volume}'):
        return openstack_client.request(
            connection.block_storage, 'GET', '/volumes/{}', volume
        ).json()['volume']


def _look(
    step: repair.Step, connection: openstack.connection.Connection
) -> None:
    """Look whether a volume is as the plan shows it.

    :raises _NotAsPlanned: it is not.
    """
    planned = step.volume
    found = _show(step, connection)
    changed = [
        f'{what} was {before} and is {now}'
        for what, before, now in (
            ('volume type', planned.type_name, found.get('volume_type')),
            ('host', planned.host, found.get('os-vol-host-attr:host')),
            ('status', planned.status, found.get('status')),
        )
        if before != now
    ]
    if changed:
        raise _NotAsPlanned(
            f'since the plan was made, its {", its ".join(changed)}; run '
            'the command again'
        )


def _move(
    step: repair.Step,
    connection: openstack.connection.Connection,
    say: collections.abc.Callable[[str], None],
    poll_s: float,
) -> None:
    """Retype or migrate a volume, and wait until Cinder has ended it.

    :raises errors.TiersError: Cinder refused it, or did not do it.
    """
    volume = step.volume.volume_id
    to = step.retype_to or step.migrate_to
    if step.retype_to:
        keeps = step.kind is repair.Kind.TYPE
        action: dict[str, object] = {
            'os-retype': {
                'new_type': step.retype_to,
                'migration_policy': 'never' if keeps else 'on-demand',
            }
        }
        shown = 'volume_type'
    else:
        # Locked, so that its user waits rather than ends the migration.
        action = {'os-migrate_volume': {'host': to, 'lock_volume': True}}
        shown = 'os-vol-host-attr:host'
    with openstack_client.asking(
        f'Cinder did not begin to move volume {volume} to {to}'
    ):
        openstack_client.request(
            connection.block_storage,
            'POST',
            '/volumes/{}/action',
            volume,
            json=action,
        )
    begun = said = answered = time.monotonic()
    at_rest = 0
    pause = threading.Event()
    while True:
        pause.wait(poll_s)
        now = time.monotonic()
        try:
            found = _show(step, connection)
        except errors.NotVisible:
            raise
        except errors.Unreachable:
            # A restart of the API does not end what cinder-volume does.
            if now - answered > _MOST_SILENT_S:
                raise
            continue
        answered = now
        if found.get('status') in _BUSY or (
            found.get('os-vol-mig-status-attr:migstat') not in _NOT_MIGRATING
        ):
            at_rest = 0
            if now - said > _SAY_EVERY_S:
                said = now
                say(
                    f'volume {volume} has been {found.get("status")} for '
                    f'{(now - begun) / 60:.0f} min'
                )
            continue
        if found.get(shown) == to:
            return
        at_rest += 1
        if at_rest >= _POLLS_AT_REST:
            raise errors.ActionFailed(
                f'Cinder gave up the move of volume {volume} to '
                f'{to}: its type is {found.get("volume_type")}, '
                f'its host {found.get("os-vol-host-attr:host")}, its status '
                f'{found.get("status")}; "openstack volume message list" and '
                'the logs of cinder-scheduler and cinder-volume say why'
            )
