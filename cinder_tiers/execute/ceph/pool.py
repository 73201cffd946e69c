# SPDX-License-Identifier: Apache-2.0

"""Creates and changes pools of Ceph.

A pool becomes what is wanted from whatever it is now, so that a repetition
finishes what was interrupted. Never deletes, and moves data only with an
operator's consent.
"""

import collections.abc
import contextlib
import dataclasses
import time

from cinder_tiers.clients import ceph
from cinder_tiers.clients import side_by_side
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import pool as pool_kind
from cinder_tiers.domain.resources import pool_dump
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import usage as usages

#: Fields of a pool that are set with `osd pool set`: {field: Ceph's name}.
_POOL_VARIABLES = {
    'min_size': 'min_size',
    'pg_autoscale_mode': 'pg_autoscale_mode',
    'ec_overwrites': 'allow_ec_overwrites',
}
#: How full a cluster is.
ReadUsage = collections.abc.Callable[
    [ceph.Session], usages.ClusterUsage | usages.Unknown
]
#: Seconds between two commands that are to reach monitors in this order.
_TURN_S = 0.005
#: Flags without which Ceph changes neither size nor pg_num.
_GUARDS = frozenset({'options.nosizechange', 'options.nopgchange'})


class Pools:
    """Creates pools, and changes them; with consent, what moves data."""

    def __init__(self, sessions: ceph.Sessions, read_usage: ReadUsage) -> None:
        self._sessions = sessions
        self._read_usage = read_usage

    def write(
        self,
        wanted: ceph_state.Pool,
        *,
        key: actions.Key,
        current: ceph_state.Pool | None,
        consented: bool = False,
    ) -> None:
        """Create the pool unless it exists, then set the differences.

        :param consented: whether the operator allows changes that move data.
        :raises errors.ActionFailed: a difference would move data and there is
            no consent, or Ceph cannot change it.
        """
        session = self._sessions[key.of_cluster]
        if current is None:
            current = self._make(session, wanted)
            consented = True
        changed = difference.differences(current, wanted)
        for change in changed:
            _check_allowed(current, change, consented=consented)
        # What the plan saw may have grown since.
        if not consented and any(
            one.field.removeprefix('options.') in pool_options.QUOTAS
            for one in changed
        ):
            _check_quotas(current, wanted, self._read_usage(session))
        for change in sorted(changed, key=lambda one: _turn(one, wanted)):
            self._write(session, current, wanted, change)

    def _make(
        self, session: ceph.Session, wanted: ceph_state.Pool
    ) -> ceph_state.Pool:
        """Makes a pool under another name, and gives it its own at last.

        One that an interrupted apply left under that name is gone on with,
        if it can be.

        :returns: the pool, without what is kept in objects of it.
        :raises errors.ActionFailed: it cannot be.
        """
        created = self._left(session, wanted)
        draft = pool_kind.draft_of(wanted, created)
        if created is None:
            self._create(session, draft)
            created = _as_created(draft)
        for change in sorted(
            difference.differences(created, draft),
            key=lambda one: _turn(one, draft),
        ):
            self._write(session, created, draft, change)
        session.command(
            'osd pool rename', srcpool=draft.name, destpool=wanted.name
        )
        return dataclasses.replace(draft, name=wanted.name)

    def _left(
        self, session: ceph.Session, wanted: ceph_state.Pool
    ) -> ceph_state.Pool | None:
        """Return the draft of the pool that an interrupted apply left, if any.

        :raises errors.ActionFailed: it cannot become the pool.
        """
        name = pool_kind.draft_name(wanted.name)
        for dumped in session.command('osd pool ls', detail='detail'):
            if dumped['pool_name'] == name:
                break
        else:
            return None
        found = pool_dump.parse(
            dumped,
            rule_names={
                rule['rule_id']: rule['rule_name']
                for rule in session.command('osd crush rule dump')
            },
            rbd_options={},
        )
        # It may be another pool than the plan saw, or hold objects since.
        why = pool_kind.why_not_finished(
            found, wanted, self._read_usage(session)
        )
        if why:
            reason, remedy = why
            raise errors.ActionFailed(
                f'pool {wanted.name} is not made: {reason}; {remedy}'
            )
        return found

    def _create(self, session: ceph.Session, pool: ceph_state.Pool) -> None:
        arguments: dict[str, object] = {
            'pool': pool.name,
            'pool_type': pool.kind,
            'rule': pool.crush_rule,
        }
        if pool.pg_num is not None:
            arguments.update(
                pg_num=pool.pg_num,
                pgp_num=pool.pg_num,
                autoscale_mode=pool.pg_autoscale_mode,
            )
        if pool.erasure_code_profile:
            arguments['erasure_code_profile'] = pool.erasure_code_profile
        else:
            arguments['size'] = pool.size
        session.command('osd pool create', **arguments)

    def _write(
        self,
        session: ceph.Session,
        current: ceph_state.Pool,
        wanted: ceph_state.Pool,
        change: difference.Difference,
    ) -> None:
        if change.field in pool_kind.MOVING_FIELDS:
            self._move(session, current, wanted, change)
        else:
            self._set(session, current, wanted, change)

    def _move(
        self,
        session: ceph.Session,
        current: ceph_state.Pool,
        wanted: ceph_state.Pool,
        change: difference.Difference,
    ) -> None:
        """Sets what moves data. Ceph moves pgp_num with pg_num by itself."""
        sure = (
            {'yes_i_really_mean_it': True}
            if (change.field, change.after) == ('size', 1)
            else {}
        )

        def set_(var: str, value: object, **more: object) -> None:
            session.command(
                'osd pool set',
                pool=wanted.name,
                var=var,
                val=str(value),
                **more,
            )

        try:
            if change.field == 'size':
                _set_size(set_, current, wanted, sure)
            else:
                set_(change.field, change.after)
        except errors.TiersError as error:
            if not sure:
                raise
            raise errors.ActionFailed(
                f'{error}; for a single copy Ceph also needs "ceph config '
                'set global mon_allow_pool_size_one true"'
            ) from error

    def _set(
        self,
        session: ceph.Session,
        current: ceph_state.Pool,
        wanted: ceph_state.Pool,
        change: difference.Difference,
    ) -> None:
        if change.field in _POOL_VARIABLES:
            session.command(
                'osd pool set',
                pool=wanted.name,
                var=_POOL_VARIABLES[change.field],
                val=str(change.after).lower(),
            )
        elif change.field.startswith('options.'):
            name = change.field.removeprefix('options.')
            prefix, arguments = pool_options.command_of(
                wanted.name, name, wanted.options[name]
            )
            session.command(prefix, **arguments)
        elif change.field.startswith('rbd_options.'):
            name = change.field.removeprefix('rbd_options.')
            session.set_rbd_option(wanted.name, name, wanted.rbd_options[name])
        elif change.field == 'applications':
            for name in sorted(wanted.applications - current.applications):
                session.command(
                    'osd pool application enable', pool=wanted.name, app=name
                )
        elif change.field == 'managed':
            session.command(
                'osd pool application set',
                pool=wanted.name,
                app='rbd',
                key=ceph_state.OWNERSHIP_KEY,
                value=ceph_state.OWNERSHIP_VALUE,
            )
        elif change.field == 'rbd_default_data_pool':
            session.set_rbd_option(
                wanted.name, change.field, wanted.rbd_default_data_pool
            )
        else:
            raise ValueError(f'{change.field} of a pool cannot be set')


