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

"""The applied tiers, read from the volume types in Cinder's database.

Must not know any request: it reads with admin rights, since extra specs and
private types are not for tenants.
"""

import dataclasses

from cinder import context as cinder_context
from cinder.db import api as db_api
from cinder.volume import volume_types

from cinder_tiers.domain import extra_specs
from cinder_tiers.domain import placement
from cinder_tiers.domain import state


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedTiers:
    """The tiers, and what Cinder must match to find their backends."""

    tiers: tuple[placement.AppliedTier, ...] = ()
    #: {name of a tier: {key: value} of all extra specs of its volume type}
    specs: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    #: One sentence for each volume type of ours that cannot be read; the
    #: other tiers work on without it.
    problems: tuple[str, ...] = ()


def read_applied(context: cinder_context.RequestContext) -> AppliedTiers:
    """All tiers, in one query plus one for each private one.

    :param context: any; it is raised to admin for the reading.
    :raises Exception: whatever Cinder's database layer raises.
    """
    admin = context.elevated()
    tiers, specs, problems = [], {}, []
    for volume_type in volume_types.get_all_types(admin).values():
        found = volume_type['extra_specs']
        if not found.get(state.NAME):
            continue
        try:
            tier = extra_specs.read_tier(
                found, projects=_projects(admin, volume_type))
        except ValueError as error:
            problems.append(str(error))
            continue
        tiers.append(tier)
        specs[tier.name] = found
    return AppliedTiers(tiers=tuple(tiers), specs=specs,
                        problems=tuple(problems))


def _projects(admin: cinder_context.RequestContext,
              volume_type: dict) -> frozenset[str] | None:
    if volume_type['is_public']:
        return None
    access = db_api.volume_type_access_get_all(admin, volume_type['id'])
    return frozenset(row['project_id'] for row in access)
