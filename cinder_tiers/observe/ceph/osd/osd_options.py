# SPDX-License-Identifier: Apache-2.0
"""Reads from the OSDs themselves what options they use. Writes nothing.

The monitors have the configured values; this asks each
running OSD of a device class or host what it made of that.
"""

import collections.abc
import contextlib
import errno
import typing

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.clients import side_by_side
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph.osd import mclock

# A command to an OSD that is down.
_DOWN = (errno.ENXIO, errno.ETIMEDOUT, errno.EAGAIN)
_OP_QUEUE = 'osd_op_queue'
_BACKFILLS = 'osd_max_backfills'
# Layers of an OSD's own.
_LOCAL = {'cmdline', 'env', 'file'}
#: Of a command that the user may not send.
REFUSED = (errno.EACCES, errno.EPERM)
_UNKNOWN = 'unknown'
_Answer = typing.TypeVar('_Answer')
_NO_OPTION = (errno.ENOENT, errno.EINVAL)


def observe_classes(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """Options of the OSDs of device classes, as the catalog declares them."""
    declared: dict[str, set[str]] = {}
    for tier in catalog.tiers_of(session.cluster.name):
        if tier.rbd.osd_options and tier.rbd.device_class:
            declared.setdefault(tier.rbd.device_class, set()).update(
                tier.rbd.osd_options
            )
    return {
        'mclock': mclock.observe(session, found),
        **_observe(
            session, osd_options.CLASS, declared, 'class_options', found
        ),
    }


def observe_hosts(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """Options of the OSDs of hosts, as the catalog declares them."""
    cluster = catalog.clusters[session.cluster.name]
    declared = {
        host: set(options)
        for host, options in cluster.host_osd_options.items()
    }
    return _observe(session, osd_options.HOST, declared, 'host_options', found)


@answers.in_known_form
def _observe(
    session: ceph_session.Session,
    mask: str,
    declared: dict[str, set[str]],
    field: str,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """Read the options in effect, and the facts needed to judge them.

    :param mask: class or host.
    :param declared: {name of the device class or host: options}.
    :param field: field of `CephState` for the options.
    :param found: state that may have options of the other mask.
    """
    known = dict(found.option_schemas)
    schemas = known | schemas_of(
        session, set().union(*declared.values()) - known.keys()
    )
    return {
        'option_schemas': schemas,
        'configured_options': (
            configured_options(session)
            if schemas and not found.configured_options
            else found.configured_options
        ),
        field: {
            name: in_effect(
                session,
                mask,
                name,
                {
                    option: schemas[option]
                    for option in options & schemas.keys()
                },
            )
            for name, options in declared.items()
        },
    }


@answers.in_known_form
def configured(
    session: ceph_session.Session, name: str, *, mask: str
) -> ceph_state.OsdOptions:
    """Read the options that the monitors have for a device class or host.

    :param name: name of the device class or host.
    :param mask: class or host.
    :returns: the options with their values in effect, not those of the
        monitors.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    names = {
        entry['name']
        for entry in session.command('config dump')
        if entry['section'] == 'osd' and entry['mask'] == f'{mask}:{name}'
    }
    return in_effect(session, mask, name, schemas_of(session, names))


@answers.in_known_form
def configured_options(
    session: ceph_session.Session,
) -> dict[str, dict[str, str]]:
    """Read the options that the monitors have for some of the OSDs.

    :returns: {mask, such as class:ssd, or one OSD, such as osd.3: {option:
        value}}.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    found: dict[str, dict[str, str]] = {}
    for entry in session.command('config dump'):
        mask = entry['mask']
        if entry['section'].startswith('osd.') and not mask:
            mask = entry['section']
        elif entry['section'] != 'osd' or not mask:
            continue
        found.setdefault(mask, {})[entry['name']] = entry['value']
    return found


@answers.in_known_form
def schemas_of(
    session: ceph_session.Session, names: set[str]
) -> dict[str, ceph_state.OptionSchema]:
    """{option: schema} of the options that the cluster knows.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    found = {}
    for name in sorted(names):
        try:
            answer = session.command('config help', key=name)
        except ceph_session.CephRefused as error:
            if error.errno in _NO_OPTION:
                continue
            raise
        found[name] = parse_schema(answer)
    return found


def parse_schema(described: dict) -> ceph_state.OptionSchema:
    """An option of `config help`."""
    default = described.get('daemon_default', '')
    if default in ('', None):
        default = described['default']
    return ceph_state.OptionSchema(
        name=described['name'],
        kind=described['type'],
        words=tuple(described.get('enum_values', ())),
        default=_text(default),
        at_runtime=(
            described['can_update_at_runtime']
            and described['name'] not in osd_options.READ_AT_START
        ),
        level=described.get('level', 'advanced'),
    )


@answers.in_known_form
def in_effect(
    session: ceph_session.Session,
    mask: str,
    name: str,
    schemas: dict[str, ceph_state.OptionSchema],
) -> ceph_state.OsdOptions:
    """Read options as the running OSDs of a device class or host use them.

    If all of its OSDs are down, returns the options that they will use once
    started, as far as the monitors know.

    :param mask: class or host.
    :param name: name of the device class or host; without OSDs no option is in
        effect.
    :param schemas: schemas of the options to read.
    :raises errors.Unreachable: some of its OSDs are up, but none of them
        answers.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    osd_ids = _osds(session, mask, name) if schemas else []
    if not osd_ids:
        return ceph_state.OsdOptions(name=name, values={})
    diffs, is_reported = _diffs(session, osd_ids)
    if not diffs and _are_down(session, osd_ids):
        diffs = _once_started(session, schemas, osd_ids)
    if not diffs:
        raise errors.Unreachable(
            f'no OSD of {mask} {name} of Ceph cluster '
            f'{session.cluster.name!r} answers; see "ceph osd tree"'
        )
    queue = schemas_of(session, {_OP_QUEUE})[_OP_QUEUE].default
    queues = {
        osd_id: _text(diff.get(_OP_QUEUE, {}).get('final', queue))
        for osd_id, diff in diffs.items()
    }
    dumped = session.command('config dump')
    values, reasons, after_restart = {}, {}, {}
    for option, schema in schemas.items():
        now = {osd_id: _value(schema, diff) for osd_id, diff in diffs.items()}
        untold = (
            [
                osd_id
                for osd_id, used in queues.items()
                if used == osd_options.MCLOCK
            ]
            if is_reported and option == _BACKFILLS
            else []
        )
        if untold:
            now |= dict.fromkeys(untold, _UNKNOWN)
        elif option == _BACKFILLS and not is_reported:
            now |= _reservers(session, diffs)
        configured = {
            _normal(schema, entry['value'])
            for entry in dumped
            if (entry['section'], entry['mask'], entry['name'])
            == ('osd', f'{mask}:{name}', option)
        }
        reasons[option] = _reason(
            option,
            # OSDs that use the configured value need no reason.
            {
                osd_id: diff
                for osd_id, diff in diffs.items()
                if now[osd_id] not in configured
            },
            queues,
        )
        if untold:
            reasons[option] = osd_options.UNTOLD
        if not schema.at_runtime:
            later = {
                osd_id: _at_start(schema, diff, dumped, osd_id)
                for osd_id, diff in diffs.items()
            }
            if option in osd_options.READ_AT_START:
                now = later
            if later != now:
                after_restart[option] = osd_options.shown(later)
            free = {
                osd_id: value
                for osd_id, value in now.items()
                if not _LOCAL & diffs[osd_id].get(option, {}).keys()
            }
            reasons[option] = (
                _reason_at_start(schema, free, later, configured)
                or reasons[option]
            )
        values[option] = osd_options.shown(now)
    return ceph_state.OsdOptions(
        name=name,
        values=values,
        reasons=reasons,
        after_restart=after_restart,
        mclock_osds=tuple(
            osd_id
            for osd_id, used in sorted(queues.items())
            if used == osd_options.MCLOCK
        ),
        other_queue_osds=tuple(
            osd_id
            for osd_id, used in sorted(queues.items())
            if used != osd_options.MCLOCK
        ),
    )


def _are_down(session: ceph_session.Session, osd_ids: list[int]) -> bool:
    """Return whether the monitors have marked all of these OSDs as down."""
    tree = session.command('osd tree')
    return not any(
        node['id'] in osd_ids and node['status'] == 'up'
        for node in (*tree['nodes'], *tree.get('stray', ()))
        if node['type'] == 'osd'
    )


def _once_started(
    session: ceph_session.Session,
    schemas: dict[str, ceph_state.OptionSchema],
    osd_ids: list[int],
) -> dict[int, dict]:
    """Predict the answers to `config diff` of OSDs that are down.

    The monitors do not know a value of an OSD's own, such as in a ceph.conf.

    :param schemas: schemas of the options to read.
    :returns: {OSD id: {option: {layer: value}}}.
    """
    dumped = session.command('config dump')
    # Without a key: with one, the answer is no JSON but a bare word.
    stored = ask_each(
        osd_ids,
        lambda osd_id: (
            session.command('config get', who=f'osd.{osd_id}') or {}
        ),
    )
    more = schemas_of(session, {_OP_QUEUE, osd_options.MCLOCK_OVERRIDE})
    diffs = {}
    for osd_id, configured in stored.items():
        layers: dict[str, dict[str, str]] = {}
        for name, schema in {**more, **schemas}.items():
            found = configured.get(name)
            told = {'mon': found['value']} if found else {}
            layers[name] = {
                **told,
                'final': (
                    told.get('mon', schema.default)
                    if schema.at_runtime
                    else _at_start(schema, {}, dumped, osd_id)
                ),
            }
        _apply_profile(layers)
        diffs[osd_id] = layers
    return diffs


def _apply_profile(layers: dict[str, dict[str, str]]) -> None:
    """Changes options as an OSD with the queue mClock does.

    :param layers: {option: {layer: value}}, with the queue.
    """
    if layers[_OP_QUEUE]['final'] != osd_options.MCLOCK:
        return
    override = layers.get(osd_options.MCLOCK_OVERRIDE, {}).get('final')
    for name, values in layers.items():
        if osd_options.MCLOCK_FORCES_TO_0.fullmatch(name):
            values['final'] = '0'
        elif name in osd_options.MCLOCK_KEEPS and override != 'true':
            values['final'] = _UNKNOWN


def values_of(
    session: ceph_session.Session,
    osd_ids: collections.abc.Iterable[int],
    name: str,
) -> dict[int, int]:
    """Read an option with a size, in bytes.

    :param osd_ids: ids of any OSDs; for those that do not answer, the
        monitors' value is used.
    :param name: name of an option that the cluster knows.
    :returns: {OSD id: bytes}, without OSDs whose value is not known.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    schema = schemas_of(session, {name})[name]
    osd_ids = list(osd_ids)
    diffs, _ = _diffs(session, osd_ids)
    found = {osd_id: _value(schema, diff) for osd_id, diff in diffs.items()}
    found |= {
        osd_id: _normal(schema, answer)
        for osd_id, answer in ask_each(
            [osd_id for osd_id in osd_ids if osd_id not in found],
            lambda osd_id: session.command(
                'config get', who=f'osd.{osd_id}', key=name
            ),
            errno.ENOENT,
        ).items()
    }
    return {
        osd_id: int(value)
        for osd_id, value in found.items()
        if value.isdecimal()
    }


def _diffs(
    session: ceph_session.Session, osd_ids: list[int]
) -> tuple[dict[int, dict], bool]:
    """{OSD id: {option: {layer: value}}} of the OSDs that answer.

    OSDs answer only users that may do anything with them; others get what
    the OSDs reported to the manager.

    :returns: also whether it is only what was reported.
    :raises errors.TiersError: when neither is allowed.
    """
    try:
        answers = ask_each(
            osd_ids, lambda osd_id: session.tell(osd_id, 'config diff')
        )
    except ceph_session.CephRefused as error:
        if error.errno not in REFUSED:
            raise
    else:
        return {osd_id: one['diff'] for osd_id, one in answers.items()}, False
    reported = ask_each(
        osd_ids,
        lambda osd_id: session.command('config show', who=f'osd.{osd_id}'),
        errno.ENOENT,
    )
    return {
        osd_id: parse_reported(entries) for osd_id, entries in reported.items()
    }, True


def parse_reported(entries: list[dict]) -> dict[str, dict[str, str]]:
    """An answer of `config show`, in the form of `config diff`.

    :returns: {option: {layer: value}}; the layer final is the one in use.
    """
    return {
        entry['name']: {
            **{
                one['source']: one['value']
                for one in entry.get('overrides', ())
            },
            entry['source']: entry['value'],
            'final': entry['value'],
        }
        for entry in entries
    }


def _reservers(
    session: ceph_session.Session, osd_ids: collections.abc.Iterable[int]
) -> dict[int, str]:
    """Read the numbers of backfills that OSDs really allow.

    Under mClock their configuration shows another number than they use.

    :returns: {OSD id: number}, without OSDs that do not report one.
    """
    found = {}
    for osd_id, answer in ask_each(
        osd_ids,
        lambda osd_id: session.tell(osd_id, 'dump_recovery_reservations'),
        errno.EINVAL,
    ).items():
        with contextlib.suppress(KeyError, TypeError):
            found[osd_id] = str(answer['local_reservations']['max_allowed'])
    return found


def ask_each(
    osd_ids: collections.abc.Iterable[int],
    ask: collections.abc.Callable[[int], _Answer],
    *passed_over: int,
) -> dict[int, _Answer]:
    """Ask OSDs side by side, so that one that hangs costs its time once.

    :param ask: asks the OSD of an id, in a thread.
    :param passed_over: error numbers that mean no answer, besides those of an
        OSD that is down.
    :returns: {OSD id: answer}, in the given order; without those that gave
        none.
    :raises errors.TiersError: what `ask` raises for any other reason.
    """

    def attempt(osd_id: int) -> _Answer | None:
        try:
            return ask(osd_id)
        except ceph_session.CephRefused as error:
            if error.errno not in (*_DOWN, *passed_over):
                raise
            return None

    osd_ids = list(osd_ids)
    answers = side_by_side.each(
        attempt, osd_ids, at_once=side_by_side.CEPH_AT_ONCE
    )
    return {
        osd_id: answer
        for osd_id, answer in zip(osd_ids, answers, strict=True)
        if answer is not None
    }


def _osds(session: ceph_session.Session, mask: str, name: str) -> list[int]:
    """Ids of the OSDs of a device class or host."""
    if mask == osd_options.CLASS:
        return session.command('osd crush class ls-osd', class_=name)
    try:
        return session.command('osd ls-tree', name=name)
    except ceph_session.CephRefused as error:
        if error.errno == errno.ENOENT:
            return []
        raise


def _value(schema: ceph_state.OptionSchema, diff: dict) -> str:
    layers = diff.get(schema.name)
    return _normal(
        schema, schema.default if layers is None else layers['final']
    )


def _at_start(
    schema: ceph_state.OptionSchema,
    diff: dict,
    dumped: list[dict],
    osd_id: int,
) -> str:
    """Return the value that an OSD will have after a restart.

    The monitors do not know the class and host of an OSD that asks them at its
    start (ConfigMonitor::refresh_config takes it for a client), so sections
    with a mask do not count.

    :param dumped: configuration of the monitors (`config dump`).
    """
    layers = diff.get(schema.name, {})
    for layer in ('cmdline', 'env', 'file'):  # the strongest first
        if layer in layers:
            return _normal(schema, layers[layer])
    stored = {
        entry['section']: entry['value']
        for entry in dumped
        if entry['name'] == schema.name and not entry['mask']
    }
    for section in (f'osd.{osd_id}', 'osd', 'global'):
        if section in stored:
            return _normal(schema, stored[section])
    return _normal(schema, schema.default)


def _reason_at_start(
    schema: ceph_state.OptionSchema,
    now: dict[int, str],
    later: dict[int, str],
    configured: set[str],
) -> str:
    """Explain why OSDs do not use an option that counts from their start.

    :param now: {OSD id: value in use}, of those without a value of their
        own.
    :param later: {OSD id: value after a restart}.
    :param configured: values that the monitors have for these OSDs.
    :returns: '' when nothing of the kind is the matter.
    """
    late = [osd_id for osd_id in now if later[osd_id] != now[osd_id]]
    if late:
        return osd_options.restart_reason(late)
    return ''.join(
        osd_options.start_reason(schema.name, value, unmoved)
        for value in configured
        if (unmoved := [osd_id for osd_id in now if now[osd_id] != value])
    )


def _normal(schema: ceph_state.OptionSchema, value: object) -> str:
    text = _text(value)
    try:
        return osd_options.normal(schema, text)
    except ValueError:  # whatever it is, it is not what is wanted
        return text


def _reason(name: str, diffs: dict[int, dict], queues: dict[int, str]) -> str:
    """Return the most specific reason; ties go to the lowest OSD id.

    :param diffs: {OSD id: its `config diff`} of OSDs that use another value
        than the configured one; empty: the reason is ''.
    :param queues: {OSD id: osd_op_queue}.
    """
    seen = []
    for osd_id, diff in sorted(diffs.items()):
        layers = {
            layer: value
            for layer, value in diff.get(name, {}).items()
            if layer not in ('default', 'final')
        }
        seen.append((len(layers), layers, osd_id))
    if not seen:
        return ''
    _, layers, osd_id = max(seen, key=lambda one: one[0])
    return osd_options.reason(name, layers, op_queue=queues[osd_id])


def _text(value: object) -> str:
    """A JSON value as Ceph writes it in text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
