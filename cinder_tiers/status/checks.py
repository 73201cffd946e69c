# SPDX-License-Identifier: Apache-2.0

"""Checks before an upgrade: values in, a result out.

Must not know where the values came from, nor how results are printed.
"""

import collections.abc

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from cinder_tiers import conf
from cinder_tiers.domain.placement import reach
from cinder_tiers.domain.validation import fallback as fallback_rules
from cinder_tiers.doors.volume_types import applied
from cinder_tiers.status import paste

SUCCESS = upgradecheck.Code.SUCCESS
WARNING = upgradecheck.Code.WARNING
FAILURE = upgradecheck.Code.FAILURE

_NO_TYPE = 'the follow_image_types of the tiers file'


def result(
    *,
    failures: collections.abc.Sequence[str] = (),
    warnings: collections.abc.Sequence[str] = (),
    otherwise: str | None = None,
) -> upgradecheck.Result:
    """A result with all that was found.

    :param failures: sentences on what must be mended first.
    :param warnings: sentences on what should be looked at.
    :param otherwise: details when there is neither.
    """
    found = [*failures, *warnings]
    return upgradecheck.Result(
        FAILURE if failures else WARNING if warnings else SUCCESS,
        ' '.join(found) or otherwise,
    )


def options(
    group: cfg.ConfigOpts.GroupAttr,
    written: collections.abc.Mapping[str, str],
) -> upgradecheck.Result:
    """Check that the options of the doors are known and can be read.

    :param group: the result of `conf.register`.
    :param written: {option in the section [cinder_tiers]: its file}.
    """
    known = {option.dest: option for option in conf.OPTIONS}
    failures = []
    for name in known:
        try:
            getattr(group, name)
        except (cfg.Error, ValueError) as error:
            # oslo.config puts internals before this.
            why = str(error).rpartition('is not valid: ')[2]
            failures.append(
                f'[{conf.GROUP}] {name} cannot be read: {why}; fix it: '
                'the API middleware and scheduler filter cannot start.'
            )
    return result(
        failures=failures,
        warnings=[
            (
                f'[{conf.GROUP}] {name} in {file} is not a recognized option '
                f'in this release; expected one of {", ".join(known)}; fix or '
                'remove it.'
            )
            for name, file in written.items()
            if name.replace('-', '_') not in known
        ],
    )


def tiers(state: applied.AppliedState) -> upgradecheck.Result:
    """Check that the doors can read all applied tiers."""
    unfinished = [f'{one[0].upper()}{one[1:]}.' for one in state.unfinished]
    if not state.tiers and not state.problems:
        return result(warnings=unfinished, otherwise='no tier is applied')
    fallbacks = {
        tier.name: tier.type_zones
        for tier in sorted(state.tiers, key=lambda tier: tier.name)
        if tier.fallback
    }
    warnings = [
        f'{fault.found}; run "openstack tier plan".'
        for fault in fallback_rules.find_faults(fallbacks)
    ] + unfinished
    if not _following(state):
        warnings.append(
            'No volume type follows the image, so tags count only for '
            'requests without a type; see follow_image_types of the '
            'tiers file.'
        )
    names: dict[int, str] = {}
    for tier in sorted(state.tiers, key=lambda tier: tier.name):
        if tier.tags and tier.priority in names:
            warnings.append(
                f'Tiers {names[tier.priority]} and {tier.name} both have '
                f'priority {tier.priority}; change one of them in the '
                'tiers file, and apply it.'
            )
        elif tier.tags:
            names[tier.priority] = tier.name
        if tier.overflow and tier.overflow not in state.types:
            warnings.append(
                f'Tier {tier.name} overflows to {tier.overflow}, which is '
                'not an applied tier: run "openstack tier plan"; if that '
                'shows no changes, the tiers file has take_over: false for '
                f'{tier.overflow}.'
            )
    return result(
        failures=[f'A tier is ignored: {one}.' for one in state.problems],
        warnings=warnings,
        otherwise=(
            f'tiers: {len(state.tiers)}, '
            f'fallback: {", ".join(fallbacks) or "none"}'
        ),
    )


