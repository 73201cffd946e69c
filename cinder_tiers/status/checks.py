# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What is checked before an upgrade: values in, a result out.

Must not know where the values came from, nor how results are printed.
"""

import collections.abc

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
from oslo_utils import uuidutils

from cinder_tiers import conf
from cinder_tiers.doors import applied
from cinder_tiers.status import paste

SUCCESS = upgradecheck.Code.SUCCESS
WARNING = upgradecheck.Code.WARNING
FAILURE = upgradecheck.Code.FAILURE


def result(*, failures: collections.abc.Sequence[str] = (),
           warnings: collections.abc.Sequence[str] = (),
           otherwise: str | None = None) -> upgradecheck.Result:
    """A result with all that was found.

    :param failures: sentences on what must be mended first.
    :param warnings: sentences on what should be looked at.
    :param otherwise: details when there is neither.
    """
    found = [*failures, *warnings]
    return upgradecheck.Result(
        FAILURE if failures else WARNING if warnings else SUCCESS,
        ' '.join(found) or otherwise)


def options(group: cfg.ConfigOpts.GroupAttr,
            written: collections.abc.Mapping[str, str],
            ) -> upgradecheck.Result:
    """Whether the options of the doors can be read, and are known.

    :param group: what `conf.register` returned.
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
            failures.append(f'[{conf.GROUP}] {name} cannot be read: {why}; '
                            'correct it, for the doors cannot start with it.')
    return result(failures=failures, warnings=[
        f'[{conf.GROUP}] {name} in {file} is no option of this version; '
        f'expected one of {", ".join(known)}; correct or remove it.'
        for name, file in written.items()
        if name.replace('-', '_') not in known])


def tiers(state: applied.AppliedState) -> upgradecheck.Result:
    """Whether the doors can read all applied tiers.

    :param state: the applied tiers.
    """
    if not state.tiers and not state.problems:
        return result(otherwise='no tier is applied')
    warnings = []
    fallbacks = sorted(tier.name for tier in state.tiers if tier.fallback)
    if len(fallbacks) != 1:
        warnings.append(
            f'{len(fallbacks)} tiers are the fall-back '
            f'({", ".join(fallbacks) or "none"}), expected one; run '
            '"openstack tier plan".')
    if not state.following:
        warnings.append(
            'No volume type leaves the choice to the image, so tags count '
            'only for requests without a type; see follow_image_types of '
            'the tiers file.')
    names: dict[int, str] = {}
    for tier in sorted(state.tiers, key=lambda tier: tier.name):
        if tier.tags and tier.priority in names:
            warnings.append(f'Tiers {names[tier.priority]} and {tier.name} '
                            f'both have priority {tier.priority}; give one '
                            'of them another in the tiers file, and apply '
                            'it.')
        elif tier.tags:
            names[tier.priority] = tier.name
        if tier.overflow and tier.overflow not in state.types:
            warnings.append(f'Tier {tier.name} overflows to '
                            f'{tier.overflow}, which is no tier; run '
                            '"openstack tier plan".')
    return result(
        failures=[f'A tier is left out: {one}.' for one in state.problems],
        warnings=warnings, otherwise=f'tiers: {len(state.tiers)}')


def scheduler(state: applied.AppliedState, *,
              filters: collections.abc.Sequence[str],
              weighers: collections.abc.Sequence[str],
              ) -> upgradecheck.Result:
    """Whether the scheduler door is open.

    :param state: the applied tiers.
    :param filters: the option scheduler_default_filters.
    :param weighers: the option scheduler_default_weighers.
    """
    warnings = []
    if state.tiers and 'TierFilter' not in filters:
        warnings.append(
            'Tiers are applied, but scheduler_default_filters has no '
            f'TierFilter (found {",".join(filters)}); append it, unless '
            'cinder-scheduler does not run on this host.')
    overflowing = sorted(tier.name for tier in state.tiers if tier.overflow)
    if overflowing and 'TierWeigher' not in weighers:
        warnings.append(
            f'Tiers overflow ({", ".join(overflowing)}), but '
            'scheduler_default_weighers has no TierWeigher (found '
            f'{",".join(weighers)}), so nothing prefers their own backends; '
            'append it, unless cinder-scheduler does not run on this host.')
    return result(warnings=warnings)


def api(state: applied.AppliedState, *, file: str, door: paste.Door,
        default_type: str | None) -> upgradecheck.Result:
    """Whether the API door is open, and the default type suits it.

    :param state: the applied tiers.
    :param file: api-paste.ini, for messages.
    :param door: what it says.
    :param default_type: the option default_volume_type.
    """
    if door.fault:
        return result(failures=[f'{file}, {door.pipeline}: {door.fault}.'])
    if not state.tiers:
        return result(otherwise='no tier is applied')
    if not door.is_open:
        return result(warnings=[
            f'Tiers are applied, but no filter of {file}, {door.pipeline}, '
            f'has paste.filter_factory = {paste.FACTORY}; put it right '
            'before the application, or else quota, QoS and access are not '
            'those of the tier.'])
    if default_type not in state.following:
        return result(warnings=[
            f'default_volume_type is {default_type}, which does not leave '
            'the choice to the image, so tags do not count for clients that '
            'send the default type, such as Horizon; expected one of '
            f'{_names(state)}.'])
    return result()


def _names(state: applied.AppliedState) -> str:
    # Names and ids are keys alike; the ids are of no use to a person.
    return ', '.join(sorted(
        name for name in state.following
        if not uuidutils.is_uuid_like(name))) or (
            'the follow_image_types of the tiers file')