def _set_size(
    set_: collections.abc.Callable[..., None],
    current: ceph_state.Pool,
    wanted: ceph_state.Pool,
    sure: collections.abc.Mapping[str, bool],
) -> None:
    """Set size and min_size so that OSDs see both at the same time.

    With each size Ceph chooses a min_size, such as 1 for two copies
    (OSDMonitor, "pool set"), and it has no command for both. Monitors make
    one map of what reaches them within paxos_min_wait, 50 ms; one that is
    late makes two, a moment apart. On a busy machine min_size can arrive
    first: Ceph refuses it, or replaces it with its choice for the size. So
    it is set once more. The next plan shows what a kill leaves.

    :param set_: sets a variable of the pool.
    :param sure: further arguments that Ceph requires with the size.
    """
    least = wanted.min_size or current.min_size
    if least is None:
        raise ValueError(f'pool {current.name} has no min_size')
    min_size = min(least, wanted.size)
    if min_size == 1:
        # Not before Ceph has taken the size, which it may refuse.
        set_('size', wanted.size, **sure)
        set_('min_size', min_size)
        return

    def set_in_turn(turn: int) -> None:
        if turn == 0:
            set_('size', wanted.size)
            return
        time.sleep(_TURN_S)
        with contextlib.suppress(ceph.CephRefused):
            set_('min_size', min_size)

    side_by_side.each(set_in_turn, range(2), at_once=2)
    set_('min_size', min_size)


def _check_quotas(
    current: ceph_state.Pool,
    wanted: ceph_state.Pool,
    usage: usages.ClusterUsage | usages.Unknown,
) -> None:
    """No new quota may stop the writes to a pool.

    :raises errors.ActionFailed: one would.
    """
    found = list(pool_kind.full_quotas(current, wanted, usage))
    if found:
        raise errors.ActionFailed(
            f'pool {current.name} is not changed: {"; ".join(found)}; run '
            '"openstack tier plan" again'
        )


def _check_allowed(
    current: ceph_state.Pool,
    change: difference.Difference,
    *,
    consented: bool,
) -> None:
    """Check that a field may be changed, by Ceph and with this consent.

    :raises errors.ActionFailed: it may not be set.
    """
    field = change.field
    effect = None
    if field in pool_kind.FIXED_FIELDS:
        effect = 'is not possible'
    elif not consented and pool_kind.moves_data(current, field):
        effect = 'moves data'
    elif not consented and field == 'managed':
        effect = 'is for the owner of the pool to allow'
    elif not consented and field == 'min_size':
        effect = 'decides when the pool serves I/O'
    elif (
        not consented
        and field == 'rbd_default_data_pool'
        and change.before is not None
    ):
        effect = 'decides where the data of new RBD images is'
    if effect:
        raise errors.ActionFailed(
            f'pool {current.name} has {field} {change.before} instead of '
            f'{change.after}; it is not changed, because that {effect}; run '
            '"openstack tier plan" for details'
        )


def _turn(change: difference.Difference, wanted: ceph_state.Pool) -> int:
    """Return the rank of a field: some guard others, or would change them."""
    field = change.field
    if field in _GUARDS:
        return 5 if change.after == 'true' else 0
    if field == 'pg_autoscale_mode':
        return 1
    if field == 'crush_rule' and wanted.is_rule_first:
        return 2
    return 3 if field in pool_kind.MOVING_FIELDS else 4


def _as_created(wanted: ceph_state.Pool) -> ceph_state.Pool:
    """A new pool before anything was set; its min_size is Ceph's choice."""
    return dataclasses.replace(
        wanted,
        min_size=None,
        applications=frozenset(),
        managed=False,
        ec_overwrites=False,
        rbd_default_data_pool=None,
        options={},
        rbd_options={},
    )
