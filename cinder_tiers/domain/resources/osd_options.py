# SPDX-License-Identifier: Apache-2.0

"""Options of OSDs: the meaning of values, and reasons for other values.

An option of an OSD belongs to the OSD and so to all tiers on it, never to a
pool; tiers declare it for their device class, and the catalog for hosts. Ceph
accepts a value and may then not use it, so the values that OSDs report count.
Pure. Must not know how OSDs are asked.
"""

import collections.abc
import functools
from importlib import resources
import math
import re
import types

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import known_safe
from cinder_tiers.domain.resources import mclock
from cinder_tiers.domain.resources import osd_masks
from cinder_tiers.domain.resources import safety
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain import units

#: Masks of a section of Ceph's configuration, which select its OSDs.
CLASS, HOST = 'class', 'host'
#: {kind of object: the mask of its sections in the monitors}.
MASKS = {
    actions.Kind.OSD_OPTIONS: CLASS,
    actions.Kind.HOST_OSD_OPTIONS: HOST,
}

# Parts of a span of time (parse_timespan of src/common/ceph_time.cc).
_SPAN = re.compile(r'(\d+)\s*([a-z]*)\s*', re.ASCII)
_SECONDS = {
    unit: seconds
    for names, seconds in (
        (('', 's', 'sec', 'second', 'seconds'), 1),
        (('m', 'min', 'minute', 'minutes'), 60),
        (('h', 'hr', 'hour', 'hours'), 3600),
        (('d', 'day', 'days'), 86400),
        (('w', 'wk', 'week', 'weeks'), 7 * 86400),
        (('mo', 'month', 'months'), 30 * 86400),
        (('y', 'yr', 'year', 'years'), 365 * 86400),
    )
    for unit in names
}
# A number with a unit, where Ceph accepts only the number.
_WITH_UNIT = re.compile(r'[-+]?[\d.]+\s*[A-Za-z%/]+')
_TRUE, _FALSE = {'true', 'yes', 'on', '1'}, {'false', 'no', 'off', '0'}

#: Options of which Ceph claims that running OSDs use and report a new value,
#: while BlueStore reads them when it opens (BlueStore::_set_cache_sizes).
READ_AT_START = frozenset(
    {
        'bluestore_cache_autotune',
        'bluestore_cache_kv_ratio',
        'bluestore_cache_meta_ratio',
        'bluestore_cache_size',
        'bluestore_cache_size_hdd',
        'bluestore_cache_size_ssd',
    }
)

#: osd_op_queue of OSDs that share I/O by mClock, the default since Ceph 17.
MCLOCK = mclock.QUEUE
#: Options that such an OSD sets to 0, regardless of its profile
#: (OSD::maybe_override_sleep_options_for_qos, Ceph 18.2.7 and 20.2.4).
MCLOCK_FORCES_TO_0 = re.compile(
    'osd_(delete|recovery|snap_trim)_sleep(_hdd|_ssd|_hybrid)?'
    '|osd_recovery_sleep_degraded(_hdd|_ssd|_hybrid)?'
    '|osd_scrub_sleep'
)
#: Options that such an OSD takes from its profile, unless this is disabled
#: (OSD::maybe_override_options_for_qos). For the first option, it reports the
#: configured value, and not the one that it uses.
MCLOCK_KEEPS = frozenset(
    {
        'osd_max_backfills',
        'osd_recovery_max_active',
        'osd_recovery_max_active_hdd',
        'osd_recovery_max_active_ssd',
    }
)
MCLOCK_OVERRIDE = 'osd_mclock_override_recovery_settings'

#: Options that make an OSD lose or hide data: they are for its developers, or
#: for the rescue of a cluster, one OSD at a time.
ENDANGERS_DATA = re.compile(
    r'(bdev|bluefs|filestore|journal|kstore|memstore|osd)_debug_\w+'
    r'|bluestore_debug_(?!enforce_settings)\w+'
    r'|\w+_inject_\w+'
    '|bluestore_ignore_data_csum'
    '|filestore_kill_at'
    '|osd_find_best_info_ignore_history_les'
    '|osd_ignore_stale_divergent_priors'
)

#: {removed option: its successor}, for messages.
SUCCESSORS: collections.abc.Mapping[str, str] = types.MappingProxyType(
    {
        'osd_op_threads': 'osd_op_num_shards and osd_op_num_threads_per_shard',
        'osd_disk_threads': 'nothing; scrubbing is limited by osd_max_scrubs',
        'osd_recovery_threads': 'nothing; see osd_recovery_max_active',
        'bluestore_cache_size_flash': 'bluestore_cache_size_ssd',
        'filestore_op_threads': 'nothing: FileStore was removed in Ceph 18',
    }
)