def types_beside(state: applied.AppliedState) -> upgradecheck.Result:
    """Check that no public type leads past the types of the tiers."""
    found = reach.find(
        (
            reach.Type(
                name=one.name,
                extra_specs=one.extra_specs,
                projects=one.projects,
            )
            for ident, one in state.by_ident.items()
            if ident == one.type_id and one.projects is None
        ),
        {
            name: reach.Type(
                name=one.name,
                extra_specs=one.extra_specs,
                projects=one.projects,
            )
            for name, one in state.types.items()
        },
        None,
    )
    return result(
        warnings=[
            f'{one.reason[0].upper()}{one.reason[1:]}; {one.remedy}.'
            for one in found
        ]
    )


def default_type(
    state: applied.AppliedState, *, default_type: str | None
) -> upgradecheck.Result:
    """Check that volumes of Cinder's default type have a tier to go to.

    :param default_type: the option default_volume_type.
    """
    found = state.find(default_type)
    if (
        found is None
        or not found.follows_image
        or any(tier.fallback for tier in state.tiers)
    ):
        return result()
    text = (
        f'default_volume_type is {default_type}, which follows the image, '
        'but no applied tier is the fallback, so blank volumes and '
        'volumes from untagged images go to any backend that their '
        'project may use; apply a tier with fallback: true, or set a '
        'default_volume_type that names a backend.'
    )
    # Without tiers Cinder alone places all volumes, as it may be wanted while
    # the first tier is not applied.
    return result(failures=[text]) if state.tiers else result(warnings=[text])


def scheduler(
    state: applied.AppliedState,
    *,
    filters: collections.abc.Sequence[str],
    weighers: collections.abc.Sequence[str],
) -> upgradecheck.Result:
    """Check that the scheduler door is open.

    The API door alone keeps no project off the backends of a private tier: a
    volume whose type names no backend goes to any that has room.

    :param filters: the option scheduler_default_filters.
    :param weighers: the option scheduler_default_weighers.
    """
    failures, warnings = [], []
    private = sorted(
        tier.name for tier in state.tiers if tier.projects is not None
    )
    if private and 'TierFilter' not in filters:
        failures.append(
            f'Tiers are private ({", ".join(private)}), but '
            'scheduler_default_filters has no TierFilter '
            f'(found {",".join(filters)}), and nothing else keeps volumes '
            'without a tier off their backends; append it on every host '
            'with cinder-scheduler (on other hosts it has no effect).'
        )
    elif state.tiers and 'TierFilter' not in filters:
        warnings.append(
            'Tiers are applied, but scheduler_default_filters has no '
            f'TierFilter (found {",".join(filters)}); append it, unless '
            'cinder-scheduler does not run on this host.'
        )
    overflowing = sorted(tier.name for tier in state.tiers if tier.overflow)
    if overflowing and 'TierWeigher' not in weighers:
        warnings.append(
            f'Tiers overflow ({", ".join(overflowing)}), but '
            'scheduler_default_weighers has no TierWeigher '
            f'(found {",".join(weighers)}), so their own backends are not '
            'preferred; append it, unless cinder-scheduler does not run '
            'on this host.'
        )
    return result(failures=failures, warnings=warnings)


def api(
    state: applied.AppliedState,
    *,
    file: str,
    door: paste.PasteDoor,
    default_type: str | None,
) -> upgradecheck.Result:
    """Check that the API door is open, and suits the default type.

    :param file: path of api-paste.ini, for messages.
    :param door: the API door in that file.
    :param default_type: value of the option default_volume_type.
    """
    if door.fault:
        return result(failures=[f'{file}, {door.pipeline}: {door.fault}.'])
    if not state.tiers:
        return result(otherwise='no tier is applied')
    if not door.is_open:
        return result(
            warnings=[
                (
                    'Tiers are applied, but no filter '
                    f'of {file}, {door.pipeline}, has paste.filter_factory '
                    f'= {paste.FACTORY}; add it directly before the '
                    'application, otherwise volumes do not get the quota, '
                    'QoS and access of their tier.'
                )
            ]
        )
    found = state.find(default_type)
    if found is None or not found.follows_image:
        return result(
            warnings=[
                (
                    f'default_volume_type is {default_type}, which does not '
                    'follow the image, so tags do not count for clients that '
                    'send the default type, such as Horizon; expected one '
                    f'of {", ".join(_following(state)) or _NO_TYPE}.'
                )
            ]
        )
    return result()


def _following(state: applied.AppliedState) -> list[str]:
    # Names and ids are keys alike; the ids are of no use to a person.
    return sorted(
        {
            found.name
            for found in state.by_ident.values()
            if found.follows_image
        }
    )