def normal(schema: ceph_state.OptionSchema, value: catalogs.Value) -> str:
    """Return a value in the form in which it is compared.

    >>> from cinder_tiers.domain.state import ceph
    >>> size = ceph.OptionSchema(name='bluestore_cache_size', kind='size')
    >>> normal(size, '64M'), normal(size, 67108864)
    ('67108864', '67108864')
    >>> sleep = ceph.OptionSchema(name='osd_recovery_sleep', kind='float')
    >>> normal(sleep, 0.10)
    '0.1'

    :param value: declared value, or one reported by Ceph.
    :raises ValueError: the option cannot have the value; the text has the
        expected one.
    """
    text = str(value).strip()
    if schema.kind == 'bool':
        if text.lower() not in _TRUE | _FALSE:
            raise ValueError('true or false')
        return str(text.lower() in _TRUE).lower()
    if schema.kind == 'size':
        return str(units.size_bytes(text))
    if schema.kind == 'secs':
        return _seconds(text)
    if schema.kind in ('int', 'uint', 'millisecs'):
        return _integer(text, is_signed=schema.kind == 'int')
    if schema.kind == 'float':
        return _number(text)
    if schema.words and text not in schema.words:
        raise ValueError(f'one of {", ".join(schema.words)}')
    return text


def _integer(text: str, *, is_signed: bool) -> str:
    try:
        number = int(text)
    except ValueError:
        raise ValueError('an integer' + _without_unit(text)) from None
    if number < 0 and not is_signed:
        raise ValueError('an integer of 0 or more')
    return str(number)


def _number(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        raise ValueError('a number' + _without_unit(text)) from None
    form = format(number, '.15g')
    # The form of the largest numbers is above all of them.
    if not math.isfinite(float(form)):
        raise ValueError('a number')
    return form


def _seconds(text: str) -> str:
    """Return a time span, such as 5, 5s or 1h 30m, in seconds."""
    parts = _SPAN.findall(text)
    if (
        not text
        or ''.join(text.split())
        != ''.join(number + unit for number, unit in parts)
        or any(unit not in _SECONDS for _, unit in parts)
        # Only the last number may lack its unit.
        or any(not unit for _, unit in parts[:-1])
    ):
        raise ValueError('a number of seconds, such as 90, 90s or 1m 30s')
    return str(sum(int(number) * _SECONDS[unit] for number, unit in parts))


def _without_unit(text: str) -> str:
    return ' without a unit' if _WITH_UNIT.fullmatch(text) else ''


_FORCED = 'OSDs with the queue mClock set it to 0'
_FORCED_REMEDY = (
    'remove it from the tiers file, or set osd_op_queue to wpq for each of '
    'these OSDs, and restart them'
)
_KEPT = 'OSDs with the queue mClock take it from their mClock profile'
_KEPT_REMEDY = (
    f'remove it from the tiers file, or declare {MCLOCK_OVERRIDE}: true '
    'as well'
)

#: Reason why the values in use are unknown.
UNTOLD = (
    'OSDs with the queue mClock report the values in use only to a cephx '
    "user with osd 'allow *'"
)


def mclock_refusals(
    changed: collections.abc.Collection[str],
    before: ceph_state.OsdOptions,
    after: ceph_state.OsdOptions,
) -> collections.abc.Iterator[actions.Refusal]:
    """Yield refusals of options that OSDs with mClock accept and ignore.

    :param changed: options that differ from their declared values.
    :param before: options in effect.
    :param after: declared options.
    """
    if not before.mclock_osds:
        return
    osds = spelling.osds(before.mclock_osds)
    forced = [name for name in changed if MCLOCK_FORCES_TO_0.fullmatch(name)]
    if forced:
        yield actions.Refusal(
            reason=f'{osds} would not use {", ".join(forced)}: {_FORCED}',
            remedy=_FORCED_REMEDY,
        )
    kept = sorted(MCLOCK_KEEPS.intersection(changed))
    if kept and after.values.get(MCLOCK_OVERRIDE) != 'true':
        yield actions.Refusal(
            reason=f'{osds} would not use {", ".join(kept)}: {_KEPT}',
            remedy=_KEPT_REMEDY,
        )


def problems(
    declared: collections.abc.Mapping[str, catalogs.Value],
    schemas: collections.abc.Mapping[str, ceph_state.OptionSchema],
    *,
    where: collections.abc.Callable[[str], str],
) -> list[errors.Problem]:
    """Return the problems of a cluster with some options.

    :param declared: {option: value}.
    :param schemas: {option: schema} of options that the cluster knows.
    :param where: returns the place of an option in the catalog.
    """
    found = []
    for name, value in declared.items():
        schema = schemas.get(name)
        if ENDANGERS_DATA.fullmatch(name):
            continue  # `check` has named it
        if schema is None:
            found.append(
                errors.Problem(
                    where=where(name),
                    found=f'the cluster has no option {name!r}',
                    expected='an option of its Ceph release',
                    remedy='its replacement: ' + SUCCESSORS[name]
                    if name in SUCCESSORS
                    else 'look for it with "ceph config ls"',
                )
            )
            continue
        try:
            normal(schema, value)
        except ValueError as error:
            found.append(
                errors.Problem(
                    where=where(name),
                    found=f'{name} {value!r}',
                    expected=str(error),
                    remedy='fix it',
                )
            )
    return found


@functools.cache
def releases_with() -> collections.abc.Mapping[str, tuple[int, ...]]:
    """Return {option: major releases of Ceph, of those tested, with it}.

    It has the options that a tiers file may have.
    """
    text = resources.files(__package__) / 'osd_option_names.txt'
    lines = text.read_text('ascii').splitlines()
    return {
        name: tuple(map(int, releases))
        for name, *releases in map(str.split, lines)
        if name != '#'
    }


def unknown_names(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield options that no tested release of Ceph has.

    They are not problems of the file: the cluster may have another release,
    and a plan reports the options that it does not know.
    """
    declared = [
        (('tiers', tier.name, 'rbd', 'osd_options'), tier.rbd.osd_options)
        for tier in catalog.ceph_tiers
    ] + [
        (('clusters', cluster.name, 'host_osd_options', host), options)
        for cluster in catalog.clusters.values()
        for host, options in cluster.host_osd_options.items()
    ]
    known_names = releases_with()
    for path, options in declared:
        for name in options:
            if name in known_names:
                continue
            # A file may have many unknown names; only a few are compared.
            near = (
                known
                for known in known_names
                if known.split('_')[:2] == name.split('_')[:2]
            )
            yield errors.Problem(
                where=catalog.source.where((*path, name)),
                found=f'the option {name!r}, which Ceph 16, 18 and 20 do not '
                'have',
                expected='an option of the OSDs',
                remedy=f'its replacement: {SUCCESSORS[name]}'
                if name in SUCCESSORS
                else f'{spelling.did_you_mean(name, near)}see "ceph config '
                'help" in the cluster',
            )


def shown(values: collections.abc.Mapping[int, str]) -> str:
    """Return the effective value of some OSDs as one text.

    >>> shown({0: '1', 1: '1'}), shown({0: '1', 1: '1', 2: '5'})
    ('1', '1 (osd.0, osd.1), 5 (osd.2)')

    :param values: {OSD id: value} of at least one OSD.
    """
    holders: dict[str, list[int]] = {}
    for osd_id in sorted(values):
        holders.setdefault(values[osd_id], []).append(osd_id)
    if len(holders) == 1:
        return next(iter(holders))
    return ', '.join(
        f'{value} ({spelling.osds(osd_ids)})'
        for value, osd_ids in holders.items()
    )


def restart_reason(osd_ids: collections.abc.Iterable[int]) -> str:
    """Return why OSDs do not use an option that is read at their start.

    >>> restart_reason([0, 2])
    'restart osd.0, osd.2: values from the last start are still in use'
    """
    names = spelling.osds(osd_ids)
    return f'restart {names}: values from the last start are still in use'


def start_reason(
    name: str, value: str, osd_ids: collections.abc.Sequence[int]
) -> str:
    """Return why some OSDs do not use the value of their class or host.

    :param name: name of an option that is read at the start of an OSD.
    :param value: configured value.
    :param osd_ids: ids of at least one OSD.
    """
    names = spelling.osds(osd_ids)
    return (
        'it takes effect when the OSD restarts, and Ceph ignores class '
        f'and host masks at startup: also set it for each of {names}, as '
        f'"ceph config set osd.{osd_ids[0]} {name} {value}", and restart '
        'them'
    )


def reason(
    name: str,
    layers: collections.abc.Mapping[str, object],
    *,
    op_queue: str,
) -> str:
    """Return why an OSD does not use the value of the monitors.

    Later layers win: default, mon, file, env, cmdline, override
    (src/common/config_values.h).

    :param layers: {layer: value} of the option (`config diff` of the OSD).
    :param op_queue: osd_op_queue of the OSD.
    :returns: the reason and the remedy.
    """
    if op_queue == MCLOCK and name in MCLOCK_KEEPS:
        return f'{_KEPT}: {_KEPT_REMEDY}'
    if op_queue == MCLOCK and MCLOCK_FORCES_TO_0.fullmatch(name):
        return f'{_FORCED}: {_FORCED_REMEDY}'
    if 'override' in layers:
        return (
            'it was set in the running OSD, with "ceph tell" or '
            'injectargs: undo that, or restart the OSD'
        )
    for layer, where in (
        ('cmdline', 'the command line of the OSD'),
        ('env', 'the environment of the OSD'),
        ('file', 'ceph.conf on the host of the OSD'),
    ):
        if layer in layers:
            return (
                f'{where} sets it, which takes precedence over the '
                'monitors: remove it there and restart the OSD'
            )
    if 'mon' in layers:
        return (
            'a more specific section takes precedence: look for osd.N '
            'and for a host mask in "ceph config dump"'
        )
    return 'the OSD has not received it yet: see "ceph health detail"'


def not_heeded(
    names: collections.abc.Iterable[str],
    *,
    wanted: collections.abc.Mapping[str, str],
    configured: collections.abc.Mapping[str, str],
    reasons: collections.abc.Mapping[str, str],
    schemas: collections.abc.Mapping[str, ceph_state.OptionSchema],
) -> collections.abc.Iterator[str]:
    """Yield reasons why OSDs do not use options that are already set.

    Setting them once more would change nothing.

    :param names: names of options that are not in effect everywhere.
    :param wanted: {option: value that should be in effect}.
    :param configured: {option: value that the monitors have for these OSDs}.
    :param reasons: {option: reason why a value for these OSDs is not in
        effect}.
    :param schemas: {option: schema} of all options.
    :returns: a clause for each option, which begins with a semicolon.
    """
    for name in names:
        if (
            reasons.get(name)
            and name in configured
            and _is(schemas[name], configured[name], wanted[name])
        ):
            yield f'; {name} is already set to this, but {reasons[name]}'


def _is(schema: ceph_state.OptionSchema, text: str, form: str) -> bool:
    try:
        return normal(schema, text) == form
    except ValueError:  # whatever it is, it is not that
        return False


def plan(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Actions:
    """Yield actions on the options of the OSDs of each device class."""
    for after in osd_options_of(catalog, cluster, ceph.option_schemas):
        tiers = ', '.join(
            tier.name
            for tier in catalog.tiers_of(cluster.name)
            if tier.rbd.osd_options and tier.rbd.device_class == after.name
        )
        yield from options_action(
            actions.Kind.OSD_OPTIONS, cluster, ceph, after, f'tier {tiers}'
        )


def options_action(
    kind: actions.Kind,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
    after: ceph_state.OsdOptions,
    why: str,
) -> kinds.Actions:
    """Yield the action on the options of a class or host, if it is needed.

    :param kind: OSD_OPTIONS for a class, HOST_OSD_OPTIONS for a host.
    :param after: declared options.
    :param why: declaring tiers, or the cluster.
    """
    before = (
        ceph.class_options
        if kind is actions.Kind.OSD_OPTIONS
        else ceph.host_options
    )[after.name]
    changed = [
        one.field.removeprefix('values.')
        for one in difference.differences(before, after)
    ]
    if not changed:
        return
    wanted = {
        name: value
        for name in changed
        if (value := after.values[name]) is not None
    }
    later = [
        name for name in changed if not ceph.option_schemas[name].at_runtime
    ]
    mask = f'{MASKS[kind]}:{after.name}'
    osd_ids = osd_masks.osds_of(mask, ceph.osds)
    yield actions.Action(
        key=actions.Key(kind=kind, cluster=cluster.name, name=after.name),
        before=before,
        after=after,
        why=why
        + (
            (
                f'; {", ".join(later)} takes effect when the OSD restarts, '
                'and Ceph ignores class and host masks at startup'
            )
            if later
            else ''
        )
        + ''.join(
            not_heeded(
                wanted,
                wanted=wanted,
                reasons=before.reasons,
                configured=ceph.configured_options.get(mask, {}),
                schemas=ceph.option_schemas,
            )
        )
        + ''.join(
            f'; {text}'
            for name in wanted
            for text in osd_masks.taking_precedence(
                mask,
                name,
                wanted[name],
                ceph.configured_options,
                [osd for osd in ceph.osds if osd.osd_id in osd_ids],
            )
        )
        + _doubts(changed, ceph.mclock, osd_ids),
        refusal=actions.joined(
            (
                *mclock_refusals(changed, before, after),
                *mclock.refusals(changed, before, after, ceph.mclock, osd_ids),
                *safety.refusals(
                    _objection(ceph.option_schemas[name], value)
                    for name, value in wanted.items()
                ),
            )
        ),
    )


def _doubts(
    changed: collections.abc.Iterable[str],
    own: ceph_state.Mclock | None,
    osd_ids: collections.abc.Iterable[int],
) -> str:
    """Return clauses on doubtful figures behind mClock options, or ''."""
    if not any(name.startswith(mclock.PREFIX) for name in changed):
        return ''
    return ''.join(
        f'; {name} may be wrong: {text}: {mclock.MEASURE.format(name=name)}'
        for name, text in mclock.doubts(own, osd_ids).items()
        if name not in changed
    )


def _objection(schema: ceph_state.OptionSchema, value: str) -> str | None:
    found = safety.objection(known_safe.OSD, schema.name, value)
    if found and schema.level == 'dev':
        found += '; Ceph reserves it for its developers (level dev)'
    return found


def endangering(
    declared: collections.abc.Iterable[str],
    *,
    where: collections.abc.Callable[[str], str],
) -> kinds.Problems:
    """Yield options that no tier may have, because they can lose data.

    :param declared: names of options.
    :param where: returns the place of an option in the catalog.
    """
    for name in declared:
        if ENDANGERS_DATA.fullmatch(name):
            yield errors.Problem(
                where=where(name),
                found=f'the option {name}, with which OSDs can lose data',
                expected='a tuning option; this one is for Ceph '
                'developers, or for disaster recovery',
                remedy='remove it; for disaster recovery, use "ceph '
                'config set" for one OSD',
            )


def check(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield forbidden options, and different values for the same OSDs."""
    seen: dict[tuple[str, str, str], tuple[str, object]] = {}
    for tier in catalog.ceph_tiers:
        rbd = tier.rbd
        path = ('tiers', tier.name, 'rbd', 'osd_options')
        yield from endangering(
            rbd.osd_options,
            where=catalog.source.below(path),
        )
        if rbd.device_class is None:
            continue
        for name, value in rbd.osd_options.items():
            other, wanted = seen.setdefault(
                (rbd.cluster, rbd.device_class, name), (tier.name, value)
            )
            if wanted != value or isinstance(wanted, bool) != isinstance(
                value, bool
            ):
                yield errors.Problem(
                    where=catalog.source.where(
                        ('tiers', tier.name, 'rbd', 'osd_options', name)
                    ),
                    found=(
                        f'tier {tier.name!r} declares {name} {value!r}, and '
                        f'tier {other!r} declares {wanted!r}'
                    ),
                    expected=f'one value for the {rbd.device_class} OSDs of '
                    f'cluster {rbd.cluster!r}, which serve both',
                    remedy=(
                        'use one value for both, or give some of the OSDs a '
                        'different device class'
                    ),
                )


def osd_options_of(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    schemas: collections.abc.Mapping[str, ceph_state.OptionSchema],
) -> tuple[ceph_state.OsdOptions, ...]:
    """Return the options that the tiers of a cluster declare for OSDs.

    :param schemas: {option: schema} of declared options.
    :returns: options of each device class with a declared option, sorted by
        name.
    """
    classes: dict[str, dict[str, str]] = {}
    for tier in catalog.tiers_of(cluster.name):
        for name, value in tier.rbd.osd_options.items():
            if tier.rbd.device_class is not None:
                classes.setdefault(tier.rbd.device_class, {})[name] = normal(
                    schemas[name], value
                )
    return tuple(
        ceph_state.OsdOptions(name=name, values=values)
        for name, values in sorted(classes.items())
    )


def check_cluster(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Problems:
    """Yield problems of a cluster with the options that its tiers declare."""
    for tier in catalog.tiers_of(cluster.name):
        path = ('tiers', tier.name, 'rbd', 'osd_options')
        yield from problems(
            tier.rbd.osd_options,
            ceph.option_schemas,
            where=catalog.source.below(path),
        )


def _tiers_affected(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    return tuple(
        tier.name
        for tier in catalog.tiers_of(action.key.of_cluster)
        if tier.rbd.osd_options and tier.rbd.device_class == action.key.name
    )


OSD_OPTIONS = kinds.ResourceKind(
    kind=actions.Kind.OSD_OPTIONS,
    resource=ceph_state.OsdOptions,
    state_field='class_options',
    plan=kinds.for_each_cluster(plan),
    tiers_affected=_tiers_affected,
    check=check,
    check_cluster=check_cluster,
)
